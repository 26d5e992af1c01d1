# Arrays, string building, substitutions, subshells and pipes of bash.
declare -A count
for ((i = 0; i < 20000; i++)); do
    word="w$(((i * 7919) % 613))"
    count[$word]=$((${count[$word]:-0} + i))
done
total=0
for word in "${!count[@]}"; do total=$((total + count[$word])); done
echo "${#count[@]} words, total $total"

text=
for ((i = 0; i < 3000; i++)); do text+="line $i ${text:0:20}"$'\n'; done
echo "${#text} ${text//line/row}" | wc -c
mapfile -t lines <<<"$text"
printf '%s\n' "${lines[@]}" | while read -r line; do echo "${line^^}"; done | cksum
for ((i = 0; i < 100; i++)); do echo "$(echo "sub $i")"; done | cksum

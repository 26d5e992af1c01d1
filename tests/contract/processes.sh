#!/bin/bash
# processes.sh CASE: whole processes on the library, under limits, tools and secure execution.
#
#   HAKMEM_SO       the shared library
#   STATIC_PROGRAM  lifecycle_probe, linked statically with the library
#   CC              a C compiler
#   OUT             a folder for what is built and written here
#
# Ends with 0, 1 at the first failure, 77 where the machine does not allow the case at all.
set -u

fail() {
    echo "failed: $*" >&2
    exit 1
}

# expect_ok NAME COMMAND...: the command ends with 0 and the library says nothing.
expect_ok() {
    local name=$1
    shift
    "$@" >"$OUT/stdout" 2>"$OUT/stderr" || fail "$name: status $?: $(tail -n 3 "$OUT/stderr")"
    ! grep -q '^hakmem:' "$OUT/stderr" || fail "$name: $(grep '^hakmem:' "$OUT/stderr")"
    echo "ok $name"
}

# preloaded COMMAND...: runs it on the library.
preloaded() {
    env LD_PRELOAD="$HAKMEM_SO" "$@"
}

# under LIMIT VALUE COMMAND...: with `ulimit LIMIT VALUE`, preloaded.
under() {
    local limit=$1 value=$2
    shift 2
    (ulimit "$limit" "$value" && preloaded "$@")
}

# That the library is really in use is seen from its own summary line.
in_use() {
    preloaded HAKMEM_VERBOSE=1 "$@" 2>&1 >/dev/null | grep -q '^hakmem:' ||
        fail "HAKMEM_VERBOSE=1 $*: no summary from the library"
}

limits() {
    in_use /bin/true
    for kib in 131072 262144 1048576; do
        for limit in -v -d; do
            expect_ok "true, ulimit $limit $kib" under "$limit" "$kib" /bin/true
            expect_ok "python3, ulimit $limit $kib" under "$limit" "$kib" /usr/bin/python3 -c 1
        done
    done
    expect_ok "sort, ulimit -v 131072" under -v 131072 sort -S 8M /etc/passwd
    expect_ok "true, ulimit -v 16384" under -v 16384 /bin/true
    expect_ok "true, ulimit -s 256" under -s 256 /bin/true
    expect_ok "true, no address randomization" setarch -R env LD_PRELOAD="$HAKMEM_SO" /bin/true
    expect_ok "python3, no environment" env -i LD_PRELOAD="$HAKMEM_SO" /usr/bin/python3 -c 1
    expect_ok "true, closed standard streams" closed_streams
    expect_ok "probe, static, ulimit -v 131072" static_under_limit
}

closed_streams() {
    preloaded /bin/true <&- >&- 2>&-
}

static_under_limit() {
    (ulimit -v 131072 && "$STATIC_PROGRAM")
}

tools() {
    expect_ok "valgrind --tool=none" \
        valgrind --tool=none --trace-children=yes env LD_PRELOAD="$HAKMEM_SO" /bin/true
    expect_ok "valgrind memcheck" \
        valgrind --error-exitcode=9 --trace-children=yes env LD_PRELOAD="$HAKMEM_SO" /bin/true
    expect_ok "gdb" gdb -batch -nx -ex "set environment LD_PRELOAD $HAKMEM_SO" \
        -ex "set startup-with-shell off" -ex "break exit" -ex run -ex bt -ex continue \
        --args /bin/true
    grep -q 'exited normally' "$OUT/stdout" || fail "gdb: the program did not end normally"
    expect_ok "strace" strace -f -o "$OUT/trace" env LD_PRELOAD="$HAKMEM_SO" /bin/true
    grep -q 'exited with 0' "$OUT/trace" || fail "strace: the program did not end normally"
}

# Each sanitizer wants to be malloc itself: the library says so in one line and ends the program.
sanitizers() {
    cat >"$OUT/hello.c" <<'END'
#include <stdlib.h>
int main(void)
{
    free(malloc(10));
    return 0;
}
END
    # gcc links the runtime as a shared library, clang into the program.
    local flags
    for flags in "gcc -fsanitize=address" "gcc -fsanitize=thread" "clang -fsanitize=address"; do
        # shellcheck disable=SC2086
        $flags -o "$OUT/hello" "$OUT/hello.c" || fail "$flags does not work"
        "$OUT/hello" || fail "$flags: the program does not run without the library either"
        # The runtime's own check of the link order would be first; it is not what is tested here.
        local status=0
        env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$HAKMEM_SO" "$OUT/hello" \
            >"$OUT/stdout" 2>"$OUT/stderr" || status=$?
        [ "$status" -eq 1 ] || fail "$flags: status $status, not 1: $(head -n 3 "$OUT/stderr")"
        [ "$(wc -l <"$OUT/stderr")" -eq 1 ] || fail "$flags: not one line: $(cat "$OUT/stderr")"
        grep -Eq '^hakmem: .*(Address|Thread)Sanitizer' "$OUT/stderr" ||
            fail "$flags: $(cat "$OUT/stderr")"
        echo "ok $flags"
    done
}

# A set-user-ID program must not listen to its caller's HAKMEM_*.
secure() {
    [ "$(id -u)" -eq 0 ] || {
        echo "skipped: only root can make a set-user-ID program of another user"
        exit 77
    }
    local folder
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    chmod 755 "$folder"
    install -m 755 "$STATIC_PROGRAM" "$folder/plain"
    install -o root -m 4755 "$STATIC_PROGRAM" "$folder/setuid"
    local run=(setpriv --reuid=65534 --regid=65534 --clear-groups env HAKMEM_VERBOSE=1)
    local said
    said=$("${run[@]}" "$folder/plain" 2>&1) || fail "the plain program ends with $?"
    grep -q '^hakmem:' <<<"$said" || fail "the plain program ignores HAKMEM_VERBOSE: $said"
    said=$("${run[@]}" "$folder/setuid" 2>&1) || fail "the set-user-ID program ends with $?"
    [ "$said" = "probe done" ] || fail "the set-user-ID program listens to HAKMEM_VERBOSE: $said"
    said=$("${run[@]}" HAKMEM_HELP=1 "$folder/setuid" 2>&1)
    [ "$said" = "probe done" ] || fail "the set-user-ID program listens to HAKMEM_HELP: $said"
    echo "ok secure execution"
}

mkdir -p "$OUT" || exit 1
case ${1-} in
limits | tools | sanitizers | secure) "$1" ;;
*)
    echo "usage: $0 limits|tools|sanitizers|secure" >&2
    exit 2
    ;;
esac

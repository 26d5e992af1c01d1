"""Writers of small generated projects, as a dictionary of relative path to text."""

from __future__ import annotations

from pathlib import Path

Project = dict[str, str]


def write_project(folder: Path, project: Project) -> None:
    """Writes every file of the project below folder, making folders where they are missing."""
    for name, text in project.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def java_project(classes: int) -> Project:
    """Returns Java sources with generics, records, streams and switch expressions, and a Main."""
    project = {}
    for n in range(classes):
        project[f"gen/Unit{n}.java"] = f"""\
package gen;

import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public final class Unit{n}<T extends Comparable<T>> {{
    public record Pair<A, B>(A first, B second) {{}}
    public enum Kind {{ RED, GREEN, BLUE, UNIT{n} }}

    private final Map<String, List<T>> index = new TreeMap<>();

    public void put(String key, T value) {{
        index.computeIfAbsent(key, k -> new ArrayList<>()).add(value);
    }}

    public Optional<Pair<String, T>> largest() {{
        return index.entrySet().stream()
            .flatMap(e -> e.getValue().stream().map(v -> new Pair<>(e.getKey(), v)))
            .max(Comparator.comparing(Pair::second));
    }}

    public static int weigh(Kind kind) {{
        return switch (kind) {{
            case RED -> {n};
            case GREEN -> {n} * 2;
            case BLUE -> {n} * 3;
            case UNIT{n} -> 7;
        }};
    }}

    public static long run(int size) {{
        Unit{n}<Integer> unit = new Unit{n}<>();
        IntStream.range(0, size).forEach(i -> unit.put("key" + i % 17, i * {n + 1} % 1009));
        Map<Boolean, List<Integer>> halves = IntStream.range(0, size).boxed()
            .collect(Collectors.partitioningBy(i -> i % 2 == 0));
        BiFunction<Integer, Integer, Integer> add = (a, b) -> a + b;
        return unit.largest().map(p -> (long) p.second()).orElse(0L)
            + halves.get(true).stream().reduce(0, add::apply) + weigh(Kind.UNIT{n});
    }}
}}
"""
    calls = "\n".join(f"        total += gen.Unit{n}.run(200);" for n in range(classes))
    project["Main.java"] = f"""\
public class Main {{
    public static void main(String[] args) {{
        long total = 0;
{calls}
        System.out.println("total " + total);
    }}
}}
"""
    return project


def rust_project(modules: int) -> Project:
    """Returns a cargo package without dependencies: a library of modules and a program."""
    project = {
        "Cargo.toml": '[package]\nname = "generated"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "".join(f"pub mod part{n};\n" for n in range(modules)),
    }
    for n in range(modules):
        project[f"src/part{n}.rs"] = f"""\
use std::collections::{{BTreeMap, HashMap, HashSet}};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Token {{ Word(String), Number(u64), Mark(char) }}

impl fmt::Display for Token {{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{
        match self {{
            Token::Word(word) => write!(f, "{{word}}"),
            Token::Number(number) => write!(f, "{{number}}"),
            Token::Mark(mark) => write!(f, "{{mark}}"),
        }}
    }}
}}

pub fn tokens(text: &str) -> Vec<Token> {{
    text.split_whitespace()
        .map(|part| match part.parse::<u64>() {{
            Ok(number) => Token::Number(number + {n}),
            Err(_) if part.len() == 1 => Token::Mark(part.chars().next().unwrap()),
            Err(_) => Token::Word(part.to_uppercase()),
        }})
        .collect()
}}

pub fn run(text: &str) -> usize {{
    let all = tokens(text);
    let mut counts: BTreeMap<Token, usize> = BTreeMap::new();
    for token in &all {{
        *counts.entry(token.clone()).or_default() += 1;
    }}
    let distinct: HashSet<String> = all.iter().map(|t| t.to_string()).collect();
    let by_length: HashMap<usize, Vec<&String>> =
        distinct.iter().fold(HashMap::new(), |mut map, s| {{
            map.entry(s.len()).or_insert_with(Vec::new).push(s);
            map
        }});
    counts.values().sum::<usize>() * {n + 1} + distinct.len() + by_length.len()
}}
"""
    calls = "\n".join(f"    total += generated::part{n}::run(&text);" for n in range(modules))
    project["src/main.rs"] = f"""\
fn main() {{
    let text: String = (0..2000).map(|i| format!("word{{}} {{}} x ", i % 37, i)).collect();
    let mut total = 0;
{calls}
    println!("total {{total}}");
}}
"""
    return project


def c_project(units: int) -> Project:
    """Returns a C program of many small files with a Makefile; `make check` runs it."""
    objects = " ".join(f"unit{n}.o" for n in range(units))
    project = {
        "Makefile": f"""\
CFLAGS = -O1 -Wall
OBJECTS = main.o {objects}

program: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)

$(OBJECTS): units.h

check: program
\t./program
""",
        "units.h": "".join(f"int unit{n}(const char *text);\n" for n in range(units)),
    }
    for n in range(units):
        project[f"unit{n}.c"] = f"""\
#include <stdlib.h>
#include <string.h>
#include "units.h"

struct node {{ struct node *next; size_t size; char text[]; }};

int unit{n}(const char *text) {{
    struct node *head = NULL;
    size_t total = {n};
    for (size_t i = 0; i < 200; i++) {{
        size_t size = strlen(text) + i % 50;
        struct node *node = calloc(1, sizeof *node + size + 1);
        memcpy(node->text, text, strlen(text));
        node->size = size;
        node->next = head;
        head = node;
    }}
    while (head) {{
        struct node *next = head->next;
        total += head->size + strlen(head->text);
        free(head);
        head = next;
    }}
    return (int)(total % 1000);
}}
"""
    calls = "".join(f'    total += unit{n}("text {n}");\n' for n in range(units))
    project["main.c"] = f"""\
#include <stdio.h>
#include "units.h"

int main(void) {{
    int total = 0;
{calls}    printf("total %d\\n", total);
    return 0;
}}
"""
    return project

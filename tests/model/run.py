#!/usr/bin/env python3
"""Checks the ownership protocol with spin: the models hold, and every seeded bug is found.

Usage: run.py refill|exit|purge|stale|inbox|mutants|all [--work DIR] [--spin SPIN] [--cc CC]
       run.py trace MUTANT      prints the shortest execution in which a mutant goes wrong

A model passes if spin visits all of its states without an error, and if every statement of it is
reached in at least one of its configurations (refill and stale have no orphans; exit has all that
refill has). Exit status: 0 passed, 1 failed, 2 cannot run.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NoReturn

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_LIMIT_MIB = 3500

MODELS = {
    "refill": [
        ["THREADS=2", "HEAPS=2", "CLASSES=1"],
        ["THREADS=2", "HEAPS=1", "CLASSES=2"],
        ["THREADS=3", "HEAPS=1", "CLASSES=1"],
    ],
    "exit": [
        ["THREADS=2", "HEAP_IDS=2", "FRESH_SLABS=3"],
        ["THREADS=2", "HEAP_IDS=6", "FRESH_SLABS=1"],
        ["THREADS=3", "HEAP_IDS=2", "FRESH_SLABS=1"],
    ],
    "purge": [
        ["PURGERS=1", "HEAP_IDS=6", "FRESH_SLABS=1"],
        ["PURGERS=2", "HEAP_IDS=2", "FRESH_SLABS=1"],
    ],
    "stale": [[]],
    "inbox": [
        ["THREADS=2", "HEAP_IDS=6", "FRESH_SLABS=1"],
    ],
}

EVERY_STATEMENT_REACHED = ("exit", "purge", "inbox")

ASSERTION = "assertion violated"
DEADLOCK = "invalid end state"

# name: (model, which of its configurations, what spin must say)
MUTANTS = {
    "SUB_BEFORE_OR": ("refill", 0, ASSERTION),
    "STEAL_NO_RECHECK": ("refill", 0, ASSERTION),
    "MERGE_NOT_ATOMIC": ("refill", 0, ASSERTION),
    "NO_MERGE": ("refill", 0, ASSERTION),
    "RELEASE_KEEPS_K": ("refill", 0, ASSERTION),
    "CLAIM_NO_CLASS": ("refill", 1, ASSERTION),
    "USED_NARROW": ("refill", 0, ASSERTION),
    "POOL_BEFORE_MAP": ("refill", 0, ASSERTION),
    "ID_EARLY": ("exit", 0, ASSERTION),
    "ORPHAN_ZERO_NO_LOCK": ("exit", 0, ASSERTION),
    "ADOPT_STORE": ("exit", 0, ASSERTION),
    "REFILL_NO_BUSY": ("purge", 0, ASSERTION),
    "STEAL_BUSY": ("purge", 0, ASSERTION),
    "ADOPT_BUSY": ("purge", 0, ASSERTION),
    "EXIT_IGNORES_BUSY": ("purge", 0, ASSERTION),
    "PURGE_NO_HAND_ON": ("purge", 0, ASSERTION),
    "PURGE_STEAL_ONLY": ("purge", 0, ASSERTION),
    "PURGE_LOCK_IN_BUSY": ("purge", 0, DEADLOCK),
    "POSITION_UNCLAIMED": ("stale", 0, ASSERTION),
    "OPEN_NO_LOOK": ("inbox", 0, ASSERTION),
    "TRUST_ANY_LIFE": ("inbox", 0, ASSERTION),
    "LIFE_AT_EXIT": ("inbox", 0, ASSERTION),
    "PUSH_NOT_ATOMIC": ("inbox", 0, ASSERTION),
    "CLOSE_NOT_ATOMIC": ("inbox", 0, ASSERTION),
    "EXIT_NO_CLOSE": ("inbox", 0, ASSERTION),
}


def fail(message: str) -> NoReturn:
    print(f"run.py: {message}", file=sys.stderr)
    sys.exit(2)


class Checker:
    """Runs spin on one model with one set of defines, each in a folder of its own."""

    def __init__(self, spin: str, cc: str, work: pathlib.Path) -> None:
        for tool, package in ((spin, "spin"), (cc, "gcc")):
            if shutil.which(tool) is None:
                fail(f"{tool} not found: install the Debian package {package}, or name the program")
        self.spin, self.cc, self.work = spin, cc, work

    def run(self, model: str, defines: list[str], breadth_first: bool) -> tuple[str, pathlib.Path]:
        """Returns what the verifier printed, and the folder where its trail is."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{model}-", dir=self.work))
        flags = [f"-D{define}" for define in defines]
        self.call([self.spin, *flags, "-a", str(HERE / f"{model}.pml")], folder)
        options = ["-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={MEMORY_LIMIT_MIB}"]
        # A mutant's search is short, so that compiling it is what takes the time.
        options += ["-DBFS", "-O0"] if breadth_first else ["-O2"]
        self.call([self.cc, "-w", *options, "-o", "pan", "pan.c"], folder)
        return self.call(["./pan", "-w18" if breadth_first else "-m4000000"], folder), folder

    def trace(self, model: str, defines: list[str], folder: pathlib.Path) -> str:
        flags = [f"-D{define}" for define in defines]
        trail = str(folder / f"{model}.pml.trail")
        return self.call([self.spin, *flags, "-k", trail, "-t", "-p", "-g", "-l",
                          str(HERE / f"{model}.pml")], folder)

    @staticmethod
    def call(command: list[str], folder: pathlib.Path) -> str:
        done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            fail(f"`{' '.join(command)}` ended with status {done.returncode}:\n{done.stdout}")
        return done.stdout


def number(pattern: str, output: str) -> float:
    found = re.search(pattern, output)
    if found is None:
        fail(f"the verifier's output lacks /{pattern}/:\n{output}")
    return float(found.group(1))


def unreached(output: str) -> set[tuple[str, str]]:
    """Statements that no execution came to, as (process type, statement); not their ends."""
    result, proctype = set(), ""
    for line in output.splitlines():
        if line.startswith("unreached in "):
            proctype = line.split()[-1]
        elif ", state " in line and '"-end-"' not in line:
            result.add((proctype, line.split(", state ")[1]))
    return result


def first_error(output: str) -> str:
    found = re.search(r"^pan:1: (.*)$", output, re.MULTILINE)
    return found.group(1) if found else ""


def check_model(checker: Checker, model: str) -> bool:
    passed, never = True, None
    for defines in MODELS[model]:
        start = time.monotonic()
        output, _ = checker.run(model, defines, breadth_first=False)
        states = number(r"(\S+) states, stored", output)
        memory = number(r"(\S+)\s+total actual memory usage", output)
        complete = "Search not completed" not in output and "max search depth" not in output
        good = number(r"errors: (\d+)", output) == 0 and complete
        verdict = "holds" if good else "INCOMPLETE"
        if first_error(output):
            verdict = f"FAILS: {first_error(output)}"
        print(f"{' '.join([model, *defines])}: {verdict} ({states:,.0f} states, {memory:,.0f} MiB, "
              f"{time.monotonic() - start:.1f} s)", flush=True)
        passed = passed and good
        if model not in EVERY_STATEMENT_REACHED:
            continue
        # The numbers of statements are the same in every configuration; their text is not.
        missed = {(proctype, text.split(",")[0]): text for proctype, text in unreached(output)}
        never = missed if never is None else {k: v for k, v in never.items() if k in missed}
    for (proctype, _), text in sorted((never or {}).items()):
        print(f"{model}: FAILS: no configuration reaches this statement of {proctype}: {text}")
        passed = False
    return passed


def check_mutants(checker: Checker) -> bool:
    passed = True
    for name, (model, config, expected) in MUTANTS.items():
        output, _ = checker.run(model, [*MODELS[model][config], f"MUT_{name}"], breadth_first=True)
        error = first_error(output)
        good = expected in error
        steps = number(r"depth reached (\d+)", output)
        print(f"mutant {name}: " + (f"found after {steps:.0f} steps" if good else
              f"NOT FOUND, wanted {expected}, got {error or 'no error'}"), flush=True)
        passed = passed and good
    return passed


def print_trace(checker: Checker, name: str) -> None:
    model, config, _ = MUTANTS[name]
    defines = [*MODELS[model][config], f"MUT_{name}"]
    _, folder = checker.run(model, defines, breadth_first=True)
    print(checker.trace(model, defines, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*MODELS, "mutants", "all", "trace"])
    parser.add_argument("mutant", nargs="?", choices=sorted(MUTANTS), help="only with trace")
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--work", type=pathlib.Path, help="folder for temporary files")
    arguments = parser.parse_args()
    if (arguments.what == "trace") != (arguments.mutant is not None):
        parser.error("trace needs the name of a mutant, and nothing else takes one")
    if arguments.work is not None:
        arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        checker = Checker(arguments.spin, arguments.cc, pathlib.Path(work))
        if arguments.what == "trace":
            print_trace(checker, arguments.mutant)
            return 0
        models = [name for name in MODELS if arguments.what in (name, "all")]
        results = [check_model(checker, model) for model in models]
        if arguments.what in ("mutants", "all"):
            results.append(check_mutants(checker))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

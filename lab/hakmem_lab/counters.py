"""Counts in steady state: instructions, system calls and page faults.

Every count is the difference of two runs of one workload that differ only in length, so that what
start-up and the end cost cancels out; what is left is divided by the operations between the two.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .allocators import Allocator
from .errors import LabError
from .launcher import launch, require_success
from .places import Places


@dataclass(frozen=True)
class Workload:
    """A command with the place of its length, and the two lengths."""

    name: str
    command: str  # "{n}" is the length
    short: int
    long: int
    per_unit: float  # operations (malloc+free pairs in an instruction workload) a unit of length

    def argv(self, places: Places, length: int) -> list[str]:
        words = self.command.format(n=length).split()
        return [places.program(words[0]), *words[1:]]

    def operations(self, short: int, long: int) -> float:
        return (long - short) * self.per_unit


# In the random mix a pair is two steps: one fills the slot, another frees it.
INSTRUCTION_WORKLOADS = [
    Workload("pair", "bench_pair {n}", 50_000, 250_000, 1),
    Workload("batch64", "bench_batch64 {n}", 1_000, 4_000, 64),
    Workload("random-256", "bench_random_mixed {n} 256 1", 100_000, 400_000, 0.5),
    Workload("random-8192", "bench_random_mixed {n} 8192 1", 100_000, 400_000, 0.5),
    Workload("random-65536", "bench_random_mixed {n} 65536 1", 200_000, 600_000, 0.5),
    Workload("remote", "bench_remote {n}", 50, 250, 1024),
]
# Stepping is so slow that its lengths are this much shorter.
STEPS_SHORTEN_BY = 20


def _steady(name: str, command: str, unit: int) -> Workload:
    return Workload(name, command, unit * 4, unit * 12, 1)


STEADY_WORKLOADS = [
    _steady("pair", "bench_pair {n}", 500_000),
    _steady("batch64", "bench_batch64 {n}", 10_000),
    _steady("random-256", "bench_random_mixed {n} 256 1", 500_000),
    _steady("random-8192", "bench_random_mixed {n} 8192 1", 1_000_000),
    _steady("random-65536", "bench_random_mixed {n} 65536 1", 2_000_000),
    _steady("remote", "bench_remote {n}", 500),
    _steady("mid_large_mt", "bench_mid_large_mt 4 {n}", 50_000),
    *(_steady(f"fixed-{size}", f"bench_fixed {size} {{n}}", 500_000) for size in (16, 128, 1024)),
    *(
        _steady(scenario, f"bench_allocators --scenario {scenario} --iterations {{n}}", 50_000)
        for scenario in ("mixed", "json", "tiny", "mid", "large", "realloc", "string")
    ),
]


def select(workloads: list[Workload], names: list[str]) -> list[Workload]:
    known = {workload.name: workload for workload in workloads}
    for name in names:
        if name not in known:
            raise LabError(f'"{name}" is no workload here; accepted are {", ".join(known)}')
    return [known[name] for name in names] if names else workloads


def count_by_callgrind(command: list[str], allocator: Allocator) -> int:
    """Of one run; exact, and the same on every machine that runs the same code."""
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        log = Path(folder) / "log"
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        run_tool([*tool, f"--log-file={log}"], command, allocator, log)
        collected = re.search(r"Collected\s*:\s*(\d+)", log.read_text())
    if collected is None:
        raise LabError(f"valgrind counted nothing of {command[0]} under {allocator.name}")
    return int(collected.group(1))


def count_by_steps(command: list[str], allocator: Allocator, places: Places) -> int:
    """The same, a hundred times slower, for an allocator that valgrind cannot run."""
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        count = Path(folder) / "count"
        run_tool([str(places.stepper), str(count)], command, allocator, None)
        return int(count.read_text())


def run_tool(tool: list[str], command: list[str], allocator: Allocator, log: Path | None) -> None:
    """Runs a counting tool, itself not instrumented, with the allocator preloaded."""
    environment = {**os.environ, **allocator.environment}
    environment.pop("LD_PRELOAD", None)
    if allocator.preload:
        environment["LD_PRELOAD"] = allocator.preload_value
    try:
        done = subprocess.run(
            [*tool, *command], env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise LabError(f"{tool[0]} is not installed; it is needed to count") from None
    if done.returncode != 0:
        # The command's own last word, or the tool's where the command said nothing.
        text = done.stderr.strip() or (log.read_text() if log is not None else "")
        said = (text.strip().splitlines() or ["nothing on stderr"])[-1]
        raise LabError(
            f"{tool[0]} ended with status {done.returncode} on {command[0]} under"
            f" {allocator.name}: {said}"
        )


def instructions_per_operation(workload: Workload, allocator: Allocator, places: Places) -> float:
    """All instructions of the process, the program's own among them."""
    short, long = workload.short, workload.long
    if allocator.count_by == "steps":
        short, long = short // STEPS_SHORTEN_BY, long // STEPS_SHORTEN_BY
    counts = []
    for length in (short, long):
        command = workload.argv(places, length)
        if allocator.count_by == "steps":
            counts.append(count_by_steps(command, allocator, places))
        else:
            counts.append(count_by_callgrind(command, allocator))
    return (counts[1] - counts[0]) / workload.operations(short, long)


def system_calls(command: list[str], allocator: Allocator) -> dict[str, int]:
    """Of one run, by name, of all its threads."""
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        table = Path(folder) / "table"
        tool = ["strace", "-f", "-c", "-U", "name,calls", "-o", str(table)]
        # -E sets or removes a variable for the command, not for strace itself.
        if allocator.preload:
            tool += ["-E", f"LD_PRELOAD={allocator.preload_value}"]
        run_tool(tool, command, Allocator(allocator.name, "", (), allocator.environment), None)
        text = table.read_text()
    return parse_strace_table(text)


def parse_strace_table(text: str) -> dict[str, int]:
    rows = re.findall(r"^\s*(\w+)\s+(\d+)\s*$", text, re.MULTILINE)
    return {name: int(calls) for name, calls in rows if name != "total"}


# Waiting of the workload's own threads for each other, whatever the allocator.
OF_THE_PROGRAM = {"futex", "sched_yield"}


@dataclass(frozen=True)
class SteadyState:
    """What the longer run has beyond the shorter one."""

    operations: float
    calls: dict[str, int]
    minor_faults: int
    major_faults: int

    @property
    def allocator_calls(self) -> dict[str, int]:
        return {name: calls for name, calls in self.calls.items() if name not in OF_THE_PROGRAM}


# A few faults of the start depend on where the kernel puts stack and libraries.
FAULT_RUNS = 5


def fewest_faults(command: list[str], allocator: Allocator, places: Places) -> dict[str, int]:
    runs = []
    for _ in range(FAULT_RUNS):
        finished = launch(places.launcher, command, allocator)
        require_success(finished, command, allocator)
        runs.append(finished.report)
    return {kind: min(run[kind] for run in runs) for kind in ("minor_faults", "major_faults")}


def steady_state(workload: Workload, allocator: Allocator, places: Places) -> SteadyState:
    commands = [workload.argv(places, length) for length in (workload.short, workload.long)]
    short_calls, long_calls = (system_calls(command, allocator) for command in commands)
    calls = {
        name: long_calls.get(name, 0) - short_calls.get(name, 0)
        for name in sorted(short_calls.keys() | long_calls.keys())
    }
    short, long = (fewest_faults(command, allocator, places) for command in commands)
    return SteadyState(
        operations=workload.operations(workload.short, workload.long),
        calls={name: difference for name, difference in calls.items() if difference != 0},
        minor_faults=long["minor_faults"] - short["minor_faults"],
        major_faults=long["major_faults"] - short["major_faults"],
    )

"""The commands that measure and count workloads: measure, instructions, syscalls, golden."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress

from . import allocators as registry
from . import counters, golden, metrics, peers, rawdata, runner, tables
from .allocators import Allocator
from .cli import build_option, console, new_progress
from .errors import LabError
from .launcher import launch, require_success, verify
from .places import TREE, Places, find_places

GOLDEN_FILE = TREE / "tests" / "golden" / "instructions.json"

allocator_option = click.option(
    "-a", "--allocator", "names", multiple=True, metavar="NAME",
    help="hakmem, nothing, glibc, a peer, peers (all that are built), NAME=LIBRARY or a path.",
)  # fmt: skip


def parse_command(text: str, places: Places) -> list[str]:
    words = shlex.split(text)
    if not words:
        raise click.BadParameter("a command must not be empty", param_hint="--command")
    return [places.program(words[0]), *words[1:]]


BEST = "best"


def index_of(name: str | None, chosen: list[Allocator]) -> int:
    """While measuring, "best" is not known yet: precision is then that of ratios to the first."""
    if name in (None, BEST):
        return 0
    names = [allocator.name for allocator in chosen]
    if name not in names:
        raise click.BadParameter(
            f'"{name}" is not among the allocators {", ".join(names)}', param_hint="--base"
        )
    return names.index(name)


def warm_up(
    commands: list[list[str]],
    chosen: list[Allocator],
    places: Places,
    timeout: float | None,
    progress: Progress,
) -> bool:
    """One run of everything, that proves the allocator is there; whether all print a figure."""
    task = progress.add_task("checking", total=len(commands) * len(chosen))
    have_throughput = True
    for command in commands:
        for allocator in chosen:
            finished = verify(places.launcher, command, allocator, timeout)
            have_throughput &= finished.throughput is not None
            progress.advance(task)
    progress.remove_task(task)
    return have_throughput


def run_once(
    command: list[str], allocator: Allocator, places: Places, timeout: float | None
) -> dict[str, Any]:
    finished = launch(places.launcher, command, allocator, timeout)
    require_success(finished, command, allocator)
    cpu = finished.report["user_s"] + finished.report["system_s"]
    return {**finished.report, "cpu_s": cpu, "throughput": finished.throughput}


@click.command()
@allocator_option
@click.option("-c", "--command", "texts", multiple=True, required=True, help="Repeatable.")
@click.option(
    "--base", metavar="NAME",
    help="What ratios are to: an allocator [default: the first], or best: of each command, the"
    " best one after the first.",
)  # fmt: skip
@click.option(
    "--metric", default="auto", show_default=True, type=click.Choice(["auto", *metrics.OF_RUNS])
)
@click.option("--runs", default=7, show_default=True, type=click.IntRange(min=1))
@click.option("--max-runs", default=40, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--precision", default=0.0, show_default=True, type=click.FloatRange(0, 1),
    help="Add runs until the interval's half width is this share of the ratio; 0: --runs only.",
)  # fmt: skip
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(min=0),
              help="How often a disturbed run is made again at most.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds a run.")
@click.option("--raw", type=click.Path(path_type=Path), help="File for the raw data (JSON).")
@build_option
def measure(
    names: tuple[str, ...],
    texts: tuple[str, ...],
    base: str | None,
    metric: str,
    runs: int,
    max_runs: int,
    precision: float,
    repeats: int,
    timeout: float | None,
    raw: Path | None,
    build: str | None,
) -> None:
    """Runs commands under allocators, interleaved, and compares medians."""
    places = find_places(build)
    chosen = registry.resolve_all(list(names) or ["hakmem", "peers"], places)
    base_index = index_of(base, chosen)
    commands = [parse_command(text, places) for text in texts]
    settings = runner.Settings(
        runs=runs, max_runs=max_runs, precision=precision, max_repeats=repeats
    )
    with new_progress() as progress:
        have_throughput = warm_up(commands, chosen, places, timeout, progress)
        compared = metrics.choose(metric, have_throughput)
        task = progress.add_task("measuring", total=runs * len(commands) * len(chosen))
        measurement = runner.measure(
            len(commands),
            len(chosen),
            lambda key: run_once(commands[key[0]], chosen[key[1]], places, timeout),
            settings,
            base_index,
            compared.key,
            lambda made: progress.advance(task, 1 if made.counts else 0),
        )
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    raw = raw or places.runs_folder / f"measure-{now}.json"
    content = rawdata.document(
        "measure",
        [{"name": text, "argv": argv} for text, argv in zip(texts, commands, strict=True)],
        chosen, compared.name, settings, measurement, base=base or chosen[0].name,
    )  # fmt: skip
    rawdata.write(raw, content)
    if measurement.interrupted:
        console.print(f"raw data: {raw}")
        raise click.Abort
    for index, text in enumerate(texts):
        against = base_index
        if base == BEST:
            against = metrics.best_after_first(compared, index, len(chosen), measurement)
        tables.print_measurement(console, index, text, chosen, against, compared, measurement)
    console.print(f"raw data: {raw}")


def count_beyond_nothing(
    workloads: list[counters.Workload],
    chosen: list[Allocator],
    places: Places,
    on_count: Callable[[], None] = lambda: None,
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """By allocator and workload; and nothing's own counts, the program's instructions included."""
    nothing_allocator = registry.resolve("nothing", places)[0]
    nothing: dict[str, float] = {}
    counts: dict[str, dict[str, float]] = {allocator.name: {} for allocator in chosen}
    for workload in workloads:
        own = counters.instructions_per_operation(workload, nothing_allocator, places)
        nothing[workload.name] = own
        for allocator in chosen:
            total = counters.instructions_per_operation(workload, allocator, places)
            counts[allocator.name][workload.name] = total - own
            on_count()
    return counts, nothing


def verify_all(chosen: list[Allocator], places: Places) -> None:
    """A short run of a workload on each: nobody is counted who is not there."""
    for allocator in chosen:
        verify(places.launcher, [places.program("bench_pair"), "1000"], allocator)


@click.command()
@allocator_option
@click.option("-w", "--workload", "wanted", multiple=True, help="Repeatable [default: all].")
@build_option
def instructions(names: tuple[str, ...], wanted: tuple[str, ...], build: str | None) -> None:
    """Counts instructions a malloc+free pair beyond the do-nothing allocator (callgrind)."""
    places = find_places(build)
    chosen = registry.resolve_all(list(names) or ["hakmem", "peers"], places)
    workloads = counters.select(counters.INSTRUCTION_WORKLOADS, list(wanted))
    verify_all(chosen, places)
    with new_progress() as progress:
        task = progress.add_task("counting", total=len(workloads) * len(chosen))
        counts, nothing = count_beyond_nothing(
            workloads, chosen, places, lambda: progress.advance(task)
        )
    tables.print_instructions(console, [row.name for row in workloads], chosen, counts, nothing)


@click.command()
@allocator_option
@click.option("-w", "--workload", "wanted", multiple=True, help="Repeatable [default: all].")
@build_option
def syscalls(names: tuple[str, ...], wanted: tuple[str, ...], build: str | None) -> None:
    """Counts system calls and page faults in steady state (strace, rusage)."""
    places = find_places(build)
    chosen = registry.resolve_all(list(names) or ["hakmem"], places)
    workloads = counters.select(counters.STEADY_WORKLOADS, list(wanted))
    verify_all(chosen, places)
    rows = []
    with new_progress() as progress:
        task = progress.add_task("counting", total=len(workloads) * len(chosen))
        for workload in workloads:
            for allocator in chosen:
                state = counters.steady_state(workload, allocator, places)
                rows.append((workload.name, allocator.name, state))
                progress.advance(task)
    tables.print_steady_state(console, rows)


@click.command(name="golden")
@click.option("-a", "--allocator", "name", default="hakmem", show_default=True, metavar="NAME")
@click.option("-w", "--workload", "wanted", multiple=True, help="Repeatable [default: all].")
@click.option("--file", "path", default=GOLDEN_FILE, type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Write the counts instead of comparing them.")
@click.option("--tolerance", default=golden.DEFAULT_TOLERANCE, show_default=True,
              help="Instructions a pair, written by --update.")  # fmt: skip
@build_option
def golden_command(
    name: str, wanted: tuple[str, ...], path: Path, update: bool, tolerance: float,
    build: str | None,
) -> None:  # fmt: skip
    """Compares instruction counts with a golden file; status 1 if one differs."""
    places = find_places(build)
    chosen = registry.resolve_all([name], places)
    if len(chosen) != 1:
        raise click.BadParameter("one allocator is compared", param_hint="--allocator")
    content = None if update else golden.load(path)
    workloads = counters.select(counters.INSTRUCTION_WORKLOADS, list(wanted))
    verify_all(chosen, places)
    counts, _ = count_beyond_nothing(workloads, chosen, places)
    counted = {name: round(count, 1) for name, count in counts[chosen[0].name].items()}
    if content is None:
        golden.save(path, counted, peers.compiler_version(), tolerance)
        console.print(f"written: {path}")
        return
    differences = golden.compare(content, counted)
    if wanted:
        differences = [row for row in differences if row.workload in wanted]
    tables.print_golden(console, differences)
    if not all(row.holds for row in differences):
        raise LabError(
            f"counts differ from {path} by more than {differences[0].tolerance} a pair;"
            " if that is meant, run this command with --update"
        )

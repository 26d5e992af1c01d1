"""hakmem lab ab and regress: variants of the library against each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from . import builds, counters, decision, experiment, experiment_page, rawdata, runner
from .allocators import Allocator, from_library
from .cli import build_option, console, new_progress
from .compare_command import INTERRUPTED, new_file
from .comparison_table import print_failures
from .errors import LabError
from .experiment import INSTRUCTIONS, Experiment
from .places import TREE, Places, find_places
from .results import Result
from .runner import Measurement, Run, Settings
from .session import Command, Session
from .tables import new_table

PAGES = TREE / "docs" / "experiments"


def count_instructions(
    commands: list[Command], chosen: list[Allocator], places: Places
) -> Measurement:
    """Callgrind's count of each command under each variant: exact, so one round is enough."""
    measurement = Measurement()
    with new_progress() as progress:
        task = progress.add_task("counting", total=len(commands) * len(chosen))
        try:
            for command, row in enumerate(commands):
                for index, allocator in enumerate(chosen):
                    try:
                        counted = counters.count_by_callgrind(row.argv, allocator)
                        figures: dict[str, Any] = {"callgrind_instructions": counted}
                    except LabError as error:
                        figures = {"failure": str(error)}
                        measurement.failed[command, index] = str(error)
                    counts = "failure" not in figures
                    measurement.runs.append(Run(command, index, 0, 0, False, counts, figures))
                    progress.advance(task)
        except KeyboardInterrupt:
            measurement.interrupted = True
    return measurement


def decide_by_counts(result: Result, smallest: float) -> list[decision.Decision]:
    """Counts have no spread: the interval is the count itself."""
    decisions = []
    for variant in range(1, len(result.names)):
        effects, failed = [], []
        for command, row in enumerate(result.commands):
            ours, base = (
                result.cell(command, index).values("callgrind_instructions")
                for index in (variant, 0)
            )
            if not ours or not base:
                failed.append(row["name"])
                continue
            gain = base[0] / ours[0] - 1
            effects.append(decision.Effect(row["name"], gain, gain, gain))
        decisions.append(decision.decide(result.names[variant], effects, failed, smallest))
    return decisions


def measure(
    asked: Experiment,
    chosen: list[Allocator],
    places: Places,
    raw: Path,
    repeats: int,
    timeout: float,
) -> Result:
    commands = asked.commands(places)
    more = {"experiment": {"file": asked.path.name, **asked.row}}
    if asked.metric == INSTRUCTIONS:
        measurement = count_instructions(commands, chosen, places)
        document = rawdata.document(
            "ab", [command.row() for command in commands], chosen, INSTRUCTIONS, Settings(runs=1),
            measurement, **more,
        )  # fmt: skip
        rawdata.write(raw, document)
        return Result(document)
    settings = runner.Settings(runs=asked.rounds, max_repeats=repeats)
    session = Session(
        "ab", commands, chosen, places, settings, raw, timeout, metric=asked.metric, more=more
    )
    return Result(session.run())


@click.command(name="ab")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--page/--no-page", default=True, show_default=True,
              help="Write docs/experiments/NAME.md, NAME being the file's.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path), help="Another file for the page.")
@click.option("--repeats", default=2, show_default=True, type=click.IntRange(min=0),
              help="How often a run is made again at most that other programs disturbed.")  # fmt: skip
@click.option("--timeout", default=300.0, show_default=True, type=click.FloatRange(min=0.1),
              help="Seconds a run.")  # fmt: skip
@click.option("--json", "raw", type=click.Path(path_type=Path, dir_okay=False),
              help="File for everything that was measured.")  # fmt: skip
@build_option
def ab_command(
    file: Path, page: bool, output: Path | None, repeats: int, timeout: float, raw: Path | None,
    build: str | None,
) -> None:  # fmt: skip
    """Settles an experiment: FILE says what is compared, on what, and what would matter.

    Variants are gates, options, builds or commits; the first one is what the others are held against.
    """
    asked = experiment.load(file)
    places = find_places(build)
    chosen = [variant.allocator(file.parent) for variant in asked.variants]
    raw = raw or new_file(places, f"ab-{asked.slug}")
    result = measure(asked, chosen, places, raw, repeats, timeout)
    if asked.metric == INSTRUCTIONS:
        decisions = decide_by_counts(result, asked.smallest_effect)
    else:
        decisions = decision.decide_all(result, asked.smallest_effect)
    table = new_table(
        f"gains over {result.names[0]}", "workload", *(row.variant for row in decisions)
    )
    for command in result.commands:
        gains = [
            next(
                (effect.text() for effect in row.effects if effect.workload == command["name"]),
                "failed",
            )
            for row in decisions
        ]
        table.add_row(command["name"], *gains)
    console.print(table)
    print_failures(console, result)
    console.print(f"raw data: {raw}", soft_wrap=True)
    if result.document["interrupted"]:
        console.print("interrupted: no verdict, no page; the raw data has what was measured")
        sys.exit(INTERRUPTED)
    if page:
        target = output or PAGES / f"{asked.slug}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(experiment_page.render(asked, result, decisions, raw))
        console.print(f"page: {target}", soft_wrap=True)
    for row in decisions:
        console.print(
            f"{row.verdict}: {row.variant}, {row.reason}", soft_wrap=True, highlight=False
        )


@click.command(name="regress")
@click.argument("base")
@click.option("--tolerance", default=0.02, show_default=True, type=click.FloatRange(0, 1),
              help="Share by which a count may grow.")  # fmt: skip
@click.option("-w", "--workload", "wanted", multiple=True, help="Repeatable [default: all].")
@build_option
def regress_command(
    base: str, tolerance: float, wanted: tuple[str, ...], build: str | None
) -> None:
    """Compares instruction counts with those of the commit BASE; status 1 if one has grown.

    Counted are instructions a malloc+free pair, the program's own among them, by callgrind: the same on
    every machine, so that a difference is one of the code and not of the run.
    """
    places = find_places(build)
    commit = builds.full_commit(base)
    now = from_library("now", places.hakmem, "now")
    before = from_library("before", builds.library(builds.Build(commit)), commit[:12])
    workloads = counters.select(counters.INSTRUCTION_WORKLOADS, list(wanted))
    table = new_table(
        "instructions a malloc+free pair", "workload", commit[:12], "now", "change", ""
    )
    grown = []
    with new_progress() as progress:
        task = progress.add_task("counting", total=2 * len(workloads))
        for workload in workloads:
            counts = []
            for allocator in (before, now):
                counts.append(counters.instructions_per_operation(workload, allocator, places))
                progress.advance(task)
            change = counts[1] / counts[0] - 1
            regressed = change > tolerance
            if regressed:
                grown.append(f"{workload.name} by {change:.1%}")
            table.add_row(workload.name, f"{counts[0]:.1f}", f"{counts[1]:.1f}", f"{change:+.1%}",
                          "REGRESSION" if regressed else "")  # fmt: skip
    console.print(table)
    if grown:
        raise LabError(f"more instructions than at {commit[:12]}: {', '.join(grown)}")
    console.print(f"no regression since {commit[:12]}")

"""hakmem lab: the workloads and suites, and reports of what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import allocators as registry
from . import benchmarks, results, runner, suite_table, workloads
from .cli import Group, build_option, console
from .compare_command import INTERRUPTED, new_file, split_names, write_page
from .comparison_table import comparison, print_failures
from .errors import LabError
from .places import Places, find_places
from .results import Result
from .session import Session
from .tables import new_table

QUICK_ROUNDS = 5


@click.group(
    name="lab", cls=Group,
    lazy={"ab": "ab_command:ab_command", "regress": "ab_command:regress_command"},
)  # fmt: skip
def lab_group() -> None:
    """Runs the workloads and suites, experiments, and reports of them."""


@lab_group.command(name="list")
def list_command() -> None:
    """Shows the workloads, and the suites that they belong to."""
    table = new_table("workloads", "name", "question", "suites")
    for workload in workloads.all_workloads().values():
        threads = " (threads)" if workload.has_threads else ""
        table.add_row(workload.name, workload.question + threads, ", ".join(workload.suites))
    console.print(table)


@lab_group.command(name="run")
@click.argument("names", nargs=-1, metavar="[WORKLOAD|SUITE]...")
@click.option("--with", "others", multiple=True, metavar="A,B",
              help="What HAKMEM is compared with [default: glibc and every peer that is built;"
              " with --quick: glibc].")  # fmt: skip
@click.option(
    "--quick", is_flag=True, help="Short runs; without names: the suite quick, in three minutes."
)
@click.option(
    "-n", "--runs", type=click.IntRange(min=1), help="Rounds [default: 10; with --quick: 5]."
)
@click.option("--threads", metavar="1,2,4|scale",
              help='Numbers of threads [default: 2]; "scale": from 1 to four times the processors.')  # fmt: skip
@click.option("--repeats", default=1, show_default=True, type=click.IntRange(min=0),
              help="How often a run is made again at most that other programs disturbed.")  # fmt: skip
@click.option("--timeout", default=120.0, show_default=True, type=click.FloatRange(min=0.1),
              help="Seconds a run.")  # fmt: skip
@click.option("--json", "raw", type=click.Path(path_type=Path, dir_okay=False),
              help="File for everything that was measured.")  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False),
              help="File for a page with tables and plots.")  # fmt: skip
@build_option
def run_command(
    names: tuple[str, ...], others: tuple[str, ...], quick: bool, runs: int | None,
    threads: str | None, repeats: int, timeout: float, raw: Path | None,
    html: Path | None, build: str | None,
) -> None:  # fmt: skip
    """Measures workloads under HAKMEM and other allocators, interleaved."""
    places = find_places(build)
    if not names and not quick:
        raise click.UsageError("which workload or suite? hakmem lab list shows them")
    chosen_workloads = workloads.select(list(names) or ["quick"])
    counts = workloads.thread_counts(threads)
    default = ["glibc"] if quick else ["peers"]
    chosen = registry.resolve_all(["hakmem", *(split_names(others) or default)], places)
    commands = [
        command
        for workload in chosen_workloads
        for command in workload.commands(places, counts, quick)
    ]
    rounds = runs or (QUICK_ROUNDS if quick else 10)
    session = Session(
        "lab", commands, chosen, places,
        runner.Settings(runs=rounds, max_repeats=0 if quick else repeats),
        raw or new_file(places, "lab"), timeout, more={"quick": quick},
    )  # fmt: skip
    result = Result(session.run())
    if not any(cell.by_round for cell in result.cells.values()):
        raise LabError(
            "nothing could be measured: every workload failed, or was interrupted at once"
        )
    failed = show(result)
    console.print(f"raw data: {session.save_to}", soft_wrap=True)
    write_page(result, html)
    if result.document["interrupted"]:
        console.print("interrupted: the figures are of the runs that were made until then")
    console.print(suite_table.sentence(result), soft_wrap=True, highlight=False)
    if result.document["interrupted"]:
        sys.exit(INTERRUPTED)
    sys.exit(1 if failed else 0)


def show(result: Result) -> bool:
    """The tables of a result; whether something in it failed."""
    if len(result.commands) == 1:
        console.print(comparison(result, 0))
    else:
        console.print(suite_table.suite(result))
        console.print(suite_table.memory(result))
    return print_failures(console, result)


def latest(places: Places) -> Path:
    found = sorted(places.runs_folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in reversed(found):
        try:
            results.load(path)
        except LabError:
            continue
        return path
    raise LabError(f"there is no result in {places.runs_folder}; hakmem lab run makes one")


@lab_group.command(name="report")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False),
              help="File for a page with tables and plots.")  # fmt: skip
@click.option("--markdown", type=click.Path(path_type=Path, dir_okay=False),
              help="File for a page of the tree, as docs/benchmarks.md.")  # fmt: skip
@build_option
def report_command(
    file: Path | None, html: Path | None, markdown: Path | None, build: str | None
) -> None:
    """Shows a result again: FILE, or the last one that was measured."""
    result = results.load(file or latest(find_places(build)))
    show(result)
    write_page(result, html)
    if markdown is not None:
        benchmarks.write(result, markdown)
        console.print(f"page: {markdown}", soft_wrap=True)
    console.print(suite_table.sentence(result), soft_wrap=True, highlight=False)

"""hakmem compare: any program under every allocator that is there."""

from __future__ import annotations

import datetime
import shlex
import sys
from pathlib import Path

import click

from . import allocators as registry
from . import preload, runner, verdict
from .cli import build_option, console
from .comparison_table import comparison, print_failures
from .errors import LabError
from .places import Places, find_places
from .results import Result
from .session import Command, Session

INTERRUPTED = 130


def split_names(texts: tuple[str, ...]) -> list[str]:
    return [name for text in texts for name in text.split(",") if name]


def new_file(places: Places, kind: str) -> Path:
    """A name for raw data, below the build folder or, without one to write to, in the user's cache."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S-%f")[:-3]
    return places.runs_folder / f"{kind}-{now}.json"


def write_page(result: Result, html: Path | None) -> None:
    if html is not None:
        from . import page  # matplotlib is loaded only where something is drawn

        page.write(result, html)
        console.print(f"page: {html}", soft_wrap=True)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--with", "names", multiple=True, metavar="A,B",
              help="What HAKMEM is compared with: glibc, a peer, NAME=LIBRARY, a path"
              " [default: glibc and every peer that is built].")  # fmt: skip
@click.option("-n", "--runs", default=10, show_default=True, type=click.IntRange(min=1),
              help="Rounds; each runs the program once under each allocator.")  # fmt: skip
@click.option("--repeats", default=1, show_default=True, type=click.IntRange(min=0),
              help="How often a run is made again at most that other programs disturbed.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds a run.")
@click.option("--instructions", is_flag=True, help="Count instructions too, by callgrind (slow).")
@click.option("--details/--no-details", default=True, show_default=True,
              help="One more run each for system calls and hardware counters.")  # fmt: skip
@click.option("--json", "raw", type=click.Path(path_type=Path, dir_okay=False),
              help="File for everything that was measured.")  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False),
              help="File for a page with tables and plots.")  # fmt: skip
@build_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def compare(
    names: tuple[str, ...], runs: int, repeats: int, timeout: float | None, instructions: bool,
    details: bool, raw: Path | None, html: Path | None, build: str | None,
    command: tuple[str, ...],
) -> None:  # fmt: skip
    """Compares allocators on COMMAND: hakmem compare [OPTIONS] -- PROGRAM [ARGUMENT]...

    The program runs under each allocator in turn, in another order each round, with nothing on its
    standard input; what it prints is dropped. Ctrl-C ends the comparison with what has been measured.

    Status 1: a program failed under one of the allocators; 130: interrupted.
    """
    places = find_places(build)
    chosen = registry.resolve_all(["hakmem", *(split_names(names) or ["peers"])], places)
    program = places.program(command[0]) if "/" not in command[0] else command[0]
    preload.check(preload.find_program(program), places.hakmem)
    session = Session(
        "compare",
        [Command(shlex.join(command), [program, *command[1:]])],
        chosen, places, runner.Settings(runs=runs, max_repeats=repeats),
        raw or new_file(places, "compare"), timeout,
        with_details=details, with_instructions=instructions,
    )  # fmt: skip
    result = Result(session.run())
    if not any(cell.by_round for cell in result.cells.values()):
        reason = (
            result.document["failures"][0]["failure"]
            if result.document["failures"]
            else "interrupted"
        )
        raise LabError(f"nothing could be measured: {command[0]} {reason}")
    console.print(comparison(result, 0))
    failed = print_failures(console, result)
    console.print(f"raw data: {session.save_to}", soft_wrap=True)
    write_page(result, html)
    if result.document["interrupted"]:
        console.print("interrupted: the figures are of the runs that were made until then")
    console.print(verdict.judge(result).text, soft_wrap=True, highlight=False)
    if result.document["interrupted"]:
        sys.exit(INTERRUPTED)
    sys.exit(1 if failed else 0)

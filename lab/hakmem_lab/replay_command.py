"""hakmem replay and hakmem trace: what a trace holds, and how allocators do on it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click
from rich.table import Table

from . import allocators as registry
from . import runner, traces, verdict
from .cli import Group, build_option, console
from .compare_command import INTERRUPTED, new_file, split_names, write_page
from .comparison_table import comparison, print_failures
from .errors import LabError
from .places import find_places
from .results import Result
from .session import Command, Session
from .tables import new_table
from .traces import Facts

BAR = 40  # characters
ENOUGH_OPERATIONS, MOST_TIMES = 30_000_000, 1000


def times_of(operations: int) -> int:
    """A run of a short trace repeats it, so that there is something to time."""
    return max(1, min(MOST_TIMES, ENOUGH_OPERATIONS // max(operations, 1)))


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--with", "names", multiple=True, metavar="A,B",
              help="What HAKMEM is compared with [default: glibc and every peer that is built].")  # fmt: skip
@click.option(
    "-n", "--runs", default=10, show_default=True, type=click.IntRange(min=1), help="Rounds."
)
@click.option("--repeats", default=1, show_default=True, type=click.IntRange(min=0),
              help="How often a run is made again at most that other programs disturbed.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds a run.")
@click.option("--json", "raw", type=click.Path(path_type=Path, dir_okay=False),
              help="File for everything that was measured.")  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False),
              help="File for a page with tables and plots.")  # fmt: skip
@build_option
def replay(
    trace: Path, names: tuple[str, ...], runs: int, repeats: int, timeout: float | None,
    raw: Path | None, html: Path | None, build: str | None,
) -> None:  # fmt: skip
    """Replays TRACE with its threads and its cross-thread frees on each allocator.

    Memory is private memory: the blocks and the allocator's own, without the replayer's tables.
    """
    places = find_places(build)
    chosen = registry.resolve_all(["hakmem", *(split_names(names) or ["peers"])], places)
    with tempfile.TemporaryDirectory(prefix="hakmem-replay-") as folder:
        steps = Path(folder) / "steps"
        plain = traces.unpacked(trace, Path(folder))
        traces.prepare(plain, steps, places)
        times = times_of(traces.facts(plain, places).operations)
        session = Session(
            "replay", [Command(f"replay of {trace.name}", [str(places.replayer), "run", str(steps), str(times)])],
            chosen, places, runner.Settings(runs=runs, max_repeats=repeats),
            raw or new_file(places, "replay"), timeout, private_memory=True,
        )  # fmt: skip
        result = Result(session.run())
    if not any(cell.by_round for cell in result.cells.values()):
        reason = (
            result.document["failures"][0]["failure"]
            if result.document["failures"]
            else "interrupted"
        )
        raise LabError(f"nothing could be measured: the replay {reason}")
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


@click.group(name="trace", cls=Group)
def trace_group() -> None:
    """Shows what a trace holds."""


def amount(power: int) -> str:
    """2 to that power, as people write it."""
    for unit in ("", " Ki", " Mi", " Gi"):
        if power < 10:
            return f"{1 << power}{unit}"
        power -= 10
    return f"{1 << power} Ti"


def histogram(title: str, heading: str, counts: list[int], unit: str) -> Table:
    """A row for each power of two from the first to the last that occurs."""
    table = new_table(title, heading, "blocks", "share", "")
    table.columns[3].justify = "left"
    total = sum(counts)
    used = [power for power, count in enumerate(counts) if count]
    for power in range(used[0], used[-1] + 1) if used else []:
        share = counts[power] / total
        bar = "█" * round(share * BAR)
        table.add_row(f"to {amount(power)}{unit}", f"{counts[power]:,}", f"{share:.1%}", bar)
    return table


def summary(facts: Facts, name: str) -> Table:
    row = facts.row
    table = new_table(name, "", "")
    table.show_header = False
    rows = {
        "program": row["program"],
        "state": facts.state,
        "threads": f"{row['threads']:,}",
        "duration": f"{row['nanoseconds'] / 1e9:.2f} s",
        **{kind: f"{count:,}" for kind, count in row["operations"].items()},
        "freed by another thread": f"{row['cross_thread_frees']:,} ({facts.cross_thread_share:.1%})",
        "frees of blocks from before": f"{row['unknown_frees']:,}",
        "allocated": f"{row['allocated_bytes'] / 2**20:,.1f} MiB",
        "most alive at once": f"{row['peak_live_bytes'] / 2**20:,.2f} MiB in at most"
                              f" {row['peak_live_blocks']:,} blocks",
        "alive at the end": f"{row['end_live_bytes'] / 2**20:,.2f} MiB in {row['end_live_blocks']:,} blocks",
    }  # fmt: skip
    for label, value in rows.items():
        table.add_row(label, value)
    return table


@trace_group.command(name="info")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="File for a page with plots."
)
@build_option
def info(trace: Path, html: Path | None, build: str | None) -> None:
    """Sizes, lifetimes, and the share of frees in other threads than the block's own."""
    places = find_places(build)
    with tempfile.TemporaryDirectory(prefix="hakmem-trace-") as folder:
        facts = traces.facts(traces.unpacked(trace, Path(folder)), places)
    console.print(summary(facts, trace.name))
    console.print(histogram("sizes", "bytes", facts.row["sizes"], ""))
    console.print(histogram("lifetimes, in allocations made meanwhile", "allocations",
                            facts.row["lifetimes"], ""))  # fmt: skip
    if html is not None:
        from . import trace_page  # matplotlib is loaded only where something is drawn

        trace_page.write(facts, trace.name, html)
        console.print(f"page: {html}", soft_wrap=True)

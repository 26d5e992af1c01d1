"""Prints what was measured or counted as terminal tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .allocators import Allocator
from .counters import SteadyState
from .golden import Difference
from .metrics import Metric
from .runner import Measurement
from .statistics import ratio_interval, summarize


def new_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def print_measurement(
    console: Console,
    command: int,
    title: str,
    allocators: list[Allocator],
    base: int,
    metric: Metric,
    measurement: Measurement,
) -> None:
    """One command: a row an allocator, best median first."""
    better = "higher" if metric.higher_is_better else "lower"
    unit = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
    table = new_table(
        f"{title}\n{unit}, {better} is better; the ratio is to {allocators[base].name}",
        "allocator", "median", "best", "quartiles/median", "ratio", "95 % interval",
        "peak RSS KiB", "faults", "runs", "disturbed",
    )  # fmt: skip
    columns = {
        index: measurement.values((command, index), metric.key) for index in range(len(allocators))
    }
    ranked = sorted(
        columns, key=lambda index: summarize(columns[index]).median, reverse=metric.higher_is_better
    )
    for index in ranked:
        values = columns[index]
        summary = summarize(values)
        if index == base:
            ratio, interval = "1", ""
        elif min(columns[base]) <= 0:
            ratio, interval = "-", "-"
        else:
            result = ratio_interval(values, columns[base])
            ratio = f"{result.value:.3f}"
            interval = f"{result.low:.3f} … {result.high:.3f}"
        table.add_row(
            allocators[index].name,
            metric.show(summary.median),
            metric.show(metric.best(values)),
            f"{summary.spread:.1%}",
            ratio,
            interval,
            f"{summarize(measurement.values((command, index), 'peak_rss_kib')).median:,.0f}",
            f"{summarize(measurement.values((command, index), 'minor_faults')).median:,.0f}",
            str(summary.count),
            str(measurement.still_disturbed((command, index))),
        )
    console.print(table)


def print_instructions(
    console: Console,
    workloads: list[str],
    chosen: list[Allocator],
    counts: dict[str, dict[str, float]],
    nothing: dict[str, float],
) -> None:
    """Rows are allocators, columns workloads; counts are beyond the do-nothing allocator."""
    table = new_table("instructions a malloc+free pair, beyond nothing", "allocator", *workloads)
    for name_of_row, row in counts.items():
        table.add_row(name_of_row, *(f"{row[name]:.1f}" for name in workloads))
    table.add_section()
    own = (f"{nothing[name]:.1f}" for name in workloads)
    table.add_row("(nothing, with the program's own)", *own, style="dim")
    console.print(table)
    for allocator in chosen:
        if allocator.count_note:
            console.print(f"{allocator.name}: {allocator.count_note}")


def print_steady_state(console: Console, rows: list[tuple[str, str, SteadyState]]) -> None:
    table = new_table(
        "in steady state: the longer run beyond the shorter one",
        "workload", "allocator", "operations", "system calls", "minor faults", "major faults",
        "which calls",
    )  # fmt: skip
    for workload, allocator, state in rows:
        calls = state.allocator_calls
        table.add_row(
            workload,
            allocator,
            f"{state.operations:,.0f}",
            f"{sum(calls.values()):,}",
            f"{state.minor_faults:,}",
            f"{state.major_faults:,}",
            ", ".join(f"{name} {count:+,}" for name, count in calls.items()) or "none",
        )
    console.print(table)


def print_golden(console: Console, differences: list[Difference]) -> None:
    table = new_table("instruction counts", "workload", "golden", "counted", "difference", "")
    for row in differences:
        golden = "-" if row.golden is None else f"{row.golden:.1f}"
        counted = "-" if row.counted is None else f"{row.counted:.1f}"
        change = "-"
        if row.golden is not None and row.counted is not None:
            change = f"{row.counted - row.golden:+.1f}"
        table.add_row(row.workload, golden, counted, change, "" if row.holds else "DIFFERS")
    console.print(table)

"""The table of one command of a result: a row an allocator, the fastest first."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .metrics import Metric
from .results import Result
from .statistics import summarize
from .tables import new_table

# Details in the order of their columns: key and heading.
DETAILS = {
    "system_calls": "system calls",
    "instructions": "instructions",
    "cycles": "cycles",
    "cache_misses": "cache misses",
    "branch_misses": "branch misses",
    "callgrind_instructions": "callgrind instructions",
}


def order(result: Result, command: int) -> list[int]:
    """The allocators, best median first; those without one at the end."""
    metric = result.metric(command)

    def rank(index: int) -> tuple[bool, float]:
        values = result.cell(command, index).values(metric.key)
        if not values:
            return True, 0.0
        median = summarize(values).median
        return False, -median if metric.higher_is_better else median

    return sorted(range(len(result.names)), key=rank)


def ratio_text(result: Result, command: int, index: int, base: int, metric: Metric) -> list[str]:
    if index == base:
        return ["1", ""]
    found = result.ratio(command, index, base, metric.key)
    if found is None:
        return ["-", "-"]
    ratio = found[0]
    if ratio.low == 0:
        return [f"{ratio.value:.3f}", "-"]
    return [f"{ratio.value:.3f}", f"{ratio.low:.3f} … {ratio.high:.3f}"]


def median_text(values: list[float], form: str) -> str:
    return format(summarize(values).median, form) if values else "-"


def comparison(result: Result, command: int, base: int = 0) -> Table:
    metric = result.metric(command)
    detail_keys = [
        key for key in DETAILS
        if any(key in result.detail(command, index) for index in range(len(result.names)))
    ]  # fmt: skip
    unit = f" {metric.unit}" if metric.unit else ""
    headings = [f"{metric.name}{unit}", "ratio", "95 % interval"]
    if metric.name != "time":
        headings.append("wall s")
    headings += ["CPU s", "peak RSS MiB", "ratio", "faults", "switches"]
    headings += [DETAILS[key] for key in detail_keys]
    better = "higher" if metric.higher_is_better else "lower"
    table = new_table(
        f"{result.commands[command]['name']}\n{metric.name}: {better} is better; ratios are to"
        f" {result.names[base]}",
        "allocator", *headings, "runs",
    )  # fmt: skip
    for index in order(result, command):
        cell = result.cell(command, index)
        if not cell.by_round:
            table.add_row(result.names[index], cell.failure or "not run", style="red")
            continue
        row = [median_text(cell.values(metric.key), ".3f")]
        row += ratio_text(result, command, index, base, metric)
        if metric.name != "time":
            row.append(median_text(cell.values("wall_s"), ".3f"))
        row.append(median_text(cell.values("cpu_s"), ".3f"))
        row.append(median_text([kib / 1024 for kib in cell.values("peak_rss_kib")], ".1f"))
        memory = result.ratio(command, index, base, "peak_rss_kib")
        row.append("1" if index == base else f"{memory[0].value:.3f}" if memory else "-")
        row.append(median_text(cell.values("minor_faults"), ",.0f"))
        row.append(median_text(cell.values("switches"), ",.0f"))
        counted = result.detail(command, index)
        row += [f"{counted[key]:,}" if key in counted else "-" for key in detail_keys]
        table.add_row(result.names[index], *row, str(len(cell.by_round)))
    return table


def print_failures(console: Console, result: Result) -> bool:
    """A line for each; whether there was one."""
    for row in result.document["failures"]:
        console.print(
            f"{result.names[row['allocator']]} failed on {result.commands[row['command']]['name']}:"
            f" {row['failure']}",
            style="red", soft_wrap=True, markup=False,
        )  # fmt: skip
    return bool(result.document["failures"])

"""Tables of many workloads at once: a row a workload, a column an allocator; and their sum."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from . import verdict
from .metrics import METRICS, Metric
from .results import Result
from .statistics import summarize
from .tables import new_table


def cell_text(result: Result, command: int, index: int, metric: Metric) -> str:
    """The median, and for all but the first its ratio; marked where the interval excludes 1."""
    cell = result.cell(command, index)
    values = cell.values(metric.key)
    if not values:
        return "[red]failed[/]" if cell.failure else "-"
    text = metric.show(summarize(values).median)
    found = result.ratio(command, index, 0, metric.key)
    if index == 0 or found is None:
        return text
    ratio = found[0]
    if ratio.low <= 1 <= ratio.high:
        return f"{text} [dim]×{ratio.value:.2f}[/]"
    better = (ratio.value > 1) == metric.higher_is_better
    return f"{text} [{'red' if better else 'green'}]×{ratio.value:.2f}[/]"


def suite(result: Result) -> Table:
    table = new_table(
        f"throughput in M ops/s; × is the ratio to {result.names[0]}, coloured where the 95 %"
        f" interval excludes 1: green where {result.names[0]} is better",
        "workload", *result.names,
    )  # fmt: skip
    for command, row in enumerate(result.commands):
        metric = result.metric(command)
        unit = "" if metric.name == "throughput" else f" ({metric.name}, {metric.unit})"
        table.add_row(
            row["name"] + unit,
            *(cell_text(result, command, index, metric) for index in range(len(result.names))),
        )
    return table


def memory(result: Result) -> Table:
    metric = METRICS["rss"]
    table = new_table(
        f"peak RSS in KiB; × is the ratio to {result.names[0]}", "workload", *result.names
    )
    for command, row in enumerate(result.commands):
        cells = (cell_text(result, command, index, metric) for index in range(len(result.names)))
        table.add_row(row["name"], *cells)
    return table


def geometric_mean(
    result: Result, other: int, key: str, metric: Metric | None = None
) -> float | None:
    """Of the first allocator's figures over the other's, over the workloads that both finished."""
    logs = []
    for command in range(len(result.commands)):
        if metric is not None and result.metric(command) is not metric:
            continue
        found = result.ratio(command, 0, other, key)
        if found is not None:
            logs.append(np.log(found[0].value))
    return float(np.exp(np.mean(logs))) if logs else None


def sentence(result: Result) -> str:
    """What a suite comes to, in one line."""
    judged = [verdict.judge(result, command) for command in range(len(result.commands))]
    if len(judged) == 1:
        return judged[0].text
    number = {
        kind: sum(row.kind == kind for row in judged) for kind in ("faster", "slower", "equal")
    }
    text = (
        f"{result.titles[0]} against the best of the others: better in {number['faster']}, worse in"
        f" {number['slower']}, no difference found in {number['equal']} of {len(judged)} workloads"
    )
    undecided = len(judged) - sum(number.values())
    if undecided:
        text += f", no verdict on {undecided}"
    means = []
    throughput = METRICS["throughput"]
    for other in range(1, len(result.names)):
        mean = geometric_mean(result, other, throughput.key, throughput)
        if mean is not None:
            means.append(f"{mean:.2f} of {result.names[other]}")
    if means:
        text += f"; geometric mean of its throughput: {', '.join(means)}"
    return text

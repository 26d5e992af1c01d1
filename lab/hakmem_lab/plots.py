"""The plots of a result, each as SVG text that follows the page's colours and width."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("svg")  # no display is needed, and none is looked for

from matplotlib import pyplot
from matplotlib.axes import Axes

from .metrics import METRICS
from .results import Result
from .statistics import median_interval, summarize

# Of one width, so that text has the same size in all of them: about that of the page on a phone.
WIDTH = 4.6  # inches
# Stands for the page's own colour of text, which matplotlib cannot name.
INK = "#010203"
# Distinct for colour-blind readers (Okabe and Ito), with enough contrast on white and on black.
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f",
           "#a6761d", "#b2182b"]  # fmt: skip
STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def draw(name: str, height: float, fill: Callable[[Axes], None]) -> str:
    """An SVG whose identifiers begin with the name, so that many may stand in one page."""
    with pyplot.rc_context({**STYLE, "svg.hashsalt": name}):
        figure, axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")
        fill(axes)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        pyplot.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 role="img"', svg, count=1)
    return svg.replace(INK, "currentColor")


def bars(result: Result, command: int, name: str) -> str | None:
    """A bar an allocator, the first one on top, with the 95 % interval of its median."""
    metric = result.metric(command)
    rows = [
        (index, values)
        for index in range(len(result.names))
        if (values := result.cell(command, index).values(metric.key))
    ]
    if not rows:
        return None

    def fill(axes: Axes) -> None:
        for place, (index, values) in enumerate(reversed(rows)):
            median = summarize(values).median
            axes.barh(place, median, color=colour(index), height=0.7)
            interval = median_interval(values)
            if interval is not None:
                reach = [[median - interval[0]], [interval[1] - median]]
                axes.errorbar(median, place, xerr=reach, color=INK, capsize=3, linewidth=1)
        axes.set_yticks(range(len(rows)), [result.names[index] for index, _ in reversed(rows)])
        better = "higher" if metric.higher_is_better else "lower"
        axes.set_xlabel(
            f"{metric.name}{f', {metric.unit}' if metric.unit else ''} ({better} is better)"
        )

    return draw(name, 0.8 + 0.26 * len(rows), fill)


def memory(result: Result, command: int, name: str) -> str | None:
    """Resident memory over time, a line an allocator."""
    lines = [
        (index, line)
        for index in range(len(result.names))
        if (line := result.timeline(command, index)) and len(line["seconds"]) > 1
    ]
    if not lines:
        return None

    def fill(axes: Axes) -> None:
        for index, line in lines:
            mib = [kib / 1024 for kib in line["kib"]]
            axes.plot(line["seconds"], mib, color=colour(index), label=result.names[index],
                      linewidth=2.2 if index == 0 else 1.2)  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("seconds")
        axes.set_ylabel("resident, MiB")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))

    return draw(name, 3.0, fill)


def series(result: Result, commands: list[int], axis: str) -> dict[int, list[tuple[float, float]]]:
    """By allocator: throughput over an axis of the workload."""
    key = METRICS["throughput"].key
    found: dict[int, list[tuple[float, float]]] = {}
    for index in range(len(result.names)):
        for command in commands:
            values = result.cell(command, index).values(key)
            if values:
                at = float(result.commands[command]["axes"][axis])
                found.setdefault(index, []).append((at, summarize(values).median))
    return {index: sorted(points) for index, points in found.items()}


def lines_over(
    result: Result, commands: list[int], axis: str, name: str, label: str, cost: bool
) -> str | None:
    found = series(result, commands, axis)
    if not found:
        return None

    def fill(axes: Axes) -> None:
        for index, points in found.items():
            places = [at for at, _ in points]
            heights = [1000 / value if cost else value for _, value in points]
            axes.plot(places, heights, marker="o", markersize=3, color=colour(index),
                      label=result.names[index], linewidth=2.2 if index == 0 else 1.2)  # fmt: skip
        axes.set_xscale("log", base=2)
        ticks = sorted({at for points in found.values() for at, _ in points})
        axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel(label)
        axes.set_ylabel("ns an operation" if cost else "M ops/s")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))

    return draw(name, 3.2, fill)


def groups(result: Result, axis: str) -> dict[str, list[int]]:
    """By workload: the commands that differ along an axis, at least two of them."""
    found: dict[str, list[int]] = {}
    for command, row in enumerate(result.commands):
        axes: dict[str, Any] = row.get("axes", {})
        if axis in axes:
            found.setdefault(axes["workload"], []).append(command)
    return {name: commands for name, commands in found.items() if len(commands) > 1}


def scaling(result: Result, commands: list[int], name: str) -> str | None:
    return lines_over(result, commands, "threads", name, "threads", cost=False)


def working_set(result: Result, name: str) -> str | None:
    """What a step costs by the number of slots, on a logarithmic axis."""
    commands = [
        command for command, row in enumerate(result.commands) if "set" in row.get("axes", {})
    ]
    if len(commands) < 2:
        return None
    return lines_over(result, commands, "set", name, "working set, slots", cost=True)

"""docs/benchmarks.md: a result of the suites as a page of the tree."""

from __future__ import annotations

from pathlib import Path

import jinja2

from . import suite_table
from .metrics import METRICS, Metric
from .results import Result
from .statistics import summarize


def cell(result: Result, command: int, index: int, metric: Metric) -> str:
    found = result.cell(command, index)
    values = found.values(metric.key)
    if not values:
        return "failed" if found.failure else "–"
    text = metric.show(summarize(values).median)
    ratio = result.ratio(command, index, 0, metric.key) if index else None
    if ratio is None:
        return text
    low, high = ratio[0].low, ratio[0].high
    shown = f"({ratio[0].value:.2f})"
    return f"{text} {shown if low <= 1 <= high else f'**{shown}**'}"


def rows(result: Result, metric: Metric | None) -> list[list[str]]:
    """A row a workload; without a metric each by its own."""
    made = []
    for command, row in enumerate(result.commands):
        own = metric or result.metric(command)
        name = row["name"] if metric or own.name == "throughput" else f"{row['name']} ({own.name})"
        cells = [cell(result, command, index, own) for index in range(len(result.names))]
        made.append([name, *cells])
    return made


def commands_to_repeat(result: Result) -> list[str]:
    """As few as the numbers of threads allow."""
    by_threads: dict[str, list[str]] = {}
    for row in result.commands:
        axes = row.get("axes", {})
        name = axes.get("workload")
        if name is not None:
            by_threads.setdefault(name, []).append(str(axes.get("threads", "")))
    grouped: dict[str, list[str]] = {}
    for name, threads in by_threads.items():
        grouped.setdefault(",".join(number for number in threads if number), []).append(name)
    others = ",".join(result.names[1:])
    rounds = result.document["settings"]["runs"]
    quick = " --quick" if result.document.get("quick") else ""
    return [
        f"./hakmem lab run{quick} -n {rounds} --with {others}"
        f"{f' --threads {threads}' if threads else ''} \\\n    {' '.join(names)}"
        for threads, names in grouped.items()
    ]


def render(result: Result) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "hakmem_lab", "."),
        keep_trailing_newline=True, autoescape=False, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    document = result.document
    tables = [
        {"title": "Speed", "rows": rows(result, None),
         "note": "Million operations a second, more is better, where no other metric is named."},
        {"title": "Memory", "rows": rows(result, METRICS["rss"]),
         "note": "Peak RSS in KiB, less is better."},
    ]  # fmt: skip
    failures = [
        f"{result.names[row['allocator']]} on {result.commands[row['command']]['name']}: {row['failure']}"
        for row in document["failures"]
    ]
    return environment.get_template("benchmarks.md.j2").render(
        sentence=suite_table.sentence(result), machine=document["machine"], commit=document["commit"],
        time=document["time"], settings=document["settings"], interrupted=document["interrupted"],
        names=result.names, titles=result.titles, tables=tables, failures=failures,
        repeat=commands_to_repeat(result),
    )  # fmt: skip


def write(result: Result, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(result), encoding="utf-8")

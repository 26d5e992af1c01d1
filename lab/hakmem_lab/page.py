"""One self-contained HTML page of a result: tables and plots, nothing loaded from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import plots, suite_table, verdict
from .comparison_table import DETAILS, order
from .results import Result
from .statistics import summarize


@dataclass(frozen=True)
class Figure:
    """A plot with the words beside it."""

    caption: str
    svg: Markup


def figure(caption: str, svg: str | None) -> list[Figure]:
    # Safe: matplotlib has escaped what came from the result.
    return [Figure(caption, Markup(svg))] if svg else []  # noqa: S704


def median(values: list[float], form: str) -> str:
    return format(summarize(values).median, form) if values else "–"


def table_row(result: Result, command: int, index: int) -> dict[str, Any]:
    metric = result.metric(command)
    cell = result.cell(command, index)
    if not cell.by_round:
        return {"name": result.titles[index], "failure": cell.failure or "not run"}
    found = result.ratio(command, index, 0, metric.key) if index else None
    detail = result.detail(command, index)
    return {
        "name": result.titles[index],
        "failure": cell.failure,
        "value": metric.show(summarize(cell.values(metric.key)).median),
        "ratio": f"{found[0].value:.3f}" if found else "1" if index == 0 else "–",
        "interval": f"{found[0].low:.3f} … {found[0].high:.3f}" if found and found[0].low else "",
        "cells": [
            median(cell.values("wall_s"), ".3f"),
            median(cell.values("cpu_s"), ".3f"),
            median([kib / 1024 for kib in cell.values("peak_rss_kib")], ".1f"),
            median(cell.values("minor_faults"), ",.0f"),
            median(cell.values("switches"), ",.0f"),
            *(f"{detail[key]:,}" if key in detail else "–" for key in detail_keys(result, command)),
            str(len(cell.by_round)),
        ],
    }


def detail_keys(result: Result, command: int) -> list[str]:
    indexes = range(len(result.names))
    return [
        key for key in DETAILS if any(key in result.detail(command, index) for index in indexes)
    ]


def sections(result: Result) -> list[dict[str, Any]]:
    found = []
    for command, row in enumerate(result.commands):
        metric = result.metric(command)
        found.append({
            "id": f"command-{command}",
            "name": row["name"],
            "verdict": verdict.judge(result, command).text,
            "metric": f"{metric.name}{f', {metric.unit}' if metric.unit else ''}",
            "headings": ["wall, s", "CPU, s", "peak RSS, MiB", "faults", "switches",
                         *(DETAILS[key] for key in detail_keys(result, command)), "runs"],
            "rows": [table_row(result, command, index) for index in order(result, command)],
            "figures": figure(f"{metric.name}, with the 95 % interval of the median",
                              plots.bars(result, command, f"bars{command}"))
            + figure("resident memory over time", plots.memory(result, command, f"memory{command}")),
        })  # fmt: skip
    return found


def overview(result: Result) -> list[Figure]:
    """What is about several commands at once."""
    found = figure("cost of a step by working set", plots.working_set(result, "sets"))
    for number, (name, commands) in enumerate(plots.groups(result, "threads").items()):
        found += figure(
            f"{name}: scaling by threads", plots.scaling(result, commands, f"scale{number}")
        )
    return found


def render(result: Result) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "hakmem_lab", "."),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(
        sentence=suite_table.sentence(result),
        document=result.document,
        titles=result.titles,
        sections=sections(result),
        overview=overview(result),
    )


def write(result: Result, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(result), encoding="utf-8")

"""The page of an experiment under docs/experiments/."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jinja2

from .decision import Decision
from .experiment import Experiment
from .places import TREE
from .results import Result
from .statistics import summarize
from .verdict import percent


def rows_of(result: Result, command: int, decisions: list[Decision]) -> list[dict[str, Any]]:
    metric = result.metric(command)
    rows = []
    for index, name in enumerate(result.names):
        cell = result.cell(command, index)
        values = cell.values(metric.key)
        gain = "" if index == 0 else "failed"
        if index > 0:
            for effect in decisions[index - 1].effects:
                if effect.workload == result.commands[command]["name"]:
                    gain = effect.text()
        median = metric.show(summarize(values).median) if values else cell.failure or "-"
        rows.append({"variant": name, "median": median, "gain": gain, "runs": len(values)})
    return rows


def in_tree(path: Path) -> str:
    """As it is called in the tree: a page must not name a path of one machine."""
    return os.path.relpath(path, TREE) if path.resolve().is_relative_to(TREE) else path.name


def render(experiment: Experiment, result: Result, decisions: list[Decision], raw: Path) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "hakmem_lab", "."),
        keep_trailing_newline=True, autoescape=False, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    commands = []
    for index, command in enumerate(result.commands):
        metric = result.metric(index)
        unit = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
        rows = rows_of(result, index, decisions)
        commands.append({"name": command["name"], "unit": unit, "rows": rows})
    return environment.get_template("experiment_page.md.j2").render(
        title=experiment.row["title"],
        hypothesis=experiment.row["hypothesis"],
        decisions=decisions,
        smallest=percent(experiment.smallest_effect),
        commands=commands,
        variants=[{"name": row.name, "what": row.describe()} for row in experiment.variants],
        machine=result.document["machine"],
        commit=result.document["commit"],
        file=in_tree(experiment.path),
        raw=in_tree(raw),
    )

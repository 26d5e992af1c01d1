"""A result document, as rawdata.py writes it, and what tables, pages and verdicts ask of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import rawdata
from .errors import LabError
from .metrics import METRICS, Metric
from .statistics import Ratio, paired_ratio


@dataclass(frozen=True)
class Cell:
    """One command under one allocator: the counting runs by round, and what became of it."""

    by_round: dict[int, dict[str, Any]]
    failure: str | None

    def values(self, key: str) -> list[float]:
        return [
            float(row[key]) for _, row in sorted(self.by_round.items()) if row.get(key) is not None
        ]


class Result:
    """A document with its runs sorted into cells."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.names = [row["name"] for row in document["allocators"]]
        self.titles = [row["title"] for row in document["allocators"]]
        self.commands: list[dict[str, Any]] = document["commands"]
        runs: dict[tuple[int, int], dict[int, dict[str, Any]]] = {}
        for run in document["runs"]:
            if run["counts"]:
                runs.setdefault((run["command"], run["allocator"]), {})[run["round"]] = run[
                    "figures"
                ]
        failures = {
            (row["command"], row["allocator"]): row["failure"] for row in document["failures"]
        }
        self.cells = {
            (command, allocator): Cell(
                runs.get((command, allocator), {}), failures.get((command, allocator))
            )
            for command in range(len(self.commands))
            for allocator in range(len(self.names))
        }

    def cell(self, command: int, allocator: int) -> Cell:
        return self.cells[command, allocator]

    def detail(self, command: int, allocator: int) -> dict[str, Any]:
        for row in self.document["details"]:
            if (row["command"], row["allocator"]) == (command, allocator):
                figures: dict[str, Any] = row["figures"]
                return figures
        return {}

    def timeline(self, command: int, allocator: int) -> dict[str, list[float]] | None:
        for row in self.document["timelines"]:
            if (row["command"], row["allocator"]) == (command, allocator):
                found: dict[str, list[float]] = row
                return found
        return None

    def metric(self, command: int) -> Metric:
        """The one that the workload or the document names; else throughput if it is printed, else time."""
        chosen = self.commands[command].get("axes", {}).get("metric", self.document["metric"])
        if chosen != "auto":
            return METRICS[chosen]
        finished = [cell for key, cell in self.cells.items() if key[0] == command and cell.by_round]
        if finished and all(cell.values("throughput") for cell in finished):
            return METRICS["throughput"]
        return METRICS["time"]

    def ratio(
        self, command: int, allocator: int, base: int, key: str, confidence: float = 0.95
    ) -> tuple[Ratio, int] | None:
        """The allocator's figures over the base's, of the rounds that both have, and their number."""
        ours, theirs = (self.cell(command, index).by_round for index in (allocator, base))
        pairs = [
            (float(ours[number][key]), float(theirs[number][key]))
            for number in sorted(ours.keys() & theirs.keys())
            if ours[number].get(key) and theirs[number].get(key)
        ]
        if not pairs:
            return None
        values, against = zip(*pairs, strict=True)
        return paired_ratio(values, against, confidence), len(pairs)


def load(path: Path) -> Result:
    try:
        document = json.loads(path.read_text())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise LabError(f"{path} cannot be read as a result: {error}") from None
    if not isinstance(document, dict) or document.get("format") != rawdata.FORMAT:
        raise LabError(f"{path} is no result of format {rawdata.FORMAT}")
    try:
        return Result(document)
    except (KeyError, TypeError) as error:
        raise LabError(f"{path} is not a complete result: {error!r} is missing") from None

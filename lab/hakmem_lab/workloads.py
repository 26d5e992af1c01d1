"""The workloads of workloads.toml, and the suites that are made of them."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from .errors import LabError
from .places import Places
from .session import Command

DEFAULT_THREADS = 2
KEYS = {"question", "command", "length", "quick", "suites", "set", "metric"}


@dataclass(frozen=True)
class Workload:
    """One row."""

    name: str
    row: dict[str, Any]

    @property
    def question(self) -> str:
        return str(self.row["question"])

    @property
    def has_threads(self) -> bool:
        return "{threads}" in self.row["command"]

    @property
    def suites(self) -> list[str]:
        own = ["threads"] if self.has_threads else []
        return ["all", *own, *self.row.get("suites", [])]

    def commands(self, places: Places, threads: list[int], quick: bool) -> list[Command]:
        """One command for each number of threads; one only if the workload has none."""
        return [
            self.command(places, number, quick) for number in (threads if self.has_threads else [1])
        ]

    def command(self, places: Places, threads: int, quick: bool) -> Command:
        length = self.row["quick" if quick else "length"]
        words = self.row["command"].format(n=length, threads=threads).split()
        axes: dict[str, Any] = {"workload": self.name}
        if self.has_threads:
            axes["threads"] = threads
        for key in ("set", "metric"):
            if key in self.row:
                axes[key] = self.row[key]
        name = f"{self.name} ×{threads}" if self.has_threads else self.name
        return Command(name, [places.program(words[0]), *words[1:]], axes)


def all_workloads() -> dict[str, Workload]:
    text = resources.files(__package__).joinpath("workloads.toml").read_text()
    return {name: Workload(name, row) for name, row in tomllib.loads(text).items()}


def suites() -> dict[str, list[Workload]]:
    found: dict[str, list[Workload]] = {}
    for workload in all_workloads().values():
        for suite in workload.suites:
            found.setdefault(suite, []).append(workload)
    return found


def select(names: list[str]) -> list[Workload]:
    """Workloads by their names and those of suites, each once, in the order of the table."""
    known, groups = all_workloads(), suites()
    wanted: set[str] = set()
    for name in names:
        if name in known:
            wanted.add(name)
        if name in groups:
            wanted.update(workload.name for workload in groups[name])
        if name not in known and name not in groups:
            raise LabError(
                f'"{name}" is neither a workload nor a suite; workloads are {", ".join(known)};'
                f" suites are {', '.join(groups)}"
            )
    return [workload for name, workload in known.items() if name in wanted]


def thread_counts(text: str | None) -> list[int]:
    """1,2,4; or "scale": one, two … up to four times the processors."""
    if text is None:
        return [DEFAULT_THREADS]
    if text == "scale":
        most = 4 * (os.cpu_count() or 1)
        return [number for number in (1, 2, 4, 8, 16, 32, 64, 128, 256) if number <= most]
    try:
        counts = [int(word) for word in text.split(",")]
    except ValueError:
        counts = []
    if not counts or not all(1 <= number <= 256 for number in counts):
        raise LabError(
            f'--threads takes numbers from 1 to 256, as in 1,2,4, or "scale", not "{text}"'
        )
    return counts

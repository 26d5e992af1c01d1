"""Interleaves commands and allocators, in rotated order, and repeats runs that were disturbed.

The order of a round is rotated by its number, so that no allocator is always first after another
command. What a run is, is the caller's: the runner only decides which run comes next and which runs
count, and is tested with runs that are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .errors import LabError
from .statistics import Ratio, ratio_interval

Item = TypeVar("Item")
Key = tuple[int, int]


@dataclass(frozen=True)
class Settings:
    """How many runs, and which of them count."""

    runs: int = 7
    max_runs: int = 7
    precision: float = 0.0  # half width of the interval over the ratio; 0 never asks for more runs
    max_repeats: int = 3
    disturbance: float = 0.025  # of all processors' time, taken by others
    disturbance_slack: float = 0.03  # seconds; the kernel counts in ticks of 10 ms


@dataclass
class Run:
    """One run of a cell: its figures, and whether it counts."""

    command: int
    allocator: int
    round: int
    attempt: int
    disturbed: bool
    counts: bool
    figures: dict[str, Any]


@dataclass
class Measurement:
    """All runs, in the order in which they were made."""

    runs: list[Run] = field(default_factory=list)
    # What became of a cell that failed: it is not run again.
    failed: dict[Key, str] = field(default_factory=dict)
    interrupted: bool = False

    def values(self, key: Key, metric: str) -> list[float]:
        """The counting runs' figures of one cell, by round."""
        chosen = [run for run in self.runs if run.counts and (run.command, run.allocator) == key]
        chosen.sort(key=lambda run: run.round)
        return [float(run.figures[metric]) for run in chosen]

    def still_disturbed(self, key: Key) -> int:
        chosen = [run for run in self.runs if run.counts and (run.command, run.allocator) == key]
        return sum(run.disturbed for run in chosen)


def rotated(items: Sequence[Item], by: int) -> list[Item]:
    shift = by % len(items) if items else 0
    return [*items[shift:], *items[:shift]]


def order_of_round(commands: int, allocators: int, number: int) -> Iterator[Key]:
    """Command by command, so that the runs that are compared lie close to each other in time."""
    for command in rotated(range(commands), number):
        for allocator in rotated(range(allocators), number):
            yield command, allocator


def taken_by_others(report: dict[str, Any]) -> float:
    """Seconds of processor time that other processes, or other guests of the host, used meanwhile.

    The kernel counts in ticks, so a short run may seem to have used more than there was.
    """
    return sum(max(float(report.get(name, 0.0)), 0.0) for name in ("others_s", "steal_s"))


def is_disturbed(report: dict[str, Any], settings: Settings) -> bool:
    all_time = float(report["wall_s"]) * int(report.get("processors", 1))
    limit = settings.disturbance * all_time + settings.disturbance_slack
    return taken_by_others(report) > limit


def run_until_undisturbed(
    key: Key,
    number: int,
    run: Callable[[Key], dict[str, Any]],
    settings: Settings,
) -> list[Run]:
    """The attempts at one run; the first undisturbed one counts, or else the least disturbed."""
    attempts: list[Run] = []
    for attempt in range(settings.max_repeats + 1):
        figures = run(key)
        if "failure" in figures:
            attempts.append(Run(*key, number, attempt, False, False, figures))
            return attempts
        disturbed = is_disturbed(figures, settings)
        attempts.append(Run(*key, number, attempt, disturbed, False, figures))
        if not disturbed:
            break
    best = min(attempts, key=lambda made: (made.disturbed, taken_by_others(made.figures)))
    best.counts = True
    return attempts


def is_precise(
    measurement: Measurement, cells: Sequence[Key], base: int, metric: str, precision: float
) -> bool:
    for command, allocator in cells:
        if allocator == base:
            continue
        if (command, allocator) in measurement.failed or (command, base) in measurement.failed:
            continue
        values = measurement.values((command, allocator), metric)
        ratio: Ratio = ratio_interval(values, measurement.values((command, base), metric))
        if ratio.half_width > precision:
            return False
    return True


def measure(
    commands: int,
    allocators: int,
    run: Callable[[Key], dict[str, Any]],
    settings: Settings,
    base: int = 0,
    metric: str = "wall_s",
    on_run: Callable[[Run], None] = lambda made: None,
    failed: dict[Key, str] | None = None,
) -> Measurement:
    """Makes settings.runs rounds, and more up to max_runs until every interval is narrow enough.

    A cell whose figures have a "failure" is not run again, and neither are those of `failed`. Ctrl-C
    ends it with what has been measured.
    """
    if commands < 1 or allocators < 1:
        raise LabError("a measurement needs at least one command and one allocator")
    measurement = Measurement(failed=dict(failed or {}))
    cells = [(command, allocator) for command in range(commands) for allocator in range(allocators)]
    most = max(settings.runs, settings.max_runs) if settings.precision > 0 else settings.runs
    try:
        for number in range(most):
            if number >= settings.runs and is_precise(
                measurement, cells, base, metric, settings.precision
            ):
                break
            for key in order_of_round(commands, allocators, number):
                if key in measurement.failed:
                    continue
                for made in run_until_undisturbed(key, number, run, settings):
                    measurement.runs.append(made)
                    if "failure" in made.figures:
                        measurement.failed[key] = made.figures["failure"]
                    on_run(made)
    except KeyboardInterrupt:
        measurement.interrupted = True
    return measurement

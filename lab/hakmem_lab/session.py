"""Runs commands under allocators to the end, or as far as it comes, and returns the document of it.

What the command line calls compare, lab run and lab ab are such sessions; they differ in what they run
and in what they say of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import details, rawdata, runner
from .allocators import Allocator
from .cli import new_progress
from .errors import LabError
from .launcher import failure_of, launch, verify
from .places import Places
from .runner import Key, Measurement, Settings

SAVE_EVERY = 5.0  # seconds


@dataclass(frozen=True)
class Command:
    """What is run: its name in tables, its words, and where it stands on a plot's axes."""

    name: str
    argv: list[str]
    axes: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        return {"name": self.name, "argv": self.argv, "axes": self.axes,
                "environment": self.environment}  # fmt: skip


def last_resident(timeline: list[tuple[float, int]]) -> int | None:
    """KiB shortly before the end: at nine tenths, because an ending process gives all back."""
    return timeline[int(len(timeline) * 0.9)][1] if len(timeline) >= 10 else None


@dataclass
class Session:
    """One measurement with everything around it."""

    kind: str
    commands: list[Command]
    allocators: list[Allocator]
    places: Places
    settings: Settings
    save_to: Path
    timeout: float | None = None
    metric: str = "auto"
    with_details: bool = False
    with_instructions: bool = False
    with_check: bool = True  # that malloc is bound to each allocator
    private_memory: bool = False  # figures of memory are of private memory only
    more: dict[str, Any] = field(default_factory=dict)
    timelines: dict[Key, list[tuple[int, list[tuple[float, int]]]]] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """Warm-up, rounds, details; the document is saved on the way, and at the end."""
        failed: dict[Key, str] = {}
        measurement = Measurement()
        found: list[dict[str, Any]] = []
        with new_progress() as progress:
            cells = len(self.commands) * len(self.allocators)
            try:
                task = progress.add_task("warming up", total=cells)
                for command in range(len(self.commands)):
                    for allocator in range(len(self.allocators)):
                        self.warm_up((command, allocator), failed)
                        progress.advance(task)
                progress.remove_task(task)
            except KeyboardInterrupt:
                measurement.interrupted = True
                return self.save(measurement, found)
            task = progress.add_task("measuring", total=self.settings.runs * cells)
            made: list[runner.Run] = []
            saved = time.monotonic()

            def on_run(run: runner.Run) -> None:
                nonlocal saved
                made.append(run)
                progress.advance(task, 1 if run.counts or "failure" in run.figures else 0)
                if time.monotonic() - saved > SAVE_EVERY:
                    self.save(Measurement(list(made), dict(failed), True), found)
                    saved = time.monotonic()

            measurement = runner.measure(
                len(self.commands), len(self.allocators), self.run_once, self.settings,
                on_run=on_run, failed=failed,
            )  # fmt: skip
            progress.remove_task(task)
            if self.with_details and not measurement.interrupted:
                task = progress.add_task("counting", total=cells)
                try:
                    for command in range(len(self.commands)):
                        for allocator in range(len(self.allocators)):
                            self.count((command, allocator), measurement, found)
                            progress.advance(task)
                except KeyboardInterrupt:
                    measurement.interrupted = True
        return self.save(measurement, found)

    def parts(self, key: Key) -> tuple[Command, Allocator]:
        return self.commands[key[0]], self.allocators[key[1]]

    def warm_up(self, key: Key, failed: dict[Key, str]) -> None:
        command, allocator = self.parts(key)
        if self.with_check:
            try:
                verify(
                    self.places.launcher, command.argv, allocator, self.timeout, command.environment
                )
                return
            except LabError as error:
                text = str(error)
                failed[key] = text.partition(f" under {allocator.name} ")[2] or text
                return
        finished = launch(
            self.places.launcher, command.argv, allocator, self.timeout, command.environment
        )
        failure = failure_of(finished)
        if failure:
            failed[key] = failure

    def run_once(self, key: Key) -> dict[str, Any]:
        command, allocator = self.parts(key)
        finished = launch(
            self.places.launcher, command.argv, allocator, self.timeout, command.environment, True,
            self.private_memory,
        )  # fmt: skip
        cpu = finished.report["user_s"] + finished.report["system_s"]
        figures = {**finished.report, "cpu_s": cpu, "throughput": finished.throughput}
        figures["switches"] = figures["voluntary_switches"] + figures["involuntary_switches"]
        if self.private_memory and finished.timeline:
            figures["peak_rss_kib"] = max(kib for _, kib in finished.timeline)
        figures["last_rss_kib"] = last_resident(finished.timeline)
        failure = failure_of(finished)
        if failure:
            figures["failure"] = failure
        else:
            self.timelines.setdefault(key, []).append((figures["peak_rss_kib"], finished.timeline))
        return figures

    def count(self, key: Key, measurement: Measurement, found: list[dict[str, Any]]) -> None:
        if key in measurement.failed:
            return
        command, allocator = self.parts(key)
        figures = details.count(command.argv, allocator, self.with_instructions, self.timeout)
        found.append({"command": key[0], "allocator": key[1], "figures": figures})

    def document(self, measurement: Measurement, found: list[dict[str, Any]]) -> dict[str, Any]:
        content = rawdata.document(
            self.kind, [command.row() for command in self.commands], self.allocators,
            self.metric, self.settings, measurement, **self.more,
        )  # fmt: skip
        content["details"] = found
        for key, kept in self.timelines.items():
            # The run with the median peak stands for all.
            _, timeline = sorted(kept, key=lambda row: row[0])[len(kept) // 2]
            content["timelines"].append({
                "command": key[0], "allocator": key[1],
                "seconds": [row[0] for row in timeline], "kib": [row[1] for row in timeline],
            })  # fmt: skip
        return content

    def save(self, measurement: Measurement, found: list[dict[str, Any]]) -> dict[str, Any]:
        content = self.document(measurement, found)
        rawdata.write(self.save_to, content)
        return content

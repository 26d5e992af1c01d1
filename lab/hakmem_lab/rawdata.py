"""The raw data of a measurement as JSON: command, environment and every single run."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from .allocators import Allocator
from .places import TREE
from .runner import Measurement, Settings

FORMAT = 2
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def read_or_none(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def processor_name() -> str:
    for line in (read_or_none(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    return {
        "kernel": platform.release(),
        "processor": processor_name(),
        "processors": os.cpu_count(),
        "libc": " ".join(platform.libc_ver()),
        "transparent_hugepages": read_or_none(THP),
        "load": os.getloadavg(),
    }


def document(
    kind: str,
    commands: list[dict[str, Any]],
    allocators: list[Allocator],
    metric: str,
    settings: Settings,
    measurement: Measurement,
    **more: Any,
) -> dict[str, Any]:
    """The document that result-schema.json describes; `more` is what some kinds have beyond it."""
    return {
        "format": FORMAT,
        "kind": kind,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": commit(),
        "commands": commands,
        "allocators": [allocator.description() for allocator in allocators],
        "metric": metric,
        "settings": dataclasses.asdict(settings),
        "interrupted": measurement.interrupted,
        "runs": [dataclasses.asdict(run) for run in measurement.runs],
        "failures": [
            {"command": key[0], "allocator": key[1], "failure": failure}
            for key, failure in measurement.failed.items()
        ],
        "details": [],
        "timelines": [],
        **more,
    }


def commit() -> str | None:
    """Of the source tree, with "+changes" if it is not clean; None outside of one."""
    if not (TREE / ".git").exists():
        return None
    git = ["git", "-C", str(TREE)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        changes = subprocess.run(
            [*git, "status", "--porcelain"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+changes" if changes else "")


def write(path: Path, content: dict[str, Any]) -> None:
    """In one step: who reads it meanwhile, or is interrupted, never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(content, indent=1) + "\n")
    part.replace(path)

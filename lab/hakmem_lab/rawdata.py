"""The raw data of a measurement as JSON: command, environment and every single run."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

from .allocators import Allocator
from .runner import Measurement, Settings

FORMAT = 1
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
    commands: list[list[str]],
    allocators: list[Allocator],
    base: str,
    metric: str,
    settings: Settings,
    measurement: Measurement,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "commands": commands,
        "allocators": [allocator.description() for allocator in allocators],
        "base": base,
        "metric": metric,
        "settings": dataclasses.asdict(settings),
        "runs": [dataclasses.asdict(run) for run in measurement.runs],
    }


def write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")

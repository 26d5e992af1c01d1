"""The golden file of instruction counts: what the release build's fast path may cost.

A file holds counts beyond the do-nothing allocator, per malloc+free pair, rounded to 0.1.
Callgrind's counts are exact; the tolerance covers what start-up does not quite cancel out, and
where a slab ends. A count that falls is a difference too: the file is then updated, so that the
gain is kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import LabError

FORMAT = 1
DEFAULT_TOLERANCE = 0.3


@dataclass(frozen=True)
class Difference:
    """One row of a comparison; a count that is on one side only has None on the other."""

    workload: str
    golden: float | None
    counted: float | None
    tolerance: float

    @property
    def holds(self) -> bool:
        if self.golden is None or self.counted is None:
            return False
        # Both are rounded to 0.1, so half of the last digit is no difference.
        return abs(self.counted - self.golden) <= self.tolerance + 0.05


def load(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise LabError(f"{path} does not exist; write it by: golden --update") from None
    except json.JSONDecodeError as error:
        raise LabError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise LabError(f"{path} is not of format {FORMAT}")
    return content


def compare(content: dict[str, Any], counted: dict[str, float]) -> list[Difference]:
    """Every workload that was counted, and those of the file that were not."""
    golden = content["instructions_per_pair_beyond_nothing"]
    tolerance = float(content.get("tolerance", DEFAULT_TOLERANCE))
    names = [*counted, *(name for name in golden if name not in counted)]
    return [Difference(name, golden.get(name), counted.get(name), tolerance) for name in names]


def save(path: Path, counted: dict[str, float], compiler: str, tolerance: float) -> None:
    content = {
        "format": FORMAT,
        "build": "release",
        "compiler": compiler,
        "tolerance": tolerance,
        "instructions_per_pair_beyond_nothing": {
            name: round(count, 1) for name, count in counted.items()
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")

"""What hakmem-replay says of a trace, and traces that are compressed."""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import LabError
from .places import Places

COMPRESSED = ".xz"


@dataclass(frozen=True)
class Facts:
    """Of one trace."""

    row: dict[str, Any]

    @property
    def operations(self) -> int:
        return sum(self.row["operations"].values())

    @property
    def allocations(self) -> int:
        kinds = self.row["operations"]
        return sum(kinds[kind] for kind in ("malloc", "calloc", "aligned"))

    @property
    def cross_thread_share(self) -> float:
        frees = self.row["operations"]["free"]
        return self.row["cross_thread_frees"] / frees if frees else 0.0

    @property
    def state(self) -> str:
        if self.row["cut"]:
            return "cut: read up to there"
        return "complete" if self.row["ended"] else "the process was ended, or recording stopped"


def replayer(places: Places, *arguments: str) -> str:
    done = subprocess.run(
        [str(places.replayer), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("hakmem-replay: ")
        raise LabError(said or f"hakmem-replay was killed by signal {-done.returncode}")
    return done.stdout


def unpacked(path: Path, folder: Path) -> Path:
    """The trace itself, or what a compressed one holds."""
    if not path.is_file():
        raise LabError(f"{path} is no file")
    if path.suffix != COMPRESSED:
        return path
    target = folder / "trace"
    try:
        with lzma.open(path) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except (EOFError, lzma.LZMAError):
        # What could be read is a trace that was cut.
        if not target.stat().st_size:
            raise LabError(f"{path} cannot be unpacked") from None
    return target


def facts(path: Path, places: Places) -> Facts:
    return Facts(json.loads(replayer(places, "info", str(path))))


def prepare(path: Path, to: Path, places: Places) -> None:
    replayer(places, "prepare", str(path), str(to))

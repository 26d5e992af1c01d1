"""Where the lab finds what the build made: programs, libraries and its own helpers."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError

TREE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Places:
    """A build folder as CMake leaves it."""

    build: Path

    @property
    def launcher(self) -> Path:
        return self._existing(self.build / "lab" / "hakmem-launch")

    @property
    def stepper(self) -> Path:
        return self._existing(self.build / "lab" / "hakmem-steps")

    @property
    def nothing(self) -> Path:
        return self._existing(self.build / "lab" / "libnothing.so")

    @property
    def hakmem(self) -> Path:
        return self._existing(self.build / "libhakmem.so")

    def program(self, word: str) -> str:
        """The path of a command's first word: a workload of bench/, or anything in PATH."""
        workload = self.build / "bench" / word
        if "/" not in word and workload.exists():
            return str(workload)
        found = shutil.which(word)
        if found is None:
            raise LabError(f'"{word}" is neither in {self.build / "bench"} nor a program in PATH')
        return found

    @staticmethod
    def _existing(path: Path) -> Path:
        if not path.exists():
            raise LabError(f"{path} is missing; build it (make) or name a build folder by --build")
        return path


def find_places(chosen: str | None = None) -> Places:
    """The folder given, else HAKMEM_BUILD_DIR, else build/release of the source tree."""
    build = chosen or os.environ.get("HAKMEM_BUILD_DIR")
    return Places(Path(build).absolute() if build else TREE / "build" / "release")

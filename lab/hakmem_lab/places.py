"""Where the lab finds what the build made: programs, libraries and its own helpers."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError

TREE = Path(__file__).resolve().parents[2]
# What setup.py compiles into an installed package, in the order of a build folder.
INSTALLED = Path(__file__).resolve().parent / "built"


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
    def tracer(self) -> Path:
        return self._existing(self.build / "lab" / "libtrace.so")

    @property
    def replayer(self) -> Path:
        return self._existing(self.build / "lab" / "hakmem-replay")

    @property
    def nothing(self) -> Path:
        return self._existing(self.build / "lab" / "libnothing.so")

    @property
    def runs_folder(self) -> Path:
        """For raw data: in the build folder; an installed package's is not written to."""
        if self.build == INSTALLED:
            base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
            return Path(base) / "hakmem" / "runs"
        return self.build / "lab" / "runs"

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
    """The folder given, else HAKMEM_BUILD_DIR, else the source tree's, else the installed one."""
    build = chosen or os.environ.get("HAKMEM_BUILD_DIR")
    if build:
        return Places(Path(build).absolute())
    return Places(TREE / "build" / "release" if in_source_tree() else INSTALLED)


def in_source_tree() -> bool:
    return (TREE / "CMakePresets.json").exists()


def options_file() -> Path:
    """The table of the library's options."""
    if in_source_tree():
        return TREE / "src" / "config" / "options.def"
    return INSTALLED / "options.def"

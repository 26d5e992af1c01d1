"""Builds of the library for experiments: of the tree as it is, or of a commit, with CMake's settings.

They are kept below build/experiments by commit and settings; the tree as it is is built anew each time,
which costs nothing where nothing has changed.
"""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .places import TREE, in_source_tree

FOLDER = TREE / "build" / "experiments"


@dataclass(frozen=True)
class Build:
    """What a library is built from."""

    commit: str | None = None  # anything that git understands; None: the tree as it is
    settings: tuple[str, ...] = ()  # of CMake, without -D


def run(command: list[str], log: Path | None = None, where: Path = TREE) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if log is not None:
        with log.open("a") as file:
            file.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        hint = f"; the whole log is {log}" if log is not None else ""
        raise LabError(f"{command[0]} failed with status {done.returncode}: {said[-1]}{hint}")
    return done.stdout


def full_commit(name: str) -> str:
    try:
        return run(["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]).strip()
    except LabError:
        raise LabError(f'"{name}" is no commit of {TREE}') from None


def unpack(commit: str, into: Path) -> None:
    """The tree of a commit, without touching the one that is worked in."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as temporary:
        archive = Path(temporary) / "tree.tar"
        run(["git", "archive", "--output", str(archive), commit])
        with tarfile.open(archive) as file:
            file.extractall(Path(temporary) / "tree", filter="data")
        (Path(temporary) / "tree").rename(into)


def library(build: Build, jobs: int = 2) -> Path:
    """Builds it unless it is there, and returns libhakmem.so."""
    if not in_source_tree():
        raise LabError("builds and commits need the source tree; start ./hakmem there")
    commit = full_commit(build.commit) if build.commit else None
    digest = hashlib.sha256("\n".join(build.settings).encode()).hexdigest()[:8]
    name = f"{commit[:12] if commit else 'tree'}-{digest}"
    folder = FOLDER / name
    made = folder / "build" / "libhakmem.so"
    if commit and made.exists():
        return made
    source = TREE
    if commit:
        source = FOLDER / name / "source"
        if not source.exists():
            unpack(commit, source)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "build.log"
    configure = ["cmake", "-S", str(source), "-B", str(folder / "build")]
    defaults = ["-DCMAKE_BUILD_TYPE=Release", "-DHAKMEM_TESTS=OFF"]
    run([*configure, *defaults, *(f"-D{setting}" for setting in build.settings)], log)
    run(["cmake", "--build", str(folder / "build"), "-j", str(jobs), "--target", "hakmem"], log)
    return made

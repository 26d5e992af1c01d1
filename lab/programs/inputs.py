"""The inputs that programs.toml names: what each is and how it is built into the cache."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import cpp_source, text_sources
from .cache import build_once, digest_of
from .redis_source import redis_folder

REDIS_KEYS = 1_000_000
SQLITE_ROWS = 1_000_000
CPP_UNITS = 8
GIT_COMMITS, GIT_FILES = 6_000, 1_000
TEXT_LINES = 400_000

GIT = ["git", "-c", "safe.directory=*", "-c", "init.defaultBranch=main"]


@dataclass(frozen=True)
class Input:
    """One cached input; make(path) writes the file or folder called filename."""

    filename: str
    make: Callable[[Path], None]
    parameters: tuple[object, ...]
    source: Path

    def path(self, name: str) -> Path:
        """Builds the input if the cache lacks it and returns where it is."""
        digest = digest_of(self.parameters, self.source, Path(__file__))
        folder = build_once(name, digest, lambda scratch: self.make(scratch / self.filename))
        return folder / self.filename


def write_lines(path: Path, parts: Iterable[str | bytes]) -> None:
    """Writes the parts to the file, text as UTF-8."""
    with open(path, "wb") as out:
        for part in parts:
            out.write(part.encode() if isinstance(part, str) else part)


def git_repository(path: Path, commits: int, files: int) -> None:
    """Makes a bare repository of generated history with every object loose, as before a gc."""
    packed = path.with_name(path.name + ".packed")
    for folder in (packed, path):
        subprocess.run([*GIT, "init", "--quiet", "--bare", str(folder)], check=True)
    stream = b"".join(text_sources.git_history(commits, files))
    subprocess.run([*GIT, "-C", str(packed), "fast-import", "--quiet", "--done"],
                   input=stream, check=True)
    for pack in (packed / "objects" / "pack").glob("*.pack"):
        subprocess.run([*GIT, "-C", str(path), "unpack-objects", "-q"],
                       input=pack.read_bytes(), check=True)
    tip = subprocess.run([*GIT, "-C", str(packed), "rev-parse", "refs/heads/main"],
                         check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([*GIT, "-C", str(path), "update-ref", "refs/heads/main", tip], check=True)
    shutil.rmtree(packed)


_TEXT = Path(text_sources.__file__)

INPUTS = {
    "cpp": Input("large.cpp", lambda p: write_lines(p, cpp_source.cpp_source(CPP_UNITS)),
                 (CPP_UNITS,), Path(cpp_source.__file__)),
    "git": Input("history.git", lambda p: git_repository(p, GIT_COMMITS, GIT_FILES),
                 (GIT_COMMITS, GIT_FILES), _TEXT),
    "redis_keys": Input("keys.resp",
                        lambda p: write_lines(p, text_sources.redis_commands(REDIS_KEYS)),
                        (REDIS_KEYS,), _TEXT),
    "sql": Input("orders.sql", lambda p: write_lines(p, [text_sources.sqlite_script(SQLITE_ROWS)]),
                 (SQLITE_ROWS,), _TEXT),
    "text": Input("lines.txt", lambda p: write_lines(p, text_sources.text_lines(TEXT_LINES)),
                  (TEXT_LINES,), _TEXT),
}


def input_path(name: str) -> Path:
    """Returns the path of an input, built if it was not there; KeyError if none is so named."""
    return redis_folder() if name == "redis" else INPUTS[name].path(name)

"""What a name on the command line stands for: a library to preload and what it needs beside it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import peers
from .errors import LabError
from .places import Places


@dataclass(frozen=True)
class Allocator:
    """One allocator, ready to be put under a program."""

    name: str
    title: str
    preload: tuple[Path, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    count_by: str = "callgrind"
    count_note: str = ""

    @property
    def preload_value(self) -> str:
        return ":".join(str(path) for path in self.preload)

    def description(self) -> dict[str, Any]:
        """For raw data: enough to tell later which library it was."""
        return {
            "name": self.name,
            "title": self.title,
            "environment": self.environment,
            "libraries": {str(path): peers.file_digest(path) for path in self.preload},
        }


def glibc() -> Allocator:
    return Allocator("glibc", f"glibc {platform.libc_ver()[1]}")


def from_library(name: str, path: Path, title: str | None = None) -> Allocator:
    if not path.is_file():
        raise LabError(f"{path} is no file; give a shared library")
    if any(sign in str(path.absolute()) for sign in ": "):
        raise LabError(f'"{path}" has a colon or a space in it, which LD_PRELOAD cannot express')
    return Allocator(name, title or str(path), (path.absolute(),))


def from_peer(peer: peers.Peer) -> Allocator:
    library = peer.library
    if library is None or not library.exists():
        raise LabError(f"{peer.name} is not built; run: hakmem peers install {peer.name}")
    beside = [library.parent / Path(name).name for name in peer.row.get("beside", [])]
    return Allocator(
        peer.name,
        peer.title,
        (*beside, library),
        peer.environment,
        peer.row.get("count_by", "callgrind"),
        peer.row.get("count_note", ""),
    )


def resolve(text: str, places: Places) -> list[Allocator]:
    """NAME, NAME=LIBRARY, a path, or "peers" for glibc and every peer that is built."""
    name, equals, path = text.partition("=")
    if equals:
        return [from_library(name, Path(path))]
    if text == "peers":
        built = [peer for peer in peers.all_peers().values() if peer.library is not None]
        return [glibc(), *(from_peer(peer) for peer in built)]
    if text == "glibc":
        return [glibc()]
    if text == "hakmem":
        return [from_library("hakmem", places.hakmem, "HAKMEM")]
    if text == "nothing":
        return [from_library("nothing", places.nothing, "the do-nothing allocator")]
    if os.sep in text:
        return [from_library(Path(text).stem.removeprefix("lib"), Path(text))]
    known = peers.all_peers()
    if text in known:
        return [from_peer(known[text])]
    names = ", ".join(["hakmem", "nothing", "glibc", "peers", *known])
    raise LabError(f'"{text}" is no allocator; accepted are {names}, NAME=LIBRARY and a path')


def resolve_all(texts: list[str], places: Places) -> list[Allocator]:
    """All that are named, each once, in the order of their first mention."""
    found: dict[str, Allocator] = {}
    for text in texts:
        for allocator in resolve(text, places):
            known = found.setdefault(allocator.name, allocator)
            if known.preload != allocator.preload:
                raise LabError(f'two libraries are called "{allocator.name}"; use NAME=LIBRARY')
    return list(found.values())

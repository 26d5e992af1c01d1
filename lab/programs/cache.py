"""The folder outside the tree where inputs are built once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_root() -> Path:
    """Returns HAKMEM_PROGRAMS_DIR, or hakmem/programs below the user's cache folder."""
    chosen = os.environ.get("HAKMEM_PROGRAMS_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "hakmem" / "programs"


def digest_of(*parts: object) -> str:
    """Returns a short digest; a Path stands for that file's contents, the rest for its repr."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part.read_bytes() if isinstance(part, Path) else repr(part).encode())
    return state.hexdigest()[:12]


def build_once(name: str, digest: str, build: Callable[[Path], None]) -> Path:
    """Returns the folder NAME-DIGEST in the cache, calling build(folder) if it is not there yet.

    Safe to call from several processes: they wait for one builder. A failed build leaves nothing.
    """
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"{name}-{digest}"
    with open(root / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
            try:
                build(scratch)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return folder

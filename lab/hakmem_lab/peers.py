"""Fetches, checks, builds and finds the peers of peers.toml.

Everything lies in a cache outside the tree: HAKMEM_PEERS_DIR, or hakmem/peers in XDG_CACHE_HOME.
A built peer is one folder whose name holds a digest of its row and recipe, so that a changed pin or
flag is built anew and never mistaken for the old one.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from . import recipes
from .errors import LabError

# What a row says of using a peer does not change how it is built.
NOT_OF_THE_BUILD = {"title", "environment", "count_by", "count_note"}


@dataclass(frozen=True)
class Peer:
    """One row of peers.toml."""

    name: str
    row: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.row["title"])

    @property
    def environment(self) -> dict[str, str]:
        return dict(self.row.get("environment", {}))

    @property
    def digest(self) -> str:
        made_by = recipes.recipe_digest_text(recipes.RECIPES[self.row["recipe"]])
        if self.row["recipe"] == "tcmalloc":
            made_by += repr(recipes.TCMALLOC_FLAGS)
        built_from = {name: self.row[name] for name in self.row if name not in NOT_OF_THE_BUILD}
        text = json.dumps(built_from, sort_keys=True) + made_by
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        return cache_folder() / f"{self.name}-{self.digest}"

    @property
    def record(self) -> dict[str, Any] | None:
        """What build() left, or None if the peer is not built."""
        try:
            record: dict[str, Any] = json.loads((self.folder / "build.json").read_text())
        except FileNotFoundError:
            return None
        return record

    @property
    def library(self) -> Path | None:
        record = self.record
        return self.folder / record["library"] if record else None


def cache_folder() -> Path:
    chosen = os.environ.get("HAKMEM_PEERS_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hakmem" / "peers"


def all_peers() -> dict[str, Peer]:
    text = resources.files(__package__).joinpath("peers.toml").read_text()
    return {name: Peer(name, row) for name, row in tomllib.loads(text).items()}


def find_peer(name: str) -> Peer:
    known = all_peers()
    if name not in known:
        raise LabError(f'no peer is called "{name}"; known are {", ".join(known)}')
    return known[name]


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_tool(name: str, why: str) -> None:
    if shutil.which(name) is None:
        raise LabError(f"{name} is not installed; it is needed {why}")


def fetch_crate(row: dict[str, Any], work: Path) -> Path:
    """cargo fetches the package for an empty crate that depends on it; returns the .crate file."""
    require_tool("cargo", "to fetch crates")
    manifest = work / "Cargo.toml"
    manifest.write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
        '[lib]\npath = "lib.rs"\n[dependencies]\n'
        f'{row["package"]} = "={row["version"]}"\n'
    )
    (work / "lib.rs").touch()
    recipes.run_logged(["cargo", "fetch", "--manifest-path", str(manifest)], work / "fetch.log")
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    name = f"{row['package']}-{row['version']}.crate"
    found = sorted(home.glob(f"registry/cache/*/{name}"))
    if not found:
        raise LabError(f"cargo fetched {row['package']} but left no {name} in {home}")
    return found[0]


def fetch_deb(row: dict[str, Any], work: Path) -> Path:
    require_tool("apt-get", "to fetch Debian packages")
    own = subprocess.check_output(["dpkg", "--print-architecture"], text=True)
    if own.strip() != row["architecture"]:
        raise LabError(f"{row['package']} is pinned for {row['architecture']} only")
    wanted = f"{row['package']}={row['version']}"
    recipes.run_logged(["apt-get", "download", wanted], work / "fetch.log", work)
    return next(work.glob("*.deb"))


def unpack(archive: Path, row: dict[str, Any], into: Path) -> Path:
    if row["source"] == "deb":
        recipes.run_logged(["dpkg-deb", "-x", str(archive), str(into)], into / "unpack.log")
        return into
    with tarfile.open(archive) as crate:
        crate.extractall(into, filter="data")
    return into / f"{row['package']}-{row['version']}"


def compiler_version() -> str:
    done = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else "unknown"


def build(peer: Peer, jobs: int) -> Path:
    """Builds a peer unless it is in the cache, and returns its library."""
    if peer.library is not None and peer.library.exists():
        return peer.library
    row = peer.row
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=f".{peer.name}-") as temporary:
        work = Path(temporary)
        archive = (fetch_crate if row["source"] == "crate" else fetch_deb)(row, work)
        digest = file_digest(archive)
        if digest != row["sha256"]:
            raise LabError(f"{archive.name} has sha256 {digest}, but {row['sha256']} is pinned")
        (work / "package").mkdir()
        (work / "build").mkdir()
        package = unpack(archive, row, work / "package")
        made = recipes.RECIPES[row["recipe"]](row, package, work / "build", jobs)
        result = work / "result"
        result.mkdir()
        for file in [made, *(package / name for name in row.get("beside", []))]:
            shutil.copy2(file.resolve(), result / file.name)
        log = work / "build" / "build.log"
        if log.exists():
            shutil.copy2(log, result / "build.log")
        record = {
            "library": made.name,
            "sha256": file_digest(result / made.name),
            "package": f"{row['package']} {row['version']}",
            "package_sha256": digest,
            "compiler": compiler_version(),
            "machine": platform.machine(),
        }
        (result / "build.json").write_text(json.dumps(record, indent=2) + "\n")
        for outdated in cache_folder().glob(f"{peer.name}-*"):
            shutil.rmtree(outdated)
        result.rename(peer.folder)
    return peer.folder / made.name

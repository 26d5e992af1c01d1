"""Builds redis from Debian's source package with MALLOC=libc, without touching /etc/apt.

Debian's own redis-server is linked to jemalloc and takes its statistics from there, so it says
nothing of a preloaded allocator.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from .cache import build_once, digest_of

TARBALL = "redis_7.0.15.orig.tar.gz"
SHA256 = "4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TARGETS = ("redis-server", "redis-cli", "redis-benchmark")


class RedisUnavailable(RuntimeError):
    """The source cannot be had; the message says what was tried and what would help."""


def redis_folder() -> Path:
    """Returns the folder that holds redis-server, redis-cli and redis-benchmark.

    Raises RedisUnavailable if the source package cannot be fetched or does not build.
    """
    return build_once("redis", digest_of(SHA256, Path(__file__)), _build)


def _build(folder: Path) -> None:
    tarball = _given_tarball() or _fetch(folder)
    found = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if found != SHA256:
        raise RedisUnavailable(f"{tarball} has SHA-256 {found}, expected {SHA256} ({TARBALL})")
    source = folder / "source"
    shutil.unpack_archive(tarball, source)
    (top,) = source.iterdir()
    command = ["make", "-C", str(top / "src"), "-j2", "MALLOC=libc", "USE_SYSTEMD=no",
               "OPTIMIZATION=-O2", *TARGETS]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    if done.returncode:
        raise RedisUnavailable(f"redis does not build: {done.stderr.strip()[-2000:]}")
    for target in TARGETS:
        (top / "src" / target).rename(folder / target)
    for leftover in (source, folder / "apt"):
        shutil.rmtree(leftover, ignore_errors=True)


def _given_tarball() -> Path | None:
    chosen = os.environ.get("HAKMEM_REDIS_TARBALL")
    if chosen and not Path(chosen).is_file():
        raise RedisUnavailable(f"HAKMEM_REDIS_TARBALL={chosen} is not a file; give {TARBALL}")
    return Path(chosen) if chosen else None


def _fetch(folder: Path) -> Path:
    apt = folder / "apt"
    (apt / "lists" / "partial").mkdir(parents=True)
    (apt / "cache" / "archives" / "partial").mkdir(parents=True)
    sources = apt / "sources.list"
    sources.write_text("".join(_source_lines()))
    options = []
    for key, value in {
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": apt / "lists", "Dir::Cache": apt / "cache",
        "APT::Sandbox::User": "", "Acquire::Languages": "none",
    }.items():
        options += ["-o", f"{key}={value}"]
    for action in (["update"], ["source", "--download-only", "--tar-only", "redis"]):
        done = subprocess.run(["apt-get", "-q", *options, *action], cwd=apt,
                              capture_output=True, text=True)
        if done.returncode:
            raise RedisUnavailable(f"apt-get {' '.join(action)} failed: {done.stderr.strip()}")
    if not (apt / TARBALL).is_file():
        have = ", ".join(sorted(p.name for p in apt.glob("*.tar.*"))) or "nothing"
        raise RedisUnavailable(f"apt-get source redis gave {have}, expected {TARBALL}; "
                               f"set HAKMEM_REDIS_TARBALL to a copy of it")
    return apt / TARBALL


def _source_lines() -> list[str]:
    """Returns deb-src lines for the Debian mirrors that this machine takes its packages from."""
    try:
        listed = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(SITE)|$(RELEASE)|$(COMPONENT)",
             "Created-By: Packages", "Origin: Debian"],
            capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RedisUnavailable(f"apt-get cannot list package sources ({error}); "
                               f"set HAKMEM_REDIS_TARBALL to a copy of {TARBALL}") from error
    signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
    lines = set()
    for row in listed.splitlines():
        site, release, component = row.split("|")
        if component == "main":
            lines.add(f"deb-src {signed}{site} {release} {component}\n")
    if not lines:
        raise RedisUnavailable("apt-get lists no Debian source (run apt-get update once); "
                               f"or set HAKMEM_REDIS_TARBALL to a copy of {TARBALL}")
    return sorted(lines)

"""Runs one program twice, without and with the library, and proves that it used the library.

The proof does not rely on the library: the dynamic loader writes a file for each process with
every symbol it binds (LD_DEBUG=bindings), and the test names the executables and shared objects
that must have taken their allocation function from the library. On top of that, HAKMEM prints one
line at exit (HAKMEM_VERBOSE=1), which must be there and is removed before outputs are compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = b"hakmem: "
# Not calloc and realloc: the loader looks these up in the name of every executable.
ALLOCATES = {"malloc", "_Znwm"}
_SERVED = re.compile(rb"\(peak [1-9]\d* KiB\)")
_BINDING = re.compile(rb"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(\w+)'")


@dataclass(frozen=True)
class Outcome:
    """What a run left behind; stderr is without the library's own lines."""

    status: int
    stdout: bytes
    stderr: bytes
    folder: Path
    summaries: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Bindings:
    """Which executables and objects allocated from the library, and which not, by base name."""

    inside: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()

    @staticmethod
    def read(folder: Path, library: Path) -> Bindings:
        inside, outside = set(), set()
        for log in folder.iterdir():
            for binder, provider, symbol in _BINDING.findall(log.read_bytes()):
                # An executable that is bound to itself holds the address of its own PLT entry.
                if symbol.decode() in ALLOCATES and binder != provider:
                    ours = os.path.realpath(os.fsdecode(provider)) == str(library)
                    (inside if ours else outside).add(os.path.basename(os.fsdecode(binder)))
        return Bindings(frozenset(inside), frozenset(outside))


@dataclass
class Bench:
    """One test's folder and library; `both` is what tests call."""

    library: Path
    folder: Path
    is_hakmem: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_hakmem = self.library.name.startswith("libhakmem")

    def environment(self, home: Path, *, preload: bool, proof: Path | None) -> dict[str, str]:
        """Returns the whole environment of a run: nothing comes from the caller's."""
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8",
               "TZ": "UTC", "SOURCE_DATE_EPOCH": "1"}
        if preload:
            env["LD_PRELOAD"] = str(self.library)
        if preload and proof is not None:
            env |= {"HAKMEM_VERBOSE": "1", "LD_BIND_NOW": "1", "LD_DEBUG": "bindings",
                    "LD_DEBUG_OUTPUT": str(proof / "bindings")}
        return env

    def run(self, argv: Sequence[str | Path], *, preload: bool, proof: Path | None = None,
            name: str = "run", stdin: bytes = b"", timeout: float = 600,
            env: dict[str, str] | None = None,
            setup: Callable[[Path], None] | None = None) -> Outcome:
        """Runs argv in a fresh folder called name, after setup(folder); fails on a timeout."""
        folder = self.folder / name
        folder.mkdir()
        home = self.folder / f"{name}.home"
        home.mkdir()
        if setup:
            setup(folder)
        # A short path: programs put sockets below it, whose names may have 107 bytes at most.
        with tempfile.TemporaryDirectory(prefix="hak-") as temporary:
            whole = self.environment(home, preload=preload, proof=proof) | {"TMPDIR": temporary}
            done = subprocess.run(
                [str(word) for word in argv], cwd=folder, input=stdin, capture_output=True,
                env=whole | (env or {}), timeout=timeout)
        lines = done.stderr.splitlines(keepends=True)
        summaries = tuple(line for line in lines if line.startswith(PREFIX))
        rest = b"".join(line for line in lines if not line.startswith(PREFIX))
        return Outcome(done.returncode, done.stdout, rest, folder, summaries)

    def both(self, argv: Sequence[str | Path], *, binders: Iterable[str], status: int = 0,
             compare_stderr: bool = True, **options: object) -> tuple[Outcome, Outcome]:
        """Runs argv without and with the library at the same time; returns both outcomes.

        Asserts the exit status, the same output, the bindings of every name in binders, and, for
        HAKMEM, at least one summary line.
        """
        proof = self.folder / "proof"
        proof.mkdir()
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(self.run, argv, preload=False, name="plain", **options),
                    pool.submit(self.run, argv, preload=True, proof=proof, name="preloaded",
                                **options)]
            plain, preloaded = (run.result() for run in runs)
        assert plain.status == status, f"without the library: {plain.stderr.decode()[-2000:]}"
        assert preloaded.status == status, (
            f"exit status {preloaded.status} with the library: "
            f"{b''.join(preloaded.summaries).decode()}{preloaded.stderr.decode()[-2000:]}")
        assert preloaded.stdout == plain.stdout
        if compare_stderr:
            assert preloaded.stderr == plain.stderr
        self.prove(proof, binders)
        if self.is_hakmem:
            self.prove_served(preloaded.summaries)
        return plain, preloaded

    def prove_served(self, summaries: Sequence[bytes]) -> None:
        """Asserts that the lines at exit tell of memory that HAKMEM gave out."""
        assert summaries, "no process printed HAKMEM's line at exit"
        for line in summaries:
            assert _SERVED.search(line), f"HAKMEM served nothing: {line.decode()}"

    def prove(self, proof: Path, binders: Iterable[str]) -> None:
        """Asserts that each named executable or object allocates from the library alone."""
        bindings = Bindings.read(proof, self.library)
        for name in binders:
            assert name in bindings.inside, (
                f"{name} did not take malloc from {self.library.name}; "
                f"these did: {', '.join(sorted(bindings.inside)) or 'none'}")
            assert name not in bindings.outside, f"{name} also takes malloc from elsewhere"


def same_files(plain: Outcome, preloaded: Outcome, *patterns: str) -> int:
    """Asserts that the files matching the patterns are the same in every byte; returns how many."""
    count = 0
    for pattern in patterns:
        names = [sorted(str(path.relative_to(run.folder)) for path in run.folder.glob(pattern))
                 for run in (plain, preloaded)]
        assert names[0] == names[1]
        assert names[0], f"no file matches {pattern}"
        for name in names[0]:
            ours, theirs = preloaded.folder / name, plain.folder / name
            if ours.is_file():
                assert ours.read_bytes() == theirs.read_bytes(), f"{name} differs"
                count += 1
    return count

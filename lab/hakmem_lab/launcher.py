"""Runs one command under one allocator through hakmem-launch, and proves that it was under it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .allocators import Allocator
from .errors import LabError

FIGURE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?) M ops/s\s*$", re.MULTILINE)
ALLOCATION = "malloc|calloc|realloc|aligned_alloc|memalign|posix_memalign|_Znwm|_Znam"
BINDING = re.compile(rf"binding file .* to (\S+) \[\d+\]: normal symbol `(?:{ALLOCATION})'")


@dataclass(frozen=True)
class Finished:
    """A command that has ended: what the launcher reported, and what the command printed."""

    report: dict[str, Any]
    stdout: str
    stderr: str

    @property
    def throughput(self) -> float | None:
        """The figure that the workloads of bench/ print, in million operations a second."""
        figures = FIGURE.findall(self.stdout)
        return float(figures[-1]) if figures else None

    @property
    def succeeded(self) -> bool:
        return self.report["exit_status"] == 0 and not self.report["timed_out"]


def launch(
    program: Path,
    command: Sequence[str],
    allocator: Allocator,
    timeout: float | None = None,
    extra_environment: dict[str, str] | None = None,
) -> Finished:
    """Runs the command to its end; a status other than 0 is no error here."""
    reader, writer = os.pipe()
    arguments = [str(program), "--fd", str(writer), "--machine", "--unset", "LD_PRELOAD"]
    if allocator.preload:
        arguments += ["--preload", allocator.preload_value]
    for name, value in {**allocator.environment, **(extra_environment or {})}.items():
        arguments += ["--env", f"{name}={value}"]
    if timeout is not None:
        arguments += ["--timeout", str(timeout)]
    try:
        done = subprocess.run(
            [*arguments, "--", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=(writer,),
            check=False,
        )
    finally:
        os.close(writer)
    with os.fdopen(reader) as pipe:
        line = pipe.read()
    if not line:
        raise LabError(f"the launcher could not run {command[0]}: {done.stderr.strip()}")
    return Finished(json.loads(line), done.stdout, done.stderr)


def require_success(finished: Finished, command: Sequence[str], allocator: Allocator) -> None:
    if finished.succeeded:
        return
    report = finished.report
    if report["timed_out"]:
        how = "ran out of time"
    elif report["signal"]:
        how = f"was killed by signal {report['signal']}"
    else:
        how = f"ended with status {report['exit_status']}"
    last = finished.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
    raise LabError(f"{' '.join(command)} under {allocator.name} {how}: {last[0]}")


def bound_libraries(folder: Path) -> set[str]:
    """The objects that allocation symbols were bound to, from the dynamic linker's own account."""
    found: set[str] = set()
    for file in folder.iterdir():
        with file.open(errors="replace") as lines:
            for line in lines:
                match = BINDING.search(line)
                if match:
                    found.add(os.path.realpath(match.group(1)))
    return found


def verify(
    program: Path, command: Sequence[str], allocator: Allocator, timeout: float | None = None
) -> Finished:
    """One run that must succeed, and whose allocation calls must be bound to the allocator.

    A preload that fails is only a line on stderr, and a statically linked program ignores it; both
    would otherwise be measured as if they were the allocator.
    """
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        debug = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{folder}/bindings"}
        finished = launch(program, command, allocator, timeout, debug)
        bound = bound_libraries(Path(folder))
    require_success(finished, command, allocator)
    wanted = {os.path.realpath(path) for path in allocator.preload}
    if wanted and not wanted & bound:
        instead = ", ".join(sorted(bound)) or "nothing (is it statically linked?)"
        raise LabError(
            f"{command[0]} does not run on {allocator.name}: its malloc is bound to {instead}"
        )
    return finished

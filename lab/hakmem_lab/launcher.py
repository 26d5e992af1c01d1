"""Runs one command under one allocator through hakmem-launch, and proves that it was under it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .allocators import Allocator
from .errors import LabError

FIGURE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?) M ops/s\s*$", re.MULTILINE)
ALLOCATION = "malloc|calloc|realloc|aligned_alloc|memalign|posix_memalign|_Znwm|_Znam"
BINDING = re.compile(rf"binding file .* to (\S+) \[\d+\]: normal symbol `(?:{ALLOCATION})'")


@dataclass(frozen=True)
class Finished:
    """A command that has ended: what the launcher reported, and what the command printed."""

    report: dict[str, Any]
    stdout: str  # of both, the last OUTPUT_KEPT bytes
    stderr: str
    timeline: list[tuple[float, int]] = field(default_factory=list)  # seconds, KiB resident

    @property
    def throughput(self) -> float | None:
        """The figure that the workloads of bench/ print, in million operations a second."""
        figures = FIGURE.findall(self.stdout)
        return float(figures[-1]) if figures else None

    @property
    def succeeded(self) -> bool:
        return self.report["exit_status"] == 0 and not self.report["timed_out"]


OUTPUT_KEPT = 1 << 16


def end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT_KEPT))
    return file.read().decode(errors="replace")


def stop(process: subprocess.Popen[bytes]) -> None:
    """The launcher passes the first signal on to the command, and kills it at the second."""
    for wait in (1.0, 0.2, None):
        try:
            process.wait(wait)
            return
        except subprocess.TimeoutExpired:
            process.terminate()


def launch(
    program: Path,
    command: Sequence[str],
    allocator: Allocator,
    timeout: float | None = None,
    extra_environment: dict[str, str] | None = None,
    with_timeline: bool = False,
    private_memory: bool = False,
) -> Finished:
    """Runs the command to its end; a status other than 0 is no error here."""
    arguments = ["--machine", "--unset", "LD_PRELOAD"]
    if allocator.preload:
        arguments += ["--preload", allocator.preload_value]
    for name, value in {**allocator.environment, **(extra_environment or {})}.items():
        arguments += ["--env", f"{name}={value}"]
    if timeout is not None:
        arguments += ["--timeout", str(timeout)]
    with contextlib.ExitStack() as stack:
        report, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        samples = None
        if with_timeline:
            samples = stack.enter_context(tempfile.NamedTemporaryFile())
            arguments += ["--samples", samples.name]
            if private_memory:
                arguments += ["--private", "--interval", "0.002"]
        process = subprocess.Popen(
            [str(program), "--fd", str(report.fileno()), *arguments, "--", *command],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=(report.fileno(),),
        )  # fmt: skip
        try:
            process.wait()
        except KeyboardInterrupt:
            stop(process)
            raise
        line, stderr = end_of(report), end_of(err)
        if not line:
            raise LabError(f"the launcher could not run {command[0]}: {stderr.strip()}")
        timeline = []
        if samples is not None:
            for row in Path(samples.name).read_text().splitlines():
                seconds, kib = row.split()
                timeline.append((float(seconds), int(kib)))
        return Finished(json.loads(line), end_of(out), stderr, timeline)


def failure_of(finished: Finished) -> str | None:
    """What went wrong, in a few words; None if nothing did."""
    if finished.succeeded:
        return None
    report = finished.report
    if report["timed_out"]:
        how = "ran out of time"
    elif report["signal"]:
        how = f"was killed by signal {report['signal']}"
    else:
        how = f"ended with status {report['exit_status']}"
    last = finished.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
    return f"{how}: {last[0]}"


def require_success(finished: Finished, command: Sequence[str], allocator: Allocator) -> None:
    failure = failure_of(finished)
    if failure is not None:
        raise LabError(f"{' '.join(command)} under {allocator.name} {failure}")


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
    program: Path,
    command: Sequence[str],
    allocator: Allocator,
    timeout: float | None = None,
    extra_environment: dict[str, str] | None = None,
) -> Finished:
    """One run that must succeed, and whose allocation calls must be bound to the allocator.

    A preload that fails is only a line on stderr, and a statically linked program ignores it; both
    would otherwise be measured as if they were the allocator.
    """
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        debug = {
            **(extra_environment or {}),
            "LD_DEBUG": "bindings",
            "LD_DEBUG_OUTPUT": f"{folder}/bindings",
        }
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

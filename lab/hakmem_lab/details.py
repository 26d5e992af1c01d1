"""Figures that cost a run of their own: system calls, hardware counters, instructions."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from . import counters
from .allocators import Allocator
from .errors import LabError

SYSTEM_CALLS = "raw_syscalls:sys_enter"
HARDWARE = {
    "instructions:u": "instructions",
    "cycles:u": "cycles",
    "cache-misses:u": "cache_misses",
    "branch-misses:u": "branch_misses",
}


@functools.cache
def perf_events() -> tuple[str, ...]:
    """The events that perf counts for this user on this machine; none where perf is not allowed."""
    if shutil.which("perf") is None:
        return ()
    counted = perf_stat([SYSTEM_CALLS, *HARDWARE], ["true"], dict(os.environ))
    if counted:
        return tuple(counted)
    # One event that is not known makes perf refuse all of them.
    return tuple(
        event
        for event in (SYSTEM_CALLS, *HARDWARE)
        if perf_stat([event], ["true"], dict(os.environ))
    )


def perf_stat(
    events: list[str], command: list[str], environment: dict[str, str], timeout: float | None = None
) -> dict[str, int]:
    """What perf counted of the command and all that it started; events without a figure are left out."""
    with tempfile.TemporaryDirectory(prefix="hakmem-lab-") as folder:
        table = Path(folder) / "table"
        perf = ["perf", "stat", "-x,", "-o", str(table), "-e", ",".join(events), "--", *command]
        if run_as_group(perf, environment, timeout) != 0 or not table.exists():
            return {}
        return parse_perf_table(table.read_text())


def run_as_group(command: list[str], environment: dict[str, str], timeout: float | None) -> int:
    """The status; if time runs out, or on Ctrl-C, everything that the command has started is ended."""
    process = subprocess.Popen(
        command, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(timeout)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def parse_perf_table(text: str) -> dict[str, int]:
    return {
        name: int(count) for count, name in re.findall(r"^(\d+),[^,]*,([^,]+),", text, re.MULTILINE)
    }


def count(
    command: list[str], allocator: Allocator, instructions: bool, timeout: float | None
) -> dict[str, Any]:
    """Of one command: {"system_calls": N, "cycles": N, …}, what this machine can count.

    The allocator is put under the command by env, whose own calls (about thirty) are counted with it,
    the same for every allocator.
    """
    figures: dict[str, Any] = {}
    events = list(perf_events())
    setting = {**allocator.environment}
    if allocator.preload:
        setting["LD_PRELOAD"] = allocator.preload_value
    start = ["env", *(f"{name}={value}" for name, value in setting.items()), *command]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        if events:
            counted = perf_stat(events, start, environment, timeout)
            names = {SYSTEM_CALLS: "system_calls", **HARDWARE}
            figures = {names[event]: number for event, number in counted.items()}
        if "system_calls" not in figures and shutil.which("strace") is not None:
            figures["system_calls"] = sum(counters.system_calls(command, allocator).values())
    except (LabError, subprocess.TimeoutExpired):
        pass  # not every program can be traced; the table then has no figure
    if instructions:
        try:
            figures["callgrind_instructions"] = counters.count_by_callgrind(command, allocator)
        except LabError as error:
            figures["callgrind_note"] = str(error)
    return figures

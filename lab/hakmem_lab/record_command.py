"""hakmem record: writes a trace of every allocation of a program."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

import click

from . import preload
from .cli import build_option
from .errors import LabError
from .places import find_places

SUFFIX = ".hakmem-trace"
# The terminal sends the others to the program as well as to this process.
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
MEBI = 1 << 20


def run_to_its_end(command: list[str], environment: dict[str, str]) -> int:
    """The program's status, 128 more than its signal if one killed it; signals are passed on."""
    process = subprocess.Popen(command, env=environment)

    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    before |= {number: signal.signal(number, signal.SIG_IGN) for number in FROM_TERMINAL}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def keep(parts: Path, output: Path) -> list[Path]:
    """The largest trace gets the name, the others the name with a number, largest first."""
    found = sorted(parts.iterdir(), key=lambda path: (-path.stat().st_size, path.name))
    kept = []
    for number, part in enumerate(found):
        target = output if number == 0 else output.with_name(f"{output.name}.{number}")
        shutil.move(part, target)
        kept.append(target)
    return kept


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
              help=f"File for the trace [default: PROGRAM{SUFFIX}].")  # fmt: skip
@click.option("--limit", default=4096, show_default=True, type=click.IntRange(min=1),
              help="MiB that the trace of one process may have; recording stops there.")  # fmt: skip
@build_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(output: Path | None, limit: int, build: str | None, command: tuple[str, ...]) -> None:
    """Records the allocations of COMMAND: hakmem record [OPTIONS] -- PROGRAM [ARGUMENT]...

    Each process has a trace of its own; the largest one gets the name, the others the name and a number.
    Exit status, signals and standard streams are the program's own.
    """
    places = find_places(build)
    tracer = places.tracer
    program = preload.find_program(command[0])
    preload.check(program, tracer)
    if any(sign in str(tracer) for sign in ": "):
        raise LabError(f'"{tracer}" has a colon or a space in it, which LD_PRELOAD cannot express')
    output = (output or Path(Path(command[0]).name + SUFFIX)).absolute()
    if not output.parent.is_dir():
        raise LabError(f"{output.parent} is no folder")
    # Beside the result: a trace may be too large for /tmp, and must not be copied.
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as folder:
        environment = {
            **os.environ,
            "LD_PRELOAD": str(tracer),
            "HAKMEM_TRACE_DIR": folder,
            "HAKMEM_TRACE_LIMIT": str(limit * MEBI),
        }
        status = run_to_its_end([str(program), *command[1:]], environment)
        kept = keep(Path(folder), output)
    if not kept:
        raise LabError(f"{shlex.join(command)} left no trace")
    click.echo(f"hakmem: {len(kept)} trace{'s' if len(kept) > 1 else ''}: {kept[0]}", err=True)
    sys.exit(status)

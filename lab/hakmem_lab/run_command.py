"""hakmem run: takes the place of this process with the program, on HAKMEM."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from . import options_table, preload
from .cli import build_option
from .errors import LabError
from .options_table import Option
from .places import find_places


def flag_of(option: Option) -> click.Option:
    """One flag for one row of options.def."""
    name = option.name.lower()
    if option.type == "bool":
        return click.Option([f"--{option.flag}/--no-{option.flag}", name], default=None,
                            help=option.help)  # fmt: skip
    kinds: dict[str, Callable[[], Any]] = {
        "int": lambda: click.IntRange(option.low, option.high),
        "enum": lambda: click.Choice(option.words),
        "size": lambda: SizeType(option),
    }
    metavar = option.unit.upper() or None if option.type == "int" else None
    return click.Option([f"--{option.flag}", name], type=kinds[option.type](), default=None,
                        metavar=metavar, help=option.help)  # fmt: skip


class SizeType(click.ParamType):
    """Bytes with K, M or G, within the limits of the row; kept as it was written."""

    name = "size"

    def __init__(self, option: Option) -> None:
        self.option = option

    def convert(self, value: Any, param: Any, context: Any) -> str:
        try:
            return options_table.parse_size(self.option, str(value))
        except ValueError as error:
            self.fail(str(error), param, context)


class RunCommand(click.Command):
    """Reads options.def when it is used, not when it is imported."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        if not any(
            isinstance(row, click.Option) and row.name == "hakmem_help" for row in self.params
        ):
            self.params[:0] = [
                flag_of(option) for option in options_table.load() if option.name != "HAKMEM_HELP"
            ]
            # --help is this command's own; the list of the library's values has another name.
            self.params.append(
                click.Option(
                    ["--values", "hakmem_help"],
                    is_flag=True,
                    default=None,
                    help="List every option with its value; nothing is run.",
                )
            )
        return super().get_params(context)


def original_environment() -> dict[bytes, bytes]:
    """As this process was started with: Python itself may have changed the locale in os.environ."""
    entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


@click.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@build_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(build: str | None, command: tuple[str, ...], **settings: Any) -> None:
    """Runs COMMAND on HAKMEM: hakmem run [OPTIONS] -- PROGRAM [ARGUMENT]...

    Exit status, signals and standard streams are the program's own: it takes the place of this
    process. Status 125: cannot be preloaded; 126: not executable; 127: not found.
    """
    library = find_places(build).hakmem
    if not command and not settings.get("hakmem_help"):
        raise click.UsageError("which program? hakmem run -- PROGRAM [ARGUMENT]...")
    words = list(command) or ["/bin/true"]
    program = preload.find_program(words[0])
    preload.check(program, library)
    if any(sign in str(library) for sign in ": "):
        raise LabError(f'"{library}" has a colon or a space in it, which LD_PRELOAD cannot express')
    environment = original_environment()
    before = environment.get(b"LD_PRELOAD")
    environment[b"LD_PRELOAD"] = os.fsencode(library) + (b":" + before if before else b"")
    for name, value in settings.items():
        if value is not None:
            environment[name.upper().encode()] = as_text(value).encode()
    # Python ignores these two; the program gets them as a shell would start it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(program, words, environment)
    except OSError as error:
        raise LabError(f"{program}: {error.strerror}", preload.NOT_EXECUTABLE) from None

"""The command line of `hakmem`: its commands, loaded when they are used, and what they share."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .errors import LabError

# Wide enough for every column where the output is no terminal.
console = Console(width=None if sys.stdout.isatty() else 180)

# In the order of `hakmem --help`. What a command imports is not loaded for the others: `hakmem run`
# must not wait for the libraries of statistics and plots.
COMMANDS = {
    "run": "run_command:run",
    "compare": "compare_command:compare",
    "lab": "lab_command:lab_group",
    "record": "record_command:record",
    "replay": "replay_command:replay",
    "trace": "replay_command:trace_group",
    "peers": "peers_command:peers_group",
    "measure": "commands:measure",
    "instructions": "commands:instructions",
    "syscalls": "commands:syscalls",
    "golden": "commands:golden_command",
}

build_option = click.option(
    "--build", metavar="DIR", help="Build folder [default: HAKMEM_BUILD_DIR or build/release]."
)


class Group(click.Group):
    """Loads its commands on demand, and turns a LabError into one line and its status.

    click's own usage errors have status 2.
    """

    def __init__(self, *arguments: Any, lazy: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.lazy = lazy or {}

    def list_commands(self, context: click.Context) -> list[str]:
        return [*self.lazy, *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.lazy:
            return super().get_command(context, name)
        module, _, attribute = self.lazy[name].partition(":")
        command: click.Command = getattr(
            importlib.import_module(f".{module}", __package__), attribute
        )
        return command

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except LabError as error:
            stopped = click.ClickException(str(error))
            stopped.exit_code = error.status
            raise stopped from None


@click.group(cls=Group, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="hakmem-lab", prog_name="hakmem")
def main() -> None:
    """Puts HAKMEM under a program, and measures allocators side by side."""


def new_progress() -> Progress:
    """On stderr, and only where that is a terminal."""
    shown = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    return Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)

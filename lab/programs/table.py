"""Reads programs.toml and turns its rows into command lines."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .inputs import input_path

FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Program:
    """One row of programs.toml: a command line that leaves nothing behind and can be repeated."""

    name: str
    what: str
    bar: str
    argv: tuple[str, ...]

    def inputs(self) -> set[str]:
        """Returns the names of the inputs that the command line uses."""
        return {name for word in self.argv for name in _PLACEHOLDER.findall(word)} - {"drivers"}

    def command(self) -> list[str]:
        """Returns the command line with every input built and its path filled in."""
        def fill(match: re.Match[str]) -> str:
            name = match.group(1)
            return str(FOLDER / "drivers" if name == "drivers" else input_path(name))
        return [_PLACEHOLDER.sub(fill, word) for word in self.argv]


def load_programs() -> list[Program]:
    """Returns the rows of programs.toml in their order; ValueError if a row has a wrong field."""
    with open(FOLDER / "programs.toml", "rb") as file:
        rows = tomllib.load(file)["program"]
    programs = []
    for row in rows:
        if set(row) != {"name", "what", "bar", "argv"}:
            raise ValueError(f"programs.toml: row {row.get('name')!r} has the fields "
                             f"{', '.join(sorted(row))}; expected name, what, bar, argv")
        programs.append(Program(row["name"], row["what"], row["bar"], tuple(row["argv"])))
    return programs

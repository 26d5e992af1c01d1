"""The library's options as its own table has them: src/config/options.def."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .places import options_file

ROW = re.compile(
    r"""^HAK_OPTION\(\s*(?P<field>\w+),\s*"(?P<name>\w+)",\s*(?P<type>\w+),\s*"(?P<unit>[^"]*)",
    \s*(?P<default>[^,]+),\s*(?P<low>[^,]+),\s*(?P<high>[^,]+),\s*(?P<help>(?:"[^"]*"\s*)+)\)""",
    re.MULTILINE | re.VERBOSE,
)
SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZE = re.compile(r"(\d+)([KMG]?)")


@dataclass(frozen=True)
class Option:
    """One row; low and high bound an int or a size, words are what an enum takes."""

    name: str
    type: str
    unit: str
    low: int
    high: int
    words: tuple[str, ...]
    help: str

    @property
    def flag(self) -> str:
        return self.name.removeprefix("HAKMEM_").lower().replace("_", "-")


def number(text: str) -> int:
    """The value of a constant expression as C has it: 32 * 1024, 1LL << 40, -1."""
    plain = re.sub(r"(?<=\d)[uUlL]+", "", text.strip())
    return evaluate(ast.parse(plain, mode="eval").body)


def evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.LShift):
        left, right = evaluate(node.left), evaluate(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left << right
    raise LabError(f"options.def has an expression that is not understood: {ast.unparse(node)}")


def parse(text: str) -> list[Option]:
    options = []
    for row in ROW.finditer(text):
        is_enum = row["type"] == "enum"
        options.append(
            Option(
                row["name"], row["type"], "" if is_enum else row["unit"],
                0 if is_enum else number(row["low"]), 0 if is_enum else number(row["high"]),
                tuple(row["unit"].split("|")) if is_enum else (),
                "".join(re.findall(r'"([^"]*)"', row["help"])),
            )
        )  # fmt: skip
    if len(options) != len(re.findall(r"^HAK_OPTION\(", text, re.MULTILINE)):
        raise LabError("options.def has a row that is not understood")
    return options


def load(path: Path | None = None) -> list[Option]:
    return parse((path or options_file()).read_text())


def parse_size(option: Option, text: str) -> str:
    """The text itself, if it is a size that the option takes."""
    match = SIZE.fullmatch(text)
    if match is None or not option.low <= int(match[1]) * SUFFIXES.get(match[2], 1) <= option.high:
        raise ValueError(f"{text!r} is no size from {option.low} to {option.high} bytes (K, M, G)")
    return text

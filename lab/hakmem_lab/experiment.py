"""Experiment files: what is compared, on what, and how large an effect has to be to matter.

title = "Warm pool"
hypothesis = "More empty slabs kept per class make refills cheaper"
workloads = ["random-65536", "bench_pair 1000000"]   # names of the table, or commands
metric = "throughput"                                # or time, cpu, rss, faults, instructions
smallest_effect = 0.01                               # what matters; 0.01 is 1 %
rounds = 10

[variants.one]                                       # the first one is what ships
gates = { WARM_CAPACITY = 1 }

[variants.none]
gates = { WARM_CAPACITY = 0 }
options = { DECAY_MS = 100 }
cmake = ["CMAKE_C_FLAGS=-O2"]
commit = "HEAD~1"
library = "other/libhakmem.so"                       # instead of a build
"""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import builds, metrics, options_table, workloads
from .allocators import Allocator, from_library
from .builds import Build
from .errors import LabError
from .places import TREE, Places
from .session import Command

INSTRUCTIONS = "instructions"
VARIANT_KEYS = {
    "gates": dict, "options": dict, "cmake": list, "commit": str, "library": str, "note": str,
}  # fmt: skip
KEYS = {
    "title": str, "hypothesis": str, "workloads": list, "metric": str, "smallest_effect": float,
    "rounds": int, "quick": bool, "threads": list, "variants": dict,
}  # fmt: skip
REQUIRED = ("title", "hypothesis", "workloads", "variants")


@dataclass(frozen=True)
class Variant:
    """One of what is compared."""

    name: str
    row: dict[str, Any]
    in_lab_build: bool = False  # because another variant has gates: all are then built alike

    @property
    def environment(self) -> dict[str, str]:
        gates = {
            f"HAKMEM_GATE_{name}": str(value) for name, value in self.row.get("gates", {}).items()
        }
        options = {
            f"HAKMEM_{name}": str(value) for name, value in self.row.get("options", {}).items()
        }
        return gates | options

    @property
    def build(self) -> Build:
        settings = [*self.row.get("cmake", [])]
        if self.in_lab_build:
            settings.append("HAKMEM_LAB=ON")
        return Build(self.row.get("commit"), tuple(settings))

    def describe(self) -> str:
        parts = [f"{name}={value}" for name, value in self.environment.items()]
        parts += [f"-D{setting}" for setting in self.row.get("cmake", [])]
        if "commit" in self.row:
            parts.append(f"commit {builds.full_commit(self.row['commit'])}")
        if "library" in self.row:
            parts.append(str(self.row["library"]))
        return ", ".join(parts) or "the tree as it is"

    def allocator(self, folder: Path) -> Allocator:
        if "library" in self.row:
            path = folder / self.row["library"]
        else:
            path = builds.library(self.build)
        made = from_library(self.name, path, self.name)
        return Allocator(self.name, self.name, made.preload, self.environment)


@dataclass(frozen=True)
class Experiment:
    """A file that was read and checked."""

    path: Path
    row: dict[str, Any]

    @property
    def variants(self) -> list[Variant]:
        rows = self.row["variants"]
        with_gates = any(row.get("gates") for row in rows.values())
        return [Variant(name, row, with_gates) for name, row in rows.items()]

    @property
    def smallest_effect(self) -> float:
        return float(self.row.get("smallest_effect", 0.01))

    @property
    def metric(self) -> str:
        return str(self.row.get("metric", "auto"))

    @property
    def rounds(self) -> int:
        return int(self.row.get("rounds", 10))

    @property
    def slug(self) -> str:
        return self.path.stem

    def commands(self, places: Places) -> list[Command]:
        known = workloads.all_workloads()
        found = []
        for text in self.row["workloads"]:
            if text in known or text in workloads.suites():
                for workload in workloads.select([text]):
                    found += workload.commands(
                        places, self.row.get("threads", [workloads.DEFAULT_THREADS]),
                        bool(self.row.get("quick")),
                    )  # fmt: skip
                continue
            words = shlex.split(text)
            found.append(Command(text, [places.program(words[0]), *words[1:]]))
        return found


def check_keys(path: Path, where: str, row: dict[str, Any], known: dict[str, type]) -> None:
    for key, value in row.items():
        if key not in known:
            raise LabError(f'{path}: "{key}" is no key of {where}; accepted are {", ".join(known)}')
        accepted = (int, float) if known[key] is float else known[key]
        if not isinstance(value, accepted) or (isinstance(value, bool) and known[key] is not bool):
            raise LabError(f'{path}: "{key}" of {where} must be a {known[key].__name__}')


def gate_names() -> set[str]:
    text = (TREE / "src" / "config" / "gates.def").read_text()
    return set(re.findall(r"^HAK_GATE_ROW\((\w+),", text, re.MULTILINE))


def check_variant(path: Path, name: str, row: Any) -> None:
    where = f"variant {name}"
    if not isinstance(row, dict):
        raise LabError(f"{path}: {where} must be a table")
    check_keys(path, where, row, VARIANT_KEYS)
    if "library" in row and ({"commit", "cmake", "gates"} & row.keys()):
        raise LabError(f"{path}: {where} has a library, so it cannot have commit, cmake or gates")
    if "commit" not in row and "library" not in row:
        for gate in row.get("gates", {}):
            if gate not in gate_names():
                known = ", ".join(sorted(gate_names()))
                raise LabError(f'{path}: "{gate}" of {where} is no gate; gates are {known}')
        options = {option.name.removeprefix("HAKMEM_") for option in options_table.load()}
        for option in row.get("options", {}):
            if option not in options:
                known = ", ".join(sorted(options))
                raise LabError(f'{path}: "{option}" of {where} is no option; options are {known}')


def load(path: Path) -> Experiment:
    try:
        row = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path} is not TOML: {error}") from None
    check_keys(path, "an experiment", row, KEYS)
    for key in REQUIRED:
        if key not in row:
            raise LabError(f'{path}: "{key}" is missing')
    if len(row["variants"]) < 2:
        raise LabError(f"{path}: at least two variants are compared; the first is what ships")
    for name, variant in row["variants"].items():
        check_variant(path, name, variant)
    if not row["workloads"] or not all(isinstance(text, str) and text for text in row["workloads"]):
        raise LabError(f"{path}: workloads must be a list of names and commands")
    accepted = ["auto", *metrics.METRICS, INSTRUCTIONS]
    if row.get("metric", "auto") not in accepted:
        raise LabError(
            f'{path}: metric must be one of {", ".join(accepted)}, not "{row["metric"]}"'
        )
    if not 0 < float(row.get("smallest_effect", 0.01)) < 1:
        raise LabError(f"{path}: smallest_effect must be between 0 and 1")
    if not 1 <= row.get("rounds", 10) <= 10000:
        raise LabError(f"{path}: rounds must be from 1 to 10000")
    return Experiment(path, row)

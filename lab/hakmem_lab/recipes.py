"""How a peer's shared library is made of its package: one function a recipe.

A recipe gets the peer's row of peers.toml, the unpacked package and an empty build folder, and
returns the path of the library. The flags are those of the allocator's own release build.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import LabError

Row = dict[str, Any]
Recipe = Callable[[Row, Path, Path, int], Path]


def recipe_digest_text(recipe: Recipe) -> str:
    """What a recipe does, without what its comments say: a reworded one builds nothing anew."""
    function = ast.parse(inspect.getsource(recipe)).body[0]
    if isinstance(function, ast.FunctionDef) and ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    return ast.unparse(function)


def run_logged(command: list[str], log: Path, directory: Path | None = None) -> None:
    """Runs a build step with its output in a log, whose end is shown if the step fails."""
    with log.open("ab") as output:
        output.write(("$ " + " ".join(command) + "\n").encode())
        output.flush()
        # A preloaded allocator or compiler flags of the caller are no part of the peer's build.
        hidden = {"LD_PRELOAD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"}
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        done = subprocess.run(
            command, stdout=output, stderr=output, cwd=directory, env=environment, check=False
        )
    if done.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise LabError(f"{command[0]} failed with status {done.returncode}; log {log}:\n{tail}")


def build_with_cmake(row: Row, package: Path, build: Path, jobs: int) -> Path:
    log = build / "build.log"
    configure = ["cmake", "-S", str(package / row["directory"]), "-B", str(build)]
    run_logged([*configure, "-DCMAKE_BUILD_TYPE=Release", *row["arguments"]], log)
    target = ["--target", row["target"]] if "target" in row else []
    run_logged(["cmake", "--build", str(build), "-j", str(jobs), *target], log)
    return build.joinpath(row["library"])


def build_with_configure(row: Row, package: Path, build: Path, jobs: int) -> Path:
    """jemalloc: the crate ships the generated configure script beside the source."""
    log = build / "build.log"
    source = package / row["directory"]
    shutil.copytree(source, build, dirs_exist_ok=True, symlinks=True)
    shutil.copy2(package / row["configure"], build / "configure")
    run_logged(["sh", "./configure", *row["arguments"]], log, build)
    run_logged(["make", "-j", str(jobs), row["target"]], log, build)
    return build.joinpath(row["library"])


TCMALLOC_FLAGS = [
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "-DNOMINMAX",
    "-DTCMALLOC_INTERNAL_8K_PAGES",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-canonical-system-headers",
    "-no-canonical-prefixes",
    "-fstack-protector",
    "-w",
]


def build_tcmalloc(row: Row, package: Path, build: Path, jobs: int) -> Path:
    """Google's tcmalloc, from the source list of the crate's build script (upstream has bazel).

    The crate hides the malloc symbols (TCMALLOC_INTERNAL_METHODS_ONLY) and adds a bridge for Rust;
    here tcmalloc.cc itself takes the place of the bridge, so that the library overrides malloc.
    Its patches only add settings that are off by default, so they are left out.
    """
    listed = re.findall(r'"(c_src/[^"]+\.(?:cc|S))"', (package / "build.rs").read_text())
    sources = [name for name in listed if not name.endswith("_bridge.cc")]
    sources.append("c_src/tcmalloc/tcmalloc/tcmalloc.cc")
    root = package / row["directory"]
    lines = [
        "cmake_minimum_required(VERSION 3.18)",
        "project(tcmalloc CXX ASM)",
        "add_library(tcmalloc SHARED",
        *(f"  {package / name}" for name in dict.fromkeys(sources)),
        ")",
        f"target_include_directories(tcmalloc PRIVATE {root}/abseil-cpp {root}/tcmalloc)",
        f"target_compile_options(tcmalloc PRIVATE {' '.join(TCMALLOC_FLAGS)})",
        "target_link_options(tcmalloc PRIVATE -Wl,--gc-sections)",
        "target_link_libraries(tcmalloc PRIVATE pthread dl)",
    ]
    project = build / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    log = build / "build.log"
    run_logged(["cmake", "-S", str(project), "-B", str(build / "out")], log)
    run_logged(["cmake", "--build", str(build / "out"), "-j", str(jobs)], log)
    return build.joinpath("out", row["library"])


def build_rpmalloc(row: Row, package: Path, build: Path, jobs: int) -> Path:
    """One translation unit; the flags are those of rpmalloc's own configure.py for a release."""
    del jobs
    flags = ["-std=c11", "-O3", "-DNDEBUG", "-fPIC", "-fno-math-errno", "-funit-at-a-time"]
    flags += ["-fstrict-aliasing", "-ffast-math", "-funroll-loops", "-D_GNU_SOURCE=1"]
    flags += ["-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1", "-w"]
    library = build.joinpath(row["library"])
    source = package / row["directory"] / "rpmalloc.c"
    command = ["cc", *flags, "-shared", "-o", str(library), str(source), "-pthread", "-ldl"]
    run_logged(command, build / "build.log")
    return library


def take_from_deb(row: Row, package: Path, build: Path, jobs: int) -> Path:
    del build, jobs
    return package.joinpath(row["library"])


RECIPES: dict[str, Recipe] = {
    "cmake": build_with_cmake,
    "configure": build_with_configure,
    "tcmalloc": build_tcmalloc,
    "rpmalloc": build_rpmalloc,
    "deb": take_from_deb,
}

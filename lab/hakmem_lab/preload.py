"""Whether a library can be preloaded into a program: looked up before the program is started.

The dynamic linker says nothing, or one line among the program's own, where a preload has no effect.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from .errors import LabError

# As env and the shell have them.
CANNOT_PRELOAD, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
SCRIPT_DEPTH = 4  # how many interpreters of interpreters Linux follows


def find_program(word: str) -> Path:
    if "/" in word:
        path = Path(word)
        if not path.exists():
            raise LabError(f"{word}: no such program", NOT_FOUND)
        if not path.is_file() or not os.access(path, os.X_OK):
            raise LabError(f"{word}: not executable", NOT_EXECUTABLE)
        return path
    found = shutil.which(word)
    if found is None:
        raise LabError(f"{word}: no such program in PATH", NOT_FOUND)
    return Path(found)


def executable_of(path: Path) -> Path:
    """The ELF file that the kernel will run: a script's interpreter, or the file itself."""
    for _ in range(SCRIPT_DEPTH):
        with path.open("rb") as file:
            if file.read(2) != b"#!":
                return path
            words = file.readline(512).decode(errors="replace").split()
        if not words:
            return path
        interpreter = Path(words[0])
        if interpreter.name == "env":
            named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if named:
                interpreter = Path(shutil.which(named[0]) or interpreter)
        if not interpreter.exists():
            raise LabError(f"{path}: its interpreter {interpreter} does not exist", NOT_EXECUTABLE)
        path = interpreter
    return path


def is_secure(path: Path) -> bool:
    """Whether Linux starts it in secure execution, where preloads of a user are ignored."""
    status = path.stat()
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getgid():
        return True
    try:
        return bool(os.getuid() != 0 and os.getxattr(path, "security.capability"))
    except OSError:
        return False


def machine_of(elf: ELFFile) -> str:
    return f"{elf['e_machine'].removeprefix('EM_')}, {elf.elfclass} bit"


def check(program: Path, library: Path) -> None:
    """Raises LabError, one line that says why, if the library would have no effect."""
    target = executable_of(program)
    shown = str(program) if target == program else f"{program} (run by {target})"
    if is_secure(target):
        raise LabError(
            f"{shown} is setuid, setgid or has capabilities: the system ignores preloads there",
            CANNOT_PRELOAD,
        )
    with target.open("rb") as file, library.open("rb") as own:
        try:
            elf = ELFFile(file)
        except ELFError:
            raise LabError(
                f"{shown} is neither an ELF program nor a script", NOT_EXECUTABLE
            ) from None
        wanted = ELFFile(own)
        if machine_of(elf) != machine_of(wanted):
            raise LabError(
                f"{shown} is of another architecture: {machine_of(elf)}; the library is"
                f" {machine_of(wanted)}",
                CANNOT_PRELOAD,
            )
        interpreters = [
            segment.get_interp_name()
            for segment in elf.iter_segments()
            if segment["p_type"] == "PT_INTERP"
        ]
    if not interpreters:
        raise LabError(
            f"{shown} is statically linked: no allocator can be preloaded; link it with"
            " libhakmem.a instead",
            CANNOT_PRELOAD,
        )
    if "musl" in interpreters[0]:
        raise LabError(
            f"{shown} is linked to musl libc ({interpreters[0]}); the library needs glibc",
            CANNOT_PRELOAD,
        )

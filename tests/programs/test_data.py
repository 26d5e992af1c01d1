"""Databases, version control, compressors and text tools on generated data."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Bench, same_files
from programs.inputs import git_repository, write_lines
from programs.text_sources import sqlite_script, text_lines

LINES = 150_000


def text(folder: Path) -> None:
    write_lines(folder / "lines.txt", text_lines(LINES))


@pytest.mark.needs("sqlite3")
@pytest.mark.parametrize("rows", [60_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_sqlite(bench: Bench, rows: int) -> None:
    plain, preloaded = bench.both(["sqlite3", "orders.db"], stdin=sqlite_script(rows).encode(),
                                  binders=["libsqlite3.so.0"])
    assert plain.stdout.rstrip().endswith(b"ok")
    assert same_files(plain, preloaded, "orders.db") == 1


@pytest.mark.needs("git")
@pytest.mark.parametrize(("commits", "files", "how"), [
    (300, 120, ""),
    pytest.param(3000, 500, "--aggressive", marks=pytest.mark.long),
])
def test_git(bench: Bench, commits: int, files: int, how: str) -> None:
    script = f"""
set -e
git -c gc.auto=0 -c pack.threads=1 gc {how} --quiet --prune=now
git fsck --full --strict
git count-objects -v | grep -v size
git log --format=%H%x20%s --stat | cksum
git rev-list --objects --all | sort | cksum
git archive main | tar -t | sort | cksum
"""
    plain, preloaded = bench.both(
        ["sh", "-c", f"cd history.git; {script}"], binders=["git", "sort", "tar"],
        env={"GIT_CONFIG_NOSYSTEM": "1"},
        setup=lambda folder: git_repository(folder / "history.git", commits, files))
    assert b"count: 0\n" in plain.stdout
    assert same_files(plain, preloaded, "history.git/objects/pack/*.pack") == 1


@pytest.mark.needs("xz", "zstd")
@pytest.mark.parametrize(("tool", "binder", "pack"), [
    ("xz", "liblzma.so.5", "xz -T2 --block-size=1MiB -3 -k lines.txt"),
    ("zstd", "zstd", "zstd -q -T2 -B1M -9 -k lines.txt"),
])
def test_compressor(bench: Bench, tool: str, binder: str, pack: str) -> None:
    plain, preloaded = bench.both(
        ["sh", "-c", f"{pack} && {tool} -q -T2 -dc lines.txt.* | cmp - lines.txt && echo same"],
        setup=text, binders=[binder])
    assert plain.stdout == b"same\n"
    assert same_files(plain, preloaded, "lines.txt.*") == 1


@pytest.mark.needs("sort", "grep", "find", "xargs")
def test_text_tools(bench: Bench) -> None:
    script = """
set -e
sort --parallel=2 -S 8M -k2,2 -k1,1n -s lines.txt > sorted
sort -R --random-source=lines.txt lines.txt | sort --parallel=2 -u > unique
grep -nE '(ka|lo)[a-z]+ (ber|dan)[a-z]*$' lines.txt > found
grep -o 'zo[a-z]*' lines.txt | sort | uniq -c | sort -rn | head -50 > counted
split -l 500 lines.txt part.
find . -name 'part.*' -size +1k -print0 | sort -z | xargs -0 -n 40 cat | cksum
"""
    plain, preloaded = bench.both(["sh", "-c", script], setup=text,
                                  binders=["sort", "grep", "find", "xargs", "uniq"])
    assert same_files(plain, preloaded, "sorted", "unique", "found", "counted", "part.*") > 300

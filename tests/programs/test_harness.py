"""The harness itself: a program that is not on the library, or that differs, does not pass."""

from __future__ import annotations

import subprocess

import pytest
from harness import PREFIX, Bench, same_files


@pytest.mark.needs("gcc")
def test_a_program_that_brings_its_own_malloc_is_no_proof(bench: Bench) -> None:
    source = bench.folder / "own.c"
    source.write_text("#include <stddef.h>\n#include <string.h>\n"
                      "static char pool[1 << 24];\nstatic size_t used;\n"
                      "void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & -16ul;"
                      " return p; }\nvoid free(void *p) { (void)p; }\n"
                      "int main(void) { return strdup(\"x\") == NULL; }\n")
    subprocess.run(["gcc", "-rdynamic", "-o", bench.folder / "own", source], check=True)
    with pytest.raises(AssertionError, match="own did not take malloc"):
        bench.both([bench.folder / "own"], binders=["own"])


def test_output_that_depends_on_the_library_is_found(bench: Bench) -> None:
    with pytest.raises(AssertionError):
        bench.both(["sh", "-c", "echo ${LD_PRELOAD:-nothing}"], binders=["sh"])


def test_a_status_that_depends_on_the_library_is_found(bench: Bench) -> None:
    with pytest.raises(AssertionError, match="exit status 3 with the library"):
        bench.both(["sh", "-c", "exit ${LD_PRELOAD:+3}"], binders=["sh"])


def test_a_file_that_depends_on_the_library_is_found(bench: Bench) -> None:
    plain, preloaded = bench.both(["sh", "-c", "ls > list; echo ${LD_PRELOAD:-nothing} > file"],
                                  binders=["sh"])
    with pytest.raises(AssertionError, match="file differs"):
        same_files(plain, preloaded, "file")


def test_summaries_are_taken_from_standard_error_only(bench: Bench) -> None:
    outcome = bench.run(["sh", "-c", "echo 'hakmem: a' >&2; echo b >&2; echo 'hakmem: c'"],
                        preload=False)
    assert (outcome.summaries, outcome.stderr, outcome.stdout) == (
        (PREFIX + b"a\n",), b"b\n", PREFIX + b"c\n")

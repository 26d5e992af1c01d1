"""CPython's own tests with PYTHONMALLOC=malloc: each ends as it does without the library.

HAKMEM_VERBOSE and LD_DEBUG stay off here, for many of these tests look at the standard error and
the open files of their children. The proof: the loader binds the interpreter's malloc to the
library, and in the process that runs the tests the library is mapped and a block is not in the
heap segment that glibc would have taken it from.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import missing
from harness import PREFIX, Bench, Outcome

PYTHON = "/usr/bin/python3"
RUNNER = Path(__file__).parent / "inputs" / "cpython_tests.py"

CI_MODULES = (
    "test_array", "test_bisect", "test_bytes", "test_collections", "test_coroutines", "test_ctypes",
    "test_deque", "test_dict", "test_float", "test_functools", "test_gc", "test_generators",
    "test_hashlib", "test_heapq", "test_json", "test_list", "test_long", "test_marshal",
    "test_memoryio", "test_memoryview", "test_mmap", "test_ordered_dict", "test_pickletools",
    "test_pyexpat", "test_re", "test_set", "test_sort", "test_struct", "test_thread",
    "test_threading", "test_threading_local", "test_tuple", "test_unicode", "test_weakref",
    "test_xml_etree", "test_zlib",
)
LONG_MODULES = (
    "test_ast", "test_asyncio", "test_buffer", "test_bufio", "test_bz2", "test_compile",
    "test_concurrent_futures", "test_decimal", "test_fork1", "test_io", "test_itertools",
    "test_lzma", "test_minidom", "test_multiprocessing_fork", "test_pickle", "test_queue",
    "test_random", "test_subprocess",
)

_RESULT = re.compile(r"^(test\w* \([\w.]+\)).*?\.\.\. .*?(ok|FAIL|ERROR|skipped|expected failure)",
                     re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def testsuite() -> None:
    if subprocess.run([PYTHON, "-c", "import test.test_dict, _testcapi"],
                      capture_output=True).returncode:
        missing("the test package of /usr/bin/python3")


def test_the_interpreter_binds_malloc_to_the_library(bench: Bench) -> None:
    bench.both([PYTHON, "-c", "print(len([0] * 10**6))"], binders=["python3"],
               env={"PYTHONMALLOC": "malloc"})


def results(outcome: Outcome) -> dict[str, str]:
    """Returns the result of each test; regrtest -v prints them on standard error or output."""
    text = (outcome.stdout + b"\n" + outcome.stderr).decode(errors="replace")
    return dict(_RESULT.findall(text))


@pytest.mark.parametrize("module", [
    *CI_MODULES, *(pytest.param(name, marks=pytest.mark.long) for name in LONG_MODULES)])
def test_cpython(bench: Bench, module: str) -> None:
    report = "../{}.report"
    with ThreadPoolExecutor(2) as pool:
        plain, preloaded = pool.map(
            lambda preload: bench.run(
                [PYTHON, RUNNER, report.format(preload), module], preload=preload,
                name=("plain", "preloaded")[preload], env={"PYTHONMALLOC": "malloc"}),
            (False, True))
    allocator, place, *files = (bench.folder / report.format(True)[3:]).read_text().splitlines()
    assert allocator == "malloc"
    assert place != "[heap]"
    assert str(bench.library) in files
    assert preloaded.status == plain.status == 0, preloaded.stderr.decode()[-3000:]
    assert not preloaded.summaries, f"the library complained: {preloaded.summaries[0].decode()}"
    expected = results(plain)
    assert len(expected) > 0
    assert results(preloaded) == expected
    assert PREFIX not in preloaded.stdout

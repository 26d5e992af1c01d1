"""Options, tools and the fixture that runs a program with and without the library."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(Path(__file__).resolve().parent)]

from harness import Bench  # noqa: E402
from programs.redis_source import RedisUnavailable, redis_folder  # noqa: E402

IN_CI = any(os.environ.get(name, "") not in ("", "0", "false") for name in ("CI", "HAKMEM_CI"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lib", default=os.environ.get("HAKMEM_LIB", "build/release/libhakmem.so"),
                     help="library to preload (default: HAKMEM_LIB or build/release/libhakmem.so)")
    parser.addoption("--expect", type=int, metavar="N",
                     help="fail unless exactly N tests ran and passed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    expected = session.config.getoption("expect")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = len(reporter.stats.get("passed", []))
    if expected is not None and passed != expected:
        reporter.write_line("")
        reporter.write_line(f"{passed} tests passed, expected {expected} "
                            "(the number stands in tests/programs/CMakeLists.txt)")
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: outside the CI subset")
    config.addinivalue_line("markers", "needs(*commands): commands in /usr/bin that the test runs")


def missing(what: str) -> None:
    """Fails the test in CI and skips it elsewhere."""
    message = f"{what} is missing; tests/programs/deps.txt lists the packages"
    if IN_CI:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(autouse=True)
def needed_commands(request: pytest.FixtureRequest) -> None:
    for marker in request.node.iter_markers("needs"):
        for command in marker.args:
            if shutil.which(command, path="/usr/bin:/bin") is None:
                missing(f"/usr/bin/{command}")


@pytest.fixture(scope="session")
def library(pytestconfig: pytest.Config) -> Path:
    given = Path(pytestconfig.getoption("lib"))
    path = given if given.is_absolute() else ROOT / given
    if not path.is_file():
        pytest.exit(f"{path} is not there; build it or give --lib=PATH", returncode=2)
    return path.resolve()


@pytest.fixture
def bench(request: pytest.FixtureRequest, library: Path, tmp_path: Path) -> Iterator[Bench]:
    failed_before = request.session.testsfailed
    yield Bench(library, tmp_path)
    if request.session.testsfailed == failed_before:
        shutil.rmtree(tmp_path)


@pytest.fixture(scope="session")
def redis() -> Path:
    try:
        return redis_folder()
    except RedisUnavailable as error:
        missing(f"redis built with MALLOC=libc ({error})")
        raise

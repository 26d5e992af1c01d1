"""Language runtimes on small programs that allocate much, also from several threads."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Bench

INPUTS = Path(__file__).parent / "inputs"


@pytest.mark.needs("node")
def test_node(bench: Bench) -> None:
    plain, _ = bench.both(["node", INPUTS / "churn.js"], binders=["node"])
    assert len(plain.stdout.split()) == 5


@pytest.mark.needs("perl")
def test_perl(bench: Bench) -> None:
    plain, _ = bench.both(["perl", INPUTS / "churn.pl"], binders=["perl"],
                          env={"PERL_HASH_SEED": "0"})
    assert b"leaves 60000" in plain.stdout


@pytest.mark.needs("python3")
@pytest.mark.parametrize("pymalloc", ["malloc", "pymalloc"])
def test_python_threads(bench: Bench, pymalloc: str) -> None:
    plain, _ = bench.both(["python3", INPUTS / "churn.py"], binders=["python3"],
                          env={"PYTHONMALLOC": pymalloc})
    assert plain.stdout.startswith(b"[(0, (")


@pytest.mark.needs("bash")
def test_bash(bench: Bench) -> None:
    plain, _ = bench.both(["bash", INPUTS / "churn.sh"], binders=["bash", "wc", "cksum"])
    assert plain.stdout.startswith(b"613 words")

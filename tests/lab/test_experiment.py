"""hakmem lab ab and regress: files, decisions, pages, and builds of commits."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import TREE
from test_verdict import normal, result_of

from hakmem_lab import builds, cli, counters, decision, experiment
from hakmem_lab.decision import Effect, decide
from hakmem_lab.errors import LabError

GOOD = """
title = "T"
hypothesis = "H."
workloads = ["bench_pair 20000"]
rounds = 5
smallest_effect = 0.02
[variants.base]
library = "{library}"
[variants.other]
library = "{other}"
"""


def write(tmp_path, text):
    path = tmp_path / "trial.toml"
    path.write_text(text)
    return path


def invoke(*arguments):
    return CliRunner().invoke(cli.main, ["lab", *map(str, arguments)])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("title", "titel"), '"titel" is no key of an experiment; accepted are title, hypothesis'),
        (('title = "T"', ""), '"title" is missing'),
        (("rounds = 5", 'rounds = "5"'), '"rounds" of an experiment must be a int'),
        (("rounds = 5", "rounds = 0"), "rounds must be from 1"),
        (("0.02", "2"), "smallest_effect must be between 0 and 1"),
        (("rounds = 5", 'metric = "speed"'), "metric must be one of auto, throughput"),
        (("[variants.other]", "[variants.base.gates]"), "at least two variants"),
        (('["bench_pair 20000"]', "[]"), "workloads must be a list"),
        (("rounds = 5", "rounds = "), "is not TOML"),
    ],
)
def test_wrong_files_are_one_line(tmp_path, change, said):
    path = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(LabError, match=said):
        experiment.load(path)
    assert invoke("ab", path).exit_code == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("gates = { WARM = 1 }", '"WARM" of variant b is no gate; gates are'),
        ("options = { DECAY = 1 }", '"DECAY" of variant b is no option; options are'),
        ("compiler = 1", '"compiler" is no key of variant b'),
        ('commit = "x"\nlibrary = "y"', "has a library, so it cannot have commit"),
    ],
)
def test_wrong_variants_are_named(tmp_path, row, said):
    text = f'title="T"\nhypothesis="H"\nworkloads=["pair"]\n[variants.a]\n[variants.b]\n{row}\n'
    with pytest.raises(LabError, match=said):
        experiment.load(write(tmp_path, text))


def test_one_variant_is_no_experiment(tmp_path):
    text = 'title="T"\nhypothesis="H"\nworkloads=["pair"]\n[variants.a]\n'
    with pytest.raises(LabError, match="at least two variants"):
        experiment.load(write(tmp_path, text))


def test_gates_put_all_variants_into_the_lab_build(tmp_path):
    gate = min(experiment.gate_names())
    text = (
        'title="T"\nhypothesis="H"\nworkloads=["pair"]\n[variants.a]\n[variants.b]\n'
        f"gates = {{ {gate} = 0 }}\noptions = {{ DECAY_MS = 7 }}\n"
    )
    one, other = experiment.load(write(tmp_path, text)).variants
    assert one.build.settings == other.build.settings == ("HAKMEM_LAB=ON",)
    assert other.environment == {f"HAKMEM_GATE_{gate}": "0", "HAKMEM_DECAY_MS": "7"}


@pytest.mark.parametrize(
    ("effects", "failed", "verdict"),
    [
        ([(0.05, 0.03, 0.07)], [], "adopt"),
        ([(0.05, 0.03, 0.07), (0.0, -0.005, 0.005)], [], "adopt"),
        ([(0.05, 0.03, 0.07), (-0.05, -0.07, -0.03)], [], "inconclusive"),
        ([(-0.05, -0.07, -0.03)], [], "reject"),
        ([(0.002, -0.004, 0.008)], [], "reject"),
        ([(0.005, 0.001, 0.02)], [], "inconclusive"),
        ([(0.02, -0.02, 0.06)], [], "inconclusive"),
        ([(0.05, 0.03, 0.07)], ["x"], "reject"),
        ([], [], "inconclusive"),
    ],
)
def test_decisions(effects, failed, verdict):
    rows = [Effect("w", *effect) for effect in effects]
    assert decide("v", rows, failed, 0.01).verdict == verdict


def test_equal_variants_are_hardly_ever_decided_upon(monkeypatch):
    """Two variants like the first: one in twenty may be called better or worse."""
    monkeypatch.setattr("hakmem_lab.statistics.RESAMPLES", 999)
    random = np.random.default_rng(21)
    wrong = 0
    for _ in range(300):
        result = result_of([normal(random, 10).tolist() for _ in range(3)])
        rows = decision.decide_all(result, 0.001)
        wrong += any(effect.low > 0 or effect.high < 0 for row in rows for effect in row.effects)
    assert wrong <= 15 + 3 * np.sqrt(300 * 0.05 * 0.95)


def test_ab_from_end_to_end(places, tmp_path):
    text = GOOD.format(library=places.hakmem, other=places.nothing)
    page, raw = tmp_path / "page.md", tmp_path / "raw.json"
    done = invoke("ab", write(tmp_path, text), "--output", page, "--json", raw, "--repeats", 0,
                  "--build", places.build)  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(raw.read_text())
    assert document["kind"] == "ab"
    assert document["experiment"]["hypothesis"] == "H."
    assert document["commit"]
    text = page.read_text()
    assert text.startswith("# T\n\n**Hypothesis.** H.\n")
    for part in ("## Verdict", "| base |", "| other |", "./hakmem lab ab trial.toml", "Linux"):
        assert part in text
    assert str(tmp_path) not in text.replace(str(places.hakmem), "").replace(
        str(places.nothing), ""
    )


def test_ab_on_instructions_is_exact(places, tmp_path):
    text = 'metric = "instructions"\n' + GOOD.format(library=places.hakmem, other=places.nothing)
    done = invoke("ab", write(tmp_path, text), "--no-page", "--build", places.build,
                  "--json", tmp_path / "raw.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (
        done.stdout.strip().splitlines()[-1]
        == "adopt: other, better on bench_pair 20000, worse nowhere"
    )


def test_a_variant_that_fails_is_rejected(places, tmp_path):
    text = GOOD.format(library=places.hakmem, other=places.nothing).replace(
        "bench_pair 20000", "sh -c 'if grep -q libnothing /proc/$$/maps; then exit 3; fi'"
    )
    done = invoke("ab", write(tmp_path, text), "--no-page", "--build", places.build,
                  "--json", tmp_path / "raw.json")  # fmt: skip
    assert "reject: other, it fails on sh -c" in done.stdout


def test_regress_holds_and_fails(places, monkeypatch):
    monkeypatch.setattr(builds, "full_commit", lambda name: "0" * 40)
    monkeypatch.setattr(builds, "library", lambda build: places.nothing)
    grown = invoke("regress", "any", "-w", "pair", "--build", places.build)
    assert grown.exit_code == 1
    assert "more instructions than at 000000000000: pair by" in grown.stderr
    monkeypatch.setattr(builds, "library", lambda build: places.hakmem)
    monkeypatch.setattr(counters, "instructions_per_operation", lambda *_: 50.0)
    assert invoke("regress", "any", "-w", "pair", "--build", places.build).exit_code == 0


def test_unknown_commit_is_one_line(places):
    done = invoke("regress", "no-such-commit", "--build", places.build)
    assert (done.exit_code, done.stderr) == (1, f'Error: "no-such-commit" is no commit of {TREE}\n')


def test_a_commit_is_built_beside_the_tree(tmp_path, monkeypatch):
    """A repository of its own, with the tree as it is: a checkout without history has no commits."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(x C)\nadd_library(hakmem SHARED a.c)\n"
    )
    (tree / "a.c").write_text("int answer(void) { return VALUE; }\n")
    for command in (["init", "-q"], ["add", "."],
                    ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):  # fmt: skip
        builds.run(["git", *command], where=tree)
    (tree / "a.c").write_text("this is not C\n")
    monkeypatch.setattr(builds, "TREE", tree)
    monkeypatch.setattr(builds, "FOLDER", tmp_path / "experiments")
    monkeypatch.setattr(builds, "in_source_tree", lambda: True)
    monkeypatch.setattr(builds.run, "__defaults__", (None, tree))
    made = builds.library(builds.Build("HEAD", ("CMAKE_C_FLAGS=-DVALUE=1",)))
    assert made.is_file()
    assert builds.library(builds.Build("HEAD", ("CMAKE_C_FLAGS=-DVALUE=1",))) == made
    with pytest.raises(LabError, match=r"cmake failed with status .*; the whole log is "):
        builds.library(builds.Build(None, ()))

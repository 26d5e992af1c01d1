"""The golden file of instruction counts, and its command."""

import json

import pytest
from click.testing import CliRunner

from hakmem_lab import cli, counters, golden
from hakmem_lab.errors import LabError

CONTENT = {
    "format": 1,
    "tolerance": 0.3,
    "instructions_per_pair_beyond_nothing": {"pair": 26.0, "batch64": 27.5},
}


def test_counts_within_the_tolerance_hold():
    rows = golden.compare(CONTENT, {"pair": 26.3, "batch64": 27.2})
    assert [row.holds for row in rows] == [True, True]


@pytest.mark.parametrize("pair", [26.4, 25.6])
def test_a_count_off_in_either_direction_differs(pair):
    rows = golden.compare(CONTENT, {"pair": pair, "batch64": 27.5})
    assert [row.holds for row in rows] == [False, True]


def test_a_count_on_one_side_only_differs():
    rows = golden.compare(CONTENT, {"pair": 26.0, "remote": 50.0})
    assert [(row.workload, row.holds) for row in rows] == [
        ("pair", True), ("remote", False), ("batch64", False),
    ]  # fmt: skip


def test_saved_counts_are_read_back(tmp_path):
    path = tmp_path / "folder" / "golden.json"
    golden.save(path, {"pair": 26.04}, "cc 1", 0.3)
    rows = golden.compare(golden.load(path), {"pair": 26.0})
    assert [(row.golden, row.holds) for row in rows] == [(26.0, True)]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "is no JSON"), ("[]", "not of format 1"), ('{"format": 2}', "not of format 1")],
)
def test_unusable_files_are_named(tmp_path, text, said):
    path = tmp_path / "golden.json"
    path.write_text(text)
    with pytest.raises(LabError, match=said):
        golden.load(path)


def test_missing_file_says_how_to_write_it(tmp_path):
    with pytest.raises(LabError, match="does not exist; write it by: golden --update"):
        golden.load(tmp_path / "golden.json")


def test_command_updates_compares_and_fails(places, tmp_path, monkeypatch):
    """The real command, with counts that are made up: nothing has 20, the other 20 + beyond."""
    beyond = {"pair": 26.0}

    def count(workload, allocator, _):
        return 20.0 + (0 if allocator.name == "nothing" else beyond[workload.name])

    monkeypatch.setattr(counters, "instructions_per_operation", count)
    path = tmp_path / "golden.json"
    arguments = ["golden", "-a", "glibc", "-w", "pair", "--file", str(path)]
    arguments += ["--build", str(places.build)]

    def run(*more):
        return CliRunner().invoke(cli.main, [*arguments, *more])

    assert run().exit_code == 1, "no file yet"
    assert run("--update").exit_code == 0
    written = json.loads(path.read_text())["instructions_per_pair_beyond_nothing"]
    assert written == {"pair": 26.0}
    assert run().exit_code == 0
    beyond["pair"] = 31.0
    failed = run()
    assert failed.exit_code == 1
    assert "counts differ" in failed.output

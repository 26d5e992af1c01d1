"""hakmem lab list, run and report, and the table of workloads."""

import json
import os

import pytest
from click.testing import CliRunner

from hakmem_lab import cli, workloads
from hakmem_lab.errors import LabError


def invoke(*arguments):
    return CliRunner().invoke(cli.main, ["lab", *arguments])


def test_every_workload_is_described_and_is_a_program(places):
    for workload in workloads.all_workloads().values():
        assert workload.row.keys() <= workloads.KEYS
        assert workload.row.keys() >= {"question", "command", "length", "quick"}
        for command in workload.commands(places, [1, 2], quick=True):
            assert os.access(command.argv[0], os.X_OK)


def test_every_program_of_bench_is_a_workload(places):
    ours = {row.row["command"].split()[0] for row in workloads.all_workloads().values()}
    built = {
        path.name for path in (places.build / "bench").iterdir() if path.name.startswith("bench_")
    }
    assert built - ours == {"bench_remote"}, "bench_remote counts instructions; the rest is listed"


def test_the_list_has_every_name_once():
    shown = invoke("list").stdout
    for name in workloads.all_workloads():
        assert f"{name} " in shown


def test_suites():
    suites = workloads.suites()
    assert {"all", "quick", "threads", "working-set", "memory"} <= suites.keys()
    assert [row.name for row in workloads.select(["working-set", "random-256"])] == [
        "random-256", "random-1024", "random-8192", "random-65536", "random-1048576",
    ]  # fmt: skip
    assert all(row.has_threads for row in suites["threads"])


def test_numbers_of_threads():
    assert workloads.thread_counts(None) == [2]
    assert workloads.thread_counts("1,3") == [1, 3]
    scale = workloads.thread_counts("scale")
    assert scale[0] == 1
    assert scale[-1] > 2 * os.cpu_count()
    for wrong in ("0", "1,", "many", "1000"):
        with pytest.raises(LabError, match="--threads takes numbers"):
            workloads.thread_counts(wrong)


def test_run_and_report(places, tmp_path):
    raw = tmp_path / "raw.json"
    done = invoke("run", "pair", "trees", "--quick", "-n", "5", "--with", "glibc", "--threads", "1,2",
                  "--json", str(raw), "--build", str(places.build))  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(raw.read_text())
    assert [row["name"] for row in document["commands"]] == ["pair", "trees ×1", "trees ×2"]
    assert document["commands"][2]["axes"] == {"workload": "trees", "threads": 2}
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("HAKMEM against the best of the others: better in ")
    page = tmp_path / "page.md"
    again = invoke("report", str(raw), "--markdown", str(page))
    assert again.exit_code == 0
    assert again.stdout.strip().splitlines()[-1] == last
    text = page.read_text()
    assert last.removesuffix(".") in text
    assert "./hakmem lab run --quick -n 5 --with glibc --threads 1,2 \\\n    trees\n" in text
    assert text.count("| trees ×2 |") == 2


def test_a_workload_that_measures_memory(places, tmp_path):
    done = invoke("run", "idle", "--quick", "-n", "5", "--with", "glibc", "--build", str(places.build),
                  "--json", str(tmp_path / "raw.json"))  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "last-rss" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["run"], 2, "which workload or suite?"),
        (["run", "pears"], 1, '"pears" is neither a workload nor a suite'),
        (["run", "pair", "--threads", "x"], 1, "--threads takes numbers"),
        (["report", "/no/such.json"], 1, "/no/such.json cannot be read as a result"),
    ],
)
def test_bad_input(places, arguments, status, said):
    done = invoke(*arguments, "--build", str(places.build))
    assert done.exit_code == status
    assert said in done.stderr


def test_without_a_result_there_is_no_report(places, tmp_path):
    done = invoke("report", "--build", str(tmp_path))
    assert (done.exit_code, "there is no result in" in done.stderr) == (1, True)

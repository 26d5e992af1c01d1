"""hakmem compare on real programs: its report, its failures, and an honest stop."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from conftest import TREE

from hakmem_lab import cli, details, results
from hakmem_lab.errors import LabError


def arguments(places, *more):
    return ["compare", "--build", str(places.build), *more]


def invoke(places, *more):
    return CliRunner().invoke(cli.main, arguments(places, *more))


def last_line(done):
    return done.stdout.strip().splitlines()[-1]


def test_a_real_program_from_end_to_end(places, tmp_path):
    raw = tmp_path / "raw.json"
    script = "x=[str(n)*4 for n in range(60000)]; import time; time.sleep(.05)"
    done = invoke(places, "--with", "glibc,nothing", "-n", "5", "--repeats", "0", "--json", str(raw),
                  "--", "/usr/bin/env", "python3", "-c", script)  # fmt: skip
    assert done.exit_code in (0, 1), done.output
    assert "peak RSS MiB" in done.stdout
    assert "system calls" in done.stdout
    assert last_line(done).endswith(
        ("memory", "would show 1 %", "precision)")
    ) or "95 %" in last_line(done)
    result = results.load(raw)
    assert result.names == ["hakmem", "glibc", "nothing"]
    assert len(result.cell(0, 0).by_round) == 5
    assert result.detail(0, 0)["system_calls"] > 20
    timeline = result.timeline(0, 0)
    assert len(timeline["seconds"]) == len(timeline["kib"]) > 3
    assert max(timeline["kib"]) <= 2 * max(result.cell(0, 0).values("peak_rss_kib"))
    assert {"cpu_s", "minor_faults", "voluntary_switches"} <= result.cell(0, 0).by_round[0].keys()


def test_order_rotates_and_runs_interleave(places, tmp_path):
    raw = tmp_path / "raw.json"
    invoke(places, "--with", "glibc", "-n", "2", "--repeats", "0", "--no-details", "--json", str(raw),
           "--", "true")  # fmt: skip
    runs = json.loads(raw.read_text())["runs"]
    assert [(run["round"], run["allocator"]) for run in runs] == [(0, 0), (0, 1), (1, 1), (1, 0)]


def test_a_crash_on_one_allocator_is_its_result(places, tmp_path):
    """The program ends itself where libnothing is mapped; the other two are compared."""
    script = "if grep -q libnothing /proc/$$/maps; then kill -SEGV $$; fi"
    done = invoke(places, "--with", "glibc,nothing", "-n", "5", "--repeats", "0", "--no-details",
                  "--", "sh", "-c", script)  # fmt: skip
    assert done.exit_code == 1
    assert "nothing failed on" in done.stdout
    assert "was killed by signal 11" in done.stdout
    assert "glibc" in last_line(done)


def test_a_time_out_on_one_allocator_is_its_result(places):
    script = "if grep -q libnothing /proc/$$/maps; then sleep 60; fi"
    done = invoke(places, "--with", "glibc,nothing", "-n", "1", "--repeats", "0", "--no-details",
                  "--timeout", "0.5", "--", "sh", "-c", script)  # fmt: skip
    assert done.exit_code == 1
    assert "ran out of time" in done.stdout


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["--with", "mimaloc", "--", "true"], 1, '"mimaloc" is no allocator; accepted are'),
        (["--with", "/no/lib.so", "--", "true"], 1, "/no/lib.so is no file"),
        (["--", "no-such-program"], 1, '"no-such-program" is neither in'),
        (["--", "/no/such/program"], 127, "no such program"),
        (["--with", "glibc", "-n", "2", "--", "false"], 1, "nothing could be measured: false ended with status 1"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(places, more, status, said):
    done = invoke(places, *more)
    assert done.exit_code == status
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def interrupt(places, raw, mark, lines, command):
    """Starts a comparison, and interrupts it when its program has written so many lines."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hakmem_lab",
         *arguments(places, "--with", "glibc", "-n", "1000", "--json", str(raw), "--", "sh", "-c",
                    f"echo x >> {mark}; {command}")],
        env={**os.environ, "PYTHONPATH": str(TREE / "lab")}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not mark.exists() or len(mark.read_text().splitlines()) < lines:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_ctrl_c_keeps_what_was_measured(places, tmp_path):
    raw = tmp_path / "raw.json"
    status, out, err = interrupt(places, raw, tmp_path / "mark", 30, "sleep 0.05")
    assert status == 130, err
    assert "interrupted: the figures are of the runs that were made until then" in out
    assert "95 %" in out.strip().splitlines()[-1]
    document = json.loads(raw.read_text())
    assert document["interrupted"]
    assert len(document["runs"]) > 10


def test_interrupted_before_anything_is_one_line(places, tmp_path):
    status, _, err = interrupt(places, tmp_path / "raw.json", tmp_path / "mark", 1, "sleep 30")
    assert status == 1
    assert err.startswith("Error: nothing could be measured: sh ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 2}'])
def test_files_that_are_no_results(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(LabError):
        results.load(path)


def test_perf_table():
    text = "# started\n\n<not supported>,,instructions:u,0,100.00,,\n29,,raw_syscalls:sys_enter,7,100.00,,\n"
    assert details.parse_perf_table(text) == {"raw_syscalls:sys_enter": 29}


def test_what_is_counted_does_not_outlive_its_time(tmp_path):
    alive = tmp_path / "alive"
    script = f"(sleep 2; touch {alive}) & sleep 60"
    with pytest.raises(subprocess.TimeoutExpired):
        details.run_as_group(["sh", "-c", script], dict(os.environ), 0.3)
    time.sleep(2.2)
    assert not alive.exists()


def test_instructions_on_request(places):
    done = invoke(places, "--with", "glibc", "-n", "1", "--repeats", "0", "--instructions", "--",
                  "bench_pair", "1000")  # fmt: skip
    assert "callgrind instructions" in done.stdout


def test_samples_of_memory_follow_the_program(places, tmp_path):
    samples = tmp_path / "samples"
    script = (
        "import time; time.sleep(.1); x=bytearray(60<<20); time.sleep(.2); del x; time.sleep(.2)"
    )
    subprocess.run([places.launcher, "--samples", samples, "--interval", "0.02", "--", "/usr/bin/env",
                    "python3", "-c", script], check=True, capture_output=True)  # fmt: skip
    kib = [int(line.split()[1]) for line in samples.read_text().splitlines()]
    assert max(kib) > 60 * 1024
    assert kib[-1] < 50 * 1024

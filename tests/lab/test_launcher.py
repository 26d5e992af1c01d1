"""hakmem-launch: what it reports and passes on; and the proof that a preload took effect."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from hakmem_lab.allocators import glibc, resolve
from hakmem_lab.errors import LabError
from hakmem_lab.launcher import launch, verify

MIB = 1 << 20


def run_launcher(places, *arguments):
    return subprocess.run(
        [str(places.launcher), *arguments], capture_output=True, text=True, check=False
    )


def run_python(places, code):
    return launch(places.launcher, [sys.executable, "-S", "-c", code], glibc())


def test_peak_is_the_childs_although_the_parent_is_large(places):
    ballast = bytearray(os.urandom(MIB)) * 300
    small = run_python(places, "pass").report["peak_rss_kib"]
    large = run_python(places, "b = bytearray(64 << 20); b[::4096] = b[::4096]").report[
        "peak_rss_kib"
    ]
    assert len(ballast) == 300 * MIB
    assert small < 60 * 1024
    assert abs((large - small) - 64 * 1024) < 4 * 1024


def test_floor_of_the_peak_is_below_any_dynamic_program(places):
    report = launch(places.launcher, [str(places.launcher), "--help"], glibc()).report
    assert report["peak_rss_kib"] < 1024


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_exit_status_is_passed_on(places, status):
    done = run_launcher(places, "sh", "-c", f"exit {status}")
    assert done.returncode == status
    report = json.loads(done.stderr)
    assert (report["exit_status"], report["signal"], report["timed_out"]) == (status, 0, False)


def test_signal_is_reported(places):
    done = run_launcher(places, "sh", "-c", "kill -KILL $$")
    assert done.returncode == 128 + signal.SIGKILL
    report = json.loads(done.stderr)
    assert (report["exit_status"], report["signal"]) == (-1, signal.SIGKILL)


def test_timeout_ends_the_whole_group(places, tmp_path):
    marker = tmp_path / "still-there"
    script = f"(sleep 2; touch {marker}) & sleep 60"
    done = run_launcher(places, "--timeout", "0.3", "sh", "-c", script)
    assert done.returncode == 124
    assert json.loads(done.stderr)["timed_out"] is True
    time.sleep(2.2)
    assert not marker.exists()


def test_processor_time_and_switches_are_counted(places):
    report = run_python(places, "import time; sum(range(10**6)); time.sleep(0.01)").report
    assert 0 < report["user_s"] <= report["wall_s"] * report["processors"] + 0.1
    assert report["voluntary_switches"] >= 1


def test_faults_follow_the_pages_touched(places):
    few = run_python(places, "pass").report["minor_faults"]
    code = "import mmap; m = mmap.mmap(-1, 4 << 20); m.madvise(mmap.MADV_NOHUGEPAGE); m.write(m[:])"
    many = run_python(places, code).report["minor_faults"]
    assert many - few >= 1024


def test_environment_of_the_command_alone(places):
    code = "import os; print([os.environ['A'], os.environ['LD_PRELOAD'], 'HOME' in os.environ])"
    done = run_launcher(
        places, "--env", "A=b=c", "--preload", "", "--unset", "HOME",
        sys.executable, "-S", "-c", code,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout == "['b=c', '', False]\n"


def test_report_goes_to_a_file(places, tmp_path):
    report = tmp_path / "report"
    output = tmp_path / "output"
    done = run_launcher(places, "--output", str(report), "--stdout", str(output), "echo", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert output.read_text() == "hello\n"
    assert json.loads(report.read_text())["exit_status"] == 0


def test_machine_figures_are_reported_on_demand(places):
    plain = json.loads(run_launcher(places, "true").stderr)
    watched = json.loads(run_launcher(places, "--machine", "true").stderr)
    assert watched.keys() - plain.keys() == {"processors", "busy_s", "others_s", "steal_s"}
    assert watched["processors"] >= 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["no-such-program-here"], 127, 'cannot run "no-such-program-here": No such file'),
        (["/etc/passwd"], 126, "Permission denied"),
        ([], 125, "no command given"),
        (["--timeout", "soon", "true"], 125, "--timeout must be a number of seconds"),
        (["--timeout", "-1", "true"], 125, "--timeout must be a number of seconds"),
        (["--fd", "999", "true"], 125, "--fd must be the number of an open descriptor"),
        (["--env", "NAME", "true"], 125, "--env must be NAME=VALUE"),
        (["--stdout", "/no/such/folder/file", "true"], 125, "cannot write"),
        (["--frobnicate", "true"], 125, "unrecognized option"),
    ],
)
def test_errors_are_one_line(places, arguments, status, said):
    done = run_launcher(places, *arguments)
    assert done.returncode == status
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_verify_accepts_a_preload_that_takes_effect(places):
    command = [places.program("bench_pair"), "1000"]
    assert verify(places.launcher, command, resolve("nothing", places)[0]).throughput > 0


def test_verify_refuses_a_static_program(places):
    with pytest.raises(LabError, match="statically linked"):
        verify(places.launcher, [str(places.launcher), "--help"], resolve("nothing", places)[0])


def test_verify_refuses_a_library_that_is_no_allocator(places, tmp_path):
    source = tmp_path / "other.c"
    source.write_text("int unrelated(void) { return 1; }\n")
    library = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    with pytest.raises(LabError, match=r"does not run on other: its malloc is bound to .*libc"):
        verify(
            places.launcher,
            [places.program("bench_pair"), "1000"],
            resolve(str(library), places)[0],
        )


def test_verify_refuses_a_command_that_fails(places):
    with pytest.raises(LabError, match=r"ended with status 2: .*N must be a whole number"):
        verify(places.launcher, [places.program("bench_pair"), "x"], glibc())

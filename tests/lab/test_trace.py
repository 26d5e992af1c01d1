"""hakmem record, trace and replay: nothing is lost, and a replay does what the program did."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from conftest import TREE
from test_page import SCHEMA, in_browser

from hakmem_lab import cli, trace_page, traces
from hakmem_lab.errors import LabError

SHIPPED = sorted((TREE / "tests" / "lab" / "traces").glob("*.xz"))
CHUNK = 1 << 16


def hakmem(places, *arguments, **more):
    name, *rest = map(str, arguments)
    return subprocess.run(
        [sys.executable, "-m", "hakmem_lab", name, "--build", str(places.build), *rest],
        env={**os.environ, "PYTHONPATH": str(TREE / "lab")}, text=True, check=False,
        capture_output=True, **more,
    )  # fmt: skip


def record(places, path, *command, **more):
    return hakmem(places, "record", "-o", path, "--", *command, **more)


def info(places, path):
    return traces.facts(path, places).row


@pytest.fixture(scope="module")
def larson(places, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "larson"
    done = record(places, path, places.program("bench_larson"), 2, 3)
    assert done.returncode == 0, done.stderr
    return path


def test_every_operation_is_recorded(places, larson):
    """Two lanes of three threads, 10,000 replacements each; what threads and libc need is a little more."""
    row = info(places, larson)
    assert 60_000 <= row["operations"]["malloc"] <= 60_010
    assert 60_000 <= row["operations"]["free"] <= 60_010
    assert row["threads"] == 7
    assert row["cross_thread_frees"] > 1000
    assert 2 * 1024 - 10 <= row["peak_live_blocks"] <= 2 * 1024 + 20
    assert (row["ended"], row["cut"]) == (True, False)
    assert Path(row["program"]).name == "bench_larson"


def test_every_kind_of_call(places, tmp_path):
    source = tmp_path / "calls.c"
    source.write_text(
        "#include <stdlib.h>\n#include <malloc.h>\n"
        "int main(void) { void *a = malloc(100), *b = calloc(10, 20), *c = aligned_alloc(64, 640), *d;\n"
        "if (posix_memalign(&d, 4096, 5000)) return 1;\n"
        "a = realloc(a, 3000); void *e = realloc(NULL, 7); b = reallocarray(b, 5, 100);\n"
        "if (posix_memalign(&e, 3, 8) == 0) return 2;\n"
        "if (realloc(a, -1ul / 4)) return 3;\n"
        "free(a); free(b); free(c); free(d); free(NULL); return 0; }\n"
    )
    program = tmp_path / "calls"
    subprocess.run(["cc", "-O0", "-w", "-fno-builtin", "-o", program, source], check=True)
    assert record(places, tmp_path / "t", program).returncode == 0
    row = info(places, tmp_path / "t")
    assert row["operations"] == {"malloc": 2, "calloc": 1, "aligned": 2, "free": 4, "realloc": 2}
    assert row["allocated_bytes"] == 100 + 200 + 640 + 5000 + 3000 + 7 + 500
    assert (row["end_live_bytes"], row["end_live_blocks"]) == (7, 1)
    assert row["peak_live_bytes"] == 3000 + 500 + 640 + 5000 + 7


def replay_recorded(places, trace, folder):
    """Prepares a trace, replays it once under the tracer, and returns the trace of that."""
    steps, again = folder / "steps", folder / "again"
    traces.prepare(trace, steps, places)
    done = record(places, again, places.replayer, "run", steps)
    assert done.returncode == 0, done.stderr
    return again


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda path: path.name)
def test_a_replay_does_what_the_program_did(places, tmp_path, shipped):
    """One thread: each count, and the most bytes alive at once, are the same to the last one."""
    plain = traces.unpacked(shipped, tmp_path)
    before = info(places, plain)
    after = info(places, replay_recorded(places, plain, tmp_path))
    for key in ("operations", "allocated_bytes", "peak_live_bytes", "peak_live_blocks",
                "end_live_bytes", "end_live_blocks", "sizes"):  # fmt: skip
        assert after[key] == before[key], key


def test_a_replay_with_threads_does_so_too(places, tmp_path, larson):
    """Threads are not in lock step, so that the peak differs a little; what starting them costs is not theirs."""
    before = info(places, larson)
    after = info(places, replay_recorded(places, larson, tmp_path))
    assert after["threads"] == before["threads"]
    for kind in ("malloc", "free", "realloc", "aligned"):
        assert after["operations"][kind] == before["operations"][kind]
    assert after["peak_live_bytes"] == pytest.approx(before["peak_live_bytes"], rel=0.2)
    assert after["cross_thread_frees"] == pytest.approx(before["cross_thread_frees"], rel=0.05)


def test_blocks_that_cross_threads_all_the_time(places, tmp_path):
    path = tmp_path / "t"
    assert record(places, path, places.program("bench_funnel"), 3, 20000).returncode == 0
    row = info(places, path)
    assert row["cross_thread_frees"] >= 60000
    steps = tmp_path / "steps"
    traces.prepare(path, steps, places)
    for library in ("", str(places.hakmem)):
        done = subprocess.run([places.replayer, "run", steps, "3"], timeout=60, check=True, text=True,
                              env={"LD_PRELOAD": library}, capture_output=True)  # fmt: skip
        assert "M ops/s" in done.stdout


def test_streams_and_status_pass_through(places, tmp_path):
    done = record(places, tmp_path / "t", "sh", "-c", "read x; echo out $x; echo err >&2; exit 4",
                  input="in\n")  # fmt: skip
    assert (done.returncode, done.stdout) == (4, "out in\n")
    assert done.stderr == f"err\nhakmem: 1 trace: {tmp_path / 't'}\n"


def test_a_program_that_is_killed_leaves_its_trace(places, tmp_path):
    script = "import os; x = [bytearray(5000) for _ in range(1000)]; os.kill(os.getpid(), 9)"
    done = record(places, tmp_path / "t", sys.executable, "-c", script)
    assert done.returncode == 128 + signal.SIGKILL
    row = info(places, tmp_path / "t")
    assert row["ended"] is False
    assert row["end_live_bytes"] > 5_000_000
    shown = hakmem_trace(places, tmp_path / "t")
    assert "the process was ended, or recording stopped" in shown.stdout


def hakmem_trace(places, path, *more):
    return CliRunner().invoke(
        cli.main, ["trace", "info", str(path), "--build", str(places.build), *more]
    )


def test_a_fork_has_a_trace_of_its_own(places, tmp_path):
    script = (
        "import os\nbefore = [bytearray(9000) for _ in range(300)]\nchild = os.fork()\n"
        "more = [bytearray(7000) for _ in range(2000 if child else 700)]\n"
        "if child: os.wait()\nelse: del before\n"
    )
    done = record(places, tmp_path / "t", sys.executable, "-c", script)
    assert done.returncode == 0, done.stderr
    assert "2 traces" in done.stderr
    child = info(places, tmp_path / "t.1")
    assert child["peak_live_bytes"] > 700 * 7000
    assert child["unknown_frees"] >= 300
    assert info(places, tmp_path / "t")["peak_live_bytes"] > 300 * 9000 + 2000 * 7000


def test_recording_stops_at_its_limit_and_the_program_goes_on(places, tmp_path):
    done = hakmem(places, "record", "-o", tmp_path / "t", "--limit", 1, "--",
                  places.program("bench_pair"), 2_000_000)  # fmt: skip
    assert done.returncode == 0
    assert "M ops/s" in done.stdout
    assert (tmp_path / "t").stat().st_size <= (1 << 20) + CHUNK
    row = info(places, tmp_path / "t")
    assert 100_000 < row["operations"]["malloc"] < 2_000_000
    assert row["ended"] is False


def test_a_signal_is_passed_on(places, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "hakmem_lab", "record", "--build", str(places.build), "-o", tmp_path / "t",
         "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
        env={**os.environ, "PYTHONPATH": str(TREE / "lab")}, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 9
    assert (tmp_path / "t").exists()


def test_the_overhead_is_bounded(places, tmp_path):
    """A million pairs and nothing else, the worst case: below a microsecond an operation on any machine."""
    start = time.monotonic()
    record(places, tmp_path / "t", places.program("bench_pair"), 1_000_000)
    assert time.monotonic() - start < 3
    assert (tmp_path / "t").stat().st_size < 8 * 2_000_000


def test_a_trace_is_read_up_to_where_it_was_cut(places, tmp_path, larson):
    whole = larson.read_bytes()
    counts = []
    for length in (CHUNK + 100, 3 * CHUNK + 77, len(whole) // 2 + 1, len(whole) - CHUNK):
        part = tmp_path / "part"
        part.write_bytes(whole[:length])
        row = info(places, part)
        assert row["cut"] or row["operations"]["malloc"] < 60_000
        counts.append(sum(row["operations"].values()))
        steps = tmp_path / "steps"
        traces.prepare(part, steps, places)
        subprocess.run([places.replayer, "run", steps], check=True, timeout=60, capture_output=True)
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1]


def test_bytes_that_were_changed_crash_nothing(places, tmp_path):
    whole = traces.unpacked(SHIPPED[-1], tmp_path).read_bytes()
    source = random.Random(5)
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(source.randint(1, 20)):
            content[source.randrange(len(content))] = source.randrange(256)
        part = tmp_path / "part"
        part.write_bytes(content)
        done = subprocess.run([places.replayer, "info", part], capture_output=True, text=True,
                              timeout=30, check=False)  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            json.loads(done.stdout)
        else:
            assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no trace: it has 0 bytes"),
        (b"x" * 1000, "is no trace"),
        (
            b"HAKTRACE\x02\0\0\0\0\0\x01\0" + b"\0" * 1000,
            "is a trace of version 2; this program reads version 1",
        ),
        (b"HAKTRACE\x01\0\0\0\0\0\x01\0" + b"\0" * 1000, "holds no operation"),
    ],
)
def test_files_that_are_no_traces(places, tmp_path, content, said):
    path = tmp_path / "t"
    path.write_bytes(content)
    for command in ("replay", "info"):
        words = ["trace", "info"] if command == "info" else ["replay"]
        done = CliRunner().invoke(cli.main, [*words, str(path), "--build", str(places.build)])
        assert done.exit_code == 1
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_compressed_traces_that_are_cut(places, tmp_path):
    packed = tmp_path / "t.xz"
    packed.write_bytes(SHIPPED[0].read_bytes()[:-2000])
    part = traces.facts(traces.unpacked(packed, tmp_path), places)
    whole = traces.facts(traces.unpacked(SHIPPED[0], tmp_path), places)
    assert 0 < part.operations < whole.operations
    packed.write_bytes(b"not xz")
    with pytest.raises(LabError, match="cannot be unpacked"):
        traces.unpacked(packed, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--", "no-such-program"], 127, "no such program in PATH"),
        (["-o", "/no/such/folder/t", "--", "true"], 1, "/no/such/folder is no folder"),
    ],
)
def test_record_refuses(places, arguments, status, said):
    done = hakmem(places, "record", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert said in done.stderr


def test_static_programs_are_refused(places):
    done = hakmem(places, "record", "--", places.launcher)
    assert (done.returncode, "statically linked" in done.stderr) == (125, True)


def test_info_shows_tables_and_a_page(places, tmp_path):
    page = tmp_path / "page.html"
    done = hakmem_trace(places, SHIPPED[0], "--html", str(page))
    assert done.exit_code == 0, done.output
    for part in ("most alive at once", "freed by another thread", "sizes", "lifetimes"):
        assert part in done.stdout
    seen = in_browser(tmp_path, page.read_text(), 360)
    assert (seen["plots"], seen["overflow"] <= 0, seen["loads"]) == (3, True, 0)


def test_a_page_of_hardly_anything(places, tmp_path):
    row = info(places, traces.unpacked(SHIPPED[-1], tmp_path))
    empty = row | {"sizes": [0] * 48, "lifetimes": [0] * 48, "live_bytes": [0] * 256}
    assert trace_page.render(traces.Facts(empty), "x").count("<svg") == 3


def test_replay_from_end_to_end(places, tmp_path):
    raw = tmp_path / "raw.json"
    done = CliRunner().invoke(cli.main, [
        "replay", str(SHIPPED[0]), "--with", "glibc", "-n", "5", "--repeats", "0", "--json", str(raw),
        "--html", str(tmp_path / "page.html"), "--build", str(places.build),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "HAKMEM" in done.stdout.strip().splitlines()[-1]
    document = json.loads(raw.read_text())
    jsonschema.validate(document, SCHEMA)
    peaks = [run["figures"]["peak_rss_kib"] for run in document["runs"]]
    live = info(places, traces.unpacked(SHIPPED[0], tmp_path))["peak_live_bytes"] / 1024
    assert all(0.8 * live < peak < 10 * live for peak in peaks)

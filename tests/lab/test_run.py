"""hakmem run: the program as it would be without it, and one line for what cannot be preloaded."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import TREE

from hakmem_lab import options_table, preload
from hakmem_lab.errors import LabError


def hakmem(places, *arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(TREE / "lab")} | more.pop("env", {})
    return subprocess.run(
        [sys.executable, "-m", "hakmem_lab", "run", "--build", str(places.build), *arguments],
        env=environment, capture_output=True, text=True, check=False, **more,
    )  # fmt: skip


def test_streams_and_status_pass_through(places):
    script = 'read word; echo "out $word"; echo "err $word" >&2; exit 7'
    done = hakmem(places, "--", "sh", "-c", script, input="hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out hello\n", "err hello\n")


def test_the_program_runs_on_the_library(places):
    done = hakmem(places, "--", "sh", "-c", "cat /proc/$$/maps")
    assert "libhakmem.so" in done.stdout


def test_a_signal_reaches_the_program_and_is_its_end(places):
    done = hakmem(places, "--", "sh", "-c", "kill -TERM $$")
    assert done.returncode == -signal.SIGTERM
    broken_pipe = hakmem(places, "--", "sh", "-c", "kill -PIPE $$; echo survived")
    assert (broken_pipe.returncode, broken_pipe.stdout) == (-signal.SIGPIPE, "")


def test_the_process_is_the_same(places):
    process = subprocess.Popen(
        [sys.executable, "-m", "hakmem_lab", "run", "--build", str(places.build), "--", "sh", "-c",
         "echo $$"],
        env={**os.environ, "PYTHONPATH": str(TREE / "lab")}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert int(process.communicate()[0]) == process.pid


def test_the_environment_is_the_callers(places):
    """Not even the locale that Python coerces in the C locale."""
    plain = {"PATH": os.environ["PATH"], "PYTHONPATH": str(TREE / "lab"), "LC_ALL": "", "EMPTY": ""}
    done = subprocess.run(
        [sys.executable, "-m", "hakmem_lab", "run", "--build", str(places.build), "--", "env"],
        env=plain, capture_output=True, text=True, check=True,
    )  # fmt: skip
    got = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert got.pop("LD_PRELOAD") == str(places.hakmem)
    assert got == plain


def test_a_preload_of_the_callers_stays(places):
    other = places.hakmem.resolve()
    done = hakmem(places, "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": str(other)})
    assert done.stdout.strip() == f"{places.hakmem}:{other}"


def test_every_option_is_a_flag(places):
    shown = hakmem(places, "--help").stdout
    for option in options_table.load():
        assert option.name == "HAKMEM_HELP" or f"--{option.flag}" in shown
    done = hakmem(
        places,
        "--check",
        "--decay-ms",
        "-1",
        "--magazine-bytes",
        "16K",
        "--thp",
        "never",
        "--values",
    )
    for line in ("CHECK=1", "DECAY_MS=-1", "MAGAZINE_BYTES=16K", "THP=never"):
        assert f"HAKMEM_{line}\n" in done.stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--decay-ms", "-2"], "-2 is not in the range"),
        (["--magazine-bytes", "2M"], "'2M' is no size from 0 to 1048576 bytes"),
        (["--magazine-bytes", "1.5K"], "'1.5K' is no size"),
        (["--thp", "sometimes"], "'sometimes' is not one of 'never', 'auto', 'always'"),
        (["--chek"], "No such option: --chek"),
        ([], "which program?"),
    ],
)
def test_wrong_flags(places, flags, said):
    done = hakmem(places, *flags, *(["--", "true"] if flags else []))
    assert done.returncode == 2
    assert said in done.stderr.replace("No such option '--chek'", "No such option: --chek")


def test_expressions_of_the_table():
    assert [options_table.number(text) for text in ("32 * 1024", "1LL << 40", "-1")] == [
        32768, 1 << 40, -1,
    ]  # fmt: skip
    with pytest.raises(LabError, match="not understood"):
        options_table.number("sizeof(int)")
    with pytest.raises(LabError, match="a row that is not understood"):
        options_table.parse('HAK_OPTION(odd, "HAKMEM_ODD", bool, 0)\n')


def patched(tmp_path, name, change):
    """A copy of a real program with some bytes changed."""
    content = bytearray(open(shutil.which("true"), "rb").read())
    change(content)
    path = tmp_path / name
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def other_machine(content):
    content[18:20] = (243).to_bytes(2, "little")  # RISC-V


def to_musl(content):
    at = (
        content.index(b"/lib64/ld-linux")
        if b"/lib64/ld-linux" in content
        else content.index(b"/lib/ld-linux")
    )
    new = b"/lib/ld-musl-x.so.1\0"
    content[at : at + len(new)] = new


@pytest.fixture
def cases(places, tmp_path):
    text = tmp_path / "plain"
    text.write_text("no script\n")
    text.chmod(0o755)
    closed = tmp_path / "closed"
    closed.write_text("")
    closed.chmod(0o644)
    script = tmp_path / "script"
    script.write_text(f"#!{places.launcher}\n")
    script.chmod(0o755)
    return {
        "static": (places.launcher, 125, "is statically linked"),
        "script": (script, 125, "is statically linked"),
        "machine": (
            patched(tmp_path, "riscv", other_machine),
            125,
            "is of another architecture: RISCV",
        ),
        "musl": (patched(tmp_path, "musl", to_musl), 125, "is linked to musl libc"),
        "text": (text, 126, "neither an ELF program nor a script"),
        "closed": (closed, 126, "not executable"),
        "missing": (tmp_path / "none", 127, "no such program"),
        "unknown": ("no-such-program", 127, "no such program in PATH"),
    }


@pytest.mark.parametrize(
    "case", ["static", "script", "machine", "musl", "text", "closed", "missing", "unknown"]
)
def test_what_cannot_be_preloaded(places, cases, case):
    program, status, said = cases[case]
    done = hakmem(places, "--", str(program))
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_setuid_is_told(places, tmp_path, monkeypatch):
    program = tmp_path / "secure"
    shutil.copy(shutil.which("true"), program)
    program.chmod(0o4755)
    preload.check(program, places.hakmem)  # the owner's own: nothing is secure about it
    monkeypatch.setattr(os, "getuid", lambda: program.stat().st_uid + 1)
    with pytest.raises(LabError, match="is setuid") as caught:
        preload.check(program, places.hakmem)
    assert caught.value.status == 125


def test_the_front_door_needs_no_setting_up_twice(places):
    """./hakmem, from another folder and by a link, says nothing of its own."""
    done = subprocess.run(
        [TREE / "hakmem", "run", "--", "sh", "-c", "echo ok"], cwd="/", capture_output=True, text=True,
        check=False, env={**os.environ, "HAKMEM_BUILD_DIR": str(places.build)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")

"""Counting: differences of two runs, by every tool that the lab uses."""

import subprocess

import pytest

from hakmem_lab import counters
from hakmem_lab.allocators import glibc, resolve
from hakmem_lab.counters import Workload
from hakmem_lab.errors import LabError

SHORT_PAIR = Workload("pair", "bench_pair {n}", 1_000, 5_000, 1)

STRACE_TABLE = """\
syscall                calls
---------------- -----------
mmap                      12
madvise                    3
---------------- -----------
total                     15
"""


def test_strace_table():
    assert counters.parse_strace_table(STRACE_TABLE) == {"mmap": 12, "madvise": 3}


def test_unknown_workload_is_named():
    with pytest.raises(LabError, match='"pears" is no workload here; accepted are pair, batch64'):
        counters.select(counters.INSTRUCTION_WORKLOADS, ["pears"])


def test_a_pair_under_nothing_is_the_loop_and_five_instructions(places):
    nothing = resolve("nothing", places)[0]
    count = counters.instructions_per_operation(SHORT_PAIR, nothing, places)
    # A constant; what printing the figure costs depends a little on its digits.
    assert count == pytest.approx(round(count), abs=0.15)
    assert count < 35


def test_glibc_costs_more_than_nothing(places):
    nothing = counters.instructions_per_operation(SHORT_PAIR, resolve("nothing", places)[0], places)
    system = counters.instructions_per_operation(SHORT_PAIR, glibc(), places)
    assert 20 < system - nothing < 400


def test_steps_and_callgrind_count_alike(places):
    counts = []
    for length in (100, 400):
        command = SHORT_PAIR.argv(places, length)
        counts.append(
            (
                counters.count_by_steps(command, glibc(), places),
                counters.count_by_callgrind(command, glibc()),
            )
        )
    by_steps, by_callgrind = (counts[1][i] - counts[0][i] for i in range(2))
    assert by_steps == pytest.approx(by_callgrind, rel=0.02)


def test_steady_state_of_the_pair_is_empty(places):
    state = counters.steady_state(SHORT_PAIR, glibc(), places)
    assert state.operations == 4_000
    assert state.allocator_calls == {}
    assert state.major_faults == 0


def test_growth_is_seen_in_calls_and_faults(places):
    """Each thread's stack is mapped and touched: the longer run has more of both."""
    growing = Workload("threads", "bench_threads {n} {n}", 4, 40, 256)
    state = counters.steady_state(growing, glibc(), places)
    assert sum(state.calls.values()) >= 36
    assert state.minor_faults >= 36


def test_failing_command_is_named(places):
    command = [places.program("bench_pair"), "x"]
    with pytest.raises(LabError, match=r"ended with status 2 on .*bench_pair under glibc: .*whole"):
        counters.count_by_callgrind(command, glibc())
    with pytest.raises(LabError, match=r"ended with status 2 on .*bench_pair under glibc: .*whole"):
        counters.system_calls(command, glibc())


@pytest.mark.parametrize(
    "setting", ["BLOCK=8", "BLOCK=24", "BLOCKS=0", "BLOCKS=x", "BLOCKS=99999999999999999999"]
)
def test_settings_of_nothing_are_checked(places, setting):
    environment = {"LD_PRELOAD": str(places.nothing)}
    name, _, value = setting.partition("=")
    environment[f"HAKMEM_NOTHING_{name}"] = value
    done = subprocess.run(
        ["/bin/true"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("libnothing: HAKMEM_NOTHING_BLOCK must be a multiple of 16")
    assert done.stderr.count("\n") == 1

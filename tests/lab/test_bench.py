"""The workload programs: one figure on stdout; a wrong command line is one line and status 2."""

import re
import subprocess

import pytest

SMALL_RUNS = [
    "bench_random_mixed 1000 256 1",
    "bench_random_mixed 1000 1048576 1 8 8",
    "bench_fixed 64 1000 1",
    "bench_mid_large_mt 2 1000 1",
    "bench_allocators --scenario mixed --iterations 1000 --seed 2",
    "bench_allocators --scenario json --iterations 100",
    "bench_allocators --scenario tiny --iterations 1000",
    "bench_allocators --scenario mid --iterations 1000",
    "bench_allocators --scenario large --iterations 100",
    "bench_allocators --scenario realloc --iterations 1000",
    "bench_allocators --iterations 1000 --scenario string",
    "bench_pair 1000 5",
    "bench_batch64 10",
    "bench_remote 3",
    "bench_producer_consumer 2 5000",
    "bench_larson 2 3",
    "bench_threads 4 20",
    "bench_lifetimes 5000",
    "bench_funnel 3 2000",
    "bench_funnel 1 10",
    "bench_false_sharing active 3 20",
    "bench_false_sharing passive 3 20 16",
    "bench_trees 2 1",
    "bench_symbolic 2 3000",
    "bench_growth vector 2 500",
    "bench_growth string 1 5000",
    "bench_order lifo 2 3",
    "bench_order fifo 1 3",
    "bench_order random 2 3",
    "bench_bimodal 2 5000",
    "bench_large 2 20",
    "bench_idle 2 2 1",
    "bench_aligned 2 3000",
    "bench_calloc 2 3000",
    "bench_pool 1 3000",
    "bench_pool 5 3000",
]

WRONG = [
    ("bench_random_mixed", "usage: bench_random_mixed N WS SEED [MIN MAX]"),
    ("bench_random_mixed 1000 255 1", "WS must be a whole number from 256 to 1048576"),
    ("bench_random_mixed 1000 1048577 1", "WS must be a whole number from 256 to 1048576"),
    ("bench_random_mixed 0 256 1", "N must be a whole number from 1"),
    ("bench_random_mixed 1000 256 1 16", "MIN and MAX are given together"),
    ("bench_random_mixed 1000 256 1 16 15", "MAX must be a whole number from 16"),
    ("bench_random_mixed 1000 256 -1", "SEED must be a whole number from 0"),
    ("bench_fixed", "usage: bench_fixed SIZE [N] [SEED]"),
    ("bench_fixed 0", "SIZE must be a whole number from 1"),
    ("bench_mid_large_mt 0", "THREADS must be a whole number from 1"),
    ("bench_mid_large_mt 2 3 4 5", "usage: bench_mid_large_mt THREADS [OPS] [SEED]"),
    ("bench_allocators", "usage: bench_allocators --scenario NAME --iterations N [--seed S]"),
    ("bench_allocators --scenario mixed", "usage: bench_allocators"),
    ("bench_allocators --scenario odd --iterations 5", "--scenario must be one of mixed, json,"),
    ("bench_allocators --scenario mixed --iterations 1e6", "--iterations must be a whole number"),
    ("bench_allocators --scenario mixed --iterations 5 more", "usage: bench_allocators"),
    ("bench_pair 1x", "N must be a whole number"),
    ("bench_pair 99999999999999999999", "N must be a whole number"),
    ("bench_batch64", "usage: bench_batch64 N [SEED]"),
    ("bench_remote ten", "N must be a whole number"),
    ("bench_producer_consumer 0", "PAIRS must be a whole number from 1"),
    ("bench_larson 0", "THREADS must be a whole number from 1"),
    ("bench_threads 5000", "THREADS must be a whole number from 1 to 4096"),
    ("bench_lifetimes 1 2 3", "usage: bench_lifetimes [N] [SEED]"),
    ("bench_funnel 0", "THREADS must be a whole number from 1 to 255"),
    ("bench_false_sharing", "usage: bench_false_sharing active|passive [THREADS] [ROUNDS] [SIZE]"),
    ("bench_false_sharing odd", 'KIND must be active or passive, not "odd"'),
    ("bench_trees 257", "THREADS must be a whole number from 1 to 256"),
    ("bench_symbolic 1 0", "STEPS must be a whole number from 1"),
    ("bench_growth odd", 'KIND must be vector or string, not "odd"'),
    ("bench_order odd", 'ORDER must be lifo, fifo or random, not "odd"'),
    ("bench_bimodal x", "THREADS must be a whole number"),
    ("bench_large 1 1 1 1", "usage: bench_large [THREADS] [OPS] [SEED]"),
    ("bench_idle 1 1 x", "IDLE must be a whole number"),
    ("bench_aligned 0", "THREADS must be a whole number from 1 to 256"),
    ("bench_calloc 1 0", "OPS must be a whole number from 1"),
    ("bench_pool 300", "THREADS must be a whole number from 1 to 256"),
]


def run(places, command):
    program, *arguments = command.split()
    return subprocess.run(
        [places.program(program), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("command", SMALL_RUNS)
def test_prints_one_figure(places, command):
    done = run(places, command)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+\.\d{3} M ops/s\n", done.stdout)


@pytest.mark.parametrize(("command", "said"), WRONG)
def test_wrong_arguments(places, command, said):
    done = run(places, command)
    assert (done.returncode, done.stdout) == (2, "")
    program = command.split()[0]
    assert done.stderr.startswith(f"{program}: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1

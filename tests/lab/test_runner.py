"""The order of runs, and which of them count, with runs that are made up."""

from collections import Counter

import pytest

from hakmem_lab import metrics
from hakmem_lab.errors import LabError
from hakmem_lab.runner import Settings, is_disturbed, measure, order_of_round, rotated


def quiet(wall=1.0, **figures):
    return {"wall_s": wall, "processors": 2, "others_s": 0.0, "steal_s": 0.0, **figures}


def noisy(others=0.5, **figures):
    return quiet(**figures) | {"others_s": others}


def test_rotation():
    assert rotated([1, 2, 3], 1) == [2, 3, 1]
    assert rotated([1, 2, 3], 5) == [3, 1, 2]
    assert rotated([], 4) == []


def test_every_round_has_every_cell_once_and_each_allocator_leads_in_turn():
    leaders = Counter()
    for number in range(6):
        order = list(order_of_round(2, 3, number))
        assert sorted(order) == [(c, a) for c in range(2) for a in range(3)]
        leaders[order[0]] += 1
        for command in range(2):
            places = [index for index, key in enumerate(order) if key[0] == command]
            assert places == list(range(places[0], places[0] + 3))
    assert set(leaders.values()) == {1}


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (quiet(), False),
        (quiet() | {"others_s": 0.07}, False),
        (quiet() | {"others_s": 0.09}, True),
        (quiet() | {"steal_s": 0.09}, True),
        (quiet() | {"others_s": -0.02}, False),
        ({"wall_s": 5.0}, False),
    ],
)
def test_what_counts_as_disturbed(report, expected):
    assert is_disturbed(report, Settings()) is expected


def test_undisturbed_runs_are_made_once():
    calls = []
    measurement = measure(2, 2, lambda key: calls.append(key) or quiet(), Settings(runs=4))
    assert len(calls) == 16
    assert all(run.counts and run.attempt == 0 for run in measurement.runs)


def test_a_disturbed_run_is_repeated_and_does_not_count():
    script = iter([quiet(1.0), noisy(wall=9.0), quiet(2.0), quiet(3.0)])
    measurement = measure(1, 1, lambda key: next(script), Settings(runs=3))
    assert measurement.values((0, 0), "wall_s") == [1.0, 2.0, 3.0]
    assert [run.counts for run in measurement.runs] == [True, False, True, True]
    assert [run.attempt for run in measurement.runs] == [0, 0, 1, 0]
    assert measurement.still_disturbed((0, 0)) == 0


def test_the_least_disturbed_run_counts_when_none_is_quiet():
    script = iter([noisy(0.9, wall=1.1), noisy(0.3, wall=1.2), noisy(0.6, wall=1.3)])
    measurement = measure(1, 1, lambda key: next(script), Settings(runs=1, max_repeats=2))
    assert measurement.values((0, 0), "wall_s") == [1.2]
    assert measurement.still_disturbed((0, 0)) == 1
    assert len(measurement.runs) == 3


def test_rounds_go_on_until_the_interval_is_narrow():
    figures = iter(range(10**6))

    def run(key):
        number = next(figures) // 2
        return quiet(10.0 + (number % 2 if number < 12 else 0.5) * (key[1] == 1))

    settings = Settings(runs=4, max_runs=60, precision=0.01)
    measurement = measure(1, 2, run, settings)
    rounds = len(measurement.values((0, 0), "wall_s"))
    assert 12 < rounds < 60


def test_rounds_end_at_the_most_allowed():
    figures = iter(range(10**6))
    settings = Settings(runs=2, max_runs=5, precision=1e-9)
    measurement = measure(1, 2, lambda key: quiet(1.0 + next(figures) % 7), settings)
    assert len(measurement.values((0, 1), "wall_s")) == 5


def test_without_a_precision_the_rounds_are_as_many_as_asked_for():
    measurement = measure(1, 1, lambda key: quiet(), Settings(runs=3, max_runs=50))
    assert len(measurement.runs) == 3


def test_nothing_to_measure_is_an_error():
    with pytest.raises(LabError, match="at least one"):
        measure(0, 1, lambda key: quiet(), Settings())


def test_the_best_after_the_first_is_the_base():
    speeds = {0: 9.0, 1: 5.0, 2: 7.0, 3: 6.0}

    def run(key):
        return quiet(wall=1 / speeds[key[1]], throughput=speeds[key[1]])

    measurement = measure(1, 4, run, Settings(runs=2))
    for name in ("throughput", "time"):
        assert metrics.best_after_first(metrics.METRICS[name], 0, 4, measurement) == 2
    with pytest.raises(LabError, match="needs a second allocator"):
        metrics.best_after_first(metrics.METRICS["time"], 0, 1, measurement)

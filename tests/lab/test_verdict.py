"""The verdict, held against distributions whose truth is known, and its sentences."""

import numpy as np
import pytest

from hakmem_lab import statistics, verdict
from hakmem_lab.results import Result
from hakmem_lab.statistics import paired_ratio, pairs_for

TITLES = ["HAKMEM", "mimalloc 3.6", "glibc 2.36"]


def result_of(walls, rss=None, failures=()):
    """A result of one command; walls and rss are rows of figures, one an allocator."""
    rss = rss if rss is not None else [[1000] * len(row) for row in walls]
    runs = [
        {"command": 0, "allocator": index, "round": number, "attempt": 0, "disturbed": False,
         "counts": True, "figures": {"wall_s": wall, "peak_rss_kib": rss[index][number]}}
        for index, row in enumerate(walls)
        for number, wall in enumerate(row)
    ]  # fmt: skip
    names = TITLES[: len(walls)]
    return Result({
        "commands": [{"name": "x"}], "metric": "auto", "runs": runs, "details": [], "timelines": [],
        "allocators": [{"name": name, "title": name} for name in names],
        "failures": [{"command": 0, "allocator": index, "failure": said} for index, said in failures],
    })  # fmt: skip


def normal(random, count):
    return random.normal(1.0, 0.02, count)


def skewed(random, count):
    return 1.0 + random.lognormal(-4.0, 0.8, count)


def disturbed(random, count):
    """A quiet machine, and one run in seven that something else got in the way of."""
    return (
        1.0
        + np.abs(random.normal(0, 0.01, count))
        + (random.random(count) < 0.15) * random.exponential(0.2, count)
    )


@pytest.fixture
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(statistics, "RESAMPLES", 999)


@pytest.mark.parametrize("draw", [normal, skewed, disturbed])
@pytest.mark.parametrize("rounds", [5, 7, 10, 20])
def test_false_positives_are_at_most_what_is_stated(fewer_resamples, draw, rounds):
    """Both sides from one distribution: 5 % may be called different; 1,000 draws, 3 sigma above."""
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(1000):
        ratio = paired_ratio(draw(random, rounds), draw(random, rounds))
        wrong += ratio.low > 1 or ratio.high < 1
    assert wrong <= 50 + 3 * np.sqrt(1000 * 0.05 * 0.95)


def test_false_positives_of_the_sentence_with_two_rivals(fewer_resamples):
    """The best of the rivals is chosen after the fact: the sentence must be right all the same."""
    random = np.random.default_rng(8)
    wrong = 0
    for _ in range(400):
        found = verdict.judge(result_of([normal(random, 10).tolist() for _ in range(3)]))
        wrong += found.kind in {"faster", "slower"}
    assert wrong <= 20 + 3 * np.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize(("draw", "rounds", "least"), [(normal, 10, 0.95), (disturbed, 20, 0.7)])
def test_power_at_a_known_shift(fewer_resamples, draw, rounds, least):
    """A shift of 6 %: three times the spread of one side where the machine is quiet."""
    random = np.random.default_rng(9)
    seen = 0
    for _ in range(300):
        ratio = paired_ratio(draw(random, rounds) * 1.06, draw(random, rounds))
        seen += ratio.low > 1
    assert seen >= least * 300


def test_the_interval_covers_the_true_ratio(fewer_resamples):
    random = np.random.default_rng(10)
    covered = 0
    for _ in range(600):
        ratio = paired_ratio(normal(random, 8) * 1.1, normal(random, 8))
        covered += ratio.low <= 1.1 <= ratio.high
    assert covered >= 600 * 0.95 - 3 * np.sqrt(600 * 0.05 * 0.95)


def test_a_shared_drift_does_not_widen_the_interval():
    drift = np.linspace(1, 2, 10)
    ratio = paired_ratio(drift * 1.05, drift)
    assert (ratio.value, ratio.low) == (pytest.approx(1.05), pytest.approx(1.05))


def test_more_runs_that_are_promised_are_enough():
    random = np.random.default_rng(11)
    few = paired_ratio(normal(random, 10), normal(random, 10))
    wanted = pairs_for(few, 10, 0.01)
    many = paired_ratio(normal(random, wanted), normal(random, wanted))
    assert many.high / many.low < 1.03


def test_unusable_pairs_are_refused():
    with pytest.raises(ValueError, match="equally many"):
        paired_ratio([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="positive"):
        paired_ratio([0.0], [1.0])


def around(middle, rounds=10):
    return [middle * (1 + 0.001 * (number % 3)) for number in range(rounds)]


def test_faster_with_less_memory():
    found = verdict.judge(result_of([around(1.0), [1.07 * x for x in around(1.0)]],
                                    [[880] * 10, [1000] * 10]))  # fmt: skip
    assert (
        found.text
        == "HAKMEM is 7 % faster than mimalloc 3.6 (95 %: 7–7 %) and uses 12 % less memory"
    )


def test_slower_than_the_best_rival():
    found = verdict.judge(result_of([around(1.25), around(1.0), around(2.0)]))
    assert found.text.startswith("HAKMEM is 20 % slower than mimalloc 3.6 (95 %: 20–20 %)")
    assert found.text.endswith("and uses as much memory")


def test_no_difference_says_what_would_show_one():
    random = np.random.default_rng(12)
    found = verdict.judge(result_of([normal(random, 10).tolist(), normal(random, 10).tolist()]))
    assert found.kind == "equal"
    assert found.text.startswith(
        "no difference in speed found between HAKMEM and mimalloc 3.6 at this precision (95 %: −"
    )
    assert found.text.endswith(" more runs would show 1 %")


def test_too_few_rounds_are_no_verdict():
    found = verdict.judge(result_of([around(1.0, 4), around(2.0, 4)]))
    assert found.text == (
        "no verdict on HAKMEM and mimalloc 3.6: 4 of at least 5 rounds were measured"
    )


def test_failures_are_results():
    crashed = [(0, "was killed by signal 11: nothing on stderr")]
    found = verdict.judge(result_of([[], around(1.0)], failures=crashed))
    assert found.text == "HAKMEM failed: it was killed by signal 11: nothing on stderr"
    alone = verdict.judge(result_of([around(1.0), []], failures=[(1, "ran out of time: x")]))
    assert alone.kind == "none"


def test_throughput_is_compared_the_other_way_round():
    result = result_of([around(1.0), around(1.0)])
    for cell, speed in ((result.cell(0, 0), 50.0), (result.cell(0, 1), 40.0)):
        for figures in cell.by_round.values():
            figures["throughput"] = speed
    assert verdict.judge(result).text.startswith("HAKMEM is 25 % faster than mimalloc 3.6")

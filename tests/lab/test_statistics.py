"""Summaries and intervals, held against distributions whose truth is known."""

import numpy as np
import pytest

from hakmem_lab.statistics import ratio_interval, summarize


def test_summary_of_known_values():
    summary = summarize([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (summary.count, summary.median) == (5, 3.0)
    assert (summary.lowest, summary.highest) == (1.0, 5.0)
    assert summary.spread == pytest.approx(2 / 3)


def test_summary_of_zeros_has_no_spread():
    assert summarize([0.0, 0.0, 0.0]).spread == 0.0


def test_summary_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        summarize([])


def test_ratio_of_constant_samples_is_exact():
    ratio = ratio_interval([6.0] * 7, [4.0] * 7)
    assert (ratio.value, ratio.low, ratio.high) == (1.5, 1.5, 1.5)
    assert ratio.half_width == 0.0


def test_ratio_is_reproducible():
    random = np.random.default_rng(1)
    values, base = random.normal(10, 1, 9), random.normal(8, 1, 9)
    assert ratio_interval(values.tolist(), base.tolist()) == ratio_interval(
        values.tolist(), base.tolist()
    )


@pytest.mark.parametrize("count", [7, 21])
def test_interval_covers_the_true_ratio(count):
    """A 95 % interval misses now and then, and a bootstrap of few values a little more often."""
    random = np.random.default_rng(2)
    covered = 0
    trials = 100
    for _ in range(trials):
        values = random.normal(12.5, 0.5, count).tolist()
        base = random.normal(10.0, 0.4, count).tolist()
        ratio = ratio_interval(values, base)
        covered += ratio.low <= 1.25 <= ratio.high
    assert 0.87 * trials <= covered < trials


def test_interval_narrows_with_more_runs():
    random = np.random.default_rng(3)
    widths = []
    for count in (7, 60):
        values = random.normal(10, 1, count).tolist()
        base = random.normal(10, 1, count).tolist()
        widths.append(ratio_interval(values, base).half_width)
    assert widths[1] < widths[0] / 1.5


def test_drift_that_both_share_does_not_widen_the_interval():
    random = np.random.default_rng(4)
    drift = np.linspace(1.0, 2.0, 25)
    base = (drift * random.normal(10, 0.05, 25)).tolist()
    values = (drift * random.normal(11, 0.05, 25)).tolist()
    together = ratio_interval(values, base)
    apart = ratio_interval(values[:-1], base)
    assert together.half_width < 0.02 < apart.half_width
    assert together.low < 1.1 < together.high


def test_one_run_says_nothing():
    ratio = ratio_interval([3.0], [2.0])
    assert (ratio.value, ratio.low, ratio.high) == (1.5, float("-inf"), float("inf"))


@pytest.mark.parametrize("base", [[], [0.0, 1.0], [-1.0]])
def test_unusable_base_is_an_error(base):
    with pytest.raises(ValueError, match=r"base|at least one"):
        ratio_interval([1.0, 2.0], base)

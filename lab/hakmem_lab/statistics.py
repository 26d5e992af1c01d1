"""Medians, spread, and the confidence interval of a ratio of medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap

Samples = NDArray[np.float64]
RESAMPLES = 9999
# One seed for all intervals: the same raw data give the same table.
SEED = 20240229


@dataclass(frozen=True)
class Summary:
    """Of one measured quantity; the spread is the distance of the quartiles over the median."""

    count: int
    median: float
    lowest: float
    highest: float
    spread: float


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians and its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Relative to the ratio."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


def summarize(values: Sequence[float]) -> Summary:
    if not values:
        raise ValueError("a summary needs at least one value")
    array = np.asarray(values, dtype=float)
    low, median, high = np.percentile(array, [25, 50, 75])
    spread = float((high - low) / median) if median else 0.0
    return Summary(len(array), float(median), float(array.min()), float(array.max()), spread)


def ratio_of_medians(values: Samples, base: Samples, axis: int = -1) -> Any:
    """Along an axis, so that all resamples are dealt with at once."""
    return np.median(values, axis=axis) / np.median(base, axis=axis)


def ratio_interval(
    values: Sequence[float], base: Sequence[float], confidence: float = 0.95
) -> Ratio:
    """The ratio of the medians of values and base with its bootstrap percentile interval.

    Runs with the same index were made in the same round, minutes at most from each other. They are
    resampled as pairs if there are equally many, so that a drift of the machine that both share
    does not widen the interval.
    """
    if not values or not base:
        raise ValueError("a ratio needs at least one value on each side")
    if min(base) <= 0:
        raise ValueError("the base of a ratio must be positive")
    samples = (np.asarray(values, dtype=float), np.asarray(base, dtype=float))
    value = float(ratio_of_medians(*samples))
    if min(len(values), len(base)) < 2:
        return Ratio(value, float("-inf"), float("inf"))
    result = bootstrap(
        samples,
        ratio_of_medians,
        paired=len(values) == len(base),
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    interval = result.confidence_interval
    return Ratio(value, float(interval.low), float(interval.high))

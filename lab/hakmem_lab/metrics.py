"""What can be compared: where its figure is in a run, in which unit, and which way is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import LabError
from .runner import Measurement
from .statistics import summarize


@dataclass(frozen=True)
class Metric:
    """One kind of figure."""

    name: str
    key: str  # in a run's figures
    unit: str
    higher_is_better: bool
    show: Callable[[float], str]

    @property
    def best(self) -> Callable[[list[float]], float]:
        return max if self.higher_is_better else min

    def best_of(self, medians: dict[int, float]) -> int:
        """The key of the best figure."""
        return (max if self.higher_is_better else min)(medians, key=lambda key: medians[key])


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "throughput", "M ops/s", True, lambda value: f"{value:.2f}"),
        Metric("time", "wall_s", "s", False, lambda value: f"{value:.3f}"),
        Metric("cpu", "cpu_s", "s", False, lambda value: f"{value:.3f}"),
        Metric("rss", "peak_rss_kib", "KiB", False, lambda value: f"{value:,.0f}"),
        Metric("last-rss", "last_rss_kib", "KiB", False, lambda value: f"{value:,.0f}"),
        Metric("instructions", "callgrind_instructions", "", False, lambda value: f"{value:,.0f}"),
        Metric("faults", "minor_faults", "", False, lambda value: f"{value:,.0f}"),
    )
}

# What every run of `hakmem measure` has.
OF_RUNS = ["throughput", "time", "cpu", "rss", "faults"]


def choose(name: str, all_have_throughput: bool) -> Metric:
    """The metric of that name; "auto" is throughput where every command prints one, else time."""
    if name == "auto":
        return METRICS["throughput" if all_have_throughput else "time"]
    if name == "throughput" and not all_have_throughput:
        raise LabError("not every command prints a figure in M ops/s; choose another --metric")
    return METRICS[name]


def best_after_first(
    metric: Metric, command: int, allocators: int, measurement: Measurement
) -> int:
    """The allocator with the best median, the first one left out: what it is compared with."""
    if allocators < 2:
        raise LabError("--base best needs a second allocator")
    medians = {
        index: summarize(measurement.values((command, index), metric.key)).median
        for index in range(1, allocators)
    }
    ranked = sorted(medians, key=lambda index: medians[index], reverse=metric.higher_is_better)
    return ranked[0]

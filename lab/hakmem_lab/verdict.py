"""The last line of a comparison: one sentence, and nothing that the interval does not bear out."""

from __future__ import annotations

from dataclasses import dataclass

from .results import Result
from .statistics import FEWEST_PAIRS, Ratio, pairs_for, summarize

LEVEL = 0.05  # how often a difference may be claimed where there is none
SMALLEST = 0.01  # what "more runs" are to show


@dataclass(frozen=True)
class Verdict:
    """Of one command: the sentence, and whether HAKMEM is "faster", "slower", "equal" or "none"."""

    text: str
    kind: str


def percent(share: float) -> str:
    """7 %, 0.4 %: two digits at most, and no zero where there is something."""
    value = abs(share) * 100
    return f"{value:.0f} %" if value >= 9.5 else f"{value:.1f} %".replace(".0 %", " %")


def percents(low: float, high: float) -> str:
    small, large = sorted((abs(low), abs(high)))
    return f"{percent(small).removesuffix(' %')}–{percent(large)}"


def signed(share: float) -> str:
    text = percent(share)
    return text if text == "0 %" else f"{'−' if share < 0 else '+'}{text}"


def best_rival(result: Result, command: int, subject: int) -> int | None:
    """The other allocator with the best median, of those that finished a run."""
    metric = result.metric(command)
    medians = {
        index: summarize(values).median
        for index in range(len(result.names))
        if index != subject
        and (values := result.cell(command, index).values(metric.key))
        and not result.cell(command, index).failure
    }
    if not medians:
        return None
    return metric.best_of(medians)


def memory_clause(result: Result, command: int, subject: int, rival: int) -> str:
    found = result.ratio(command, subject, rival, "peak_rss_kib")
    if found is None:
        return ""
    ratio = found[0]
    if ratio.low > 1 or ratio.high < 1:
        return (
            f" and uses {percent(ratio.value - 1)} {'more' if ratio.value > 1 else 'less'} memory"
        )
    return " and uses as much memory"


def speed_of(
    result: Result, command: int, subject: int, rival: int, confidence: float
) -> tuple[Ratio, int] | None:
    """The subject's speed over the rival's: above 1 is faster, whatever the metric."""
    metric = result.metric(command)
    if metric.higher_is_better:
        return result.ratio(command, subject, rival, metric.key, confidence)
    return result.ratio(command, rival, subject, metric.key, confidence)


def judge(result: Result, command: int = 0, subject: int = 0) -> Verdict:
    """Of the subject (the first allocator: HAKMEM) against the best of the others.

    The best is chosen after the fact, so that its interval is widened to the number that it was chosen
    from (Bonferroni): all of them together are wrong in LEVEL of the cases.
    """
    title = result.titles[subject]
    failure = result.cell(command, subject).failure
    if failure:
        return Verdict(f"{title} failed: it {failure}", "failed")
    rival = best_rival(result, command, subject)
    if rival is None:
        return Verdict(
            f"{title} has nothing to be compared with: no other allocator finished", "none"
        )
    rivals = sum(1 for index in range(len(result.names))
                 if index != subject and result.cell(command, index).by_round)  # fmt: skip
    found = speed_of(result, command, subject, rival, 1 - LEVEL / max(rivals, 1))
    other = result.titles[rival]
    if found is None or found[1] < FEWEST_PAIRS:
        pairs = 0 if found is None else found[1]
        return Verdict(
            f"no verdict on {title} and {other}: {pairs} of at least {FEWEST_PAIRS} rounds"
            " were measured", "none",
        )  # fmt: skip
    ratio, pairs = found
    metric = result.metric(command)
    memory = memory_clause(result, command, subject, rival)
    if ratio.low > 1 or ratio.high < 1:
        word = "faster" if ratio.value > 1 else "slower"
        if metric.name in {"rss", "last-rss"}:
            share = 1 / ratio.value - 1
            return Verdict(f"{title} uses {percent(share)} {'less' if share < 0 else 'more'} memory"
                           f" than {other}", word)  # fmt: skip
        return Verdict(
            f"{title} is {percent(ratio.value - 1)} {word} than {other}"
            f" (95 %: {percents(ratio.low - 1, ratio.high - 1)}){memory}",
            word,
        )
    text = (
        f"no difference in speed found between {title} and {other} at this precision"
        f" (95 %: {signed(ratio.low - 1)} to {signed(ratio.high - 1)})"
    )
    more = pairs_for(ratio, pairs, SMALLEST) - pairs
    if more > 0:
        text += f"; {more:,} more {'run' if more == 1 else 'runs'} would show {percent(SMALLEST)}"
    return Verdict(text, "equal")

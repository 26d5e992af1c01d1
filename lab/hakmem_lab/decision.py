"""What an experiment decides: adopt, reject or inconclusive, for each variant against the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .results import Result
from .statistics import FEWEST_PAIRS, Ratio
from .verdict import LEVEL, signed


@dataclass(frozen=True)
class Effect:
    """A variant's gain on one workload: 0.05 is 5 % better, whatever the metric."""

    workload: str
    value: float
    low: float
    high: float
    decided: bool = True  # enough rounds

    def is_gain(self, smallest: float) -> bool:
        return self.decided and self.low > 0 and self.value >= smallest

    def is_loss(self, smallest: float) -> bool:
        return self.decided and self.high < 0 and self.value <= -smallest

    def is_small(self, smallest: float) -> bool:
        """Whatever the effect is, it is no gain that matters."""
        return self.decided and self.high < smallest

    def text(self) -> str:
        if not self.decided:
            return "too few rounds"
        return f"{signed(self.value)} ({signed(self.low)} to {signed(self.high)})"


@dataclass(frozen=True)
class Decision:
    """On one variant."""

    variant: str
    verdict: str
    reason: str
    effects: tuple[Effect, ...]


def effect_of(result: Result, command: int, variant: int, confidence: float) -> Effect | None:
    """None if either side failed."""
    name = result.commands[command]["name"]
    metric = result.metric(command)
    pair = (variant, 0) if metric.higher_is_better else (0, variant)
    if any(result.cell(command, index).failure for index in pair):
        return None
    found = result.ratio(command, *pair, metric.key, confidence)
    if found is None or found[1] < FEWEST_PAIRS:
        return Effect(name, 0.0, 0.0, 0.0, decided=False)
    ratio: Ratio = found[0]
    return Effect(name, ratio.value - 1, ratio.low - 1, ratio.high - 1)


def decide(
    variant: str, effects: Sequence[Effect], failed: Sequence[str], smallest: float
) -> Decision:
    """A loss anywhere, or a failure, rejects; so does the certainty that nothing is gained."""

    def named(chosen: list[Effect]) -> str:
        return ", ".join(effect.workload for effect in chosen)

    gains = [effect for effect in effects if effect.is_gain(smallest)]
    losses = [effect for effect in effects if effect.is_loss(smallest)]
    if failed:
        return Decision(variant, "reject", f"it fails on {', '.join(failed)}", tuple(effects))
    if gains and losses:
        reason = f"better on {named(gains)}, worse on {named(losses)}"
        return Decision(variant, "inconclusive", reason, tuple(effects))
    if losses:
        return Decision(variant, "reject", f"worse on {named(losses)}", tuple(effects))
    if gains:
        reason = f"better on {named(gains)}, worse nowhere"
        return Decision(variant, "adopt", reason, tuple(effects))
    if effects and all(effect.is_small(smallest) for effect in effects):
        reason = f"it gains less than {signed(smallest)} everywhere"
        return Decision(variant, "reject", reason, tuple(effects))
    reason = f"the intervals neither show nor exclude a gain of {signed(smallest)}"
    return Decision(variant, "inconclusive", reason, tuple(effects))


def decide_all(result: Result, smallest: float) -> list[Decision]:
    """Of every variant after the first. Each interval is widened to the number of comparisons."""
    commands, variants = range(len(result.commands)), range(1, len(result.names))
    confidence = 1 - LEVEL / max(1, len(commands) * len(variants))
    decisions = []
    for variant in variants:
        effects, failed = [], []
        for command in commands:
            effect = effect_of(result, command, variant, confidence)
            if effect is None:
                failed.append(result.commands[command]["name"])
            else:
                effects.append(effect)
        decisions.append(decide(result.names[variant], effects, failed, smallest))
    return decisions

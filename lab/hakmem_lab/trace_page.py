"""The page of a trace: its facts, sizes, lifetimes and live memory as plots."""

from __future__ import annotations

from pathlib import Path

import jinja2
from markupsafe import Markup
from matplotlib.axes import Axes

from . import plots
from .traces import Facts


def by_power(name: str, counts: list[int], label: str) -> str:
    used = [power for power, count in enumerate(counts) if count] or [0]
    powers = list(range(used[0], used[-1] + 1))

    def fill(axes: Axes) -> None:
        axes.bar([2.0**power for power in powers], [counts[power] for power in powers],
                 width=[0.6 * 2.0**power for power in powers], color=plots.colour(1))  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_xlabel(label)
        axes.set_ylabel("blocks")

    return plots.draw(name, 2.6, fill)


def live(facts: Facts) -> str:
    points = facts.row["live_bytes"]

    def fill(axes: Axes) -> None:
        places = [100 * index / len(points) for index in range(len(points))]
        axes.fill_between(
            places, [value / 2**20 for value in points], color=plots.colour(2), step="mid"
        )
        axes.set_xlabel("operations, % of all")
        axes.set_ylabel("alive, MiB")
        axes.set_ylim(bottom=0)

    return plots.draw("live", 2.6, fill)


def render(facts: Facts, name: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "hakmem_lab", "."),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    drawn = {
        "memory that is alive": live(facts),
        "sizes": by_power("sizes", facts.row["sizes"], "bytes, up to"),
        "lifetimes": by_power(
            "lifetimes", facts.row["lifetimes"], "allocations made meanwhile, up to"
        ),
    }
    return environment.get_template("trace.html.j2").render(
        name=name, facts=facts,
        figures={caption: Markup(svg) for caption, svg in drawn.items()},  # noqa: S704
    )  # fmt: skip


def write(facts: Facts, name: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(facts, name), encoding="utf-8")

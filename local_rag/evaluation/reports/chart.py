"""What a plot is: a title, a text in its place, and how it is drawn; and how graphs are told apart in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#20242b"
"""Lines and words; in an SVG it becomes the colour of the text around it."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Okabe & Ito 2008, for colour-blind people; those of it with a contrast of 3 or so on white and on near-black."""

MARKERS = ("o", "s", "^", "D")
SIZE = (6.4, 4.3)
"""Inches, of 72 points in an SVG."""


@dataclass(frozen=True)
class Chart:
    """A plot: `reading` says how to read it, `alt` what it shows in numbers.

    `draw` fills an empty figure; without it there is nothing to plot, and `reading` says why.
    """

    name: str
    title: str
    reading: str
    alt: str = ""
    draw: Callable[[Figure], None] | None = None


@dataclass(frozen=True)
class Style:
    """How a graph or a mode is drawn; markers shrink, so that one on another leaves a rim."""

    colour: str
    marker: str
    dash: str
    size: float


def styled(known: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, Style]]:
    """The names that are known, each styled by its position among all names: alike in every chart."""
    shown = set(known)
    for number, name in enumerate(names):
        if name in shown:
            position = number % len(COLOURS)
            dash = ("-", "--", "-.", ":")[position]
            yield name, Style(COLOURS[position], MARKERS[position], dash, 12.0 - 1.8 * position)


def dress(axes: Axes, across: str, up: str) -> None:
    """Names of the axes, a faint grid, and no frame."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=True, color=INK, alpha=0.15, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(axes: Axes, corner: Literal["best", "lower left", "lower right", "upper left"]) -> None:
    """Say which marker stands for which graph or mode."""
    axes.legend(loc=corner, frameon=False, fontsize=10, labelcolor=INK)

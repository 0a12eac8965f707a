"""Names beside the points of a plot, so that none covers another name or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT, LETTER, AWAY = 12.0, 6.0, 9.0
"""Points: height of a line, width of a letter at 10 points (DejaVu Sans, a little more than its mean), and distance."""

Box = tuple[float, float, float, float]


def place(figure: Figure, axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    """Write each (name, x, y) beside its point, at the first place that is free; a point may have no name."""
    figure.draw_without_rendering()
    scale = 72 / figure.dpi
    at = [tuple(float(value) * scale for value in axes.transData.transform((x, y))) for _, x, y in points]
    taken: list[Box] = [(x - 6, y - 6, x + 6, y + 6) for x, y in at]
    (left, bottom), (right, top) = axes.transAxes.transform([(0, 0), (1, 1)]) * scale
    line = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 5, "color": axes.xaxis.label.get_color()}
    for (name, x, y), (across, up) in zip(points, at, strict=True):
        if not name:
            continue
        wide = LETTER * len(name)
        spots = list(_spots(wide))
        free = [
            spot
            for spot in spots
            if left - 2 <= across + spot[0] - (wide if spot[2] == "right" else 0) and across + spot[0] <= right + 60
            if bottom <= up + spot[1] - HEIGHT / 2 and up + spot[1] + HEIGHT / 2 <= top + HEIGHT
            if not any(_meet(_box(across, up, wide, spot), other) for other in taken)
        ]
        spot = (free or spots)[0]
        taken.append(_box(across, up, wide, spot))
        axes.annotate(
            name,
            (x, y),
            xytext=spot[:2],
            textcoords="offset points",
            ha=spot[2],
            va="center",
            annotation_clip=False,
            arrowprops=line if abs(spot[1]) > HEIGHT else None,
        )


def _spots(wide: float) -> Iterator[tuple[float, float, str]]:
    """(across, up, side that is held) in points from the point: right, left, then ever further up or down."""
    for up in (0.0, HEIGHT, -HEIGHT, *(sign * HEIGHT * step for step in range(2, 9) for sign in (1, -1))):
        yield AWAY, up, "left"
        yield -AWAY, up, "right"


def _box(across: float, up: float, wide: float, spot: tuple[float, float, str]) -> Box:
    start = across + spot[0] - (wide if spot[2] == "right" else 0)
    return start, up + spot[1] - HEIGHT / 2, start + wide, up + spot[1] + HEIGHT / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

"""A chart as SVG that stands in a page, or as a file."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.private_files import replace_file
from local_rag.evaluation.reports.chart import INK, SIZE, Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK
    ),
}
"""DejaVu Sans comes with matplotlib, so that a chart is laid out alike on every machine."""


def svg(chart: Chart) -> str:
    """An `svg` element: no prolog, no outside reference, ids of its own, lines in the colour of the text around it.

    The same figures give the same bytes. Empty where the chart has nothing to plot.
    """
    if chart.draw is None:
        return ""
    out = io.StringIO()
    with _drawn(chart) as figure:
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _inlined(out.getvalue(), chart)


def save(chart: Chart, path: Path) -> Path:
    """Write a chart as a picture on white, PNG or whatever the suffix says. Raises ValueError without a plot."""
    if chart.draw is None:
        raise ValueError(f"{chart.title}: {chart.reading}")
    with _drawn(chart) as figure:
        figure.suptitle(chart.title)
        figure.savefig(out := io.BytesIO(), format=path.suffix[1:] or "png", dpi=150, facecolor="white")
    replace_file(path, out.getvalue())
    return path


@contextmanager
def _drawn(chart: Chart) -> Iterator[Figure]:
    """The figure, with matplotlib's defaults and our style, whatever a matplotlibrc says.

    Without matplotlib's words about its caches, which it makes elsewhere where the home folder is read-only.
    """
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        import matplotlib
        from matplotlib.figure import Figure

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            for key, value in {**_STYLE, "svg.hashsalt": chart.name}.items():
                matplotlib.rcParams[key] = value  # type: ignore[index]
            figure = Figure(figsize=SIZE, layout="constrained")
            assert chart.draw is not None
            chart.draw(figure)
            yield figure
    finally:
        logger.setLevel(level)


def _inlined(text: str, chart: Chart) -> str:
    """Cut out what only a file of its own needs, and give every id the name of the chart in front."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    text = re.sub(r'<style type="text/css">\*\{(.*?)\}</style>', rf"<style>#chart-{chart.name} *{{\1}}</style>", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{chart.name}-\1"', text)
    text = re.sub(r'xlink:href="#', f'href="#{chart.name}-', text)
    text = text.replace("url(#", f"url(#{chart.name}-").replace(INK, "currentColor")
    view = re.search(r'viewBox="[^"]+"', text)
    assert view
    description = f"<title>{escape(chart.title)}</title><desc>{escape(chart.alt)}</desc>"
    head = f'<svg id="chart-{chart.name}" {view.group()} xmlns="http://www.w3.org/2000/svg" role="img" aria-label="'
    head += f'{escape(f"{chart.title}. {chart.alt}")}">{description}'
    return head + text[text.index(">") + 1 :].strip() + "\n"

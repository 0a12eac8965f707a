"""Figures as a person reads them; one that does not exist is a dash, never a zero."""

from __future__ import annotations

NONE = "–"
"""Stands for a figure that nothing could be counted for."""


def share(value: float | None) -> str:
    """A share or a score with three digits: .642, 1.000, -.050."""
    if value is None:
        return NONE
    shown = f"{value:.3f}"
    if shown == "-0.000":
        shown = "0.000"
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "-0.")) else shown


def percent(value: float | None) -> str:
    """A share in whole percent: 64%."""
    return "none" if value is None else f"{value:.0%}"


def count(value: float | None) -> str:
    """A whole number: 1,204."""
    return NONE if value is None else f"{value:,.0f}"


def mean(value: float | None) -> str:
    """A mean of whole numbers: 2.4, from 100 on without a decimal; 0 is none at all."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.1f}"


def seconds(value: float | None) -> str:
    """Seconds with three significant digits: 0.012, 1.25, 83.1."""
    if value is None:
        return NONE
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"

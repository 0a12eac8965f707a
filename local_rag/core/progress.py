"""Define how long work reports its progress; a terminal draws it, and other programs may ignore it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

ShowProgress = Callable[[float | None, str], None]
"""A callback for the completed share in [0, 1], or None if it is unknown, and a text to show beside it."""


class Display(Protocol):
    """Show messages and progress to a person while work goes on."""

    def say(self, line: str) -> None:
        """Show a line that stays; one that is indented says what to type, and is for a terminal only."""

    def progress(self, doing: str = "") -> AbstractContextManager[ShowProgress]:
        """Show a progress bar while the context lasts, with `doing` beside it until the first call."""


class Silent:
    """Implement a display that shows nothing."""

    def say(self, line: str) -> None:
        """Ignore the line."""

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        """Yield a callback that does nothing."""
        yield lambda share, line: None


def time_left(seconds: float) -> str:
    """Return a number of seconds as text for a person: about 2:10 left, about 1:02:10 left."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours}:{minutes:02}:{rest:02} left" if hours else f"about {minutes}:{rest:02} left"

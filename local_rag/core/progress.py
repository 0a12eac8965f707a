"""Where long work says how far it is: a terminal draws it, another program may ignore it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

ShowProgress = Callable[[float | None, str], None]
"""Called with the share that is done, in [0, 1] or None where it is not known, and what is said beside it."""


class Display(Protocol):
    """What a person is told while work goes on."""

    def say(self, line: str) -> None:
        """A line that stays."""

    def progress(self, doing: str = "") -> AbstractContextManager[ShowProgress]:
        """A progress bar for as long as the context lasts; `doing` is shown until the first call."""


class Silent:
    """A display that shows nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        """A callback that does nothing."""
        yield lambda share, line: None


def time_left(seconds: float) -> str:
    """Seconds for people: about 2:10 left, about 1:02:10 left."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours}:{minutes:02}:{rest:02} left" if hours else f"about {minutes}:{rest:02} left"

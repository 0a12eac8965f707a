"""What became of a call for a verdict: the reply if it could be used, and how sure the model was of its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from local_rag.engines.ollama.replies import Reply
from local_rag.engines.ollama.schemas import R
from local_rag.engines.ollama.token_probabilities import chances
from local_rag.text.display import shorten

LONGEST_REASON = 200
"""Characters of a reason that are kept; the grammar allows 160, and not every server has one."""


@dataclass(frozen=True, slots=True)
class Verdict(Generic[R]):
    """`found` is None where the reply stayed unusable; `wrong` says why, of the last reply.

    `kept` are the numbers of the passages that the model was shown, `reply` is the one that was used.
    """

    found: R | None
    kept: list[int] = field(default_factory=list)
    wrong: str = ""
    reply: Reply | None = None

    def chances(self, path: tuple[str | int, ...], labels: Iterable[str]) -> dict[str, float] | None:
        """Probabilities of the labels at a value of the reply, None where they are not known."""
        return chances(self.reply.tokens, self.reply.text, path, labels) if self.reply else None

    @property
    def why(self) -> str:
        """What was wrong with the reply, else the reason that the model gave, if it was asked for one."""
        return self.wrong or self.reason()

    def reason(self, number: int = 0) -> str:
        """The reason given for the verdict, or for one of them."""
        given = getattr(self.found, "why", "")
        return shorten(given[number] if isinstance(given, list) else given, LONGEST_REASON)

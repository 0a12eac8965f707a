"""What became of a call for a verdict: the reply if it could be used, and how sure the model was of its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic

from local_rag.engines.ollama.replies import Reply
from local_rag.engines.ollama.schemas import R
from local_rag.engines.ollama.token_probabilities import label_probabilities
from local_rag.text.display import shorten

LONGEST_REASON = 200
"""Characters of a reason that are kept; the grammar allows 160, and not every server has one."""


@dataclass(frozen=True, slots=True)
class ParsedVerdict(Generic[R]):
    """`reply` is None where no reply could be used; `error` says why, of the last one.

    `kept` are the numbers of the passages that the model was shown, `raw` is the reply as it came.
    """

    reply: R | None
    kept: list[int] = field(default_factory=list)
    error: str = ""
    raw: Reply | None = None

    def probabilities(self, path: tuple[str | int, ...], labels: Iterable[str]) -> dict[str, float] | None:
        """Probabilities of the labels at a value of the reply, None where they are not known."""
        return label_probabilities(self.raw.tokens, self.raw.text, path, labels) if self.raw else None

    @property
    def why(self) -> str:
        """What was wrong with the reply, else the reason that the model gave, if it was asked for one."""
        return self.error or self.reason()

    def reason(self, number: int = 0) -> str:
        """The reason given for the verdict, or for one of them."""
        given = getattr(self.reply, "why", "")
        return shorten(given[number] if isinstance(given, list) else given, LONGEST_REASON)

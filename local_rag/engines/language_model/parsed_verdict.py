"""What became of a call for a verdict: the reply if it could be used, and scores from how sure the model was.

The scores are Self-RAG's linear sums over the grader's probabilities (arXiv 2310.11511, section 3.3, eq. 4). Where the
probabilities are not known, a score is None and the words of the verdict count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from pydantic import ValidationError

from local_rag.core.critique import SUPPORT, USEFULNESS
from local_rag.core.reasons import mistake_of
from local_rag.engines.language_model import prompts, schemas
from local_rag.engines.language_model.context_window import Message
from local_rag.engines.language_model.replies import Reply
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.token_probabilities import label_probabilities
from local_rag.text.display import plural, shorten
from local_rag.text.fences import fenced

QUOTED = 400
"""Characters of a reply that cannot be used which the retry is shown."""
Probabilities = Mapping[str, float] | None
"""Probabilities by label, None where they are not known."""

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

    def probabilities(self, labels: Iterable[str], *path: str | int) -> Probabilities:
        """Probabilities of the labels at a value of the reply, None where they are not known."""
        return label_probabilities(self.raw.tokens, self.raw.text, path, labels) if self.raw else None

    def yes(self, *path: str | int) -> float | None:
        """P(yes) / (P(yes) + P(no)) at a value of the reply, as for Retrieve and ISREL."""
        probabilities = self.probabilities(("yes", "no"), *path)
        return probabilities["yes"] if probabilities else None

    @property
    def why(self) -> str:
        """What was wrong with the reply, else the reason that the model gave, if it was asked for one."""
        return self.error or self.reason()

    def reason(self, number: int = 0) -> str:
        """The reason given for the verdict, or for one of them."""
        given = getattr(self.reply, "why", "")
        return shorten(given[number] if isinstance(given, list) else given, LONGEST_REASON)


def support_score(sentences: Sequence[Probabilities]) -> float | None:
    """The mean of s(ISSUP) over the sentences, in [0, 1]; None without any, or where one is not known."""
    known = [probabilities for probabilities in sentences if probabilities is not None]
    if not known or len(known) < len(sentences):
        return None
    return sum(sum(SUPPORT[label] * p for label, p in probabilities.items()) for probabilities in known) / len(known)


def usefulness_score(probabilities: Probabilities) -> float | None:
    """s(ISUSE) in [-1, 1]: the weights of the levels that can be seen, by their probabilities."""
    return sum(USEFULNESS[int(level)] * p for level, p in probabilities.items()) if probabilities else None


def corrected(messages: Sequence[Message], rejected: str, wrong: str, schema: type[schemas.Reply]) -> Sequence[Message]:
    """The prompt of a retry: after a reply that could not be used, with what was wrong with it."""
    if not rejected:
        return messages
    shape = prompts.shape([str(field.alias) for field in schema.model_fields.values()])
    return [*messages, ("assistant", fenced(shorten(rejected, QUOTED))), ("user", prompts.correction(wrong, shape))]


def parsed_reply(reply: Reply, schema: type[R]) -> tuple[R | None, str]:
    """The reply in the form of its schema, else what is wrong with it."""
    if reply.cut:
        return None, f"it was cut off after {plural(reply.call.output_tokens, 'token')}"
    try:
        return schema.model_validate_json(reply.text), ""
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return None, f"{where + ': ' if where else ''}{mistake_of(first)} (it was {shorten(repr(first['input']), 80)})"

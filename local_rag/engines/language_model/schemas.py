"""Define the replies in JSON: the tutorials' schemas and field names, short keys on the wire, strict validation.

A generated token costs the most, so keys are single letters, verdicts are enums, and a verdict for each of several
things is one word of a single string: each word is one token, where an array needs three further characters between two
of them. RouteQuery, GradeDocuments, GradeHallucinations and GradeAnswer are the names of the LangGraph tutorials.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model
from pydantic.json_schema import GenerateJsonSchema

YesNo = Literal["yes", "no"]
Supported = Literal["fully", "partially", "no"]

REASON, REASON_TOKENS = 160, 96
"""The characters that the grammar allows a reason, and its tokens; English takes about 40."""


R = TypeVar("R", bound="Reply")


class Reply(BaseModel):
    """Hold a reply of a grader or of the router; further fields are forbidden."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    tokens: ClassVar[int] = 8
    """The tokens of the values of the longest reply, see `most_tokens`."""
    explained: ClassVar[bool] = True
    """Whether a task that explains asks a reason for this reply."""
    reasons: ClassVar[int] = 0
    """The number of reasons behind the verdicts."""


class GradeDocuments(Reply):
    """Hold whether each retrieved document is relevant to the question, in their order; see `of_length`."""

    binary_scores: list[YesNo] = Field(alias="r")


class GradeHallucinations(Reply):
    """Hold whether each sentence is supported: ISSUP of Self-RAG (arXiv 2310.11511, table 1); see `of_length`."""

    support: list[Supported] = Field(alias="s")


class GradeAnswer(Reply):
    """Hold how well the generation answers the question: ISUSE of Self-RAG (table 1)."""

    usefulness: int = Field(alias="u", ge=1, le=5)


class GradeGeneration(GradeAnswer, GradeHallucinations):
    """Hold both checks at once, the support first; see `of_length`."""


class RouteQuery(Reply):
    """Hold where to search (`datasource`) and in how many steps (`complexity`), each only if there is a choice.

    See `route_among`.
    """


class GradeNeed(Reply):
    """Hold whether a question needs the files: Retrieve of Self-RAG (table 1)."""

    needed: YesNo = Field(alias="n")


class GradeNext(Reply):
    """Hold the next need of a begun answer: Retrieve of Self-RAG (table 1) with its three values."""

    needed: Literal["yes", "no", "continue"] = Field(alias="n")


class ReasonStep(Reply):
    """Hold the next sentence of a chain of reasoning, and whether it holds the answer (IRCoT, arXiv 2212.10509)."""

    tokens, explained = 112, False
    sentence: str = Field(alias="t", json_schema_extra={"maxLength": 300})
    done: bool = Field(alias="d")


class JudgeAnswer(Reply):
    """Hold whether an answer says the same as a reference answer; only evaluation asks this."""

    explained = False
    verdict: Literal["right", "wrong"] = Field(alias="j")


class ProposeQuestion(Reply):
    """Hold a question that a passage answers, and the answering words of the passage; only `eval make` asks this."""

    tokens, explained = 240, False
    question: str = Field(alias="q")
    answer: str = Field(alias="a")


class ProposeMissing(Reply):
    """Hold a question that a passage raises and does not answer; only `eval make` asks this."""

    tokens, explained = 120, False
    question: str = Field(alias="q")


@cache
def of_length(schema: type[R], count: int) -> type[R]:
    """Return the schema with exactly so many entries in its list of words, its first field.

    On the wire the list is one string of so many words with a blank between two.
    """
    (name, field), *_ = schema.model_fields.items()
    words: Any = field.annotation
    one = f"({'|'.join(get_args(*get_args(words)))})"
    wire = {"type": "string", "pattern": f"^{' '.join([one] * count)}$"}
    listed = Field(alias=field.alias, min_length=count, max_length=count)
    entries: Any = Annotated[words, BeforeValidator(_split), WithJsonSchema(wire), listed]
    return _derived(schema, 8 * count, 0, {name: (entries, ...)})


def _derived(schema: type[R], tokens: int, reasons: int, fields: Any) -> type[R]:
    derived = create_model(schema.__name__, __base__=schema, **fields)
    derived.tokens, derived.reasons = tokens, reasons
    return derived


def _split(value: object) -> list[str]:
    if not isinstance(value, str):
        raise ValueError("it should be one string")
    return value.split(" ")


@cache
def route_among(sources: tuple[str, ...], multi: bool = False) -> type[RouteQuery]:
    """Return the schema that offers these sources and no other, and the number of steps if `multi` is set.

    A single source is not asked for.
    """
    fields: Any = {}
    if len(sources) > 1:
        offered: Any = Literal[sources]
        fields["datasource"] = (offered, Field(alias="d"))
    if multi:
        fields["complexity"] = (Literal["single", "multi"], Field(alias="c"))
    return create_model("RouteQuery", __base__=RouteQuery, **fields)


@cache
def with_reasons(schema: type[R], count: int = 0) -> type[R]:
    """Return the schema with a reason after the verdict, or with so many of them.

    The server enforces the length of a reason; a longer one must not cost the verdict.
    """
    reason = Annotated[str, Field(json_schema_extra={"maxLength": REASON})]
    kind: Any = Annotated[list[reason], Field(min_length=count, max_length=count)] if count else reason
    return _derived(schema, schema.tokens, count or 1, {"why": (kind, Field(alias="w"))})


class _Untitled(GenerateJsonSchema):
    """Leave the titles out of a schema, because a grammar needs none."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@lru_cache(maxsize=256)
def wire(schema: type[Reply]) -> dict[str, Any]:
    """Return the JSON schema as it is sent in `format`."""
    whole = schema.model_json_schema(by_alias=True, schema_generator=_Untitled)
    return {key: value for key, value in whole.items() if key not in ("title", "description")}


def most_tokens(schema: type[Reply]) -> int:
    """Return the cap on a reply: above the longest one, because the grammar allows white space (26 tokens seen)."""
    return 48 + schema.tokens + REASON_TOKENS * schema.reasons

"""The replies in JSON: the tutorials' schemas and field names, short keys on the wire, strict validation.

A generated token costs the most, so keys are single letters, verdicts are enums and arrays have a fixed length
(RouteQuery, GradeDocuments, GradeHallucinations and GradeAnswer are the names of the LangGraph tutorials).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

YesNo = Literal["yes", "no"]


class Reply(BaseModel):
    """A reply of a grader or of the router. Nothing else may stand in it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    tokens: ClassVar[int] = 8
    """What the values of the longest reply take, see `most_tokens`."""


class GradeDocuments(Reply):
    """Is one retrieved document relevant to the question?"""

    binary_score: YesNo = Field(alias="r")


class GradeHallucinations(Reply):
    """Is the generation grounded in the documents?"""

    binary_score: YesNo = Field(alias="s")


class GradeAnswer(Reply):
    """Does the generation answer the question?"""

    binary_score: YesNo = Field(alias="u")


class GradeGeneration(Reply):
    """Both checks at once: ISSUP and ISUSE of Self-RAG (arXiv 2310.11511, table 1)."""

    support: Literal["fully", "partially", "no"] = Field(alias="s")
    usefulness: int = Field(alias="u", ge=1, le=5)


class DocumentGrades(Reply):
    """GradeDocuments of every retrieved document, in their order; see `grades_of`."""

    binary_scores: list[YesNo] = Field(alias="r")


class RouteQuery(Reply):
    """Where to look; see `route_among`."""

    datasource: str = Field(alias="d")


class JudgeAnswer(Reply):
    """Does an answer say what a reference answer says? Only evaluation asks this."""

    verdict: Literal["right", "wrong"] = Field(alias="j")


class ProposeQuestion(Reply):
    """A question that a passage answers, and the words of the passage that do; only `eval make` asks this."""

    tokens = 240
    question: str = Field(alias="q")
    answer: str = Field(alias="a")


class ProposeMissing(Reply):
    """A question that a passage raises and does not answer; only `eval make` asks this."""

    tokens = 120
    question: str = Field(alias="q")


@cache
def grades_of(count: int) -> type[DocumentGrades]:
    """The schema for exactly so many documents."""
    scores = Annotated[list[YesNo], Field(alias="r", min_length=count, max_length=count)]
    return create_model("DocumentGrades", __base__=DocumentGrades, binary_scores=(scores, ...))


@cache
def route_among(sources: tuple[str, ...]) -> type[RouteQuery]:
    """The schema that offers these sources and no other."""
    offered: Any = Literal[sources]
    return create_model("RouteQuery", __base__=RouteQuery, datasource=(offered, Field(alias="d")))


@cache
def wire(schema: type[Reply]) -> dict[str, Any]:
    """The JSON schema as it is sent in `format`: a grammar for the server, so titles and descriptions are left out."""
    return {key: _bare(value) for key, value in schema.model_json_schema(by_alias=True).items() if key not in _TALK}


_TALK = {"title", "description"}


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(inner) for key, inner in value.items() if key not in _TALK}
    return [_bare(inner) for inner in value] if isinstance(value, list) else value


def most_tokens(schema: type[Reply], count: int = 1) -> int:
    """A cap on the reply: twice what the longest one takes, because the grammar allows white space (26 tokens seen)."""
    return 48 + (8 * count if issubclass(schema, DocumentGrades) else schema.tokens)

"""Test that errors of libraries and the system are told in plain words."""

import errno
import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from local_rag.core.errors import mistake_of, reason_of


class Pair(BaseModel):
    model_config = ConfigDict(extra="forbid")
    left: int


def raised(work):
    with pytest.raises(Exception) as caught:
        work()
    return caught.value


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (int, "80x", "a whole number"),
        (int, 1.5, "a whole number"),
        (int, None, "a whole number"),
        (float, "soon", "a number"),
        (Annotated[float, Field(allow_inf_nan=False)], float("nan"), "a finite number"),
        (bool, "maybe", "true or false"),
        (str, 3, "text"),
        (Annotated[str, Field(pattern="^a$")], "b", "text of another form"),
        (Annotated[str, Field(max_length=2)], "abc", "at most 2 characters"),
        (Annotated[int, Field(ge=1)], 0, "1 or more"),
        (Annotated[float, Field(gt=0)], -1, "more than 0"),
        (Annotated[int, Field(le=9)], 10, "9 or less"),
        (Annotated[list[int], Field(min_length=1)], [], "1 or more entries"),
        (Literal["plain", "crag", "self-rag"], "x", "plain, crag or self-rag"),
        (list[int], 3, "a list"),
        (dict[str, int], 3, "names with values"),
        (Pair, 3, "names with values"),
        (Pair, {}, "a value"),
    ],
)
def test_what_is_wrong_with_a_value(kind, value, shown):
    error = raised(lambda: TypeAdapter(kind).validate_python(value))
    assert isinstance(error, ValidationError) and mistake_of(error.errors()[0]) == f"expected {shown}"


@pytest.mark.parametrize(
    ("work", "shown"),
    [
        (lambda: Path("/no/such/file").read_text(), "there is no such file or folder"),
        (lambda: (Path(__file__) / "a").read_text(), "a part of its path is no folder"),
        (lambda: Path("/").read_text(), "it is a folder"),
        (lambda: b"\xff".decode(), "it is no text in UTF-8"),
        (lambda: json.loads("{"), "it is no JSON (line 1, column 2)"),
        (lambda: {}["size"], "it lacks 'size'"),
        (lambda: len(3), "its contents are of another form"),
    ],
)
def test_why_something_cannot_be_read(work, shown):
    assert reason_of(raised(work)) == shown


def test_what_the_system_says_without_words_of_ours_is_told_as_it_is():
    assert reason_of(OSError(errno.EPIPE, "Broken pipe", "/a/path")) == "broken pipe"
    assert reason_of(ValueError("a line of our own")) == "a line of our own"

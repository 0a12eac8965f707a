"""Define a case: a question, its right answers, and their sources; read and write sets of cases as JSON lines."""

from __future__ import annotations

import errno
import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from local_rag.core.errors import DiskFull, UsageError, reason_of
from local_rag.core.private_files import append_line
from local_rag.core.verdicts import Source
from local_rag.text.display import short_path
from local_rag.text.words import words

SHAPE = '{"id": "1", "question": "…", "answers": ["…"], "answerable": true, "relevant": [{"file": "a.pdf", "page": 2}]}'
"""An example of a line, for a person who has to correct one."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, slots=True)
class Target:
    """Name the source of a right answer: a file (the end of its path, or a URL), a page of it, words of it.

    At least one of `file` and `quote` is given. `gain` is its degree of relevance, for graded collections (nDCG).
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    file: str = ""
    page: Annotated[int, Field(ge=1, strict=True)] | None = None
    quote: str = ""
    gain: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """Hold one question with its labels; unknown labels are empty, and no figure is computed from them.

    `answers` are alternatives, each right on its own. `answerable` says whether the files contain the answer, None if
    nobody said. `hops` is the number of passages that an answer combines.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    id: str
    question: Text
    answers: tuple[Annotated[str, StringConstraints(pattern=r"\S")], ...] = ()
    answerable: Annotated[bool, Field(strict=True)] | None = None
    relevant: tuple[Target, ...] = ()
    route: Source | None = None
    hops: Annotated[int, Field(ge=1, strict=True)] = 1
    note: str = ""


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, value) of a file of JSON lines without blank lines; raise UsageError that names the line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {reason_of(error)}", hint="local-rag eval CASES.jsonl") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except json.JSONDecodeError as error:
                raise UsageError(f"{path}, line {number} is not JSON: {error.msg}", hint=SHAPE) from error


def read_cases(path: Path, *, proposed: bool = False) -> tuple[Case, ...]:
    """Read the cases of a file in this program's own format; raise UsageError that names line and key.

    Lines with `"keep": false`, which nobody has checked yet, are left out unless `proposed`.
    """
    cases: list[Case] = []
    left = 0
    for number, value in read_lines(path):
        try:
            case, keep = case_of(value, str(number)), value.get("keep", True)
            if not isinstance(keep, bool):
                raise ValueError(f"keep must be true or false, not {keep!r}")
        except ValueError as error:
            raise UsageError(f"{path}, line {number}: {error}", hint=SHAPE) from error
        if keep or proposed:
            cases.append(case)
        left += not keep
    if left and not cases:
        raise UsageError(
            f'{path} has only proposals: each of its {left} cases says "keep": false',
            hint="read the questions in an editor, and set keep to true where one fits your files",
        )
    return distinct(cases, path)


def distinct(cases: Iterable[Case], path: Path) -> tuple[Case, ...]:
    """Return the cases; raise UsageError if there are none, or if two have the same ID."""
    by_id: dict[str, Case] = {}
    for case in cases:
        if case.id in by_id:
            raise UsageError(f"{path} has two cases with the id {case.id!r}", hint="give each case an id of its own")
        by_id[case.id] = case
    if not by_id:
        raise UsageError(f"{path} holds no case", hint=SHAPE)
    return tuple(by_id.values())


@cache
def _reader() -> TypeAdapter[Case]:
    return TypeAdapter(Case)


def case_of(value: object, default_id: str) -> Case:
    """Return one case from its JSON object; raise ValueError that says which key is wrong, and how."""
    if not isinstance(value, Mapping):
        listed = "; write one object per line, with no [ ] around them" if isinstance(value, list) else ""
        raise ValueError(f"expected an object, found {type(value).__name__}{listed}")
    given = {key: each for key, each in value.items() if each is not None and key != "keep"}
    given["id"] = str(given.get("id", default_id))
    if isinstance(targets := given.get("relevant"), list):
        given["relevant"] = [{"file": each} if isinstance(each, str) else each for each in targets]
    try:
        case = _reader().validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if not all(target.file or target.quote.strip() for target in case.relevant):
        raise ValueError("something relevant needs a file or a quote")
    labelled = bool(case.relevant or case.answers)
    if case.answerable is False and labelled:
        raise ValueError("a case that is not answerable can have no answers and nothing relevant")
    return replace(case, answerable=True) if labelled else case


def line_of(case: Case) -> str:
    """Return a case as a JSON line, without a line end and without empty labels."""
    return json.dumps(_reader().dump_python(case, exclude_defaults=True), ensure_ascii=False)


# --- a file that grows


def named(question: str) -> str:
    """Return the ID of a case: a hash of the words of its question."""
    return hashlib.sha256((" ".join(words(question)) or question.strip()).encode()).hexdigest()[:10]


class CaseFile:
    """Append cases to a file, which is created with its first case; existing lines are never changed.

    It quotes a person's files, so only its owner can read a new one.
    """

    def __init__(self, path: Path) -> None:
        """Read the cases of the file, if it exists.

        Raise UsageError for a path that cannot be such a file, and for a line that is no case.
        """
        self.path = path.expanduser()
        if self.path.is_dir():
            raise UsageError(f"{short_path(path)} is a folder, not a file", hint="local-rag eval make CASES.jsonl")
        if not self.path.parent.is_dir():
            raise UsageError(
                f"there is no folder {short_path(self.path.parent)}",
                hint=f"mkdir -p {shlex.quote(str(self.path.parent))}",
            )
        filled = self.path.exists() and self.path.stat().st_size > 0
        self.cases: list[Case] = list(read_cases(self.path, proposed=True)) if filled else []

    def has(self, question: str) -> bool:
        """Return whether the file has the same question."""
        return any(named(question) in (case.id, named(case.question)) for case in self.cases)

    def append(self, case: Case, *, keep: bool = True) -> None:
        """Write one line to the disk; if the disk is full (DiskFull), write nothing."""
        line = line_of(case)
        try:
            append_line(self.path, line if keep else f'{{"keep": false, {line[1:]}', synced=True)
        except OSError as error:
            name = short_path(self.path)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"cannot write to {name}: {reason_of(error)}; what was stored before is kept") from error
            raise UsageError(f"{name} cannot be written: {reason_of(error)}", hint="choose another file") from error
        self.cases.append(case)

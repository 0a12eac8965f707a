"""A case: a question, what a right answer says, and where that stands. Sets of cases are JSON lines."""

from __future__ import annotations

import errno
import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from local_rag.core.errors import DiskFull, UsageError, reason_of
from local_rag.core.private_files import append_line
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Source
from local_rag.text.display import short_path
from local_rag.text.words import words

SHAPE = '{"id": "1", "question": "…", "answers": ["…"], "answerable": true, "relevant": [{"file": "a.pdf", "page": 2}]}'
"""What a line looks like, for a person who has to mend one."""

_KEYS = {"id", "question", "answers", "answerable", "relevant", "route", "hops", "note", "keep"}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a right answer stands: a file (the end of its path, or a URL), a page of it, words of it.

    At least one of `file` and `quote` is given. `gain` is how relevant it is, for graded collections (nDCG).
    """

    file: str = ""
    page: int | None = None
    quote: str = ""
    gain: float = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its labels; what is not known is empty, and no figure is computed from it.

    `answers` are alternatives, each right on its own. `answerable` says whether the files contain the answer; None
    where nobody said. `hops` is how many passages an answer has to be put together from.
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    answerable: bool | None = None
    relevant: tuple[Target, ...] = ()
    route: Source | None = None
    hops: int = 1
    note: str = ""


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, value) of a file of JSON lines; blank lines are left out. Raises UsageError naming the line."""
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
    """The cases of a file in this program's own format. Raises UsageError naming line and key.

    Lines with `"keep": false`, which nobody has looked at yet, are left out unless `proposed`.
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
    """The cases. Raises UsageError where there are none, or two have one id."""
    by_id: dict[str, Case] = {}
    for case in cases:
        if case.id in by_id:
            raise UsageError(f"{path} has two cases with the id {case.id!r}", hint="give each case an id of its own")
        by_id[case.id] = case
    if not by_id:
        raise UsageError(f"{path} holds no case", hint=SHAPE)
    return tuple(by_id.values())


def case_of(value: object, default_id: str) -> Case:
    """One case from its JSON object. Raises ValueError saying what was expected and what came."""
    if not isinstance(value, Mapping):
        listed = "; write one object per line, with no [ ] around them" if isinstance(value, list) else ""
        raise ValueError(f"expected an object, found {type(value).__name__}{listed}")
    unknown = sorted(set(value) - _KEYS)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(_KEYS))}")
    question = value.get("question")
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"question must be a text, not {question!r}")
    answers = _list(value.get("answers"), "answers")
    if not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise ValueError(f"answers must be a list of texts, not {answers!r}")
    answerable, route, hops = value.get("answerable"), value.get("route"), value.get("hops", 1)
    if answerable is not None and not isinstance(answerable, bool):
        raise ValueError(f"answerable must be true or false, not {answerable!r}")
    if route is not None and route not in get_args(Source):
        raise ValueError(f"route must be one of {', '.join(get_args(Source))}, not {route!r}")
    if not isinstance(hops, int) or isinstance(hops, bool) or hops < 1:
        raise ValueError(f"hops must be a number from 1, not {hops!r}")
    relevant = tuple(_target(target) for target in _list(value.get("relevant"), "relevant"))
    if answerable is False and (relevant or answers):
        raise ValueError("a case that is not answerable can have no answers and nothing relevant")
    if answerable is None and (relevant or answers):
        answerable = True
    return Case(
        id=default_id if value.get("id") is None else str(value["id"]),
        question=question.strip(),
        answers=tuple(map(str, answers)),
        answerable=answerable,
        relevant=relevant,
        route=route,
        hops=hops,
        note=str(value.get("note", "")),
    )


def _list(value: object, key: str) -> Sequence[object]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list, not {value!r}")
    return value


def _target(value: object) -> Target:
    """A text is a file; an object has file, page, quote and gain."""
    if isinstance(value, str) and value:
        return Target(file=value)
    if not isinstance(value, Mapping) or set(value) - {"file", "page", "quote", "gain"}:
        raise ValueError(f"relevant must hold files or objects of file, page and quote, not {value!r}")
    page, gain = value.get("page"), value.get("gain", 1)
    target = Target(str(value.get("file") or ""), page, str(value.get("quote") or ""), gain)
    if not (target.file or target.quote.strip()):
        raise ValueError(f"something relevant needs a file or a quote: {value!r}")
    if page is not None and (not isinstance(page, int) or isinstance(page, bool) or page < 1):
        raise ValueError(f"page must be a number from 1, not {page!r}")
    if isinstance(gain, bool) or not isinstance(gain, int | float) or not 0 < gain < float("inf"):
        raise ValueError(f"gain must be a number above 0, not {gain!r}")
    return target


def plain_case(case: Case) -> dict[str, Any]:
    """A case as the object of a JSON line, without what is empty."""
    plain = to_plain(case)
    plain["relevant"] = [
        {key: value for key, value in target.items() if value and (key, value) != ("gain", 1)}
        for target in plain["relevant"]
    ]
    kept = {key: value for key, value in plain.items() if value not in (None, "", []) and (key, value) != ("hops", 1)}
    return {"id": case.id, "question": case.question} | kept


def line_of(case: Case) -> str:
    """A case as a JSON line, without its end."""
    return json.dumps(plain_case(case), ensure_ascii=False)


# --- a file that grows


def named(question: str) -> str:
    """The id of a case: a hash of the words of its question."""
    return hashlib.sha256(_same(question).encode()).hexdigest()[:10]


def _same(question: str) -> str:
    return " ".join(words(question)) or question.strip()


class CaseFile:
    """A set of cases that grows. It is made with its first case; what is in it is never changed.

    It quotes a person's files, so a new one is readable by its owner only.
    """

    def __init__(self, path: Path) -> None:
        """Raises UsageError for what cannot be such a file, and for one with a line that is no case."""
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
        """Whether the same question is there."""
        return any(named(question) in (case.id, named(case.question)) for case in self.cases)

    def append(self, case: Case, *, keep: bool = True) -> None:
        """Write one line, to the disk: all of it or, where the disk is full (DiskFull), nothing."""
        line = line_of(case)
        try:
            append_line(self.path, line if keep else f'{{"keep": false, {line[1:]}', synced=True)
        except OSError as error:
            name = short_path(self.path)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(f"cannot write to {name}: {reason_of(error)}; what was stored before is kept") from error
            raise UsageError(f"{name} cannot be written: {reason_of(error)}", hint="choose another file") from error
        self.cases.append(case)

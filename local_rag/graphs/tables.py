"""Compute answers from the tables of retrieved rows, as passages like any other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import NamedTuple, Protocol, runtime_checkable

from langchain_core.documents import Document

from local_rag.core.verdicts import Usage
from local_rag.graphs.deps import Deps
from local_rag.index.tables.query import Result, TableQuery, run
from local_rag.index.tables.question_words import ASKS_TEXT
from local_rag.index.tables.reading import Reading, readings
from local_rag.index.tables.table import Table, opened
from local_rag.text.metadata import chunk_id, file_name
from local_rag.text.names import head

SAID = 2
"""The most readings of a question that are answered if it can be read in several ways."""
NOT_AGREED = "only a language model read the question so"
NOT_READ = "the question could not be read as one about this table, whose rows are shown as found"

_ROWS = re.compile(r"(?:^| > )rows? .*$")


class _Read(NamedTuple):
    """Hold a reading of the question for a table, and a passage with a row of that table."""

    reading: Reading
    table: Table
    passage: Document


@runtime_checkable
class ReadsTables(Protocol):
    """Require an engine that translates a question to a query of a table."""

    def table_query(self, question: str, table: Table, name: str) -> tuple[TableQuery | None, Usage]: ...


def with_computed(
    question: str, passages: Sequence[Document], deps: Deps, exclude: Collection[str]
) -> tuple[list[Document], Usage]:
    """Return the results computed from the tables of the passages, then the passages, and the cost.

    Nothing is computed for a question that asks for no figure, list or cell. If the rules have no certain reading a
    language model is asked, and trusted if it agrees with one of theirs. Otherwise a computed passage has a `doubt` in
    its metadata, and so has a passage with rows, with the code points of its `table` in the document.
    """
    data = deps.index.tables(passages) if passages and not ASKS_TEXT.match(question) else []
    if not any(data):
        return [*passages], Usage()
    with ExitStack() as open_tables:
        rows = [*_rows(passages, data, open_tables)]
        held = {(tables, table.number): (table, passage) for table, passage, tables in reversed(rows)}
        read = sorted(_read(question, held.values()), key=_rank, reverse=True)
        groups = (_computed([*group][:SAID]) for _, group in groupby(read, key=_rank))
        computed, usage = next(filter(None, groups), []), Usage()
        if isinstance(deps.engine, ReadsTables) and held and not (read and not read[0].reading.doubt and computed):
            table, passage = (read[0].table, read[0].passage) if read else [*held.values()][-1]
            asked = (with_computed, question, chunk_id(passage), table.number)
            if asked not in deps.cancel.memory:
                deps.cancel.memory[asked], usage = deps.engine.table_query(question, table, file_name(passage))
            query = deps.cancel.memory[asked]
            agrees = any(query.meaning == each.reading.query.meaning for each in read if query and each.table is table)
            doubt = "" if agrees else NOT_AGREED
            computed = (query and _computed([_Read(Reading(query, 0, doubt), table, passage)])) or computed
    new = [document for document in computed if chunk_id(document) not in exclude]
    if any(not document.metadata["doubt"] for document in new) or (new and read and not read[0].reading.doubt):
        return [*new, *passages], usage
    spans = {chunk_id(passage): (table.start, table.end) for table, passage, _ in rows}
    doubtful = [
        _marked(each, doubt=NOT_READ, table=spans[chunk_id(each)]) if chunk_id(each) in spans else each
        for each in passages
    ]
    return [*new, *doubtful], usage


def _rows(
    passages: Sequence[Document], data: Sequence[bytes], held: ExitStack
) -> Iterator[tuple[Table, Document, bytes]]:
    """Yield each passage that holds rows of a table, with that table and the tables of its document."""
    known: dict[bytes, list[Table]] = {}
    for passage, tables in zip(passages, data, strict=True):
        start, end = int(passage.metadata.get("start", 0)), int(passage.metadata.get("end", 0))
        if tables not in known:
            known[tables] = held.enter_context(opened(tables)) if tables else []
        yield from ((table, passage, tables) for table in known[tables] if table.start < end and table.end > start)


def _read(question: str, held: Iterable[tuple[Table, Document]]) -> Iterator[_Read]:
    """Yield the readings of a question for each of these tables."""
    for table, passage in held:
        with suppress(ValueError):
            yield from (_Read(each, table, passage) for each in readings(question, table, head(passage)))


def _rank(read: _Read) -> tuple[bool, int]:
    return not read.reading.doubt, read.reading.read


def _computed(read: Sequence[_Read]) -> list[Document]:
    """Return the passages computed by readings that fit their tables and select rows."""
    results = list[tuple[Result, _Read]]()
    for each in read:
        with suppress(ValueError):
            result = run(each.table, each.reading.query, str(each.passage.metadata.get("source", "")))
            results += [(result, each)] if result.rows else []
    several = ["the question can be read in several ways"] if len(results) > 1 else []
    return [
        _passage(
            result,
            "; ".join(dict.fromkeys(filter(None, [each.reading.doubt, *several, *result.problems]))),
            each.passage,
        )
        for result, each in results
    ]


def _passage(result: Result, doubt: str, passage: Document) -> Document:
    said = hashlib.blake2b(result.text.encode(), digest_size=6).hexdigest()
    place = _ROWS.sub("", str(passage.metadata.get("heading", "")))
    text = f"{result.text}\n\nNot sure: {doubt}." if doubt else result.text
    return _marked(
        Document(text, metadata=passage.metadata),
        chunk_id=f"{chunk_id(passage)}-{said}",
        of=chunk_id(passage),
        heading=" > ".join(filter(None, [place, _named([number for number, _, _ in result.rows])])),
        sections=(),
        start=result.rows[0][1],
        end=result.rows[-1][2],
        computed=True,
        rows=[[start, end] for _, start, end in result.rows],
        doubt=doubt,
    )


def _marked(document: Document, **more: object) -> Document:
    return Document(document.page_content, metadata={**document.metadata, **more})


def _named(numbers: Sequence[int]) -> str:
    """Return the numbers of rows in words: row 3; rows 3, 5-9."""
    runs = list[list[int]]()
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    named = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    more = ", …" if len(named) > 8 else ""
    return f"row{'s' * (len(numbers) > 1)} {', '.join(named[:8])}{more}"

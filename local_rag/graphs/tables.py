"""Compute answers from the tables of retrieved rows, as passages like any other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby
from typing import Protocol, runtime_checkable

from langchain_core.documents import Document

from local_rag.core.verdicts import Usage
from local_rag.graphs.deps import Deps
from local_rag.index.tables.query import Result, TableQuery, run
from local_rag.index.tables.question_words import ASKS_TEXT
from local_rag.index.tables.reading import Reader, Reading
from local_rag.index.tables.table import Table, opened
from local_rag.text.answer_language import texts_for
from local_rag.text.metadata import chunk_id, file_name
from local_rag.text.names import head
from local_rag.text.numbers import names
from local_rag.text.words import BAR

NAMED = 8
"""The most rows that a citation names."""
SAID = 2
"""The most readings of a question that are answered if it can be read in several ways."""
NOT_AGREED = "only a language model read the question so"

_ROWS = re.compile(r"(?:^| > )rows? .*$")


@runtime_checkable
class ReadsTables(Protocol):
    """Require an engine that translates a question to a query of a table."""

    def table_query(self, question: str, table: Table, name: str) -> tuple[TableQuery | None, Usage]: ...


def with_computed(
    question: str, passages: Sequence[Document], deps: Deps, exclude: Collection[str]
) -> tuple[list[Document], Usage]:
    """Return the results computed from the tables of the passages, then the passages, and the cost.

    Nothing is computed for a question that asks for no figure, list or cell. If the rules have no certain reading a
    language model is asked, and trusted if it agrees with one of theirs; otherwise a doubtful reading of the rules
    stands before its own. A reading that leaves a word `unread` counts only if all passages are rows, because other
    text may be meant. Otherwise a computed passage has a `doubt` in its metadata, with whether the question was `read`
    for certain, and so has a passage with rows, with the code points of its `table` in the document.
    """
    data = deps.index.tables(passages) if passages and not ASKS_TEXT.match(question) else []
    if not any(data):
        return [*passages], Usage()
    with ExitStack() as open_tables:
        rows = [*_rows(passages, data, open_tables)]
        held = {table: passage for table, passage in reversed(rows)}
        only_rows = {chunk_id(passage) for _, passage in rows}.issuperset(map(chunk_id, passages))
        readings = (each for each in _read(question, held, passages) if only_rows or not each.unread)
        read = sorted(readings, key=_rank, reverse=True)
        groups = (_computed([*group], held) for _, group in groupby(read, key=_rank))
        computed, usage = next(filter(None, groups), []), Usage()
        is_read = bool(computed) and not read[0].doubt
        is_near = chunk_id(passages[0]) in {chunk_id(passage) for _, passage in rows}
        if isinstance(deps.engine, ReadsTables) and is_near and not is_read:
            table = read[0].table if read else [*held][-1]
            asked = (with_computed, question, chunk_id(held[table]), table.number)
            if asked not in deps.cancel.memory:
                reply = deps.engine.table_query(question, table, file_name(held[table]))
                deps.cancel.memory[asked], usage = reply
            if query := deps.cancel.memory[asked]:
                agrees = any(query.meaning == each.query.meaning for each in read if each.table is table)
                if agrees or not computed:
                    by_model = Reading(table, query, 0, "" if agrees else NOT_AGREED)
                    computed = _computed([by_model], held, by_model=True) or computed
    new = [document for document in computed if chunk_id(document) not in exclude]
    if new and (is_read or not all(document.metadata["doubt"] for document in new)):
        return [*new, *passages], usage
    not_read = texts_for(deps.answer.language, question).table_not_read
    spans = {chunk_id(passage): (table.start, table.end) for table, passage in rows}
    for passage in passages:
        about = {"doubt": not_read, "table": spans[chunk_id(passage)]} if chunk_id(passage) in spans else {}
        new.append(Document(passage.page_content, metadata={**passage.metadata, **about}))
    return new, usage


def _rows(passages: Sequence[Document], data: Sequence[bytes], held: ExitStack) -> Iterator[tuple[Table, Document]]:
    """Yield each passage that holds rows of a table, with that table."""
    known: dict[bytes, list[Table]] = {b"": []}
    for passage, tables in zip(passages, data, strict=True):
        start, end = int(passage.metadata.get("start", 0)), int(passage.metadata.get("end", 0))
        if tables not in known:
            known[tables] = held.enter_context(opened(tables))
        yield from ((table, passage) for table in known[tables] if table.start < end and table.end > start)


def _read(question: str, held: Mapping[Table, Document], passages: Sequence[Document]) -> Iterator[Reading]:
    """Yield the readings of a question for each of these tables. Names in the text around a table, as of the person
    whom a letter is to, say nothing of its rows; those on other pages do.
    """
    for table, passage in held.items():
        page = [passage.metadata.get(name) for name in ("source", "page")]
        of_page = [each for each in passages if [each.metadata.get(name) for name in ("source", "page")] == page]
        text = {line for each in of_page for line in each.page_content.split("\n") if BAR not in line}
        around = names(question) & names("\n".join(text))
        with suppress(ValueError):
            yield from Reader(question, table, " ".join([head(passage), table.place, *around])).readings()


def _rank(reading: Reading) -> tuple[bool, int]:
    return not reading.doubt, reading.read


def _computed(read: Sequence[Reading], held: Mapping[Table, Document], *, by_model: bool = False) -> list[Document]:
    """Return the passages computed by readings, of the rules or `by_model`, that fit their tables and select rows."""
    results = dict[str, tuple[Result, Reading]]()  # the pages of one table say the same
    for each in read:
        with suppress(ValueError):
            result = run(each.table, each.query, str(held[each.table].metadata.get("source", "")))
            if len(result.rows) > len(results[result.text][0].rows if result.text in results else ()):
                results[result.text] = result, each
    computed = list[Document]()
    for result, each in [*results.values()][:SAID]:
        several = ["the question can be read in several ways"] if len(results) > 1 else []
        doubt = "; ".join(dict.fromkeys(filter(None, [each.doubt, *several, *result.problems])))
        passage = held[each.table]
        said = hashlib.blake2b(result.text.encode(), digest_size=6).hexdigest()
        place = _ROWS.sub("", str(passage.metadata.get("heading", "")))
        computed.append(
            computed_passage(
                passage,
                f"{result.text}\n\nNot sure: {doubt}." if doubt else result.text,
                [(start, end) for _, start, end in result.rows],
                chunk_id=f"{chunk_id(passage)}-{said}",
                heading=" > ".join(filter(None, [place, _named([number for number, _, _ in result.rows])])),
                sections=(),
                doubt=doubt,
                unread=each.unread,
                read=not (each.doubt or several),
                by_model=by_model,
            )
        )
    return computed


def computed_passage(passage: Document, text: str, rows: Sequence[tuple[int, int]], **more: object) -> Document:
    """Return a text that code made of parts of a document, code points [start, end), as a passage."""
    places = sorted([start, end] for start, end in rows)
    about = {"of": chunk_id(passage), "computed": True, "rows": places, "start": places[0][0], "end": places[-1][1]}
    return Document(text, metadata={**passage.metadata, **about, **more})


def _named(numbers: Sequence[int]) -> str:
    """Return the numbers of rows in words: row 3; rows 3, 5, 6; rows 5-9."""
    if 1 < len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"rows {numbers[0]}-{numbers[-1]}"
    return f"row{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:NAMED]))}{', …' * (len(numbers) > NAMED)}"

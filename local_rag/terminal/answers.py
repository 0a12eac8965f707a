"""Answers in a terminal: text, citations, and what there is to doubt; passages of a search; chats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.answer import Answer, Citation, Conflict
from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import conflict_line, position_date, when
from local_rag.runtime.trace_lines import verdicts_line
from local_rag.terminal.answer_text import answer_text
from local_rag.terminal.console import PlainTable, link
from local_rag.text.answer_texts import ENGLISH, AnswerTexts, texts_in
from local_rag.text.display import is_url, short_path, shorten
from local_rag.text.markup import as_read

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.runtime.kept import AnsweredTurn, Thread

QUOTE_WIDTH = 160
"""Characters of a quote behind a citation; the whole quote is in --json."""
LONGEST = 300
"""Characters of a verdict, such as a rewritten query, and of its reason; of a draft and of a note."""

COLOURS = {
    "grounded": "green",
    "relevant": "green",
    "fully": "green",
    "partial": "yellow",
    "partially": "yellow",
    "direct": "yellow",
    "abstained": "yellow",
    "unparsed": "yellow",
    "ungrounded": "red",
    "no": "red",
    "irrelevant": "red",
    "failed": "red",
    "refused": "red",
}
"""Of the status of an answer, and of a verdict."""


def answer_parts(answer: Answer, label: PathLabel = short_path) -> Iterator[RenderableType]:
    """The answer and its citations; what is not fully grounded says so first, a follow-up how it was understood."""
    texts = texts_in(answer.language)
    lines, silent = texts.lines(answer), answer.status == "abstained"
    if lines["understood"]:
        yield Text(lines["understood"], "dim")
    if lead := texts.lead(answer):
        reason = f": {answer.reason}." if answer.reason else "."
        yield Text.assemble((lead, "red" if answer.status == "ungrounded" else "yellow"), reason)
    if silent:
        yield from _nearest(answer, lines, label, texts)
        return
    if lead:
        yield ""
    yield from answer_text(answer)
    if lines["removed"]:
        yield Text(lines["removed"], "yellow")
    for conflict in answer.conflicts:
        yield ""
        yield from _disagreement(conflict, answer, label, texts)
    if answer.citations:
        yield ""
        yield _citations(answer, label, texts)
    if lines["dropped"]:
        yield Text(f"({lines['dropped']})", "dim")


def _nearest(answer: Answer, lines: dict[str, str], label: PathLabel, texts: AnswerTexts) -> Iterator[RenderableType]:
    if lines["nearest"]:
        table = PlainTable(gap=1)
        for citation in answer.nearest:
            why = f" ({shorten(citation.why, QUOTE_WIDTH)})" if citation.why else ""
            where = location(citation, label, texts)
            table.add_row(" ", Text.assemble(where, ", ", _quote(citation, texts, doubts=False), (why, "dim")))
        yield from ("", lines["nearest"], table)
    yield from (lines[name] for name in ("nothing_near", "about") if lines[name])


def _disagreement(conflict: Conflict, answer: Answer, label: PathLabel, texts: AnswerTexts) -> Iterator[RenderableType]:
    """What each side says, since when, and where; with its quote, unless that stands among the citations below."""
    below = {(citation.number, citation.quote) for citation in answer.citations}
    yield Text(conflict_line(conflict, texts), "yellow")
    table = PlainTable()
    for position in conflict.positions:
        said, date = Text(shorten(position.text, QUOTE_WIDTH), "bold"), position_date(position, texts)
        for citation in position.citations:
            where = Text.assemble(f"[{citation.number}] ", location(citation, label, texts))
            if citation.title and not citation.source.endswith(citation.title):
                where = Text.assemble(f"[{citation.number}] {citation.title} (", location(citation, label, texts), ")")
            if (citation.number, citation.quote) not in below:
                quote = Text(f'"{shorten(as_read(citation.quote), QUOTE_WIDTH)}"', "dim")
                quote.highlight_words([position.text], "bold")
                where = Text.assemble(where, ", ", quote)
            table.add_row("", date, said, where)
            said, date = Text(), ""
    yield table


def _citations(answer: Answer, label: PathLabel, texts: AnswerTexts) -> PlainTable:
    """A row per passage; further quotes from it stand below."""
    table, last = PlainTable(gap=1), None
    for citation in sorted(answer.citations, key=lambda citation: citation.number):
        if citation.number == last:
            table.add_row("", _quote(citation, texts))
        else:
            table.add_row(f"[{citation.number}]", citation_text(citation, label, texts))
        last = citation.number
    return table


def citation_text(citation: Citation, label: PathLabel = short_path, texts: AnswerTexts = ENGLISH) -> Text:
    """notes/plan.pdf, p. 4, "quoted words", and what there is to doubt."""
    return Text.assemble(location(citation, label, texts), ", ", _quote(citation, texts))


def sources_table(answer: Answer, label: PathLabel = short_path) -> PlainTable:
    """Every citation of an answer and of what its files disagree about: where it stands, how, and the whole quote."""
    table, texts = PlainTable(gap=1), texts_in(answer.language)
    for citation in answer.quoted:
        how = texts.how(citation)
        characters = f", characters {citation.start:,} to {citation.end:,}" if citation.located != "property" else ""
        table.add_row(f"[{citation.number}]", location(citation, label, texts) + Text(f"{characters} ({how})", "dim"))
        table.add_row("", f'"{as_read(citation.quote)}"')
    return table


def _quote(citation: Citation, texts: AnswerTexts, *, doubts: bool = True) -> Text:
    web = texts.web if citation.origin == "web" else texts.web_page if citation.url else ""
    if citation.fallback_corpus:
        web = texts.from_fallback_corpus.format(name=short_path(citation.fallback_corpus))
    web = f" ({web})" if web else ""
    text = Text.assemble((f'"{shorten(as_read(citation.quote), QUOTE_WIDTH)}"{web}', "dim"))
    if citation.located == "property":
        text.append(f" ({texts.located[citation.located]})", "dim")
    if doubts and not citation.verified:
        text.append(f" ({texts.not_verified})", "yellow")
    return text


def threads_table(threads: Iterable[Thread], current: str = "") -> PlainTable:
    """A row per thread; the one that goes on is marked."""
    table = PlainTable("  thread", "turns", "last (UTC)", "began with", least=20)
    for thread in threads:
        marked = Text("* " + thread.name, "bold") if thread.name == current else f"  {thread.name}"
        table.add_row(marked, f"{thread.turns:,}", thread.at[:16].replace("T", " "), shorten(thread.first, 60))
    return table


def turns_table(turns: Sequence[AnsweredTurn], label: PathLabel = short_path, *, verdicts: bool = False) -> PlainTable:
    """The questions and answers of a thread, each with the way to it in a line, or with every verdict on it."""
    table = PlainTable(gap=1)
    for number, turn in enumerate(turns, start=1):
        if number > 1:
            table.add_row("", "")
        table.add_row(f"{number}.", Text.assemble((turn.answer.question, "bold"), (f"  ({when(turn)})", "dim")))
        answer = turn.answer
        for part in answer_parts(answer, label):
            table.add_row("", part)
        if line := verdicts_line(answer):
            table.add_row("", Text(line, "dim"))
        if verdicts and answer.decisions:
            table.add_row("", verdicts_table(answer.decisions, label))
    return table


def passages_table(passages: list[Document], label: PathLabel = short_path) -> PlainTable:
    """The passages of a search: where each stands, its scores, the words that name its document, how it begins."""
    table = PlainTable(gap=1)
    for rank, passage in enumerate(passages, start=1):
        metadata = passage.metadata
        named = f", named by “{metadata['named']}”" if metadata.get("named") else ""
        scores = f"  (similarity {metadata['score']:.3f}, rank score {metadata['rank_score']:.4f}{named})"
        table.add_row(f"[{rank}]", location(citation_of(metadata), label) + Text(scores, "dim"))
        table.add_row("", shorten(as_read(passage.page_content), 300))
    return table


def citation_of(metadata: Mapping[str, Any]) -> Citation:
    """A whole passage as a citation, without its text."""
    known = {name: metadata[name] for name in ("source", "page", "heading", "start", "end")}
    known |= {name: metadata.get(name) or "" for name in ("url", "fallback_corpus", "index")}
    return Citation(number=0, quote="", verified=True, **known)


def location(citation: Citation, label: PathLabel = short_path, texts: AnswerTexts = ENGLISH) -> Text:
    """File, and page or heading: notes/plan.pdf, p. 4; of several indexes the one too. The file opens on a click."""
    shown = citation.url if is_url(citation.url) else label(citation.source)
    text = link(shown, _address(citation))
    if where := texts.where(citation):
        text.append(f", {where}")
    elif citation.heading:
        text.append(f", § {shorten(citation.heading, 80)}")
    if citation.index:
        text.append(f" ({texts.in_index.format(name=short_path(citation.index))})")
    return text


def _address(citation: Citation) -> str:
    """What a click opens: of a fallback corpus the saved page, for which no network is needed."""
    if citation.url and not (citation.fallback_corpus and Path(citation.source).is_absolute()):
        return citation.url
    page = f"#page={citation.page}" if citation.page is not None else ""
    path = Path(citation.source)
    return (path.as_uri() if path.is_absolute() else str(path)) + page


def verdicts_table(decisions: Iterable[Graded], label: PathLabel = short_path) -> PlainTable:
    """A row for each: its kind; label, score, passage and reason."""
    table = PlainTable()
    for graded in decisions:
        table.add_row(Text(graded.kind, "dim"), verdict_text(graded, label))
    return table


def verdict_text(graded: Graded, label: PathLabel = short_path, where: str = "") -> Text:
    """Label, score, passage and reason: relevant 0.83 notes/plan.pdf, p. 4 (it names the price)."""
    text = Text(shorten(graded.verdict, LONGEST), COLOURS.get(graded.verdict, ""))
    if graded.kind == "usefulness" and graded.verdict.isdigit():
        text.append(" of 5")
    if graded.score is not None:
        text.append(f" {graded.score:.2f}")
    if graded.source:
        text.append(f"  {label(graded.source)}{where}")
    if graded.why:
        text.append(f" ({shorten(as_read(graded.why), LONGEST)})", "dim")
    return text

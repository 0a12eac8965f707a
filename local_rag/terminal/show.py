"""What a person sees: answers, reports and tables as text.

Everything that was read from a file passes `printable` before it reaches a terminal.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from local_rag.config.calibrated import calibrated
from local_rag.config.settings import CONFIG_DIR, DATA_DIR, MODELS, TRUST_MODELS
from local_rag.core.answer import OUT_OF_TIME, Answer, Citation, QuoteMatch
from local_rag.core.documents import Skipped, SyncReport
from local_rag.core.serialization import to_json
from local_rag.core.verdicts import Support
from local_rag.text.display import format_bytes, joined, plural, printable, short_path, shorten

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.diagnostics.doctor import Check
    from local_rag.index.status import IndexStatus

QUOTE_WIDTH = 160
"""Characters of a quote behind a citation; the whole quote is in --json."""

MARKED = {
    "partial": "With reservations",
    "ungrounded": "Not supported by your files",
    "direct": "Not from your files",
}

DOUBTS: dict[Support, str] = {
    "no": " (not in the passages)",
    "partially": " (only partly in the passages)",
    "unparsed": " (not checked)",
}
"""What stands behind a sentence that its passages do not carry in full."""

LOCATED: dict[QuoteMatch, str] = {
    "exact": "word for word",
    "near": "nearly word for word",
    "words": "by the words that they share",
}
"""How a quote belongs to the sentence of the answer that cites it."""


def write(text: str = "", file: TextIO | None = None) -> None:
    """A line on stdout (or `file`); a character that it cannot show is replaced, never an error."""
    out = file or sys.stdout
    encoding = out.encoding or "utf-8"
    out.write(f"{text}\n".encode(encoding, "replace").decode(encoding))
    out.flush()


def say(line: str, hint: str = "") -> None:
    """An error on stderr, as one line and the next command to type."""
    write(printable(" ".join(line.split())), sys.stderr)
    if hint:
        write(f"hint: {printable(hint)}", sys.stderr)


def write_json(value: Any) -> None:
    """One JSON object on stdout, for programs."""
    write(to_json(value))


def answer_lines(answer: Answer, *, links: bool = False) -> Iterator[str]:
    """The answer with its citations; whatever is not fully grounded says so before it.

    A sentence without support is marked behind its end; a follow-up is shown as it was understood. `links`: files open
    on a click, and what is beside the answer is dim.
    """
    if answer.asked not in ("", answer.question):
        understood = f"understood as: {printable(' '.join(answer.asked.split()))}"
        yield f"\x1b[2m{understood}\x1b[0m" if links else understood
    if answer.status == "abstained":
        lead = "No answer" if answer.reason.startswith(OUT_OF_TIME) else "Your files do not say"
        yield f"{lead}{': ' + answer.reason if answer.reason else ''}."
        if answer.nearest:
            yield ""
            yield "Nearest passages:"
            yield from (f"  {_nearest_line(nearest, links=links)}" for nearest in answer.nearest)
        elif "retrieve" in answer.path and lead == "Your files do not say":
            yield "No passage comes near the question."
        if answer.about:
            yield f"The index is about: {'; '.join(printable(shorten(title, 80)) for title in answer.about)}."
        return
    if answer.status in MARKED:
        yield f"{MARKED[answer.status]}{': ' + answer.reason if answer.reason else ''}."
        yield ""
    yield prose(printable(marked(answer)), columns_of(sys.stdout))
    if answer.removed:
        taken = "; ".join(f'"{printable(shorten(sentence, QUOTE_WIDTH))}"' for sentence in answer.removed)
        yield f"(taken out, because the passages do not say it: {taken})"
    if answer.citations:
        yield ""
        yield from _citation_lines(answer.citations, links=links)
    if answer.dropped_citations:
        yield f"({plural(answer.dropped_citations, 'citation')} of unknown passages dropped)"


def prose(text: str, width: int | None) -> str:
    """A text with its lines broken between words, where they would be broken inside: at the width of a terminal."""
    if width is None:
        return text
    lines = (textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join(lines)


def marked(answer: Answer) -> str:
    """The text with a mark behind every sentence that its passages do not carry in full."""
    text = answer.text
    for sentence in sorted(answer.sentences, key=lambda one: one.start, reverse=True):
        text = text[: sentence.end] + DOUBTS.get(sentence.support, "") + text[sentence.end :]
    return text


def _nearest_line(citation: Citation, *, links: bool) -> str:
    why = f" ({printable(shorten(citation.why, QUOTE_WIDTH))})" if citation.why else ""
    return citation_line(citation, links=links, numbered=False) + why


def _citation_lines(citations: Sequence[Citation], *, links: bool) -> Iterator[str]:
    """A line per passage; what else is quoted from it stands below."""
    last = None
    for citation in sorted(citations, key=lambda one: one.number):
        if citation.number == last:
            yield " " * len(f"[{last}] ") + _quoted(citation)
        else:
            yield citation_line(citation, links=links)
        last = citation.number


def citation_line(citation: Citation, *, links: bool = False, numbered: bool = True) -> str:
    """[1] notes/plan.pdf, p. 4, "quoted words": with `links`, the file opens on a click (OSC 8)."""
    line = f"{place_of(citation, links=links)}, {_quoted(citation, numbered=numbered)}"
    return f"[{citation.number}] {line}" if numbered else line


def source_lines(answer: Answer) -> list[str]:
    """Every citation of an answer: where it stands, the whole quote, and how it was found there."""
    lines = []
    for citation in sorted(answer.citations, key=lambda one: one.number):
        found = LOCATED[citation.located] if citation.verified else "not verified"
        lines += [
            f"[{citation.number}] {place_of(citation)}, characters {citation.start:,} to {citation.end:,} ({found})",
            f'    "{printable(" ".join(citation.quote.split()))}"',
        ]
    return lines


def place_of(citation: Citation, *, links: bool = False) -> str:
    """File, and page or heading: notes/plan.pdf, p. 4."""
    where = printable(citation.url or short_path(citation.source))
    if links:
        where = f"\x1b]8;;{_address(citation)}\x1b\\{where}\x1b]8;;\x1b\\"
    parts = [where]
    if citation.page is not None:
        parts.append(f"p. {citation.page}")
    elif citation.heading:
        parts.append(f"§ {printable(shorten(citation.heading, 80))}")
    return ", ".join(parts)


def _quoted(citation: Citation, *, numbered: bool = True) -> str:
    web = " (web)" if citation.origin == "web" else " (web page)" if citation.url else ""
    doubt = " (not verified)" if numbered and not citation.verified else ""
    near = f" ({LOCATED['near']})" if numbered and citation.located == "near" else ""
    return f'"{printable(shorten(citation.quote, QUOTE_WIDTH))}"{web}{near}{doubt}'


def _address(citation: Citation) -> str:
    if citation.url:
        return printable(citation.url)
    page = f"#page={citation.page}" if citation.page is not None else ""
    path = Path(citation.source)
    return (path.as_uri() if path.is_absolute() else str(path)) + page


def report_lines(report: SyncReport, pages_left: int = 0) -> Iterator[str]:
    """12 new, 2 updated, 340 unchanged, 1 removed, 3 skipped; then each skipped or kept path with its reason."""
    counts = {
        "new": len(report.new),
        "updated": len(report.updated),
        "unchanged": report.unchanged,
        "removed": len(report.removed),
        "skipped": len(report.skipped),
    }
    yield ", ".join(f"{count:,} {name}" for name, count in counts.items())
    if report.ignored:
        kinds = joined(f"{count:,} {suffix or 'without a suffix'}" for suffix, count in report.ignored.items())
        yield f"Left alone, of kinds that are not read: {kinds}"
    yield from _reasons("Skipped, wholly or in part", report.skipped)
    yield from _reasons("Could not be seen, so what was indexed is kept (--prune removes it)", report.kept)
    if pages_left:
        yield f"{plural(pages_left, 'web page')} left as indexed: pages are fetched only when they are named."


def _reasons(title: str, rows: Iterable[Skipped]) -> Iterator[str]:
    lines = [f"  {printable(short_path(row.path))}: {printable(row.reason)}" for row in rows]
    if lines:
        yield f"{title}:"
        yield from lines


def document_lines(rank: int, found: Any, *, links: bool = False) -> Iterator[str]:
    """One hit of `search`: where it stands, its scores, and how it begins."""
    about = found.metadata
    citation = Citation(
        number=rank,
        source=about["source"],
        page=about["page"],
        heading=about["heading"],
        quote=found.page_content,
        start=about["start"],
        end=about["end"],
        url=about["url"],
        verified=True,
        origin=about["origin"],
    )
    scores = f"similarity {about['score']:.3f}, rank score {about['rank_score']:.4f}"
    yield f"[{rank}] {place_of(citation, links=links)}  ({scores})"
    yield f"    {printable(shorten(found.page_content, 300))}"


def status_lines(status: IndexStatus, runtime: str) -> Iterator[str]:
    """What `local-rag status` says of an index, and of what computes the vectors of questions."""
    roots = joined(status.roots) or "none"
    pages = f" and {plural(status.pages, 'web page')}" if status.pages else ""
    parts = f"{plural(status.documents, 'document')}, {plural(status.chunks, 'passage')}"
    rows = [
        ("index", str(status.path)),
        ("files", f"{status.files:,}{pages} ({parts})"),
        ("from", roots),
        ("size", format_bytes(status.bytes)),
        ("last sync", status.last_sync or "never"),
        ("embedder", f"{status.embedder} ({plural(status.dimension, 'dimension')})"),
        ("runtime", runtime),
        ("passages", f"at most {status.chunk_size} tokens, overlap {status.chunk_overlap}"),
        ("fingerprint", status.fingerprint),
        ("vectors", "ready" if status.cache_fresh else "their codes will be made at the next search"),
    ]
    yield from (f"{name:<12} {printable(value)}" for name, value in rows)


def check_lines(checks: Iterable[Check], *, colour: bool = False, width: int | None = None) -> Iterator[str]:
    """One line per check, and below what is not well the command that mends it, or several to choose from."""
    signs = {"ok": ("ok  ", 32), "note": ("note", 33), "bad": ("BAD ", 31)}
    for check in checks:
        sign, code = signs[check.state]
        shown = f"\x1b[{code}m{sign}\x1b[0m" if colour else sign
        first, *others = wrapped(f"{sign}  {check.name}: {printable(check.found)}", width, " " * 6)
        yield shown + first.removeprefix(sign)
        yield from others
        for line in check.fix.splitlines():
            yield from wrapped(f"      -> {printable(line)}", width, " " * 9)


def place_lines(settings: Settings) -> Iterator[str]:
    """Where settings, models and indexes are read from, and the variable or flag that says so."""
    config = settings.config_folder / "config.yaml"
    yield f"config file:  {short_path(config)}{'' if config.exists() else ' (there is none)'}  [{CONFIG_DIR}]"
    yield f"models file:  {settings.models or 'the packaged one'}  [--models, {MODELS}]"
    trusted = "read" if settings.trust_models_here else "not read"
    yield f"./models.yaml is {trusted}  [--trust-models-here, {TRUST_MODELS}]"
    yield f"indexes:      {short_path(settings.data_folder / 'indexes')}  [{DATA_DIR}]"
    for fingerprint, found in calibrated(settings).items():
        pairs = (("relevance", found.relevance), ("answer", found.answer))
        values = joined(f"thresholds.{name} {value:.2f}" for name, value in pairs if value is not None)
        yield f"calibrated:   {values or 'nothing'}, where not set above, for {printable(str(fingerprint))}"


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def fitting_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None, optional: int = 0
) -> Iterator[str]:
    """A table of at most `width` columns: without its `optional` last columns if need be, else a paragraph per row.

    None is no limit, as in a pipe.
    """
    for columns in (len(head), len(head) - optional):
        lines = list(table_lines(head[:columns], [row[:columns] for row in rows]))
        if width is None or max(map(len, lines)) <= width:
            yield from lines
            return
    for name, *cells in rows:
        yield name
        told = ", ".join(f"{title} {cell}" for title, cell in zip(head[1:columns], cells, strict=False))
        yield from wrapped(f"    {told}", width, "    ")


def wrapped(text: str, width: int | None = None, indent: str = "") -> list[str]:
    """Prose in lines of at most `width` columns, all but the first indented; None is no limit."""
    return textwrap.wrap(text, max(width, 20), subsequent_indent=indent) if width and text else [text]


def columns_of(file: TextIO) -> int | None:
    """The width of a terminal; None for a pipe or a file, where a line may be as long as it likes."""
    return shutil.get_terminal_size().columns if file.isatty() else None

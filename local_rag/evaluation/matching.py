"""Match passages with the targets of a case, and rank what was retrieved against them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.text.display import is_page, is_url, normal
from local_rag.text.sentences import Span
from local_rag.text.words import fold

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.evaluation.cases import Case, Target

HALF = 0.5
"""The share of a quote that a passage must hold if the quote crosses the border between two passages."""

LEAST_WORDS, LEAST_CHARACTERS = 2, 6
"""The minimum to hold of such a quote, because single words occur anywhere; characters count in scripts without blanks.
"""


@dataclass(frozen=True)
class Ranking:
    """Hold what was retrieved, best first and each unit once.

    `units` are names, `gains` has the gain of everything relevant. A unit is a file if the case names files, a page if
    it names pages, a passage if it quotes words. `shown` is the location of each unit for people.
    """

    units: tuple[str, ...]
    gains: dict[str, float]
    shown: tuple[str, ...] = ()


def holds(target: Target, source: str, page: int | None, text: str) -> bool:
    """Return whether a passage of `source` with this text is the target, or a part of it."""
    if target.file and not same_file(target.file, source):
        return False
    if target.page is not None and page != target.page:
        return False
    return not target.quote or quoted(target.quote, text)


def same_file(file: str, source: str) -> bool:
    """Return whether a source is that file: the same URL, or a path whose last parts equal those of the file."""
    if is_url(file) or is_url(source):
        return is_url(file) and is_url(source) and normal(file) == normal(source)
    parts, ending = (unicodedata.normalize("NFC", text).replace("\\", "/").split("/") for text in (file, source))
    parts = [part for part in parts if part not in ("", ".")]
    ending = [part for part in ending if part not in ("", ".")]
    return bool(parts) and ending[-len(parts) :] == parts


def lookup(sources: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that finds the sources that are a given file of a case."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_name[_last_part(source)].append(source)
    return lambda file: [source for source in by_name[_last_part(file)] if same_file(file, source)]


def tails(sources: Sequence[str]) -> dict[str, str]:
    """Return for each file the shortest end of its path that no other file has; a URL stays whole."""
    parts = {source: source.replace("\\", "/").split("/") for source in sources}
    taken = Counter("/".join(path[-size:]) for path in parts.values() for size in range(1, len(path) + 1))
    return {
        source: source
        if is_page(source)
        else next((tail for size in range(1, len(path) + 1) if taken[tail := "/".join(path[-size:])] == 1), source)
        for source, path in parts.items()
    }


def _last_part(path: str) -> str:
    """Return the last part of a path, which differs only between different files; a URL stays whole."""
    if is_url(path):
        return normal(path)
    return unicodedata.normalize("NFC", path).replace("\\", "/").rstrip("/").rpartition("/")[2]


def quoted(quote: str, text: str) -> bool:
    """Return whether a text holds a quote in whole words, ignoring case and white space.

    At the beginning or end of the text, half of the quote is enough.
    """
    wanted, folded = _folded(quote), _folded(text)
    if _stands(wanted, folded):
        return True
    gap, least = (" ", LEAST_WORDS) if " " in wanted or wanted.isascii() else ("", LEAST_CHARACTERS)
    parts = wanted.split() if gap else list(wanted)
    cuts = ((gap.join(parts[:size]), gap.join(parts[-size:])) for size in range(least, len(parts)))
    return any(
        (len(start) >= HALF * len(wanted) and _stands(start, folded[-len(start) - 1 :], r"\Z"))
        or (len(end) >= HALF * len(wanted) and _stands(end, folded[: len(end) + 1], at_start=True))
        for start, end in cuts
    )


def _stands(part: str, text: str, end: str = "", *, at_start: bool = False) -> bool:
    """Return whether a text contains a part without cutting a word; scripts without blanks have no words here."""
    word = re.compile(rf"(?<![a-z0-9](?=[a-z0-9])){re.escape(part)}(?!(?<=[a-z0-9])[a-z0-9]){end}")
    return bool(word.match(text) if at_start else word.search(text))


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_SIGNS_BEFORE, _SIGNS_AFTER = "$€£−-§", "%°€"


def located(copied: str, text: str) -> Span | None:
    """Return where a text contains these words, ignoring case, marks and white space, or None.

    A number keeps its sign, its currency or its per cent sign.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    there, wanted = [fold(text[start:end]) for start, end in spans], [fold(word) for word in _WORD.findall(copied)]
    size = len(wanted)
    starts = range(len(there) - size + 1) if wanted else ()
    first = next((start for start in starts if there[start : start + size] == wanted), None)
    if first is None:
        return None
    start, end = spans[first][0], spans[first + size - 1][1]
    start -= bool(start and text[start - 1] in _SIGNS_BEFORE and text[start].isdigit())
    return Span(start, end + bool(text[end : end + 1] and text[end] in _SIGNS_AFTER))


def held(case: Case, passage: Document) -> tuple[int, ...]:
    """Return the positions of the case's targets that a passage holds."""
    metadata = passage.metadata
    source, page = str(metadata["source"]), metadata.get("page")
    return tuple(
        number for number, target in enumerate(case.relevant) if holds(target, source, page, passage.page_content)
    )


def ranking(case: Case, passages: Sequence[Document]) -> Ranking:
    """Return passages, best first, as a ranking against the case's targets.

    The best passage of a unit stands for it; its further passages are left out. A passage that holds two quotes counts
    as both, one after the other.
    """
    units: dict[str, str] = {}
    for passage in passages:
        hits = held(case, passage)
        for number in hits:
            units.setdefault(_name(number), f"{_location(passage.metadata)} ({_name(number)})")
        if not hits:
            units.setdefault(_unit(case, passage.metadata), _location(passage.metadata))
    gains = {_name(number): float(target.gain) for number, target in enumerate(case.relevant)}
    return Ranking(tuple(units), gains, tuple(units.values()))


def _name(number: int) -> str:
    return f"relevant {number + 1}"


def _location(metadata: dict[str, Any]) -> str:
    """Return file, and page or heading: plan.pdf, p. 4."""
    source = str(metadata["source"])
    file = source if is_url(source) else "/".join(source.replace("\\", "/").rstrip("/").split("/")[-2:])
    if metadata.get("page") is not None:
        return f"{file}, p. {metadata['page']}"
    return f"{file}, § {metadata['heading']}" if metadata.get("heading") else file


def _unit(case: Case, metadata: dict[str, Any]) -> str:
    if any(target.quote for target in case.relevant):
        return str(metadata["chunk_id"])
    if any(target.page is not None for target in case.relevant):
        return f"{metadata['source']}, page {metadata.get('page')}"
    return str(metadata["source"])

"""Does a passage hold what a case calls relevant? And a ranking of passages as a ranking of what can be relevant."""

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
"""Share of a quote that a passage must hold where the quote runs over the border between two passages."""

LEAST_WORDS, LEAST_CHARACTERS = 2, 6
"""What it must hold at least: a single word of a quote stands anywhere. Characters count in scripts without blanks."""


@dataclass(frozen=True)
class Ranking:
    """What was retrieved, best first, each thing once: `units` are names, `gains` those of all that is relevant.

    A thing is a file where the case names files, a page where it names pages, a passage where it quotes words. `shown`
    is the location of each unit for people.
    """

    units: tuple[str, ...]
    gains: dict[str, float]
    shown: tuple[str, ...] = ()


def holds(target: Target, source: str, page: int | None, text: str) -> bool:
    """Whether a passage of `source` with this text is (a part of) what the target means."""
    if target.file and not same_file(target.file, source):
        return False
    if target.page is not None and page != target.page:
        return False
    return not target.quote or quoted(target.quote, text)


def same_file(file: str, source: str) -> bool:
    """Whether a source is that file: a URL, or a path whose last parts are those of the file."""
    if is_url(file) or is_url(source):
        return is_url(file) and is_url(source) and normal(file) == normal(source)
    parts, ending = (unicodedata.normalize("NFC", text).replace("\\", "/").split("/") for text in (file, source))
    parts = [part for part in parts if part not in ("", ".")]
    ending = [part for part in ending if part not in ("", ".")]
    return bool(parts) and ending[-len(parts) :] == parts


def lookup(sources: Iterable[str]) -> Callable[[str], list[str]]:
    """A function from the file of a case to those of the sources that are that file."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        by_name[_last_part(source)].append(source)
    return lambda file: [source for source in by_name[_last_part(file)] if same_file(file, source)]


def tails(sources: Sequence[str]) -> dict[str, str]:
    """For each file the shortest end of its path that no other has; a URL stays whole."""
    parts = {source: source.replace("\\", "/").split("/") for source in sources}
    taken = Counter("/".join(path[-size:]) for path in parts.values() for size in range(1, len(path) + 1))
    return {
        source: source
        if is_page(source)
        else next((tail for size in range(1, len(path) + 1) if taken[tail := "/".join(path[-size:])] == 1), source)
        for source, path in parts.items()
    }


def _last_part(path: str) -> str:
    """The name at the end of a path; two paths that differ in it are not the same file. A URL stays whole."""
    if is_url(path):
        return normal(path)
    return unicodedata.normalize("NFC", path).replace("\\", "/").rstrip("/").rpartition("/")[2]


def quoted(quote: str, text: str) -> bool:
    """Whether a text holds a quote in whole words, but for case and white space; at its border half of it is enough."""
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
    """Whether a part stands in a text, and no word goes on around it; scripts without blanks have no words here."""
    word = re.compile(rf"(?<![a-z0-9](?=[a-z0-9])){re.escape(part)}(?!(?<=[a-z0-9])[a-z0-9]){end}")
    return bool(word.match(text) if at_start else word.search(text))


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)*")
_SIGNS_BEFORE, _SIGNS_AFTER = "$€£−-§", "%°€"


def located(copied: str, text: str) -> Span | None:
    """Where these words stand in a text, but for case, marks and white space; None where they do not.

    A number keeps its sign, its currency or its percent.
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
    """The positions of the case's targets that a passage holds."""
    metadata = passage.metadata
    source, page = str(metadata["source"]), metadata.get("page")
    return tuple(
        number for number, target in enumerate(case.relevant) if holds(target, source, page, passage.page_content)
    )


def ranking(case: Case, passages: Sequence[Document]) -> Ranking:
    """Passages, best first, as a ranking against the case's targets.

    The best passage of a thing stands for it; further passages of it are left out. A passage that holds two
    quotes counts as both, one after the other.
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
    """File, and page or heading: plan.pdf, p. 4."""
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

"""Does a passage hold what a case calls relevant? And a ranking of passages as a ranking of what can be relevant."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.text.urls import is_url, normal

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.evaluation.cases import Case, Target

HALF = 0.5
"""Share of a quote that a passage must hold where the quote runs over the border between two passages."""


@dataclass(frozen=True)
class Ranking:
    """What was found, best first, each thing once: `units` are names, `gains` those of all that is relevant.

    A thing is a file where the case names files, a page where it names pages, a passage where it quotes words. `shown`
    says for a person where each of the units is.
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


def same_file(wish: str, source: str) -> bool:
    """Whether a source is that file: a URL, or a path whose last parts are those of the wish."""
    if is_url(wish) or is_url(source):
        return is_url(wish) and is_url(source) and normal(wish) == normal(source)
    parts, found = (unicodedata.normalize("NFC", one).replace("\\", "/").split("/") for one in (wish, source))
    parts = [part for part in parts if part not in ("", ".")]
    found = [part for part in found if part not in ("", ".")]
    return bool(parts) and found[-len(parts) :] == parts


def last_part(path: str) -> str:
    """The name at the end of a path; two paths that differ in it are not the same file. A URL stays whole."""
    if is_url(path):
        return normal(path)
    return unicodedata.normalize("NFC", path).replace("\\", "/").rstrip("/").rpartition("/")[2]


def quoted(quote: str, text: str) -> bool:
    """Whether a text holds a quote in whole words, but for case and white space; at its border half of it is enough."""
    wanted, found = _folded(quote), _folded(text)
    place = found.find(wanted)
    while place >= 0:
        if _border(found, place) and _border(found, place + len(wanted)):
            return True
        place = found.find(wanted, place + 1)
    least = max(1, round(len(wanted) * HALF))
    cuts = [cut for cut in range(1, len(wanted)) if _border(wanted, cut)]
    ends = (wanted[cut:].lstrip() for cut in cuts if len(wanted) - cut >= least)
    starts = (wanted[:cut].rstrip() for cut in cuts if cut >= least)
    return any(found.startswith(one) and _border(found, len(one)) for one in ends) or any(
        found.endswith(one) and _border(found, len(found) - len(one)) for one in starts
    )


def _border(text: str, place: int) -> bool:
    """Whether no word goes on over this place. Scripts without blanks have borders everywhere."""
    around = text[max(0, place - 1) : place + 1]
    return len(around) < 2 or place == 0 or not (around.isalnum() and around.isascii())


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def held(case: Case, passage: Document) -> tuple[int, ...]:
    """The positions of the case's targets that a passage holds."""
    about = passage.metadata
    source, page = str(about["source"]), about.get("page")
    return tuple(
        number for number, target in enumerate(case.relevant) if holds(target, source, page, passage.page_content)
    )


def ranking(case: Case, passages: Sequence[Document]) -> Ranking:
    """Passages, best first, as a ranking against the case's targets.

    The best passage of a thing stands for it, and what else is found of it is left out. A passage that holds two
    quotes counts as both, one after the other.
    """
    units: dict[str, str] = {}
    for passage in passages:
        hits = held(case, passage)
        for number in hits:
            units.setdefault(_name(number), f"{_place(passage.metadata)} ({_name(number)})")
        if not hits:
            units.setdefault(_unit(case, passage.metadata), _place(passage.metadata))
    gains = {_name(number): float(target.gain) for number, target in enumerate(case.relevant)}
    return Ranking(tuple(units), gains, tuple(units.values()))


def _name(number: int) -> str:
    return f"relevant {number + 1}"


def _place(about: dict[str, Any]) -> str:
    """File, and page or heading: plan.pdf, p. 4."""
    source = str(about["source"])
    file = source if is_url(source) else "/".join(source.replace("\\", "/").rstrip("/").split("/")[-2:])
    if about.get("page") is not None:
        return f"{file}, p. {about['page']}"
    return f"{file}, § {about['heading']}" if about.get("heading") else file


def _unit(case: Case, about: dict[str, Any]) -> str:
    if any(target.quote for target in case.relevant):
        return str(about["chunk_id"])
    if any(target.page is not None for target in case.relevant):
        return f"{about['source']}, page {about.get('page')}"
    return str(about["source"])

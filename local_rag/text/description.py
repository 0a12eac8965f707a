"""What an index holds, in a few words: as its owner says it, or a summary made of its catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_rag.core.documents import Catalog
from local_rag.text.display import joined, on_one_line, plural, shorten

LONGEST_ABOUT = 600
"""Characters of a description by a person."""
LONGEST = 1_000
"""Characters of a summary."""
_TITLE, _FOLDER, _KINDS = 50, 40, 6


def description(catalog: Catalog) -> str:
    """One line of at most `LONGEST` characters: what a person wrote about the index, else the summary."""
    return shorten(catalog.about, LONGEST_ABOUT) or summary(catalog)


def summary(catalog: Catalog) -> str:
    """Files by kind, their folders, and the titles that stand for the topics of all passages."""
    kinds = f" ({_kinds(catalog.kinds)})" if catalog.kinds else ""
    folders = joined(shorten(folder, _FOLDER) for folder in catalog.folders)
    topics = "; ".join(shorten(title, _TITLE) for title in catalog.topics or catalog.titles)
    line = f"{plural(catalog.files or catalog.documents, 'file')}{kinds}"
    line += f" in {folders}" if folders else ""
    return shorten(f"{line}; among them: {topics}" if topics else line, LONGEST)


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent kind first, those of the same count by name."""
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def kinds_in_words(counts: Mapping[str, int]) -> str:
    """How many files of each kind: 2 .pptx and 1 without a suffix."""
    names = {suffix: shorten(on_one_line(suffix), 20) for suffix in counts}
    return joined(
        f"{count:,} {names[suffix].replace('(none)', '') or 'without a suffix'}" for suffix, count in counts.items()
    )


def _kinds(kinds: Sequence[str]) -> str:
    """The first kinds with their counts (".pdf 1,200"), and how many files are of others."""
    rest = sum(int(kind.rpartition(" ")[2].replace(",", "")) for kind in kinds[_KINDS:])
    return ", ".join(kinds[:_KINDS]) + (f", and {plural(rest, 'other')}" if rest else "")

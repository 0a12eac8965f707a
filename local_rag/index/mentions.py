"""Find the files that hold something: by its exact words first, then by meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from local_rag.core.outline import FileHit
from local_rag.index.exact_words import quoted_phrases
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.display import shorten
from local_rag.text.markup import as_read
from local_rag.text.names import head
from local_rag.text.sentences import Span, sentences, stripped
from local_rag.text.words import WORD, content_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

NEAR = 0.55
"""Cosine from which a passage is near in meaning. With MiniLM two of three files that it brought for 18 made-up topics
were about them, and a third of those that were came; from .5 on more than half were about something else."""
QUOTE = 120
"""Characters of a quote in a list of files."""
PLURAL = 3
"""Letters of a word from which an s at its end is a plural."""
MOST, MOST_NEAR = 5_000, 300
"""Passages that are looked at for the words, those first that hold most of them, and for their meaning."""


def files_with(search: Callable[..., list[Document]], count: int, wanted: str, kind: str) -> list[FileHit]:
    """Return a hit for each file with its best place: files with the words as a phrase, then those that are near.

    A near file has all the words in one sentence, or is near them in meaning; a name, which is written with capitals,
    with a number or in quotes, is found as a phrase alone. If the path or title of some hits names `kind`, only these
    are returned.
    """
    written = WORD.findall(wanted)
    is_name = bool(quoted_phrases(wanted)) or not (written[0][0].islower() or written[-1][0].islower())
    phrase, stems = _phrase(wanted), set(content_stems(wanted))

    def held(text: str) -> float:
        """Return the share of the words that a text holds, 2 for all of them as a phrase."""
        return 2 * (phrase in _phrase(text)) or len(stems & set(content_stems(text))) / max(1, len(stems))

    hits = dict[str, FileHit]()
    for mode, most in (("words", MOST), *([] if is_name else [("dense", MOST_NEAR)])):
        near, before = mode == "dense", {*hits}
        for passage in search(wanted, min(count, most), mode=mode):
            text, source = passage.page_content, str(passage.metadata["source"])
            span = max(sentences(text) or [stripped(text, 0, len(text))], key=lambda span: held(span.of(text)))
            share = max(held(span.of(text)), held(head(passage)))
            fits = share >= 1 or passage.metadata["score"] >= NEAR if near else share > 1
            if fits and source not in before:
                hits[source] = _with(hits.get(source), passage, span, near=near)
    named = [hit for path, hit in hits.items() if kind in map(stem, words(f"{path} {hit.passage.metadata['title']}"))]
    return named or [*hits.values()]


def _phrase(text: str) -> str:
    """Return the words of a text, plurals in the singular."""
    return f" {' '.join(word[:-1] if len(word) > PLURAL and word[-1] == 's' else word for word in words(text))} "


def _with(hit: FileHit | None, passage: Document, span: Span, *, near: bool) -> FileHit:
    """Return the first hit in a file, or its hit with a further place."""
    if hit:
        return hit._replace(more=hit.more + 1)
    start = int(passage.metadata["start"])
    return FileHit(passage, span.of(passage.page_content), start + span.start, start + span.end, 0, near)


def hit_line(hit: FileHit, label: str, texts: AnswerTexts) -> str:
    """Return a line with the file, its page, its best place and the number of its other places."""
    page = hit.passage.metadata.get("page")
    place = label if page is None else f"{label}, {texts.page.format(page=page)}"
    more = f" {texts.count(texts.more_places, hit.more)}" if hit.more else ""
    return f'{place}: "{shorten(as_read(hit.quote), QUOTE)}"{more}{f" ({texts.near})" if hit.near else ""}'

"""An answer as a tree of allowed nodes, from which a page builds elements: no string of it is ever markup.

The text of an answer is read as Markdown (CommonMark with tables), without HTML, images and link definitions; that of
the extractive engine quotes files, so only its tables and lists are read as such. Marks and highlights are code points
of the text, so all cutting happens here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from local_rag.core.answer import Answer, Sentence
from local_rag.server.markdown_tree import markdown_tree
from local_rag.server.marked_text import Insertion, MarkedText, Node, same_length
from local_rag.text.answer_texts import texts_in
from local_rag.text.marks import marks

_LAST_BAR = re.compile(r"\s*\|\s*$")


def answer_tree(answer: Answer) -> list[Node]:
    """The text of an answer as nodes: cites in the place of its marks, highlights marked, doubts behind sentences."""
    texts = texts_in(answer.language)
    numbers = {citation.number for citation in answer.citations}
    numbers |= {each.number for conflict in answer.conflicts for side in conflict.positions for each in side.citations}
    doubts = [
        _behind(answer.text, sentence, {"t": "doubt", "s": doubt, "support": sentence.support})
        for sentence in answer.sentences
        if (doubt := texts.doubts.get(sentence.support))
    ]
    highlights = [(highlight.start, highlight.end) for highlight in answer.highlights]
    return tree(answer.text, numbers, highlights, doubts, quotes=answer.engine == "extractive")


def _behind(text: str, sentence: Sentence, node: Node) -> Insertion:
    """A node behind a sentence; behind a row of a table it stands in the last cell."""
    last_bar = _LAST_BAR.search(text, sentence.start, sentence.end)
    end = last_bar.start() if last_bar else sentence.end
    return Insertion(end, end, (node,))


def tree(
    text: str,
    numbers: Collection[int] = (),
    highlights: Sequence[tuple[int, int]] = (),
    insertions: Sequence[Insertion] = (),
    *,
    quotes: bool = False,
) -> list[Node]:
    """Markdown as nodes. `numbers` are those that a mark [n] may cite; any other mark stays text.

    `highlights` are code points [start, end) of the text. Where the place of a bit of text is not certain it is shown
    without a highlight.
    """
    plain = same_length(text)
    cites = [
        Insertion(span.start, span.end, tuple({"t": "cite", "n": number} for number in cited))
        for span, cited in marks(plain)
        if cited and all(number in numbers for number in cited)
    ]
    marked = MarkedText(plain, sorted([*cites, *insertions]), sorted(highlights))
    return markdown_tree(marked, numbers, quotes=quotes)


def plain_text(nodes: Sequence[Node]) -> str:
    """The text of nodes without their structure."""
    return "".join(str(node.get("s", "")) + plain_text(node.get("c", ())) for node in nodes)

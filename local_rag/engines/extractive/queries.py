"""Make queries of a question's own words: for the next step, in other words, and for follow-ups made standalone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.core.protocols import Turn
from local_rag.text.display import joined
from local_rag.text.names import head
from local_rag.text.numbers import names, numbers, written_names
from local_rag.text.questions import lacking, subject_words, uncovered, written_words
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems, content_words, fold, query_key, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus

MAX_WEB_WORDS = 6
WHOLE_QUESTION = 4
"""The words from which a question about one thing stands alone: "What is the rent?", not "How long?"."""
_NEW_NAMES = 6
_POINTING = frozenset(
    "it its itself they them their theirs he him his he she her hers this these those former latter".split()
)
_OPENING = re.compile(r"\s*(?:and|but|so|also|then|what about|how about|what else|why not|which one|which ones)\b")


def next_query(question: str, sentence: str, before: Sequence[str]) -> str:
    """Return a query for the next step after a sentence: its new names, and the words of the question not covered yet.

    This is the idea of IRCoT (arXiv 2212.10509) with quoted sentences in place of written ones; `before` are the
    earlier sentences. The query is empty if nothing new is named, or nothing is left to search for.
    """
    known, named = set(content_stems(" ".join([question, *before]))), names(sentence)
    new = [
        word for word in written_words(sentence) if named & set(words(word)) and not known & set(content_stems(word))
    ][:_NEW_NAMES]
    left = uncovered(question, " ".join([*before, sentence]))
    return " ".join([*new, *left]) if new and left else ""


def query_after(question: str, written: str) -> str:
    """Return the query for the next step after the last sentence of a text."""
    *before, last = [span.of(written) for span in sentences(written)] or [""]
    return next_query(question, last, before)


def another_query(question: str, tried: Sequence[str], most: int | None = None) -> str:
    """Return a query of the question's own words that was not tried yet, at most `most` of them, names and numbers
    first.

    If all words were tried and no `most` is set, leave out one of them, the last one first. The query is empty if it
    would add nothing.
    """
    asking = set(content_words(question)) - set(subject_words(question))
    kept = [word for word in written_words(question) if fold(word) not in asking]
    named = names(question) | numbers(question)
    first = sorted(range(len(kept)), key=lambda position: (not named & set(words(kept[position])), position))
    chosen = [kept[position] for position in sorted(first[:most])]
    fewer = [chosen[:place] + chosen[place + 1 :] for place in reversed(range(len(chosen)))]
    queries = map(" ".join, [chosen, *(fewer if most is None and len(chosen) > 2 else ())])
    seen = set(map(query_key, tried))
    return next((query for query in queries if query and query_key(query) not in seen), "")


# --- follow-ups -----------------------------------------------------------------------------------------------------


def depends(question: str) -> bool:
    """Return whether a follow-up cannot be understood alone: it points back, opens with "and", or has hardly a content
    word.

    "How long?" has hardly one; "What is ReAct?" has a name, and "What is the rent?" is complete. A pronoun after two
    content words refers to one of them ("When did Tesla finish his degree?").
    """
    content = content_words(question)
    bare = len(content) <= 1 and not names(question) and len(words(question)) < WHOLE_QUESTION
    if not content or bare or _OPENING.match(fold(question)):
        return True
    before = re.split(rf"\b(?:{'|'.join(_POINTING)}|that$)\b", fold(question).rstrip(" ?!."), maxsplit=1)
    return len(before) > 1 and len(content_words(before[0])) <= 1


def standalone(question: str, history: Sequence[Turn]) -> str:
    """Add the content words of the earlier question to a follow-up; return it unchanged if it stands alone."""
    if not history or not depends(question):
        return question
    known = set(content_stems(question))
    added: list[str] = []
    for turn in reversed(history):
        new = [word for word in written_words(turn.question) if not known.issuperset(content_stems(word))]
        known.update(stem for word in new for stem in content_stems(word))
        added += new
        if not depends(turn.question):
            break
    return f"{question.strip()} ({' '.join(added)})" if added else question


def nowhere(question: str, documents: Sequence[Document], corpus: Corpus | None) -> str:
    """Return a sentence that lists the names of a question that no file holds; empty for passages of the web."""
    if corpus is None or any(document.metadata.get("origin") == "web" for document in documents):
        return ""
    lacks = lacking(names(question), " ".join(f"{head(d)} {d.page_content}" for d in documents))
    frequency = corpus.document_frequency(lacks) if lacks else {}
    absent = [name for name in written_names(question) if all(frequency.get(word) == 0 for word in words(name))]
    stand = "stands" if len(absent) == 1 else "stand"
    return f"{joined(map(repr, absent))} {stand} in none of your files" if absent else ""

"""Questions that the files do not answer: foreign ones, and ones about what the files name but say nothing of.

Without a language model both are decided by words, so a person looks at each of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.text.words import fold

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.index.index import Index

MENTIONS = 100
"""Passages about a term that are looked through; one that more mention is not asked about."""

FOREIGN: tuple[tuple[str, str], ...] = (
    ("How long does a soft-boiled egg take?", "boiled egg"),
    ("How often should a cactus be watered?", "cactus watered"),
    ("At which temperature does caramel burn?", "caramel"),
    ("How many strings does a violin have?", "violin strings"),
    ("How is red wine removed from a carpet?", "wine carpet"),
    ("How much sleep does a newborn baby need?", "newborn baby sleep"),
    ("How many players does a volleyball team have on the court?", "volleyball"),
    ("Which birds can fly backwards?", "birds backwards"),
    ("How deep must tulip bulbs be planted?", "tulip bulbs"),
    ("How does one tie a bow tie?", "bow tie"),
    ("What is the tallest waterfall in the world?", "waterfall tallest"),
    ("How long is a marathon?", "marathon"),
    ("Which spices go into a chai?", "spices chai"),
    ("How is a flat bicycle tyre mended?", "bicycle tyre"),
    ("What do hedgehogs eat in winter?", "hedgehogs"),
    ("How high is the Matterhorn?", "matterhorn"),
    ("Which vaccinations does a kitten need?", "kitten vaccinations"),
    ("How many keys does a grand piano have?", "piano"),
    ("When do strawberries ripen?", "strawberries"),
    ("How is a sourdough starter kept alive?", "sourdough"),
    ("Which moon of Jupiter is the largest?", "jupiter moon"),
    ("How fast does a cheetah run?", "cheetah"),
    ("How is a wool jumper washed?", "wool jumper"),
    ("How does one castle in chess?", "chess"),
    ("Which river flows through Budapest?", "budapest river"),
    ("How long does a cold last?", "cold cough"),
    ("What is the offside rule in football?", "offside football"),
    ("How many bones does a shark have?", "shark bones"),
    ("Which wood is best for a campfire?", "campfire wood"),
    ("How is a squeaking door made silent?", "squeaking door"),
    ("How long are giraffes pregnant?", "giraffes"),
    ("Which cheese belongs on a pizza Margherita?", "pizza cheese"),
)
"""Everyday questions of our own, and the words that a file with an answer would have."""


class _Attribute(NamedTuple):
    """What can be asked about any term, and what a passage says that may answer it."""

    one: str
    many: str
    said: re.Pattern[str]


_ATTRIBUTES = tuple(
    _Attribute(one, many, re.compile(pattern))
    for one, many, pattern in (
        ("How much does {s} cost?", "How much do {s} cost?",
         r"[$€£]|\b(?:cost|price|euro|dollar|pound|fee|pay|paid|free|cheap|expensiv|charge)"),
        ("Who invented {s}?", "Who invented {s}?",
         r"\b(?:invent|founder|founded|develop|design|introduce|author|publish|propos|creat|colleagues|et al|made by)"),
        ("In which year was {s} introduced?", "In which year were {s} introduced?",
         r"\b(?:1[5-9]|20)\d\d\b|\b(?:introduc|since|year|centur)"),
        ("Where can {s} be bought?", "Where can {s} be bought?", r"\b(?:buy|bought|sell|sold|shop|store|dealer|order)"),
        ("How many people in Germany use {s}?", "How many people in Germany use {s}?",
         r"\b(?:german|users|million|people)"),
        ("What are the disadvantages of {s}?", "What are the disadvantages of {s}?",
         r"\b(?:disadvantage|drawback|weak|limit|problem|cannot|harm|cost|but|however|not)\b"),
    )
)  # fmt: skip


_SECTIONS = tuple(
    (form, re.compile(pattern))
    for form, pattern in (
        ("Who wrote what “{about}” says about “{s}”?", r"\b(?:wrote|written|author|by [a-z]+ [a-z]+)\b|@|\bet al\b"),
        ("When was “{s}” in “{about}” last revised?", r"\b(?:19|20)\d\d\b|\b(?:revis|updat|chang|edit|amend|version)"),
        ("Which law applies to “{s}” in “{about}”?", r"§|\b(?:law|act|statut|regulation|legal|legislat|court)"),
        ("Which book does “{about}” recommend on “{s}”?", r"\b(?:book|read|literature|recommend|isbn|publish)"),
        ("Whom does “{about}” name to ask about “{s}”?", r"@|\b(?:contact|ask|question|phone|email|e-mail|help)"),
    )
)
"""What can be asked about any section, and what a passage says that may answer it."""


def foreign(index: Index, seed: int) -> Iterator[str]:
    """Everyday questions whose telling words do not occur in the index; first those of which none does."""
    listed = list(FOREIGN)
    random.Random(seed).shuffle(listed)
    frequency = index.document_frequency([word for _, telling in listed for word in telling.split()])
    for question, telling in listed:
        if not any(frequency[word] for word in telling.split()):
            yield question
    for question, telling in listed:
        occurs = [frequency[word] > 0 for word in telling.split()]
        if any(occurs) and not all(occurs):
            yield question


def unsaid(index: Index, terms: Sequence[tuple[str, bool]], seed: int) -> Iterator[str]:
    """Questions about (term, whether it is plural) where no passage that mentions it has words of such an answer."""
    for turn, (term, many) in enumerate(terms):
        near = mentions(index, term)
        if not 0 < len(near) < MENTIONS:
            continue
        texts = [fold(passage.page_content) for passage in near]
        for step in range(len(_ATTRIBUTES)):
            attribute = _ATTRIBUTES[(turn + step + seed) % len(_ATTRIBUTES)]
            if not any(attribute.said.search(text) for text in texts):
                yield (attribute.many if many else attribute.one).replace("{s}", term)
                break


def unsaid_of_sections(index: Index, sections: Sequence[tuple[str, str]], seed: int) -> Iterator[str]:
    """The same about (heading, name of its document), for an index that defines little."""
    for turn, (heading, about) in enumerate(sections):
        texts = [fold(passage.page_content) for passage in mentions(index, heading)]
        for step in range(len(_SECTIONS) if 0 < len(texts) < MENTIONS else 0):
            form, answers = _SECTIONS[(turn + step + seed) % len(_SECTIONS)]
            if not any(answers.search(text) for text in texts):
                yield form.replace("{about}", about).replace("{s}", heading)
                break


def mentions(index: Index, term: str) -> list[Document]:
    """Passages that hold a term, its article left out, in any case."""
    bare = fold(re.sub(r"^(?:the|an?|our|your|its|my) ", "", term, flags=re.IGNORECASE))
    passages = index.search(bare, MENTIONS, mode="words")
    return [passage for passage in passages if bare in " ".join(fold(passage.page_content).split())]

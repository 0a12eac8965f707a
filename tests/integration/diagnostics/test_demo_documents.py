"""The handbook that ships with the package: readable, true to the settings, and made again from its sources."""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

import pytest
from support import CHECKOUT

from local_rag.config.values import Values
from local_rag.text.sentences import sentences

DOCUMENTS = CHECKOUT / "local_rag" / "diagnostics" / "demo" / "documents"
NAMES = ("self-rag.md", "corrective-rag.html", "adaptive-rag.docx", "rag-evaluation.pdf", "local-rag.txt")

ANSWERED = [
    ("What are the reflection tokens of Self-RAG?", "self-rag.md", "Retrieve, ISREL, ISSUP and ISUSE"),
    ("When does Self-RAG retrieve?", "self-rag.md", "retrieves when the probability of Retrieve=yes"),
    ("What does ISUSE rate?", "self-rag.md", "usefulness of the whole reply from 5"),
    ("How high is the citation precision of Self-RAG on ASQA?", "self-rag.md", "citation precision is 66.9"),
    (
        "What happens in a Self-RAG graph when no passage is relevant?",
        "self-rag.md",
        "rewrites the question and retrieves",
    ),
    ("What is Corrective RAG?", "corrective-rag.html", "grades each retrieved document and corrects the retrieval"),
    (
        "What does CRAG do when every retrieved document is irrelevant?",
        "corrective-rag.html",
        "searches the web instead",
    ),
    ("What are the three actions of CRAG?", "corrective-rag.html", "correct, incorrect and ambiguous"),
    ("What is knowledge refinement?", "corrective-rag.html", "removes the useless parts of a relevant document"),
    ("How accurate is the retrieval evaluator?", "corrective-rag.html", "84.3 percent"),
    ("Which complexity classes does Adaptive-RAG distinguish?", "adaptive-rag.docx", "named A, B and C"),
    ("How many steps does Adaptive-RAG need?", "adaptive-rag.docx", "2.17 steps per question"),
    ("What causes the gap to a perfect classifier?", "adaptive-rag.docx", "errors of the classifier alone"),
    ("What is recall@k?", "rag-evaluation.pdf", "share of the relevant passages that appear among the first k"),
    ("What is token F1?", "rag-evaluation.pdf", "harmonic mean of the precision and the recall"),
    ("What is refusal precision?", "rag-evaluation.pdf", "share of the refusals that were right"),
    ("What does McNemar's test look at?", "rag-evaluation.pdf", "where exactly one of the two programs is right"),
    ("Does anything leave my machine?", "local-rag.txt", "Nothing leaves your machine"),
    ("What does exit code 3 mean?", "local-rag.txt", "exit code 3"),
    ("Which formats can local-rag read?", "local-rag.txt", "HTML, PDF, DOCX, EPUB"),
]
"""Question, the document that answers it, words of one sentence there."""


@cache
def pages(path: Path) -> tuple[str, ...]:
    """The text of a document by independent means, one string per page where there are pages."""
    if path.suffix == ".pdf":
        import pypdfium2

        with pypdfium2.PdfDocument(path) as pdf:
            return tuple(page.get_textpage().get_text_bounded().replace("\r\n", "\n") for page in pdf)
    if path.suffix == ".docx":
        import mammoth

        with path.open("rb") as file:
            return (mammoth.extract_raw_text(file).value,)
    if path.suffix == ".html":
        from lxml import html

        return ("\n\n".join(" ".join(part.text_content().split()) for part in html.parse(path).iter("p", "td", "li")),)
    return (path.read_text(encoding="utf-8"),)


def spoken(path: Path) -> list[str]:
    """The sentences of a document, each on one line."""
    return [" ".join(span.of(page).split()) for page in pages(path) for span in sentences(page)]


def test_the_handbook_is_complete() -> None:
    assert sorted(path.name for path in DOCUMENTS.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_is_short(name: str) -> None:
    assert 500 <= len(" ".join(pages(DOCUMENTS / name)).split()) <= 1200


@pytest.mark.parametrize(("question", "name", "words"), ANSWERED, ids=[question for question, _, _ in ANSWERED])
def test_one_sentence_answers(question: str, name: str, words: str) -> None:
    answering = [sentence for sentence in spoken(DOCUMENTS / name) if words in sentence]
    assert answering
    assert min(len(sentence.split()) for sentence in answering) <= 45


def test_page_numbers_matter() -> None:
    found = {
        words: [number for number, page in enumerate(pages(DOCUMENTS / "rag-evaluation.pdf"), 1) if words in page]
        for words in ("A test case holds", "Recall@k is", "Refusal precision is", "McNemar's test")
    }
    assert list(found.values()) == [[1], [2], [3], [4]]


def test_the_pdf_and_the_docx_have_a_table() -> None:
    assert "Grounding support rate, citation precision, citation recall 1" in pages(DOCUMENTS / "rag-evaluation.pdf")[0]
    with zipfile.ZipFile(DOCUMENTS / "adaptive-rag.docx") as docx:
        assert b"<w:tbl>" in docx.read("word/document.xml")


def test_the_page_asks_nothing_of_the_network() -> None:
    from lxml import html

    tree = html.parse(DOCUMENTS / "corrective-rag.html")
    assert not tree.xpath("//@src | //link/@href | //script")
    links = [link for link in tree.xpath("//a/@href") if link != "#"]
    assert sorted(links) == sorted(NAMES)
    assert tree.xpath("//nav[not(ancestor::article)]")
    assert tree.xpath("//footer[not(ancestor::article)]")


def test_the_guide_agrees_with_the_settings() -> None:
    values = Values()
    guide = " ".join(pages(DOCUMENTS / "local-rag.txt")[0].split())
    number = ("no", "one", "two", "three", "four", "five", "six")
    assert f"at most {values.chunks.size} tokens" in guide
    assert f"{number[values.k].capitalize()} passages are retrieved" in guide
    assert f"{values.graph} is the default" in guide
    limits = values.limits
    assert (
        f"at most {number[limits.rewrites]} rewrites of the question, {number[limits.generations]} answers"
        f" and {limits.seconds:g} seconds" in guide
    )

"""Sentences, words, numbers and names, on the kinds of text that files hold."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.text.display import shorten
from local_rag.text.marks import claims, marks, without_marks
from local_rag.text.numbers import names, numbers, quantities
from local_rag.text.sentences import sentences
from local_rag.text.words import content_stems, stem


def split(text):
    return [span.of(text) for span in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        (
            "Dr. Smith of the U.S. Army came, e.g. in May. He left.",
            ["Dr. Smith of the U.S. Army came, e.g. in May.", "He left."],
        ),
        (
            "The late Sen. John Quill was held there, inkl. Tel. und § 4 Abs. 2.",
            ["The late Sen. John Quill was held there, inkl. Tel. und § 4 Abs. 2."],
        ),
        ("He met J. R. R. Tolkien. It rained.", ["He met J. R. R. Tolkien.", "It rained."]),
        ("It is equal to P. Again, nobody knows.", ["It is equal to P.", "Again, nobody knows."]),
        ("Version 1.2 is out. See Sec. 3.2 of it.", ["Version 1.2 is out.", "See Sec. 3.2 of it."]),
        ('"Is it?" he said. Yes.', ['"Is it?" he said.', "Yes."]),
        ("He waited … and left. Then…", ["He waited … and left.", "Then…"]),
        ("Figure 3. A marmot at rest. It sleeps.", ["Figure 3. A marmot at rest.", "It sleeps."]),
        ("Install it first. local-rag does the rest.", ["Install it first.", "local-rag does the rest."]),
        ("It takes approx. two-thirds of it.", ["It takes approx. two-thirds of it."]),
        ("1. Open the lid.\n2. Pour.", ["1. Open the lid.", "2. Pour."]),
        (
            "Er ist bis zum 31. März zu zahlen. Am 3. Oktober ist geschlossen.",
            ["Er ist bis zum 31. März zu zahlen.", "Am 3. Oktober ist geschlossen."],
        ),
        ("Im 19. Jahrhundert erschien die 2. Auflage.", ["Im 19. Jahrhundert erschien die 2. Auflage."]),
        ("Vom 14. bis 16. August, der 1. und 2. Rang.", ["Vom 14. bis 16. August, der 1. und 2. Rang."]),
        (
            "Sie ist bis zum Ende des Jahres und spätestens bis zum\n31. März des folgenden Jahres zu zahlen.",
            ["Sie ist bis zum Ende des Jahres und spätestens bis zum\n31. März des folgenden Jahres zu zahlen."],
        ),
        (
            "It closed in 1931. The wall fell at 12. August was hot.",
            ["It closed in 1931.", "The wall fell at 12.", "August was hot."],
        ),
        (
            "I am 31. Mary is 30. She is in room 4. Then I left.",
            ["I am 31.", "Mary is 30.", "She is in room 4.", "Then I left."],
        ),
        (
            "It stays below 55 per cent.\n\n5. Termination\n6. Costs",
            ["It stays below 55 per cent.", "5. Termination", "6. Costs"],
        ),
        ("これは本です。あれはペンです。", ["これは本です。", "あれはペンです。"]),
        ("", []),
        (" \n \n", []),
        # structure
        ("# Head\nBody of it.", ["# Head", "Body of it."]),
        ("Head\n====\nBody of it.", ["Head", "Body of it."]),
        ("- one\n- two goes\n  on here\n* three", ["- one", "- two goes\n  on here", "* three"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("Run it:\n```sh\nmake\n```\nDone.", ["Run it:", "make", "Done."]),
        ("From: Ann\nTo: Bob\nSubject: Rent\n\nHi Bob", ["From: Ann", "To: Bob", "Subject: Rent", "Hi Bob"]),
    ],
)
def test_where_a_sentence_ends(text, expected):
    assert split(text) == expected


def test_wrapped_lines_are_one_sentence_and_a_heading_above_them_is_not_part_of_it():
    text = (
        "Notice period\n"
        "The notice period that Ann and Bob agreed on in the contract of the year is one of\n"
        "Six months, or less where both of them say so.\n"
    )
    heading, sentence = split(text)
    assert heading == "Notice period"
    assert sentence.startswith("The notice") and sentence.endswith("say so.")


@given(st.text(alphabet=" \n.!?:-#|ab1AB\"'”()[]…`=", max_size=200))
def test_spans_are_in_order_without_overlap_and_lose_no_letter(text):
    spans = sentences(text)
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(span.of(text).strip() == span.of(text) != "" for span in spans)
    kept = "".join(span.of(text) for span in spans)
    assert kept.count("b") == text.count("b") or "```" in text


def test_numbers_and_names():
    assert numbers("It costs 1,200 euros for two [3].") == {"1200", "2"}
    assert numbers("Version 0.115.0 is out; it had 1.200,50 euros") == {"0.115.0", "1200.50"}
    assert [quantities(text)[0].values for text in ("a dozen eggs", "two dozen", "three hundred and fifty")] == [
        ("12",),
        ("24",),
        ("350",),
    ]
    assert names("The board met Marie Dupont at ACME [2].") == {"marie", "dupont", "acme"}


def test_threads_stem_at_once():
    words = [f"{start}ning{end}s" for start in "abcdefghijklmnop" for end in ("", "ation", "ness", "ibl")] * 5
    stem.cache_clear()
    alone = [stem(word) for word in words]
    interval = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as threads:
            for _ in range(20):
                stem.cache_clear()
                assert list(threads.map(stem, words)) == alone
    finally:
        sys.setswitchinterval(interval)


def test_marks_and_stems():
    assert [numbers for _, numbers in marks("So it is [1, 2]. Yes [3].")] == [(1, 2), (3,)]
    assert [numbers for _, numbers in marks("So [1-3]. Yes 【4】. No 【5†source】. x[9-1] [0-9]")] == [
        (1, 2, 3),
        (4,),
        (5,),
    ]
    assert without_marks("So it is [1, 2].") == "So it is."
    assert without_marks("So 【1】 is [1-2] it [0-9].") == "So is it [0-9]."
    assert content_stems("The pumps were pumping") == ["pump"]
    assert shorten("one two three", 9) == "one two…"


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("A is so [1]. B is so [2].", [("A is so [1].", "A is so.", (1,)), ("B is so [2].", "B is so.", (2,))]),
        ("A is so. [1] B is so. [2]", [("A is so. [1]", "A is so.", (1,)), ("B is so. [2]", "B is so.", (2,))]),
        ("A is so [1][2, 4].", [("A is so [1][2, 4].", "A is so.", (1, 2, 4))]),
        ("A is so [1-3].", [("A is so [1-3].", "A is so.", (1, 2, 3))]),
        ("A is so [1] [1].", [("A is so [1] [1].", "A is so.", (1,))]),
        ("A is so. B is so [1].", [("A is so.", "A is so.", ()), ("B is so [1].", "B is so.", (1,))]),
        ("[1] A is so.\n[2] B is so.", [("[1] A is so.", "A is so.", (1,)), ("[2] B is so.", "B is so.", (2,))]),
        ("[1] A is so [2].", [("[1] A is so [2].", "A is so.", (1, 2))]),
        ("[1] [2] A is so.", [("[1] [2] A is so.", "A is so.", (1, 2))]),
        ("- A is so [1]\n- B is so [2]", [("- A is so [1]", "- A is so", (1,)), ("- B is so [2]", "- B is so", (2,))]),
        ("* [1] A is so.\n* [2] B.", [("* [1] A is so.", "* A is so.", (1,)), ("* [2] B.", "* B.", (2,))]),
        ("Ada [1] and Bob [2] met.", [("Ada [1] and Bob [2] met.", "Ada and Bob met.", (1, 2))]),
        ("It is so [1]. iPhones too.", [("It is so [1]. iPhones too.", "It is so. iPhones too.", (1,))]),
        (
            "One, cut [1] Another one [2]",
            [("One, cut [1]", "One, cut", (1,)), ("Another one [2]", "Another one", (2,))],
        ),
        (
            "甲是真的[1]。乙也是真的【2】。",
            [("甲是真的[1]。", "甲是真的。", (1,)), ("乙也是真的【2】。", "乙也是真的。", (2,))],
        ),
        ("Is it so? [1] Yes!", [("Is it so? [1]", "Is it so?", (1,)), ("Yes!", "Yes!", ())]),
        ("[1]", []),
        ("", []),
        ("---\n[1].\n", []),
    ],
)
def test_the_sentences_of_an_answer_and_what_they_cite(answer, found):
    assert [(claim.span.of(answer), claim.text, claim.numbers) for claim in claims(answer)] == found

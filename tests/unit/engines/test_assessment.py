"""The assessment of an answer, over scripted readings."""

import pytest
from support.fakes import passage

from local_rag.core.readings import NOTHING, Reading, ReadSpan
from local_rag.engines.assessment import assess, is_of_kind, placed
from local_rag.text.answer_values import ranked
from local_rag.text.questions import stem_weights

MILL = passage(1, "The mill of Sorby burned down in 1902. Ada Quill built it again in 1911, of stone.")
REBUILT = "Ada Quill built it again in 1911, of stone."


def found(document, short, chance=0.9):
    text = document.page_content
    start = text.index(short)
    return Reading(1 - chance, 0.0, chance, (ReadSpan(start, start + len(short), short, 5.0),), chance)


def assessed(question, text, *pairs, **options):
    documents, readings = zip(*pairs, strict=True)
    weights = stem_weights(question, None)
    return assess(question, documents, placed(readings, documents, weights), text, weights, **options)


def test_a_text_that_holds_what_the_evaluator_finds_is_more_probable_than_one_that_does_not():
    pair = MILL, found(MILL, "Ada Quill")
    held = assessed("Who built the mill of Sorby?", REBUILT, pair)
    other = assessed("Who built the mill of Sorby?", "The mill of Sorby burned down in 1902.", pair)
    assert held.probability > 0.6 > 0.4 > other.probability
    assert assessed("Who built it again, of stone?", REBUILT, pair).why == "'Ada Quill' may be the answer"


@pytest.mark.parametrize(("question", "absent"), [
    ("Who built the mill of Lorne?", "'lorne'"), ("Who built the mill of Sorby in 1877?", "'1877'"),
])  # fmt: skip
def test_what_lacks_a_name_or_a_number_of_the_question_is_less_probable(question, absent):
    pair = MILL, found(MILL, "Ada Quill")
    lacking = assessed(question, REBUILT, pair)
    assert lacking.probability < assessed("Who built the mill of Sorby?", REBUILT, pair).probability
    assert f"does not mention {absent}" in lacking.why


def test_of_two_times_that_of_the_first_passage_and_of_the_line_with_the_words_of_the_question_comes_first():
    ferry, mill = passage(1, "The ferry sails at noon."), passage(2, "The mill opens at nine. It closes at five.")
    weights = stem_weights("When does the mill close?", None)

    def best(*pairs):
        documents, readings = zip(*pairs, strict=True)
        return ranked(placed(readings, documents, weights))[0].span.text

    assert best((ferry, found(ferry, "noon", 0.8)), (mill, found(mill, "five", 0.8))) == "five"
    assert best((mill, found(mill, "nine")), (ferry, found(ferry, "noon"))) == "nine"
    assert best((ferry, found(ferry, "noon", 0.8)), (mill, found(mill, "nine", 0.5))) == "noon"
    assert placed([NOTHING], [ferry], weights) == [NOTHING]


def test_a_line_of_another_month_or_label_gives_no_sure_answer():
    minutes = passage(1, "In November the roof leaked. The trustees meeting of the mill is on 18 February.")
    pair = minutes, found(minutes, "18 February")
    asked = "when is the trustees meeting of the mill in {}"
    november, february = (
        assessed(asked.format(month), "The trustees meeting of the mill is on 18 February.", pair)
        for month in ("november", "february")
    )
    assert february.probability > 0.5 > november.probability and "'november'" in november.why


def test_of_a_table_only_the_row_and_its_header_count():
    table = passage(1, "name | paid\nAda | paid: 1,295\nBen | paid: 57")
    pair = table, found(table, "57")
    ben, ada = (assessed(f"What has {name} paid?", "Ben | paid: 57", pair) for name in ("Ben", "Ada"))
    assert ben.probability > ada.probability and "'ada'" in ada.why


def test_another_passage_that_seems_to_answer_better_is_said():
    other = passage(2, "Tom Marsh built it of stone.")
    pairs = (MILL, found(MILL, "Ada Quill", 0.3)), (other, found(other, "Tom Marsh", 0.95))
    assessment = assessed("Who built it of stone?", REBUILT, *pairs)
    assert "another passage seems to answer better" in assessment.why


@pytest.mark.parametrize("text", [
    "The fee is due on April 12, 1959.", "It is due on the 12th of April 1959.", "Due: 1959-04-12",
])  # fmt: skip
def test_a_short_answer_is_held_by_its_value_too(text):
    letter = passage(1, "The fee is due on 12 April 1959.")
    assert assessed("When is the fee due?", text, (letter, found(letter, "12 April 1959"))).probability > 0.8


def test_without_passages_or_readings_nothing_is_probable():
    assert assess("Who?", [], [], "Ada.", {}).probability == 0.0
    assert assessed("Who built the mill?", REBUILT, (MILL, NOTHING)).probability < 0.2


@pytest.mark.parametrize(("question", "text", "kind"), [
    ("When was it built?", "It was built in 1911.", True),
    ("When was it built?", "Phone: 0555 622 154", False),
    ("When is the market?", "The market is every Friday.", True),
    ("When does the ferry leave?", "It leaves at a quarter past seven.", True),
    ("What does a ticket cost?", "A ticket costs 4 euros.", True),
    ("What does a ticket cost?", "A ticket is valid for ten days.", False),
    ("How many keys are there?", "Five keys were handed over.", True),
    ("How many keys are there?", "The keys were handed over.", False),
    ("How old is Callum?", "Callum becomes an apprentice in September.", False),
    ("How old is Callum?", "Callum is nineteen.", True),
    ("How much do I still owe on the loan?", "The loan ending 9026 is not affected.", False),
    ("How much do I still owe on the loan?", "On the loan £400 are left.", True),
    ("How often do tomatoes need water?", "Every second day.", True),
    ("Who built the mill?", "Ada Quill built it.", True),
    ("Who built the mill?", "The mill was built of stone.", False),
    ("What is the e-mail of Ada?", "Write to ada@example.org.", True),
    ("What is the e-mail of Ada?", "Call her at noon.", False),
    ("What is the phone number of Ada?", "Her number is 0555 1.", True),
    ("Why was it built?", "For the flour.", None),
    ("What does the valve do when it is cold?", "When it is cold it stays shut.", None),
])  # fmt: skip
def test_what_kind_of_thing_is_asked_for(question, text, kind):
    assert is_of_kind(question, text) is kind

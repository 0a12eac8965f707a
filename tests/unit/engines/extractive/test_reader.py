"""How the extractive engine reads a question, and what it takes from the readings of an evaluator."""

from dataclasses import dataclass, field

import pytest
from support.fakes import passage

from local_rag.core.protocols import Attempt, Shape, Turn
from local_rag.core.readings import NOTHING, Calibration, Reading, ReadSpan
from local_rag.engines.assessment import SHOWN, SURE, assess, explained, usefulness_of
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.engines.extractive.queries import standalone
from local_rag.engines.extractive.reader import ExtractiveReader, labels
from local_rag.text.answer_texts import ENGLISH
from local_rag.text.marks import claims
from local_rag.text.questions import (
    asked,
    complexity,
    kind_of,
    sides,
)
from local_rag.text.support import sentence_supports
from local_rag.text.translations import German

# --- readings


MILL = "The mill of Sorby burned down in 1902. Ada Quill built it again in 1911, of stone. Her sons ground the flour."
MILL_TOO = "Sorby has a mill. It was built in 1877 by monks, and it stands at the river."
BREAD = "Bread dough must rest for two hours."


@dataclass
class Script:
    """Reads in a passage that begins with a key the spans of that key, with the probability of the passage."""

    table: dict[str, tuple[float, dict[str, float]]]
    supported: float = 0.0
    fingerprint: str = "script"
    language: str = "en"
    calibration: Calibration = field(default_factory=lambda: Calibration(relevant=0.2, answers=0.4))

    def read(self, question, documents):
        return [self.reading(document.page_content) for document in documents]

    def reading(self, text):
        for start, (chance, spans) in self.table.items():
            if text.startswith(start):
                read = (ReadSpan(at := text.index(words), at + len(words), words, n) for words, n in spans.items())
                return Reading(1 - chance, 0.0, chance, tuple(read), chance)
        return NOTHING

    def supports(self, pairs):
        return [self.supported for _ in pairs]

    def knows(self, word):
        return True

    def close(self):
        pass


SCRIPT = {
    "The mill": (0.8, {"Ada Quill": 6.0, "1911, of stone": 4.0, "sons": -9.0}),
    "Sorby": (0.6, {"monks": 5.0}),
    "Bread": (0.01, {"two hours": -8.0}),
}
DOCUMENTS = [passage(1, BREAD), passage(2, MILL_TOO), passage(3, MILL)]


def quoted(question, *, table=SCRIPT, failed="", most=3, documents=DOCUMENTS):
    return ExtractiveReader(Script(table)).chosen(question, documents, failed, most)


@pytest.mark.parametrize("question", ["Why was the mill built?", "How was the mill built?", "Name the mill's builders"])
def test_lists_how_and_why_take_further_sentences_behind_those_of_the_best_passage(question):
    assert quoted(question) == [
        ("Ada Quill built it again in 1911, of stone.", 2),
        ("It was built in 1877 by monks, and it stands at the river.", 1),
    ]
    assert quoted(question, most=1) == [("Ada Quill built it again in 1911, of stone.", 2)]


def test_a_table_does_not_follow_a_sentence_that_answers():
    told, codes = (
        "To refill, open the blue valve.",
        "Code | Meaning\nE04 | refill to 1.5 bar\nE09 | the flue is blocked",
    )
    table = {"To refill": (0.8, {"open the blue valve": 6.0}), "Code": (0.7, {"Meaning\nE04 | refill to 1.5 bar": 5.5})}
    documents = [passage(1, told), passage(2, codes)]
    assert quoted("How is the boiler refilled?", table=table, documents=documents) == [(told, 0)]
    alone = quoted("How is the boiler refilled?", table=table, documents=documents[1:])
    assert "refill to 1.5 bar" in alone[0][0]


def test_it_refuses_below_the_threshold_of_a_question_however_sure_a_span_is_within_its_passage():
    unsure = {"The mill": (0.3, {"Ada Quill": 30.0, "sons": 1.0})}
    assert quoted("Who built the mill?", table=unsure) == []
    assert ExtractiveReader(Script(unsure), answers=0.2).chosen("Who built the mill?", DOCUMENTS, "", 3)
    assert quoted("Hello, how are you?", table={"The mill": (0.99, {"Ada Quill": 9.0})}) == []


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Winner of 1902: Ada\nQuill", "Ada\nQuill"),
        ("They won with Ada Inc.\n\nQuill was second.", "Ada Inc.\n\nQuill"),
    ],
)
def test_a_short_answer_over_the_end_of_a_sentence_is_quoted_whole_and_useful(text, short):
    reader, page = ExtractiveReader(Script({text[:4]: (0.9, {short: 9.0})})), passage(1, text)
    assert reader.chosen("Who won?", [page], "", 3) == [(" ".join(text.split()), 0)]
    readings = reader.read("Who won?", [page], {})
    assert assess("Who won?", [page], readings, f"{' '.join(text.split())} [1]", {}).probability >= SURE


def test_a_number_of_sentences_of_the_user_brings_several_where_one_would_do():
    engine, quill = ExtractiveEngine(None, Script(SCRIPT)), "Ada Quill built it again in 1911, of stone. [3]"
    for shape, quotes in ((Shape(), [quill]), (Shape(sentences=2), [quill, "It was built in 1877 by monks"])):
        deltas = engine.answer("Who built the mill?", DOCUMENTS, Attempt(shape=shape))
        text = "".join(delta.text for delta in deltas)
        assert text.startswith(quill) and all(quote in text for quote in quotes) and len(claims(text)) == len(quotes)


def test_a_long_sentence_is_cut_around_the_answering_words():
    filler = ", ".join(f"mill number {number} of Sorby grinds the flour of its own fields" for number in range(8))
    page = passage(1, f"{filler}, the last was built by Ada Quill, {filler}.")
    ((text, _),) = quoted("Who built the mill of Sorby?", table={"mill": (0.9, {"Ada Quill": 9.0})}, documents=[page])
    assert "Ada Quill" in text
    assert len(text.split()) <= 60


def test_passages_far_behind_the_best_are_not_relevant_unless_several_may_answer():
    readings = Script(SCRIPT | {"Bread": (0.35, {"two hours": 1.0})}).read("", DOCUMENTS)
    assert labels("Who built the mill?", readings, 0.2) == ["irrelevant", "relevant", "relevant"]
    assert labels("Why was the mill built?", readings, 0.2) == ["relevant"] * 3
    assert labels("Who built the mill?", readings, 0.9) == ["irrelevant"] * 3


@pytest.mark.parametrize(
    ("chance", "texts", "why"),
    [
        (0.5, ENGLISH, "it may answer: '7,940 pounds'"),
        (0.3, ENGLISH, "the model is not sure whether '7,940 pounds' answers the question"),
        (0.3, German(), "das Modell ist nicht sicher, ob '7,940 pounds' die Frage beantwortet"),
    ],
)
def test_a_short_answer_that_is_hardly_one_is_not_shown_as_one(chance, texts, why):
    spans = (ReadSpan(0, 12, "7,940 pounds", 2.0),)
    assert explained(Reading(0.0, 0.4, 0.6, spans, chance), texts) == why


@pytest.mark.parametrize(
    ("text", "chance", "usefulness"),
    [
        ("Ada Quill built it again in 1911, of stone. [3]", 0.99, 5),
        ("Ada Quill built it again in 1911, of stone. [3]", 0.4, 3),
        ("Ada Quill built it again in 1911, of stone. [3]", 0.02, 2),
        ("The mill of Sorby burned down in 1902. [3]", 0.5, 2),
    ],
)
def test_a_text_is_useful_where_the_assessment_is_sure_and_doubtful_where_it_is_not(text, chance, usefulness):
    reader = ExtractiveReader(Script({"The mill": (chance, {"Ada Quill": 6.0})}))
    question, weights = "Who built it again, of stone?", {"built": 1.0}
    score, why = assess(question, DOCUMENTS, reader.read(question, DOCUMENTS, weights), text, weights)
    assert (usefulness_of(score), bool(why)) == (usefulness, True)
    assert (score >= SURE) == (usefulness == 5) and (score < SHOWN) == (usefulness == 2)


@pytest.mark.parametrize(
    ("sentence", "judged", "support"),
    [
        ("The mill was destroyed by fire in 1902.", 0.9, "fully"),
        ("The mill was destroyed by fire in 1902.", 0.1, "no"),
        ("The mill was destroyed by fire in 1903.", 0.9, "no"),
        ("Tom Marsh ground the flour.", 0.9, "no"),
        ("The mill of Sorby did not burn down in 1902.", 0.9, "no"),
        ("The mill of Sorby burned down in 1902.", 0.0, "fully"),
        ("The old mill of Sorby burned down in 1902.", 0.1, "partially"),
    ],
)
def test_an_evaluator_judges_what_is_not_verbatim_and_code_compares_numbers_and_names(sentence, judged, support):
    judge = ExtractiveReader(Script({}, supported=judged)).supports
    assert sentence_supports(f"{sentence} [1]", [MILL], judge) == [(sentence, support)]


# --- questions


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did the office open?", "fact"),
        ("Until when is the office open?", "fact"),
        ("Who led the office when it opened?", "fact"),
        ("What is the grand total of the bill?", "fact"),
        ("How many mills are there?", "fact"),
        ("Where is my home?", "fact"),
        ("Why was the mill built?", "several"),
        ("How was the mill built?", "several"),
        ("How do I oil the mill?", "steps"),
        ("tell me how to oil it", "steps"),
        ("Name the mill's builders", "items"),
        ("Which books did I read in 2024?", "items"),
        ("Who are the members of the club?", "items"),
        ("What are the opening hours?", "items"),
        ("Who was the builder?", "fact"),
        ("What is the post Slow Bread about?", "whole"),
        ("Summarise the letter.", "whole"),
        ("What is the difference between a mill and a bakery?", "whole"),
        ("What does the valve do when it is cold?", "open"),
        ("What is the name of my computer?", "open"),
        ("What is the name?", "open"),
        ("high costs", "open"),
        ("Hello World: what does it print?", "open"),
        ("How are greetings encoded?", "several"),
        ("", "open"),
        ("Hello, how are you today?", "small talk"),
        ("good morning", "small talk"),
        ("Thank you!", "small talk"),
        ("What is your name?", "small talk"),
        ("Tell me a joke.", "small talk"),
        ("I had a bad day.", "small talk"),
    ],
)
def test_kind(question, kind):
    assert kind_of(question) == kind


@pytest.mark.parametrize(
    ("question", "each"),
    [
        ("What is the difference between a mill and a bakery?", ["a mill", "a bakery"]),
        ("Compare white-box and black-box attacks.", ["white-box attacks", "black-box attacks"]),
        ("Compare the rents of the flats in Elm Street and Mill Lane.",
         ["the rent of the flat in Elm Street", "the rent of the flat in Mill Lane"]),
        ("How did the balance of the club change between May and June 2024?",
         ["the balance of the club in May 2024", "the balance of the club in June 2024"]),
        ("What covers the differences between mills and bakeries, such as what mill?", []),
        ("Who owns the mill and the bakery?", []),
        ("How do the rents of Elm Street and Mill Lane differ?", ["the rent of Elm Street", "the rent of Mill Lane"]),
        ("Compare the rent in the draft and in the signed lease", ["the rent in draft", "the rent in signed lease"]),
        ("Compare the bus policies of A and B", ["the bus policy of A", "the bus policy of B"]),
    ],
)  # fmt: skip
def test_a_comparison_asks_for_each_of_its_sides(question, each):
    assert [asked.split(" ", 2)[2] for _, asked in sides(question)] == [f"{side}?" for side in each]


def test_a_comparison_in_one_thing_asks_that_of_each_side():
    assert [
        asked for _, asked in sides("Compare tariff_2023.md and tariff_2024.md: what does a kilowatt hour cost?")
    ] == ["what does a kilowatt hour cost (tariff 2023)?", "what does a kilowatt hour cost (tariff 2024)?"]
    assert [
        asked for _, asked in sides("What is the difference between the draft and the signed lease in the rent?")
    ] == ["What is the rent (draft lease)?", "What is the rent (signed lease)?"]


@pytest.mark.parametrize(
    ("question", "each"),
    [
        ("When does the lease of Mill Lane 2 end and how much is the rent?",
         ["When does the lease of Mill Lane 2 end?", "How much is the rent (Mill Lane 2)?"]),
        ("When was Ada born and what does Tom do?", ["When was Ada born?", "What does Tom do?"]),
        ("Where does class 4b go, and how much does the trip cost?",
         ["Where does class 4b go?", "How much does the trip cost (4b)?"]),
        ("Who owns the mill and the bakery?", ["Who owns the mill and the bakery?"]),
    ],
)  # fmt: skip
def test_a_part_of_a_question_is_about_what_the_other_names(question, each):
    assert asked(question) == each


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("What is the rent?", "single"),
        ("When does the lease end?", "single"),
        ("Where was the architect born who designed the tower of the old town hall?", "multi"),
        ("What is the capacity of the stadium that the football club of Lower Ashby plays in?", "multi"),
        ("Were Ada Lovelace and Mary Somerville both members of the same learned society?", "multi"),
        ("Which company was founded first, Acme Lamps or Borealis Light?", "multi"),
        ("", "single"),
    ],
)
def test_steps(question, steps):
    assert complexity(question) == steps


BORN = Turn("Where was Nikola Tesla born?", "In Smiljan.")


@pytest.mark.parametrize(
    ("follow_up", "added", "history"),
    [
        ("And when did he die?", " (Nikola Tesla born)", [Turn("What is a pump?", "It moves water."), BORN]),
        ("Why?", " (Nikola Tesla born)", [BORN]),
        ("Was it abroad?", " (Nikola Tesla born)", [BORN]),
        ("How long?", " (Nikola Tesla born)", [BORN]),
        ("Who was his mother?", " (Nikola Tesla born)", [BORN, Turn("And when?", "In 1856.")]),
        ("When did Edison finish his first lamp?", "", [BORN]),
        ("What is a marmot that lives in the Alps?", "", [BORN]),
        ("What is ReAct?", "", [BORN]),
        ("What is the rent?", "", [BORN]),
    ],
)
def test_a_follow_up_takes_the_words_of_the_question_that_stands_alone(follow_up, added, history):
    assert standalone(follow_up, history) == follow_up + added

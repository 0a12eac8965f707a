"""The engine without a language model, on the real embedder."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.engine_contract import PASSAGES, STAFF, TERMS, EngineContract
from support.fakes import passage
from support.fakes_index import HashingEmbedder, remembering_minilm

from local_rag.core import question_memory
from local_rag.core.documents import Catalog
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt, Turn
from local_rag.core.question_memory import QuestionMemory
from local_rag.engines.evaluator.topics import topic
from local_rag.engines.extractive import answer_kind, questions
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.text.words import content_stems, stem, words

pytestmark = pytest.mark.usefixtures("converted")


class SmallCorpus:
    """The three passages as an index: word counts are true, the search returns them all."""

    def search(self, query, k, *, within=(), exclude=()):
        return PASSAGES[:k]

    def catalog(self):
        return Catalog(documents=3, chunks=3)

    def count(self):
        return self.catalog().chunks

    def neighbours(self, documents, reach):
        return [[] for _ in documents]

    def span(self, chunk_id, start, end):
        return ""

    def vectors(self, documents):
        return [None] * len(documents)

    def document_frequency(self, terms):
        held = [set(content_stems(one.page_content)) for one in PASSAGES]
        return {term: sum(stem(term) in stems for stems in held) for term in terms}


@pytest.fixture(scope="module")
def embedder():
    return remembering_minilm()


@pytest.fixture
def engine(embedder):
    return ExtractiveEngine(embedder, SmallCorpus())


def answer(engine, question, documents=PASSAGES, attempt=Attempt()):  # noqa: B008
    return "".join(piece.text for piece in engine.answer(question, documents, attempt))


class TestContract(EngineContract):
    @pytest.fixture
    def engine(self, embedder):
        return ExtractiveEngine(embedder, SmallCorpus())

    @pytest.fixture
    def documents(self):
        return PASSAGES


class TestContractWithoutCorpus(TestContract):
    @pytest.fixture
    def engine(self, embedder):
        return ExtractiveEngine(embedder)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When does the warranty of a pump end?", "The warranty of a pump ends two years after delivery. [1]"),
        ("Who makes the repairs?", "Repairs are made in Lyon by Marie Dupont, and a repair takes about nine days. [1]"),
        ("How many people work in Lyon?", "Forty people work in the Lyon office, most of them mechanics. [2]"),
        ("When did the Lyon office open?", "The Lyon office opened in March 2014. [2]"),
        ("What is a marmot?", "A marmot is a large ground squirrel that lives in the mountains. [3]"),
        ("how often do tomatoes need water", "Tomatoes want sun, and they want water every second day. [3]"),
    ],
)
def test_it_quotes_the_sentence_that_answers(engine, question, expected):
    assert answer(engine, question) == expected


@pytest.mark.parametrize(
    "question",
    ["Who won the 2024 NBA finals?", "What is the capital of Mongolia?", "Hello, how are you today?", "", "???"],
)
def test_it_refuses_what_the_passages_do_not_say(engine, question):
    assert answer(engine, question) == NOT_IN_PASSAGES
    assert {verdict.label for verdict in engine.relevance(question, PASSAGES)} == {"irrelevant"}
    assert engine.grade(question, PASSAGES, NOT_IN_PASSAGES).usefulness == 1


def test_a_list_comes_with_the_line_that_introduces_it(engine):
    assert answer(engine, "What kinds of contract are there?").startswith(
        "There are three kinds of contract:\n- permanent contracts for mechanics\n"
        "- seasonal contracts for drivers\n- training contracts for apprentices [2]"
    )


def test_a_table_comes_with_its_first_row(engine):
    table = passage(1, "| Attack | Means |\n|---|---|\n| Jailbreak | clever prompts |\n| Flooding | many requests |")
    found = answer(engine, "What are the types of attack and their means?", [table])
    assert found.splitlines()[0] == "| Attack | Means |"
    assert found.endswith("| Flooding | many requests | [1]")


def test_sentences_come_in_the_order_of_the_passages_each_with_its_mark(engine):
    found = answer(engine, "What do we know of the Lyon office?")
    places = [STAFF.page_content.index(piece.split(" [")[0].strip()) for piece in found.split("]") if piece]
    assert len(places) > 1
    assert places == sorted(places)
    assert found.count("[2]") == len(places)


def test_a_sentence_that_stands_in_two_passages_is_quoted_once(engine):
    found = answer(engine, "When does the warranty of a pump end?", [TERMS, passage(4, TERMS.page_content)])
    assert found.count("two years") == 1


def test_a_second_attempt_changes(engine):
    question = "When does the warranty of a pump end?"
    drafts = [answer(engine, question)]
    while drafts[-1] != NOT_IN_PASSAGES:
        failed = tuple((draft, "not useful") for draft in drafts)
        drafts.append(answer(engine, question, attempt=Attempt(len(drafts) + 1, failed)))
    quoted = [piece for draft in drafts[:-1] for piece in draft.split("] ")]
    assert len(quoted) == len(set(quoted))
    assert len(drafts) < 12


def test_without_passages_it_cannot_answer(engine):
    assert answer(engine, "What is a marmot?", PASSAGES, Attempt(direct=True)) == NOT_IN_PASSAGES


def test_line_breaks_and_reference_numbers_of_a_paper_stay_out_of_a_quote(engine):
    paper = passage(1, "The Kestrel valve opens at a pressure of nine bar [12], as the factory in\nTurin has measured.")
    found = answer(engine, "At which pressure does the Kestrel valve open?", [paper])
    assert found == "The Kestrel valve opens at a pressure of nine bar, as the factory in Turin has measured. [1]"
    assert engine.grade("At which pressure does the Kestrel valve open?", [paper], found).support == "fully"


def test_an_endless_sentence_is_cut_around_the_words_of_the_question(engine):
    filler = ", ".join(f"item {number} is kept on the shelf in the hall" for number in range(10))
    found = answer(
        engine,
        "Where is the Kestrel valve kept?",
        [passage(1, f"{filler}, the Kestrel valve is kept in Turin, {filler}.")],
    )
    assert "the Kestrel valve is kept in Turin" in found
    assert len(found.split()) <= 61


@pytest.mark.parametrize(
    "junk",
    [
        "# Kestrel valve pressure",
        "Kestrel valve pressure",
        "Figure 4: Pressure of the Kestrel valve over time.",
        "[7] Kestrel et al. “The pressure of the Kestrel valve.” arXiv preprint arXiv:2101.00001 (2021).",
        "@article{kestrel, title = {The pressure of the Kestrel valve}, year = {2021}}",
        "if (kestrel.valve_pressure() >= max_pressure) { valve->close(); return pressure; }",
        "Pressure of the Kestrel valve ........ 12",
        "What is the pressure of the Kestrel valve?",
        "The pressure of the Kestrel valve is given by:",
        "The pressure of the Kestrel valve was measured in the laboratory by",
    ],
)
def test_what_nobody_would_read_aloud_is_not_quoted(engine, junk):
    documents = [passage(1, f"{junk}\n\nThe Kestrel valve opens at a pressure of nine bar.")]
    found = answer(engine, "What is the pressure of the Kestrel valve?", documents)
    assert found == "The Kestrel valve opens at a pressure of nine bar. [1]"
    assert answer(engine, "What is the pressure of the Kestrel valve?", [passage(1, junk)]) == NOT_IN_PASSAGES


def test_a_verdict_says_why_in_plain_words(engine):
    first, _, last = engine.relevance("When does the warranty of a scooter end?", PASSAGES)
    assert first.why.startswith("covers 2 of 3 words, similarity 0.")
    assert first.why.endswith("missing: 'scooter'")
    assert first.score > last.score
    assert last.label == "irrelevant"


def test_the_heading_counts_as_context(engine):
    plain = "It takes nine days when the parts are on stock, and a month when they are not."
    question = "How long does a repair of the Kestrel valve take?"
    without, titled = engine.relevance(
        question, [passage(1, plain), passage(2, plain, heading="Repair of the Kestrel valve")]
    )
    assert titled.score > without.score


@pytest.mark.parametrize(
    ("draft", "support", "sentences"),
    [
        ("The warranty of a pump ends two years after delivery. [1]", "fully", ("fully",)),
        ("The warranty of the pump ends 2 years after delivery. [1]", "fully", ("fully",)),
        ("The warranty of a pump ends five years after delivery. [1]", "no", ("no",)),
        ("The warranty of a pump does not end two years after delivery. [1]", "no", ("no",)),
        ("Repairs are made in Lyon by Paul Martin, and a repair takes about nine days. [1]", "no", ("no",)),
        ("The warranty of a pump ends two years after delivery [1]. Pumps can fly [1].", "partially", ("fully", "no")),
        ("The warranty ends two years after delivery to the farm. [1]", "partially", ("partially",)),
    ],
)
def test_support_is_judged_by_words_numbers_names_and_negation(engine, draft, support, sentences):
    grade = engine.grade("When does the warranty of a pump end?", PASSAGES, draft)
    assert (grade.support, grade.sentences) == (support, sentences)


def test_what_it_quotes_is_fully_supported_and_useful(engine):
    for question in ("When does the warranty of a pump end?", "What kinds of contract are there?", "What is a marmot?"):
        grade = engine.grade(question, PASSAGES, answer(engine, question))
        assert grade.support == "fully"
        assert grade.usefulness >= 4


def test_an_answer_to_another_question_is_not_useful(engine):
    grade = engine.grade("Who won the 2024 NBA finals?", PASSAGES, "The Nantes office keeps the books. [2]")
    assert grade.support == "fully"
    assert grade.usefulness <= 2


SHOP = passage(
    5,
    "The Kestrel valve came to the shops in 1983 with a brass handle. Kestrel-mini was made by the same Ardent people."
    "\n\nAnimal | Meals a day\nGoat | 4\nHen | 6",
    heading="Shop",
)


@pytest.mark.parametrize(
    ("question", "draft", "why"),
    [
        (
            "How much did the Kestrel valve cost in 1983?",
            "The Kestrel valve came to the shops in 1983 with a brass handle. [1]",
            "asks for a number",
        ),
        ("How many meals has a badger?", "Animal | Meals a day\nGoat | 4\nHen | 6 [1]", "'badger'"),
        ("What handle has the Osprey valve of 1983?", "The Kestrel valve came to the shops in 1983 with a brass "
         "handle. [1]", "'osprey'"),
        ("What handle had the Kestrel valve in 1985?", "The Kestrel valve came to the shops in 1983 with a brass "
         "handle. [1]", "'1985'"),
        (
            "Who drew the original plan of Kestrel?",
            "Kestrel-mini was made by the same Ardent people. [1]",
            "little of the question",
        ),
    ],
)  # fmt: skip
def test_a_quote_that_answers_another_question_is_shown_but_not_useful(engine, question, draft, why):
    grade = engine.grade(question, [SHOP], draft)
    assert grade.support == "fully"
    assert grade.usefulness <= 3
    assert why in grade.why


def test_a_name_in_the_heading_or_the_passage_is_not_missing(engine):
    shelf = passage(1, "It opens at a pressure of nine bar.", heading="Kestrel valve")
    grade = engine.grade(
        "At which pressure does the Kestrel valve open?", [shelf], "It opens at a pressure of nine bar. [1]"
    )
    assert grade.usefulness >= 4


def test_only_the_cited_passages_can_hold_what_the_quotes_lack(engine):
    shelf = passage(1, "The Kestrel valve opens at a pressure of nine bar.")
    other = passage(2, "The Osprey valve is out of stock.")
    asked = "At which pressure does the Osprey valve open?"
    grade = engine.grade(asked, [shelf, other], "The Kestrel valve opens at a pressure of nine bar. [1]")
    assert grade.usefulness <= 3
    assert "'osprey'" in grade.why


def test_the_kind_of_answer_goes_before_the_better_sounding_sentence(engine):
    page = passage(
        1,
        "Kestrel Valve Toolkit was created to be a flexible toolkit for building Web APIs. Forty shops sell it.\n\n"
        "Kestrel Valve Toolkit was created by Tom Marsh.",
    )
    assert answer(engine, "Who created Kestrel Valve Toolkit?", [page]) == (
        "Kestrel Valve Toolkit was created by Tom Marsh. [1]"
    )


def test_for_a_short_answer_the_best_sentence_comes_first(engine):
    page = passage(
        1,
        "The 8 mechanics of the Lyon office wait until the pumps are ready. In the Lyon office 12 pumps are repaired "
        "each week.",
    )
    assert answer(engine, "How many pumps are repaired in the Lyon office?", [page]).startswith("In the Lyon office 12")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did the office open?", "time"),
        ("Until when is the office open?", "time"),
        ("Who led the office when it opened?", "person"),
        ("What does the valve do when it is cold?", "definition"),
        ("What is the grand total of the bill?", "number"),
        ("What was the carbon intensity of the plant?", "number"),
    ],
)
def test_the_kind_that_a_question_asks_for(question, kind):
    assert answer_kind.kind_of(question) == kind


@pytest.mark.parametrize(
    ("kind", "quoted", "lacks"),
    [
        ("number", "Insured name Ada Year 2022 Claim # SF-1008", True),
        ("number", "Grand total 5,738", False),
        ("number", "The new engine used half as much coal.", False),
        ("person", "It was made for building Web APIs.", True),
        ("person", "It was made by Tom Marsh.", False),
        ("place", "Sweden rationed gasoline.", False),
        ("place", "it was kept in a small box", True),
        ("time", "Nobody knows it.", True),
        ("time", "It ends two years later.", False),
        ("time", "It opens after the first rain.", False),
        ("open", "Nobody knows the day.", False),
    ],
)
def test_quotes_that_lack_the_kind_asked_for(kind, quoted, lacks):
    assert answer_kind.lacks_kind(kind, "", quoted) is lacks


def test_a_rewrite_for_the_files_borrows_words_from_the_nearest_passages(engine):
    query = engine.rewrite("When does the warranty end?", ["When does the warranty end?"], "vectorstore").text
    assert query.startswith("warranty end ")
    near = {word for one in PASSAGES for word in words(one.page_content)}
    assert set(words(query)) - {"warranty", "end"} <= near


def test_a_rewrite_for_the_web_holds_only_words_of_the_question(engine):
    question = "Does the Acme pump's warranty cover worn seals, filters, hoses and valves bought in Ulm?"
    tried = [question]
    for _ in range(6):
        query = engine.rewrite(question, tried, "web").text
        assert set(words(query)) <= set(words(question))
        assert len(query.split()) <= 6
        tried.append(query)


@pytest.mark.parametrize(
    ("nearest", "allowed", "source"),
    [
        (0.7, ("vectorstore", "web_search", "direct"), "vectorstore"),
        (0.1, ("vectorstore", "web_search", "direct"), "web_search"),
        (0.1, ("vectorstore", "direct"), "vectorstore"),
        (None, ("vectorstore", "web_search"), "web_search"),
        (None, ("vectorstore",), "vectorstore"),
    ],
)
def test_without_passages_it_routes_by_the_nearest_cosine_and_never_direct(engine, nearest, allowed, source):
    route = engine.route("What is a marmot?", Catalog(nearest=nearest, allowed=allowed))
    assert route.source == source
    assert route.why


ANYWHERE = ("vectorstore", "web_search", "direct")


@pytest.mark.parametrize(
    ("question", "score", "source"),
    [
        ("When does the warranty of the pump end?", 0.3, "vectorstore"),  # its words are there
        ("How long is the guarantee for the machine?", 0.95, "vectorstore"),  # its meaning is
        ("Who won the cup final in Lisbon?", 0.35, "web_search"),
        ("What does a pump cost today?", 0.35, "web_search"),
        ("When does the warranty of the pump end this year?", 0.6, "vectorstore"),
        ("Hello, how are you?", 0.4, "vectorstore"),
        ("Tell me a joke.", 0.1, "vectorstore"),
    ],
)
def test_it_routes_by_words_similarity_names_and_the_present(engine, question, score, source):
    near = (passage(1, "The warranty of the pump ends after five years.", score=score),)
    route = engine.route(question, Catalog(1, 1, passages=near, nearest=score, allowed=ANYWHERE))
    assert route.source == source, route.why
    assert route.small_talk is (score in (0.4, 0.1))


def test_what_a_person_says_of_the_index_counts_when_it_routes(engine):
    near = (passage(1, "The warranty of the pump ends after five years.", score=0.1),)
    known = Catalog(1, 1, passages=near, nearest=0.1, allowed=ANYWHERE)
    question = "Which sails fit an old wooden boat?"
    assert engine.route(question, known).source == "web_search"
    told = replace(known, about="Manuals of old wooden boats, their sails and engines.")
    assert engine.route(question, told).source == "vectorstore"


@pytest.mark.parametrize(
    ("follow_up", "expected"),
    [
        ("And when did he die?", "And when did he die? (Nikola Tesla born)"),
        ("Why?", "Why? (Nikola Tesla born)"),
        ("Was it abroad?", "Was it abroad? (Nikola Tesla born)"),
        ("When did Edison finish his first lamp?", "When did Edison finish his first lamp?"),
        ("What is a marmot that lives in the Alps?", "What is a marmot that lives in the Alps?"),
        ("What is ReAct?", "What is ReAct?"),
        ("What is the rent?", "What is the rent?"),
        ("How long?", "How long? (Nikola Tesla born)"),
    ],
)
def test_a_follow_up_takes_the_words_of_the_last_question(engine, follow_up, expected):
    history = [Turn("What is a pump?", "A pump moves water."), Turn("Where was Nikola Tesla born?", "In Smiljan.")]
    assert engine.standalone(follow_up, history).text == expected


def test_a_chain_of_follow_ups_goes_back_to_the_question_that_stands_alone(engine):
    history = [Turn("Where was Nikola Tesla born?", "In Smiljan."), Turn("And when?", "In 1856.")]
    assert engine.standalone("Who was his mother?", history).text == "Who was his mother? (Nikola Tesla born)"


def test_verdicts_do_not_depend_on_what_was_read_before(embedder):
    fresh = ExtractiveEngine(embedder, SmallCorpus()).relevance("What is a marmot?", PASSAGES)
    used = ExtractiveEngine(embedder, SmallCorpus())
    used.relevance("When does the warranty of a pump end?", [STAFF, TERMS])
    assert [verdict.score for verdict in used.relevance("What is a marmot?", PASSAGES)] == pytest.approx(
        [verdict.score for verdict in fresh], abs=1e-3
    )


@pytest.mark.parametrize("said", ["Hello, how are you today?", "Hi how are you?", "Thank you!", "good morning"])
def test_small_talk_has_no_answer_in_any_file(said):
    assert questions.is_small_talk(said)


@pytest.mark.parametrize("asked", ["How are greetings encoded?", "Hello World: what does it print?", "high costs"])
def test_a_question_is_not_small_talk(asked):
    assert not questions.is_small_talk(asked)


def test_what_somebody_says_is_asked_of_the_texts_that_name_them():
    asked = "What does Ada Lovelace say about engines?"
    assert topic(asked, ["Notes | Author: Ada Lovelace"]) == "What about engines?"
    assert topic(asked, ["Notes | Author: Grace Hopper"]) == asked
    assert topic("What is an engine?", ["Ada Lovelace"]) == "What is an engine?"


def test_the_tasks_of_a_question_share_their_work_and_nothing_outlasts_it():
    embedder = HashingEmbedder()
    engine = ExtractiveEngine(embedder)
    question, documents = "What does the pump cost?", [passage(1, "The pump costs 100 euros."), passage(2)]

    def embedded(ask):
        before = embedder.embedded
        ask()
        return embedder.embedded - before

    with question_memory.scope(QuestionMemory()):
        first = embedded(lambda: engine.relevance(question, documents))
        assert embedded(lambda: engine.relevance(question, documents)) == 0
        assert embedded(lambda: answer(engine, question, documents)) == 0, "the same passages were read before"
        assert embedded(lambda: answer(engine, question, documents[:1])) == 1, "the question; the sentences are known"
    with question_memory.scope(QuestionMemory()):
        assert embedded(lambda: engine.relevance(question, documents)) == first

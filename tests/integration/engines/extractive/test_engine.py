"""The engine without a language model, on the real embedder and the real evaluator."""

import json
from collections import defaultdict
from dataclasses import replace
from typing import get_args

import pytest
from support import TESTS
from support.engine_contract import PASSAGES, TERMS, EngineContract
from support.fakes import FakeCorpus, ScriptedEvaluator, passage
from support.fakes_index import remembering_minilm
from support.shipped_evaluator import shipped_evaluator

from local_rag.config.settings import Settings
from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.events import Note
from local_rag.core.protocols import NOT_IN_PASSAGES, Attempt, Shape
from local_rag.core.verdicts import Source
from local_rag.engines.assessment import DOUBTFUL
from local_rag.engines.extractive.engine import ONE_LANGUAGE, ExtractiveEngine
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.routing import ask_router
from local_rag.index.index import Index
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.citations import check
from local_rag.text.translations import German
from local_rag.text.words import words
from local_rag.web.search import Off

pytestmark = pytest.mark.usefixtures("converted")


def made(evaluator=None, **thresholds):
    return ExtractiveEngine(remembering_minilm(), evaluator or shipped_evaluator(), **thresholds)


@pytest.fixture
def engine():
    """The engine within one question, so that nothing is read twice."""
    with cancel.scope(cancel.Cancel()):
        yield made()


def answer(engine, question, documents=PASSAGES, attempt=Attempt()):  # noqa: B008
    return "".join(piece.text for piece in engine.answer(question, documents, attempt))


class TestContract(EngineContract):
    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls):
        with cancel.scope(cancel.Cancel()):  # of the same question nothing is read twice
            yield made()


SHIP = passage(
    6,
    "The Heron left the harbour of Sorby in May 1884 with coal for Oslo. Captain Joan Marsh commanded her. Captain Ole "
    "Berg, who owned the mill of Sorby, stayed at home, because he had broken his leg. The Heron was built by the "
    "brothers Quill in Turin.",
)
TABLE = passage(7, "| Attack | Means |\n|---|---|\n| Jailbreak | clever prompts |\n| Flooding | many requests |")
PAPER = passage(8, "The Kestrel valve opens at a pressure of nine bar [12], as the factory in\nTurin has measured.")


@pytest.mark.parametrize(
    "question",
    ["Who won the 2024 NBA finals?", "What is the capital of Mongolia?", "Hello, how are you today?", "", "???"],
)
def test_it_refuses_what_the_passages_do_not_say(engine, question):
    assert answer(engine, question) == NOT_IN_PASSAGES
    assert {verdict.label for verdict in engine.relevance(question, PASSAGES)} == {"irrelevant"}
    assert engine.grade(question, PASSAGES, NOT_IN_PASSAGES).usefulness == 1


def test_an_answer_to_another_question_is_supported_and_not_useful(engine):
    right, other = "Captain Joan Marsh commanded her. [1]", "The Heron was built by the brothers Quill in Turin. [1]"
    graded = [engine.grade("Who commanded the Heron?", [SHIP], text) for text in (right, other)]
    assert [grade.support for grade in graded] == ["fully", "fully"]
    assert graded[0].score > graded[1].score and graded[1].usefulness < 4


def test_a_second_attempt_changes_until_it_refuses(engine):
    question, drafts = "What do we know of the Lyon office?", []
    while not drafts or drafts[-1] != NOT_IN_PASSAGES:
        failed = tuple((draft, "not useful") for draft in drafts)
        drafts.append(answer(engine, question, attempt=Attempt(len(drafts) + 1, failed)))
        assert len(drafts) < 12
    quoted = [piece for draft in drafts[:-1] for piece in draft.split("] ")]
    assert len(quoted) == len(set(quoted))


def test_a_question_is_read_in_the_words_of_documents_too(engine):
    minutes = [
        passage(1, "Present were Ada Quill (chair) and Bo Lind. Apologies: Cy Moss.\n\nThe fence is painted in June.")
    ]
    said = answer(engine, "Which trustees attended the May meeting?", minutes)
    assert said == "Present were Ada Quill (chair) and Bo Lind. [1]"


def test_without_passages_it_cannot_answer(engine):
    assert answer(engine, "What is a marmot?", PASSAGES, Attempt(direct=True)) == NOT_IN_PASSAGES


JUNK = [
    "# Kestrel valve pressure",
    "Kestrel valve pressure",
    "Figure 4: Pressure of the Kestrel valve over time.",
    "[7] Kestrel et al. “The pressure of the Kestrel valve.” arXiv preprint arXiv:2101.00001 (2021).",
    "if (kestrel.valve_pressure() >= max_pressure) { valve->close(); return pressure; }",
    "Pressure of the Kestrel valve ........ 12",
    "What is the pressure of the Kestrel valve?",
    "The pressure of the Kestrel valve is given by:",
    "The pressure of the Kestrel valve was measured in the laboratory by",
]


@pytest.mark.parametrize("junk", JUNK)
def test_what_nobody_would_read_aloud_is_not_quoted(engine, junk):
    documents = [passage(1, f"{junk}\n\nThe Kestrel valve opens at a pressure of nine bar.")]
    question = "What is the pressure of the Kestrel valve?"
    assert answer(engine, question, documents) == "The Kestrel valve opens at a pressure of nine bar. [1]"
    assert answer(engine, question, [passage(1, junk)]) == NOT_IN_PASSAGES


# --- documents --------------------------------------------------------------------------------------------------------

HEAD = """RFC: 12
Title: Fog signals
Author: Ada Quill <ada@harbour.test>,
        Bo Reed <bo@harbour.test>
Status: Final
Created: 05-Mar-2017

.. note:: replaces an older one

Abstract
========

This rule says which sounds a boat makes in fog. It holds for every boat with an engine."""
RFC = {"source": "/files/rfc-0012.rst", "title": "Fog signals", "named": "rfc 12"}
HORN_TEXT = "The horn sounds twice a minute while the fog lasts. A bell is rung at anchor."
FEES_TEXT = "A berth costs nine crowns. In fog the harbour master asks every boat for its name."
FEES = passage(3, FEES_TEXT, source="/files/fees.docx", title="Fees", author="Cy Moss", date="2023-03-31")
HANDBOOK = passage(
    4,
    "Handbuch\n\nVon Ruth Falk\n\nHunde sind im Büro erlaubt. Urlaub wird zwei Wochen vorher abgesprochen.",
    source="/files/handbuch.md",
    title="Handbuch",
    named="handbuch",
)
DOCUMENTS = [passage(1, HEAD, **RFC), passage(2, HORN_TEXT, heading="Signals", start=900, **RFC), FEES, HANDBOOK]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote RFC 12?", "Author: Ada Quill <ada@harbour.test>, Bo Reed <bo@harbour.test> [1]"),
        ("When was RFC 12 created?", "Created: 05-Mar-2017 [1]"),
        ("What is the title of RFC 12?", "Title: Fog signals [1]"),
        ("What is the status of RFC 12?", "Status: Final [1]"),
        ("Who wrote the fees?", "fees.docx names Cy Moss as its author. [3]"),
        ("Wer hat fees geschrieben?", "fees.docx names Cy Moss as its author. [3]"),
        ("When were the fees written?", "fees.docx bears the date 2023-03-31. [3]"),
        ("Wer hat das Handbuch geschrieben?", "Von Ruth Falk [4]"),
    ],
)  # fmt: skip
def test_a_document_says_it_of_itself_in_any_language(engine, question, expected):
    given = answer(engine, question, DOCUMENTS).strip()
    assert given == expected
    checked = check(given, DOCUMENTS)
    assert checked.status == "grounded"
    grade = engine.grade(question, DOCUMENTS, given)
    assert (grade.support, grade.usefulness) == ("fully", 5)
    cited = {citation.number for citation in checked.citations}
    assert all(engine.relevance(question, DOCUMENTS)[number - 1].label == "relevant" for number in cited)


def test_what_a_document_says_of_something_is_quoted_from_it(engine):
    given = answer(engine, "What does RFC 12 say about the horn?", DOCUMENTS)
    assert given.startswith("The horn sounds twice a minute while the fog lasts. [2]") and "[3]" not in given


def test_the_sentences_of_the_program_are_in_the_language_of_the_answer(engine):
    attempt = Attempt(shape=Shape(language="German", refusal=German.refusal))
    given = answer(engine, "Wer hat fees geschrieben?", DOCUMENTS, attempt)
    assert given == "fees.docx nennt Cy Moss als Verfasser. [3]"
    assert check(given, DOCUMENTS).status == "grounded"


def test_a_document_does_not_say_what_was_not_asked(engine):
    bare = FEES.model_copy(update={"metadata": FEES.metadata | {"author": "", "date": ""}})
    updated = "When was RFC 12 last updated?"
    assert engine.grade(updated, DOCUMENTS, answer(engine, updated, DOCUMENTS)).usefulness < DOUBTFUL
    assert "Cy Moss" not in answer(engine, "Who wrote the fees?", [bare])
    assert answer(engine, "Who wrote Tides and Piers?", DOCUMENTS) == NOT_IN_PASSAGES
    failed = Attempt(2, (("Status: Final [1]", "no"),))
    assert answer(engine, "What is the status of RFC 12?", DOCUMENTS, failed) != "Status: Final [1]"


@pytest.mark.parametrize(
    ("sentence", "verified"),
    [
        ("fees.docx names Cy Moss as its author. [1]", True),
        ("Fees was written by Cy Moss. [1]", True),
        ("fees.docx names Ada Quill as its author. [1]", False),
        ("fees.docx does not name Cy Moss as its author. [1]", False),
        ("fees.docx bears the date 2023-04-30. [1]", False),
    ],
)
def test_a_property_carries_no_more_than_it_says(sentence, verified):
    (citation,) = check(sentence, [FEES]).citations
    assert citation.verified is verified and (citation.located == "property") is verified


# --- in graphs --------------------------------------------------------------------------------------------------------


def asked(question, engine=None, graph="plain", documents=(SHIP,)):
    """The answer and the notes that a person gets."""
    engine = engine or made()
    with Rag(
        Settings.load(graph=graph), FakeCorpus(list(documents)), Choice(engine, evaluator=shipped_evaluator())
    ) as rag:
        events = list(rag.stream(question, record=False))
    return events[-1].answer, [event.text for event in events if isinstance(event, Note)]


@pytest.mark.parametrize(
    ("graph", "foreign"),
    [
        ("plain", "Wer hat das Schiff befehligt?"),
        ("self-rag", "Wer hat das Schiff befehligt?"),
        ("crag", "Qui a commandé le navire de Sorby ?"),
        ("adaptive", "Qui a commandé le navire de Sorby ?"),
    ],
)
def test_an_answer_names_its_answering_words_and_a_refusal_of_another_language_says_so(graph, foreign):
    answered, notes = asked("Who commanded the Heron?", graph=graph)
    assert answered.text == "Captain Joan Marsh commanded her. [1]" and not notes
    (highlight,) = answered.highlights
    assert answered.text[highlight.start : highlight.end] == answered.short
    assert "Joan Marsh" in answered.short
    answered, notes = asked(foreign, graph=graph)
    assert (answered.status, notes) == ("abstained", [ONE_LANGUAGE.format(language="English")])
    assert [citation.quote for citation in answered.nearest]


def test_an_evaluator_of_another_language_reads_that_one():
    german = made(ScriptedEvaluator({"Joan Marsh": 0.9}, language="de"))
    assert answer(german, "Wer hat das Schiff befehligt?", [SHIP]) == "Captain Joan Marsh commanded her. [1]"
    assert answer(german, "Who commanded the ship?", [SHIP]) == NOT_IN_PASSAGES


def test_an_evaluator_that_fails_ends_the_question_with_its_error():
    with pytest.raises(EngineError, match="no model"):
        asked("Who commanded the Heron?", made(ScriptedEvaluator(error=EngineError("no model"))))


def test_the_fingerprint_follows_the_evaluator():
    others = (ScriptedEvaluator(), ScriptedEvaluator(fingerprint="scripted reader 2"))
    assert len({made(evaluator).fingerprint for evaluator in others}) == 2


# --- where to look ----------------------------------------------------------------------------------------------------

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
        ("Where is my home?", 0.1, "web_search"),
    ],
)
def test_it_routes_by_words_similarity_names_and_the_present(engine, question, score, source):
    near = (passage(1, "The warranty of the pump ends after five years.", score=score),)
    catalog = Catalog(1, 1, passages=near, nearest=score, allowed=ANYWHERE)
    route = engine.route(question, catalog)
    assert (route.source, route.small_talk) == (source, score == 0.4), route.why
    only = engine.route(question, replace(catalog, allowed=("vectorstore",)))
    assert only.source == "vectorstore"
    assert engine.route(question, Catalog(allowed=ANYWHERE)).source == "vectorstore" if score == 0.4 else "web_search"


def test_what_a_person_says_of_the_index_counts_when_it_routes(engine):
    near = (passage(1, "The warranty of the pump ends after five years.", score=0.1),)
    known = Catalog(1, 1, passages=near, nearest=0.1, allowed=ANYWHERE)
    question = "Which sails fit an old wooden boat?"
    assert engine.route(question, known).source == "web_search"
    told = replace(known, about="Manuals of old wooden boats, their sails and engines.")
    assert engine.route(question, told).source == "vectorstore"


@pytest.mark.slow
def test_most_questions_go_where_their_answer_is(tmp_path, engine):
    own = TESTS / "data" / "routing"
    sources = {"files": {"vectorstore"}, "current": {"web_search"}, "chat": {"vectorstore", "direct"}}
    right = defaultdict(list)
    with Index.open(tmp_path / "index", remembering_minilm(), create=True) as index:
        index.sync([own / "documents"])
        deps = Deps(index, ExtractiveEngine(index.embedder, shipped_evaluator(), index), Off())
        for question in map(json.loads, (own / "questions.jsonl").read_text(encoding="utf-8").splitlines()):
            route = ask_router(question["question"], deps, get_args(Source))
            right[question["class"]].append(route.source in sources[question["class"]])
    assert {kind: len(routes) for kind, routes in right.items()} == dict.fromkeys(sources, 30)
    assert all(sum(routes) >= 27 for routes in right.values()), right


# --- several steps ----------------------------------------------------------------------------------------------------

BRIDGE = "Where was the architect born who designed the tower of the town hall?"
TOWER = "The tower of the town hall was designed by the architect Edda Falk."
FIRST, SECOND = f"{TOWER} It was finished in 1911.", "Edda Falk was born in Skagen and died in 1940. She loved boats."


def test_the_router_says_multi_only_where_it_is_on_offer(engine):
    near = Catalog(1, 1, passages=(passage(1, FIRST, score=0.6),), nearest=0.6)
    assert engine.route(BRIDGE, near).complexity == "single"
    assert engine.route(BRIDGE, replace(near, multi=True)).complexity == "multi"


def test_each_step_is_a_new_sentence_and_the_next_query_asks_for_what_it_names(engine):
    first = engine.reason(BRIDGE, [passage(1, FIRST)], [])
    assert (first.text, first.query, first.done) == (TOWER, "Edda Falk born", False)
    documents, thoughts = [passage(1, FIRST), passage(2, SECOND)], []
    while thought := engine.reason(BRIDGE, documents, thoughts).text:
        thoughts.append(thought)
        assert len(thoughts) < 6
    assert len(thoughts) == len(set(thoughts)) == 4
    assert engine.reason(BRIDGE, documents, thoughts[:1]).done
    assert engine.reason(BRIDGE, [], []).done


@pytest.mark.parametrize(
    ("written", "needed", "query"),
    [
        (TOWER, "yes", "Edda Falk born"),
        ("The tower of the town hall was designed by an architect.", "continue", ""),
        (f"{TOWER} Edda Falk was born in Skagen and died in 1940.", "no", ""),
        ("", "yes", ""),
    ],
)
def test_what_an_answer_needs_follows_from_the_words_that_nothing_covers(engine, written, needed, query):
    need = engine.needs_retrieval(BRIDGE, Catalog(), [passage(1, FIRST)], written)
    assert (need.retrieve, need.query) == (needed, query) and need.why


@pytest.mark.parametrize(
    ("text", "part"), [(SECOND, "Edda Falk was born in Skagen and died in 1940. [1]"), ("The harbour has a crane.", "")]
)
def test_the_next_part_is_quoted_for_what_is_not_covered_yet(engine, text, part):
    assert answer(engine, BRIDGE, [passage(2, text)], Attempt(written=TOWER)) == (part or NOT_IN_PASSAGES)


def test_a_rewrite_has_the_words_of_the_question_for_the_web_at_most_six(engine):
    question = "Does the Acme pump's warranty cover worn seals, filters, hoses and valves bought in Ulm?"
    for target, most, count in (("web", 6, 1), ("vectorstore", 99, 11)):
        tried = [question]
        while query := engine.rewrite(question, tried, target).text:
            assert set(words(query)) <= set(words(question)) and len(query.split()) <= most
            tried.append(query)
        assert len(tried) == 1 + count
        assert engine.rewrite("What is the rent?", ["What is the rent?"], target).text == "", "it has no further word"


BOOKS = passage(
    9,
    "## Read in 2024\n\n- The Bee Sting, Paul Murray\n- Orbital, Samantha Harvey\n  given up\n"
    "- Small Things, Claire Keegan\n\n## To buy\n\n- bread",
)
LETTER = passage(10, "Lower Aldby, 4 October 1998\n\nWe were married on 12 April 1959, with eleven guests and a goose.")


def test_a_list_has_the_style_and_the_number_of_items_that_the_user_sets(engine):
    def shaped(**shape):
        return answer(engine, "Which books did I read in 2024?", [BOOKS], Attempt(shape=Shape(**shape))).splitlines()

    assert [line[:8] for line in shaped(style="steps")] == ["1. The B", "2. Orbit", "3. Small"]
    assert [line[:8] for line in shaped(style="list")] == ["- The Be", "- Orbita", "- Small "]
    assert len(shaped(sentences=2)) == 2


def test_a_letter_is_of_whom_it_is_signed_by_and_not_of_its_place_and_date(engine):
    assert "Lower Aldby" not in answer(engine, "Who wrote the letter of 4 October 1998?", [LETTER])
    signed = passage(
        1, f"{LETTER.page_content}\n\nYour loving grandmother,\nRosalind", source="letter.md", title="letter.md"
    )
    assert answer(engine, "Who wrote the letter of 4 October 1998?", [signed]) == "Rosalind [1]"


ELM = passage(
    1, "# Lease\n\nDate: 22 March 2021\n**Landlord:** Margit Osei, 3 Chapel Rise", source="leases/elm-street.md"
)
ELM_NOTICE = passage(
    2, "Either party may end the lease by two months' notice in writing.", source="leases/elm-street.md"
)
MILL_NOTICE = passage(3, "The tenant may leave with three months' written notice.", source="leases/mill-lane.md")
SPENT = passage(
    4,
    "date | payee | amount_gbp\n2024-05-03 | payee: Hobb's Garage | amount_gbp: 342.00\n"
    "2024-07-19 | payee: Adria Rail | amount_gbp: 154.80",
    source="expenses-2024.csv",
)
GARDEN = passage(
    5, "- 7 April: planted 60 onion sets.\n- 18 August: harvested 17 kg of potatoes.", title="Garden diary 2024"
)
MARKED = passage(
    9,
    "[![Tests](https://ci/badge.svg)](https://ci) *Marks* is a library.\n\nThe `cache_hash` option keeps the "
    "{func}`hash` of an **object**, see [the manual](https://docs/x_(y)) ([#988](https://bugs/988)).",
)
MEMORY = passage(
    6,
    "Types of memory\n\nThere are several types of memory.\n\n- Sensory memory: it lasts for a few seconds.\n\n"
    "- Short-term memory: it holds some seven things.\n\n- Long-term memory: there are two kinds of it.\n"
    "  - explicit memory\n  - implicit memory",
    heading="Types of memory",
)
DESCALING = passage(
    8,
    "Descaling\n\nThe machine asks for descaling when the lamp blinks.\n\n1. Empty the tray.\n"
    "2. Pour a bottle of descaler into the tank.\n3. Hold the button for three seconds.",
    heading="Coffee machine > Descaling",
)
ATTACKS = passage(
    7,
    "We present three approaches here.\n\nAttack | Type\nToken manipulation | Type: black-box\n"
    "Gradient attack | Type: white-box\nJailbreak | Type: black-box",
    heading="Types of adversarial attacks",
)


@pytest.mark.parametrize(
    ("question", "documents", "expected"),
    [
        ("Who makes the repairs?", PASSAGES,
         "Repairs are made in Lyon by Marie Dupont, and a repair takes about nine days. [1]"),
        ("When does the warranty of a pump end?", [TERMS, passage(4, TERMS.page_content, heading="Warranty")],
         "The warranty of a pump ends two years after delivery. [1]"),
        ("How many people work in Lyon?", PASSAGES,
         "Forty people work in the Lyon office, most of them mechanics. [2]"),
        ("What is a marmot?", PASSAGES, "A marmot is a large ground squirrel that lives in the mountains. [3]"),
        ("how often do tomatoes need water", PASSAGES, "Tomatoes want sun, and they want water every second day. [3]"),
        ("What kinds of contract are there?", PASSAGES, "There are three kinds of contract:\n- permanent contracts for "
         "mechanics [2]\n- seasonal contracts for drivers [2]\n- training contracts for apprentices [2]"),
        ("What are the types of attack and their means?", [TABLE], "| Attack | Means |\n|---|---|\n| Jailbreak | "
         "clever prompts |\n| Flooding | many requests | [1]"),
        ("At which pressure does the Kestrel valve open?", [PAPER],
         "The Kestrel valve opens at a pressure of nine bar, as the factory in Turin has measured. [1]"),
        ("Who built the Heron?", [TABLE, SHIP], "The Heron was built by the brothers Quill in Turin. [2]"),
        ("Who is the landlord of the flat in Elm Street?", [ELM], "Landlord: Margit Osei, 3 Chapel Rise [1]"),
        ("Which option keeps the hash of an object?", [MARKED],
         "The cache_hash option keeps the hash of an object, see the manual (#988). [1]"),
        ("How many kilos of potatoes were harvested in 2024?", [GARDEN], "18 August: harvested 17 kg of potatoes. [1]"),
        ("What are the types of memory?", [MEMORY],
         "- Sensory memory: it lasts for a few seconds. [1]\n- Short-term memory: it holds some seven things. [1]\n"
         "- Long-term memory: there are two kinds of it. [1]"),
        ("What are the three types of adversarial attacks?", [ATTACKS],
         "- Token manipulation [1]\n- Gradient attack [1]\n- Jailbreak [1]"),
        ("Compare the notice periods of the flats in Elm Street and Mill Lane.", [ELM_NOTICE, MILL_NOTICE],
         "Elm Street:\n- Either party may end the lease by two months' notice in writing. [1]\n\n"
         "Mill Lane:\n- The tenant may leave with three months' written notice. [2]"),
        ("How do I descale the coffee machine?", [DESCALING], "1. Empty the tray. [1]\n"
         "2. Pour a bottle of descaler into the tank. [1]\n3. Hold the button for three seconds. [1]"),
        ("Which books did I read in 2024?", [BOOKS], "- The Bee Sting, Paul Murray [1]\n"
         "- Orbital, Samantha Harvey given up [1]\n- Small Things, Claire Keegan [1]"),
    ],
)  # fmt: skip
def test_it_quotes_what_answers_and_finds_it_supported_and_useful(engine, question, documents, expected):
    assert answer(engine, question, documents) == expected
    assert check(expected, documents).status == "grounded"
    grade = engine.grade(question, documents, expected)
    assert grade.support == "fully" and grade.usefulness >= 3
    assert any(verdict.label == "relevant" for verdict in engine.relevance(question, documents))


def test_a_row_of_a_file_is_quoted_with_the_names_of_its_columns(engine):
    row = "2024-07-19 | payee: Adria Rail | amount_gbp: 154.80 [1]"
    question = "How much was paid to Adria Rail in July 2024?"
    assert answer(engine, question, [SPENT]) == row
    assert check(row, [SPENT]).status == "grounded" and engine.grade(question, [SPENT], row).support == "fully"


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("Who is the landlord of the boathouse in Mill Lane?", ELM),
        ("How much was paid to Adria Rail in May 2024?", SPENT),
        ("What are the four types of adversarial attacks?", ATTACKS),
    ],
)
def test_a_line_about_something_else_and_a_list_that_lacks_items_are_no_whole_answer(engine, question, document):
    text = answer(engine, question, [document])
    assert text == NOT_IN_PASSAGES or engine.grade(question, [document], text).usefulness <= 3


def test_what_one_file_says_is_no_answer_about_what_another_is_named_after(engine):
    lease = passage(1, "The tenant pays a deposit of 2,300 euros before moving in.", source="leases/elm-street.md")
    unit = passage(
        2, "Unit C-114, first floor, 6 square metres. Customer: Daniel Reyes.", source="leases/storage-unit.txt"
    )
    of_lease, _ = engine.relevance("How much is the deposit for the storage unit?", [lease, unit])
    assert of_lease.label == "irrelevant" and "'storage' or 'unit'" in of_lease.why
    assert engine.relevance("How much is the deposit for the flat in Elm Street?", [lease, unit])[0].label == "relevant"


def test_a_summary_goes_on_behind_the_sentence_that_answers_best(engine):
    assert len(check(answer(engine, "Summarise the voyage of the Heron.", [SHIP]), [SHIP]).citations) > 2


def test_a_question_for_a_name_that_no_file_holds_is_refused_with_the_name():
    boathouse = passage(11, "The lease of the boathouse ends on 3 May 2031.")

    class Corpus(FakeCorpus):
        def document_frequency(self, terms):
            return {term: int(term in words(boathouse.page_content)) for term in terms}

    engine = ExtractiveEngine(remembering_minilm(), shipped_evaluator(), Corpus([boathouse]))
    (verdict,) = engine.relevance("When does the last ferry to Hollowmere leave?", [boathouse])
    assert verdict.label == "irrelevant" and verdict.why == "'Hollowmere' stands in none of your files"
    assert verdict.usage.notes == (verdict.why,)
    (verdict,) = engine.relevance("When does the lease of the boathouse end?", [boathouse])
    assert verdict.label == "relevant" and not verdict.usage.notes
    (verdict,) = engine.relevance("Is Hollowmere's lease longer than that of the boathouse?", [boathouse])
    assert verdict.why == "'Hollowmere' stands in none of your files"
    (verdict,) = engine.relevance("Wann endet der Mietvertrag des Bootshauses?", [boathouse])
    assert not verdict.why and verdict.usage.notes == (ONE_LANGUAGE.format(language="English"),)
    boathouse.metadata["origin"] = "web"
    (verdict,) = engine.relevance("Does the lease of the boathouse at Hollowmere end on 3 May 2031?", [boathouse])
    assert "none of your files" not in verdict.why


@pytest.mark.parametrize(
    ("question", "documents", "text"),
    [
        ("What kinds of contract are there?", PASSAGES, "Two years after delivery the warranty ends. [1]"),
        ("What is the difference between Joan Marsh and Ole Berg?", [SHIP], "Captain Joan Marsh commanded her. The "
         "Heron left the harbour of Sorby in May 1884 with coal for Oslo. [1]"),
    ],
)  # fmt: skip
def test_a_part_of_what_was_asked_for_is_doubtful(engine, question, documents, text):
    assert engine.grade(question, documents, text).usefulness <= 3


LEASE = passage(
    20,
    "The lease of the boathouse begins on 1 June 2021 and ends on 31 May 2026. The rent of the boathouse is 410 euros "
    "per month.",
    source="leases/boathouse.md",
    title="Lease of the boathouse",
)
MINUTES = passage(
    21,
    "Ada Quill said that the new fee is too high for pensioners. Tom Marsh reported that the pump of the well has "
    "failed twice. The annual fee rises from 45 euros to 52 euros.",
    source="minutes.md",
    title="Minutes of the garden club",
    heading="The well",
)
PARENTS = passage(
    22,
    "Class 4a meets at the main gate at 8:15. Class 4a visits the museum.",
    source="notice.md",
    title="Notice to the parents of classes 4a and 4b",
)
FAMILY = passage(
    23,
    "The mill belongs to Ruth Ekdal. Her husband Johan was born on 2 May 1951.",
    source="family.md",
    title="Ruth Ekdal and her family",
)


def test_each_part_of_a_question_is_answered_or_named_as_missing(engine):
    question = "When does the lease of the boathouse end, and how much is the rent?"
    text = answer(engine, question, [LEASE])
    assert "31 May 2026. [1]" in text and "410 euros per month. [1]" in text and "could not tell" not in text
    assert engine.grade(question, [LEASE], text).usefulness == 5
    question = "When does the lease of the boathouse end and who is the caretaker?"
    text = answer(engine, question, [LEASE])
    assert "31 May 2026. [1]" in text and text.endswith("\n\nI could not tell from your files: who is the caretaker.")
    grade = engine.grade(question, [LEASE], text)
    assert grade.support == "fully" and grade.usefulness == 3 and "who is the caretaker" in grade.why
    assert answer(engine, "Who is the caretaker and what is a marmot called?", [TABLE]) == NOT_IN_PASSAGES


def test_named_files_are_compared_in_what_is_asked(engine):
    each = [
        passage(number, f"The tenant pays a deposit of {paid} euros.", source=f"lease_elm_{version}.md", title="Lease")
        for number, (version, paid) in enumerate([("draft", "2,000"), ("signed", "1,780")], 1)
    ]
    question = "Compare lease_elm_draft.md and lease_elm_signed.md: how much is the deposit?"
    text = answer(engine, question, each)
    assert "2,000 euros. [1]" in text and "1,780 euros. [2]" in text and "signed.md:" in text
    assert engine.grade(question, each, text).usefulness == 5


def test_what_a_person_said_stands_in_their_own_sentence(engine):
    assert answer(engine, "What did Ada Quill say about the fee?", [MINUTES]) == (
        "Ada Quill said that the new fee is too high for pensioners. [1]"
    )
    text = answer(engine, "What did Tom Marsh say about the fee?", [MINUTES])
    assert text == NOT_IN_PASSAGES or engine.grade("What did Tom Marsh say about the fee?", [MINUTES], text).score < 0.5


@pytest.mark.parametrize(
    ("question", "document"),
    [("When does class 4b meet at the main gate?", PARENTS), ("When was Ruth Ekdal born?", FAMILY)],
)
def test_a_sentence_about_something_beside_it_is_no_answer_though_the_header_names_it(engine, question, document):
    text = answer(engine, question, [document])
    assert text == NOT_IN_PASSAGES
    beside = document.page_content
    assert (engine.grade(question, [document], f"{beside} [1]").score or 0) < 0.5


def test_a_list_in_a_sentence_is_whole_and_a_part_of_a_list_says_so(engine):
    board = passage(
        24,
        "The board consists of the president, the treasurer and the secretary. It meets on Mondays.",
        source="rules.md",
        title="Rules of the rowing club",
        heading="The board",
    )
    question = "Who belongs to the board of the rowing club?"
    text = answer(engine, question, [board])
    assert text == "The board consists of the president, the treasurer and the secretary. [1]"
    assert engine.grade(question, [board], text).usefulness == 5
    stages = passage(25, "The five stages of the tour are:\n- Sorby\n- Oslo\n- Turin", source="tour.md")
    text = answer(engine, "What are the stages of the tour?", [stages])
    grade = engine.grade("What are the stages of the tour?", [stages], text)
    assert grade.usefulness == 3 and "3 of 5 shown" in grade.why
    pieces = list(engine.answer("What are the stages of the tour?", [stages], Attempt(shape=Shape(sentences=2))))
    assert pieces[-1].usage.notes == ("2 of 3 shown",)

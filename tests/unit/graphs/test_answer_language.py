"""The language of an answer: refusals, reasons and what reads them, by the question or by a setting."""

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine
from support.graph_runs import final_state

from local_rag.config.settings import Settings
from local_rag.config.values import AnswerShape, Limits
from local_rag.core.cancel import Cancel
from local_rag.core.events import Done, Note
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.graphs import compiled
from local_rag.graphs.deps import TUTORIAL, Deps
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.answer_language import ran_out_of_time
from local_rag.text.translations import French, German

DE, EN = "Was kostet der Plan?", "What does the plan cost?"


def ended(name, question, engine, *, language="question", **deps):
    deps = Deps(FakeCorpus(), engine, FakeWeb(enabled=False), answer=AnswerShape(language=language), **deps)
    return final_state(compiled(name, TUTORIAL), deps, question)


@pytest.mark.parametrize(
    ("graph", "draft"),
    [
        ("plain", NOT_IN_PASSAGES),
        ("self-rag", German.refusal),
        ("crag", "Die Passagen enthalten die Antwort nicht. [1]"),
        ("adaptive", French.refusal),
    ],
)
@pytest.mark.parametrize(("question", "language", "refusal"), [
    (DE, "question", German.refusal), (EN, "question", NOT_IN_PASSAGES), (EN, "de", German.refusal),
    (DE, "English", NOT_IN_PASSAGES), (DE, "French", French.refusal), (DE, "Italian", NOT_IN_PASSAGES),
])  # fmt: skip
def test_a_refusal_in_any_language_abstains_in_the_one_of_the_answer(graph, draft, question, language, refusal):
    state = ended(graph, question, ScriptedEngine(drafts=[draft]), language=language, limits=Limits(rewrites=0))
    assert (state["answer"].status, state["generation"]) == ("abstained", refusal)
    assert ("gefundenen" in state["answer"].reason) is (refusal == German.refusal)


@pytest.mark.parametrize(
    ("engine", "graph", "limits", "reason"),
    [
        ({"relevant": ["n"]}, "self-rag", {"rewrites": 0}, "keine der 4 gefundenen Textstellen beantwortet die Frage"),
        ({"grades": [("no", 5)]}, "self-rag", {"generations": 1}, "durch die Textstellen nicht belegt"),
        ({"grades": [("fully", 3)]}, "crag", {}, "belegt, aber vielleicht nicht das, wonach gefragt ist"),
        ({"grades": [("unparsed", 0)]}, "crag", {}, "eine Prüfung war nicht möglich: es kam kein brauchbares Urteil"),
        ({"drafts": ["Er kostet 100 Euro."]}, "plain", {}, "1 Zitat ließ sich nicht bestätigen"),
    ],
)
def test_a_reason_is_in_the_language_of_the_question(engine, graph, limits, reason):
    assert ended(graph, DE, ScriptedEngine(**engine), limits=Limits(**limits))["answer"].reason == reason


def test_the_next_attempt_is_told_in_english_what_was_wrong():
    engine = ScriptedEngine(grades=[("no", 5), ("fully", 5)])
    ended("self-rag", DE, engine)
    attempts = [asked[2] for asked in engine.asked if asked[0] == "answer"]
    assert [why for _, why in attempts[-1].failed] == ["not supported by the passages"]
    assert (attempts[0].shape.language, attempts[0].shape.refusal) == ("German", German.refusal)


def test_a_clock_that_ran_out_is_known_in_german():
    cancel = Cancel(0.000001)
    state = ended("self-rag", DE, ScriptedEngine(), cancel=cancel)
    assert state["answer"].reason.startswith("Zeit abgelaufen nach") and ran_out_of_time(state["answer"].reason)


def events(question, **settings):
    rag = Rag(Settings.load(graph="plain", **settings), FakeCorpus(), Choice(ScriptedEngine(drafts=[NOT_IN_PASSAGES])))
    return list(rag.stream(question, record=False))


def test_an_answer_says_which_language_its_own_words_are_in():
    answer = events(DE)[-1].answer
    assert (answer.language, answer.text, answer.nearest[0].why) == ("de", German.refusal, "Ähnlichkeit 0.50")
    assert events(EN)[-1].answer.language == "en"


def test_a_language_without_texts_is_said_once():
    kept = events(DE, answer__language="Italian")
    assert [event.text for event in kept if isinstance(event, Note)] == [
        "what local-rag itself says in an answer is in English: it has English, German, French and Spanish, not Italian"
    ]
    assert isinstance(kept[-1], Done) and kept[-1].answer.language == "en"

"""The graphs on an Ollama server that obeys a script: which calls are made, what they share, and what comes out."""

from dataclasses import replace

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEvaluator, passage
from support.fakes_index import HashingEmbedder
from support.ollama_engine import engine_on, grades
from support.ollama_server import no_done

from local_rag.config.settings import Settings
from local_rag.core.cancel import Cancel
from local_rag.core.documents import Catalog
from local_rag.core.events import Called, Note
from local_rag.core.protocols import NOT_IN_PASSAGES, Attempt
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.answer_texts import ENGLISH

QUESTION = "What does the plan cost?"
ANSWER = "Passage 1 says that the plan costs 100 euros. [1]"
WEB = "The web says that the plan costs 900 euros. [1]"
FULLY = '{"s": "fully"}'
ABOUT, PRESENT = "it is about something else", "it may answer: {!r}"
GOOD, UNSUPPORTED, USELESS = '{"s": "fully", "u": 5}', '{"s": "no", "u": 5}', '{"s": "fully", "u": 1}'


CALLED = {
    "retrieval_grader": "grade",
    "generator": "answer",
    "generator_part": "part",
    "hallucination_grader+answer_grader": "check",
    "hallucination_grader": "hallucination",
    "answer_grader": "answer_grade",
    "router": "route",
    "retrieval_decision": "need",
    "continuation": "next",
    "rewriter": "rewrite",
    "rewriter_web": "rewrite",
}


def calls_of(answer):
    """Which calls of the engine an answer took, in order."""
    return [CALLED.get(call.role, call.role) for call in answer.usage.log]


EACH = {"self_rag__retrieve": "each"}
BY_SCORES = {"crag__trigger": "thresholds"}
DRAFTS = {"self_rag__candidates": 2}


def ask(
    ollama,
    graph,
    question=QUESTION,
    *,
    web=False,
    direct=False,
    passages=8,
    k=4,
    method=None,
    corpus=None,
    read=None,
    **settings,
):
    """(answer, events): the question by a graph over the scripted server; `method` are settings of the graph.

    `read` is the script of an evaluator: texts with the probability that they are the answer.
    """
    corpus = corpus or FakeCorpus([passage(number) for number in range(1, passages + 1)])
    evaluator = ScriptedEvaluator(read) if read is not None else None
    with engine_on(ollama, evaluator=evaluator, **settings) as engine:
        rag = Rag(Settings.load(k=k, graph=graph, **({"limits__rewrites": 2} | (method or {}))), corpus, Choice(engine))
        rag.web = FakeWeb(enabled=web)
        if direct:
            plain = rag.context
            rag.context = lambda **given: replace(plain(**given), allow_direct=True, cancel=Cancel(60))
        events = list(rag.stream(question, record=False))
    return events[-1].answer, events


def evaluated(*numbers, **others):
    """The evaluator grades: these passages hold the answer, and texts with one of the other words by a probability."""
    read = {f"Passage {number} says": 0.9 for number in numbers} | others
    return {"grading": "evaluator", "read": read}


AUTO = {"grading": "auto", "assessor": ExtractiveEngine(HashingEmbedder(), ScriptedEvaluator({"100 euros": 0.99}))}
SIXTH = "Passage 6 says that the plan costs 600 euros."
CALLS = [
    # graph, options, replies, calls, status
    ("plain", {}, [ANSWER], "answer", "grounded"),
    ("self-rag", {}, [grades("nnnn"), "plan price", grades("ynnn"), "Passage 5 says that the plan costs 500 euros. [1]",
                      GOOD], "grade, rewrite, grade, answer, check", "grounded"),
    ("self-rag", {}, [grades("yyyy"), ANSWER, USELESS, "plan price", grades("yyyy"), ANSWER, GOOD],
     "grade, answer, check, rewrite, grade, answer, check", "grounded"),
    ("self-rag", {}, [grades("yyyy"), NOT_IN_PASSAGES, "plan price", grades("nnnn"), "fee of the plan"],
     "grade, answer, rewrite, grade, rewrite", "abstained"),
    ("self-rag", {}, ["Sure!", "All of them.", "plan price", grades("yyyy"), ANSWER, GOOD],
     "grade, grade, rewrite, grade, answer, check", "grounded"),
    ("self-rag", {}, [grades("yyyy"), ANSWER, "fine", "very fine", ANSWER, "fine", "very fine", ANSWER, "ok", "ok"],
     "grade, answer, check, check, answer, check, check, answer, check, check", "ungrounded"),
    ("self-rag", {}, [grades("yyyy"), no_done("euros euros"), ANSWER, GOOD],
     "grade, answer, answer, check", "grounded"),
    ("self-rag", {"grading": "each"}, [*['{"r": "yes"}'] * 4, "It is free. [1]", '{"s": "no"}', ANSWER, FULLY,
                                       '{"u": 5}'],
     "grade, grade, grade, grade, answer, hallucination, answer, hallucination, answer_grade", "grounded"),
    ("self-rag", {"method": EACH}, [grades("yyyy"), ANSWER, FULLY, '{"n": "yes"}', grades("nynn"), f"{SIXTH} [2]",
                                    FULLY, '{"n": "no"}', '{"u": 5}'],
     "grade, part, hallucination, next, grade, part, hallucination, next, answer_grade", "grounded"),
    ("crag", {}, [grades("nnnn")], "grade", "abstained"),
    ("crag", {"web": True}, [grades("nnnn"), "plan cost euros", grades("y"), WEB, GOOD],
     "grade, rewrite, grade, answer, check", "grounded"),
    ("crag", {}, [grades("yyyy"), ANSWER, UNSUPPORTED], "grade, answer, check", "ungrounded"),
    ("adaptive", {"web": True}, ['{"d": "internet"}', '{"d": "the web"}', grades("yyyy"), ANSWER, GOOD],
     "route, route, grade, answer, check", "grounded"),
    ("adaptive", {"web": True}, ['{"d": "web_search"}', grades("y"), WEB, GOOD],
     "route, grade, answer, check", "grounded"),
    ("adaptive", {"direct": True}, ['{"d": "direct"}', "Hello."], "route, direct", "direct"),
    ("self-rag", evaluated(), ["plan price", "fee of the plan", NOT_IN_PASSAGES],
     "rewrite, rewrite, answer", "abstained"),
    ("crag", evaluated(), [ANSWER, UNSUPPORTED], "answer, check", "abstained"),
    ("crag", evaluated(), [ANSWER, '{"s": "fully", "u": 3}'], "answer, check", "partial"),
    ("self-rag", evaluated(1, 2, 3, 4) | {"method": DRAFTS}, [ANSWER, ANSWER, GOOD, GOOD],
     "answer, answer, check, check", "grounded"),
    ("self-rag", evaluated(1, 2, 3, 4, 6) | {"method": EACH},
     [ANSWER, FULLY, '{"n": "yes"}', f"{SIXTH} [1]", FULLY, '{"n": "no"}', '{"u": 5}'],
     "part, hallucination, next, part, hallucination, next, answer_grade", "grounded"),
    ("crag", evaluated(web=0.9, plan=0.4) | {"web": True, "method": BY_SCORES}, ["plan cost euros", ANSWER, GOOD],
     "rewrite, answer, check", "grounded"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "options", "replies", "calls", "status"), CALLS, ids=lambda value: str(value)[:40])
def test_the_exact_sequence_of_calls(ollama, graph, options, replies, calls, status):
    ollama.script(*replies)
    ollama.always = lambda body: pytest.fail("a call too many")
    answer, events = ask(ollama, graph, **options)
    assert ", ".join(calls_of(answer)) == calls
    assert answer.status == status, answer
    assert answer.engine == "ollama/tiny"
    assert answer.usage.calls == len(ollama.chats)
    seen = [event.call for event in events if isinstance(event, Called)]
    assert tuple(seen) == answer.usage.log
    first = next(request.body for request in ollama.requests if request.path == "/api/chat")
    assert first["messages"] == [], "the model is loaded before it is asked"


def test_only_further_attempts_are_warm(ollama):
    ollama.script(grades("yyyy"), "It is free. [1]", UNSUPPORTED, ANSWER, GOOD)
    answer, _ = ask(ollama, "self-rag")
    assert ", ".join(calls_of(answer)) == "grade, answer, check, answer, check"
    assert [body["options"]["temperature"] for body in ollama.chats] == [0, 0, 0, 0.7, 0]
    assert len({body["options"]["seed"] for body in ollama.chats if body["options"]["temperature"] == 0}) == 1
    assert "- It is free. (rejected: not supported by the passages)" in ollama.chats[3]["messages"][-1]["content"]


def test_a_part_of_an_answer_is_told_what_stands_already(ollama):
    ollama.script(grades("yyyy"), ANSWER, FULLY, '{"n": "yes"}', grades("nynn"), NOT_IN_PASSAGES, '{"u": 5}')
    answer, _ = ask(ollama, "self-rag", method=EACH)
    called = zip(calls_of(answer), ollama.chats, strict=True)
    first, following = [body["messages"][-1]["content"] for call, body in called if call == "part"]
    stands = "This stands already; do not repeat it:\nPassage 1 says that the plan costs 100 euros."
    assert stands not in first and following.endswith(stands)
    assert "Passage 6 says" in following and "Passage 5 says" not in following.rpartition("Task:")[2]
    assert answer.text == ANSWER


def test_all_tasks_about_a_question_begin_with_the_same_passages(ollama, engine):
    """Also those that only some graphs ask: one of the two checks, a step of reasoning."""
    documents = [passage(number) for number in range(1, 5)]
    ollama.script(grades("yyyy"), ANSWER, '{"s": "fully"}', '{"u": 5}', GOOD,
                  '{"t": "It costs 100 euros.", "d": true}', NOT_IN_PASSAGES, '{"n": "no"}')  # fmt: skip
    engine.relevance(QUESTION, documents)
    list(engine.answer(QUESTION, documents, Attempt()))
    for check in ("support", "usefulness", "both"):
        engine.grade(QUESTION, documents, ANSWER, check=check)
    engine.reason(QUESTION, documents, ["The plan has a price."])
    list(engine.answer(QUESTION, documents, Attempt(written="The plan has a price.")))
    engine.needs_retrieval(QUESTION, Catalog(), documents, "The plan has a price.")
    openings = {ollama.render(body["messages"]).rpartition("\n\nTask:")[0] for body in ollama.chats}
    assert len(ollama.chats) == 8 and len(openings) == 1, "system message, question and every passage are read once"


@pytest.mark.parametrize("graph", ["adaptive", "self-rag"])
def test_what_the_index_is_about_and_what_comes_near_reach_the_model(ollama, graph):
    class Described(FakeCorpus):
        def catalog(self):
            return replace(super().catalog(), about="Plans and their prices.", topics=("Prices",))

    ollama.script('{"d": "vectorstore"}' if graph == "adaptive" else '{"n": "yes"}', grades("yyyy"), ANSWER, GOOD)
    corpus = Described([passage(n, title="Plan", heading="Costs") for n in range(1, 5)])
    ask(ollama, graph, corpus=corpus, web=True, direct=True, method={"self_rag__retrieve": "decide"})
    prompt = ollama.chats[0]["messages"][1]["content"]
    assert prompt.startswith("The person's own files: Plans and their prices.\n")
    assert "among them: Prices" in prompt and prompt.count("- Plan, Costs: similarity 0.50") == 4


def test_what_the_evaluator_rejects_is_never_read(ollama):
    ollama.script(
        "Passage 2 says that the plan costs 200 euros. [1] Passage 4 says 400. [2]", '{"s": "fully fully", "u": 5}'
    )
    answer, events = ask(ollama, "self-rag", **evaluated(2, 4))
    assert answer.status == "grounded"
    assert [citation.source for citation in answer.citations] == ["/notes/2.md", "/notes/4.md"]
    for body in ollama.chats:
        prompt = ollama.render(body["messages"])
        assert [number for number in range(1, 9) if f"Passage {number} says" in prompt] == [2, 4]
    graded = [(one.verdict, one.score, one.why) for one in answer.decisions if one.kind == "relevance"]
    read = [("relevant", 0.9, PRESENT.format(f"Passage {n} says")) for n in (2, 4)]
    assert graded == [("irrelevant", 0.0, ABOUT), read[0], ("irrelevant", 0.0, ABOUT), read[1]]
    assert not [event for event in events if isinstance(event, Note)]


# --- what goes wrong on the way ---------------------------------------------------------------------------------------


def test_every_call_about_passages_shows_what_their_documents_say_of_themselves(ollama):
    """Who wrote a document often stands nowhere in its text: graders and generator see it, and it can be cited."""
    plan = passage(1, title="Harbour plan", author="Ada Quill", date="2023-03-31", named="plan")
    ollama.script(grades("y"), "Harbour plan was written by Ada Quill. [1]", GOOD)
    answer, _ = ask(ollama, "self-rag", corpus=FakeCorpus([plan]), k=1)
    assert answer.status == "grounded"
    (citation,) = answer.citations
    assert (citation.quote, citation.located) == ("Author: Ada Quill", "property")
    shown = 'title="Harbour plan" author="Ada Quill" date="2023-03-31"'
    assert [shown in body["messages"][-1]["content"] for body in ollama.chats] == [True] * 3


@pytest.mark.parametrize(("question", "calls"), [
    ("How much are 100 euros?", ["answer"]),
    ("Was kostet der Plan, und warum so viel?", ["grade", "answer", "check"]),
])  # fmt: skip
def test_with_auto_the_evaluator_and_code_grade_what_they_can_read(ollama, question, calls):
    ollama.script(*([grades("yyyy")] if len(calls) > 1 else []), ANSWER.removesuffix(" [1]"), GOOD)
    answer, _ = ask(ollama, "self-rag", question, passages=4, **AUTO)
    assert calls_of(answer) == calls
    assert answer.text == ANSWER, "code sets the mark"


def test_with_auto_other_words_are_sure_where_the_evaluator_finds_them(ollama):
    class Reader(ScriptedEvaluator):
        def supports(self, pairs):
            return [1.0 for _ in pairs]

    assessor = ExtractiveEngine(HashingEmbedder(), Reader({"100 euros": 0.99}))
    ollama.script("Members hand over 100 euros. [1]")
    answer, _ = ask(ollama, "self-rag", "How much are 100 euros?", passages=1, k=1, grading="auto", assessor=assessor)
    (citation,) = answer.citations
    assert (citation.located, ENGLISH.how(citation)) == ("evaluator", "in other words")
    assert (answer.status, answer.certainty) == ("grounded", "sure"), answer.reason


def test_with_auto_the_passage_is_quoted_where_no_answer_of_the_model_is_supported(ollama):
    ollama.script("Passage 1 says that the plan costs 900 euros.")
    answer, events = ask(ollama, "self-rag", "How much are 100 euros?", passages=1, k=1, **AUTO)
    assert (answer.text, answer.certainty) == (ANSWER, "sure")
    assert calls_of(answer) == ["answer"]
    assert ENGLISH.quoted_instead in [event.text for event in events if isinstance(event, Note)]


@pytest.mark.parametrize(("written", "status"), [
    ("Passage 2 says that the plan costs 200 euros.", "partial"),  # in words that the passages hold
    ("The plan is free of charge for members.", "abstained"),
    ("The plan costs what the plan costs. [2]", "abstained"),  # nothing but the question
])  # fmt: skip
def test_with_auto_the_model_writes_at_last_where_the_evaluator_finds_no_answer(ollama, written, status):
    ollama.script("plan price", written)
    blind = {"grading": "auto", "assessor": ExtractiveEngine(HashingEmbedder(), ScriptedEvaluator({}))}
    answer, _ = ask(ollama, "self-rag", passages=4, method={"limits__rewrites": 1}, **blind)
    assert calls_of(answer) == ["rewrite", "answer"]
    assert (answer.status, answer.certainty) == (status, "in doubt" if status == "partial" else "")


@pytest.mark.parametrize(("question", "written", "status"), [
    ("Who is the captain of the ferry?", "Ada Quill steers it for 500 euros.", "abstained"),
    ("Who is the captain of the ferry?", "The plan costs 200 euros more. [1]", "ungrounded"),
])  # fmt: skip
def test_with_auto_what_code_finds_no_passage_for_is_no_answer(ollama, question, written, status):
    ollama.script(written)
    read = {"grading": "auto", "assessor": ExtractiveEngine(HashingEmbedder(), ScriptedEvaluator({"Passage 1": 0.97}))}
    answer, _ = ask(ollama, "self-rag", question, passages=1, k=1, **read)
    assert (calls_of(answer), answer.status) == (["answer"], status), answer

"""!Define the contract of every engine as tests: a test class inherits them and names its engine.

from support.engine_contract import EngineContract

class TestMyEngine(EngineContract):
    @pytest.fixture
    def engine(self):
        return MyEngine()
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import pytest

from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.errors import Stopped
from local_rag.core.protocols import NOT_IN_PASSAGES, Attempt, Turn
from local_rag.text.marks import claims, marks, without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import query_key
from support.fakes import passage

LABELS = {"relevant", "irrelevant", "unparsed"}
SUPPORTS = {"fully", "partially", "no", "unparsed"}
FULL_CATALOG = Catalog(2, 3, ("Plan",), ("plan",), 0.6, ("vectorstore", "web_search", "direct"))

TERMS = passage(
    1,
    "Acme sells pumps to farms in France. The warranty of a pump ends two years after delivery. It does not cover the "
    "seals, because seals wear out within months.\n\nRepairs are made in Lyon by Marie Dupont, and a repair takes "
    "about nine days.",
    heading="Warranty",
)
STAFF = passage(
    2,
    "# Offices\n\nThe Lyon office opened in March 2014. Forty people work in the Lyon office, most of them mechanics. "
    "The Nantes office keeps the books.\n\nThere are three kinds of contract:\n\n- permanent contracts for mechanics\n"
    "- seasonal contracts for drivers\n- training contracts for apprentices\n\nHolidays are agreed in January.",
    heading="Offices",
)
GARDEN = passage(
    3,
    "Tomatoes want sun, and they want water every second day. A marmot is a large ground squirrel that lives in the "
    "mountains. Fig. 3. A marmot at rest.\nReferences\n[1] Smith et al. “Marmots of the Alps.” arXiv 2101.1 (2021).",
    heading="Garden",
)
PASSAGES = [TERMS, STAFF, GARDEN]
"""Three passages about which every engine is asked: terms of a warranty, offices and staff, a garden."""
STATED = "The warranty of a pump ends two years after delivery."


class EngineContract:
    """Override `engine`, and for an engine that reads another language the documents and the questions about them."""

    documents = PASSAGES
    question = "When does the warranty of a pump end?"
    other_question = "How many people work in the Lyon office?"
    unanswerable = "Who won the cup final?"

    @pytest.fixture
    def engine(self):
        raise NotImplementedError

    def answer(self, engine, question="", **attempt):
        pieces = engine.answer(question or self.question, self.documents, Attempt(**attempt))
        return "".join(piece.text for piece in pieces).strip()

    def verdicts(self, engine, question="", documents=None):
        verdicts = engine.relevance(question or self.question, documents or self.documents)
        return [(verdict.label, verdict.score) for verdict in verdicts]

    def test_it_says_what_it_is(self, engine):
        for said in (engine.name, engine.describe, engine.fingerprint):
            assert said and "\n" not in said
        assert engine.fingerprint == engine.fingerprint
        assert engine.writes in {True, False} and engine.grades_by in {"model", "evaluator"}

    def test_one_verdict_for_each_document_in_order(self, engine):
        verdicts = self.verdicts(engine)
        assert len(verdicts) == len(self.documents)
        assert {label for label, _ in verdicts} <= LABELS
        assert all(score is None or 0 <= score <= 1 for _, score in verdicts)
        turned = self.verdicts(engine, documents=self.documents[::-1])
        assert [label for label, _ in turned] == [label for label, _ in verdicts][::-1]

    def test_the_same_question_gives_the_same_result(self, engine):
        assert self.verdicts(engine) == self.verdicts(engine)
        draft = self.answer(engine)
        assert self.answer(engine) == draft
        first, second = (engine.grade(self.question, self.documents, draft) for _ in range(2))
        assert (first.support, first.usefulness) == (second.support, second.usefulness)
        assert len({engine.rewrite(self.question, [self.question], "vectorstore").text for _ in range(2)}) == 1

    def test_what_the_documents_say_is_answered_and_cited(self, engine):
        answer = self.answer(engine)
        cited = [number for _, numbers in marks(answer) for number in numbers]
        assert cited, f"an answer without a citation mark: {answer!r}"
        assert all(1 <= number <= len(self.documents) for number in cited)
        assert NOT_IN_PASSAGES not in answer

    def test_what_the_documents_do_not_say_is_refused(self, engine):
        assert self.answer(engine, self.unanswerable) == NOT_IN_PASSAGES

    def test_each_result_says_what_it_cost(self, engine):
        assert sum(verdict.usage.seconds for verdict in engine.relevance(self.question, self.documents)) > 0
        *pieces, last = engine.answer(self.question, self.documents, Attempt())
        assert last.usage.seconds > 0
        assert all(piece.usage is None for piece in pieces)

    def test_without_documents(self, engine):
        assert engine.relevance(self.question, []) == []
        assert "".join(piece.text for piece in engine.answer(self.question, [], Attempt())) == NOT_IN_PASSAGES
        assert engine.grade(self.question, [], "The plan costs 7 euros [1].").support in {"no", "unparsed"}

    def test_grades_are_in_range(self, engine):
        for draft in (self.answer(engine), "Pumps fly to the moon on 3 May 1999 [1].", NOT_IN_PASSAGES):
            grade = engine.grade(self.question, self.documents, draft)
            assert {grade.support, *grade.sentences} <= SUPPORTS
            assert len(grade.sentences) in {0, len(claims(draft))}
            assert 0 <= grade.usefulness <= 5
            assert grade.usage.seconds > 0
            assert grade.score is None or 0 <= grade.score <= 1

    @pytest.mark.parametrize("check", ["support", "usefulness"])
    def test_one_of_the_two_grades_may_be_asked_for(self, engine, check):
        draft = f"{STATED[:-1]} [1]. Pumps fly to the moon on 3 May 1999 [2]."
        grade = engine.grade(self.question, self.documents, draft, check=check)
        assert grade.support in SUPPORTS
        assert len(grade.sentences) in {0, len(claims(draft))}
        assert 1 <= grade.usefulness <= 5 if check == "usefulness" else grade.support != "unparsed"

    def test_a_chain_of_reasoning_goes_on_or_ends(self, engine):
        for given, thoughts in (([], []), (self.documents, []), (self.documents, ["A pump has a warranty."])):
            thought = engine.reason(self.question, given, thoughts)
            assert thought.done or thought.text.strip()
            assert len(sentences(thought.text)) <= 1
            assert thought.usage.seconds > 0

    def test_files_are_needed_or_not_and_an_answer_goes_on_or_ends(self, engine):
        need = engine.needs_retrieval(self.question, FULL_CATALOG)
        assert need.retrieve in {"yes", "no"} and need.usage.seconds > 0
        need = engine.needs_retrieval(self.question, FULL_CATALOG, self.documents, STATED)
        assert need.retrieve in {"yes", "no", "continue"} and need.usage.seconds > 0

    def test_a_part_of_an_answer_is_not_written_twice(self, engine):
        first = self.answer(engine, written="")
        assert first and first != NOT_IN_PASSAGES
        following = self.answer(engine, written=without_marks(first))
        assert without_marks(following) != without_marks(first)

    @pytest.mark.parametrize("target", ["vectorstore", "web"])
    def test_a_rewrite_adds_to_everything_tried_or_is_empty(self, engine, target):
        for first in (self.question, "Why?", "???", "Acme"):
            tried = [first]
            while len(tried) < 6 and (query := engine.rewrite(first, tried, target).text):
                assert query_key(query) not in map(query_key, tried)
                tried.append(query)
            assert first != self.question or target == "web" or len(tried) > 1

    @pytest.mark.parametrize("multi", [False, True])
    def test_a_route_is_one_of_those_allowed(self, engine, multi):
        places = (("vectorstore",), ("vectorstore", "web_search"), ("web_search",), FULL_CATALOG.allowed)
        for allowed, nearest in product(places, (None, 0.0, 0.9)):
            catalog = replace(FULL_CATALOG, nearest=nearest, allowed=allowed, headings=("Costs",), multi=multi)
            route = engine.route(self.question, catalog)
            assert route.source in allowed
            assert route.complexity in ({"direct", "single", "multi"} if multi else {"direct", "single"})
            assert (route.complexity == "direct") == (route.source == "direct")

    def test_a_question_without_history_stands_alone(self, engine):
        assert engine.standalone(self.question, []).text == self.question

    def test_questions_do_not_disturb_each_other(self, engine):
        questions = (self.question, self.other_question)
        alone = [self.answer(engine, question) for question in questions]
        running = [engine.answer(question, self.documents, Attempt()) for question in questions]
        mixed, pieces = ["", ""], [True, True]
        while any(pieces):
            pieces = [next(stream, None) for stream in running]
            mixed = [text + (piece.text if piece else "") for text, piece in zip(mixed, pieces, strict=True)]
        assert mixed == alone

    def test_two_threads_may_share_it(self, engine):
        def everything(question):
            return self.verdicts(engine, question), self.answer(engine, question)

        questions = (self.question, self.other_question)
        alone = list(map(everything, questions))
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(everything, questions)) == alone

    def test_it_stops_at_once(self, engine):
        question, documents = self.question, self.documents
        for task in (
            lambda: engine.relevance(question, documents),
            lambda: engine.needs_retrieval(question, FULL_CATALOG),
            lambda: engine.needs_retrieval(question, FULL_CATALOG, documents, "A pump has a warranty."),
            lambda: engine.reason(question, documents, []),
            lambda: engine.reason(question, [], ["A pump has a warranty."]),
            lambda: self.answer(engine),
            lambda: engine.grade(question, documents, "The warranty ends after two years [1]."),
            lambda: engine.rewrite(question, [question], "vectorstore"),
            lambda: engine.standalone("And why?", [Turn(question, "")]),
            lambda: engine.route(question, FULL_CATALOG),
        ):
            stopped = cancel.Cancel()
            stopped.stop()
            with cancel.scope(stopped), pytest.raises(Stopped):
                task()

    def test_it_stops_in_the_middle_of_an_answer(self, engine):
        self.answer(engine)  # weights load on the first question, which cannot be stopped
        stopped = cancel.Cancel()
        with cancel.scope(stopped):
            stream = engine.answer(self.question, self.documents * 20, Attempt())
            threading.Timer(0.02, stopped.stop).start()
            with pytest.raises(Stopped):
                for _ in stream:
                    stopped.wait(2)

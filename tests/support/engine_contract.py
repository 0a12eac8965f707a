"""What every engine must hold to, as tests for pytest: a test class inherits them and says which engine it is.

from support.engine_contract import EngineContract

class TestMyEngine(EngineContract):
    @pytest.fixture
    def engine(self):
        return MyEngine()
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document

from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.errors import Stopped
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt, Turn
from local_rag.core.protocols import Engine
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Check, Source, Target
from local_rag.text.marks import claims, marks, without_marks
from local_rag.text.sentences import sentences

LABELS = {"relevant", "irrelevant", "unparsed"}
SUPPORTS = {"fully", "partially", "no", "unparsed"}
FULL_CATALOG = Catalog(2, 3, ("Plan",), ("plan",), 0.6, ("vectorstore", "web_search", "direct"))
PROMPT = 60.0
"""Seconds within which a stopped engine must let go."""


def _passage(number: int, heading: str, text: str) -> Document:
    place = {
        "source": f"/notes/{number}.md",
        "title": "",
        "page": None,
        "heading": heading,
        "start": 0,
        "end": len(text),
    }
    scores = {"chunk_id": str(number), "score": 0.5, "rank_score": 0.1, "origin": "files", "url": ""}
    return Document(text, metadata=place | scores)


TERMS = _passage(
    1,
    "Warranty",
    "Acme sells pumps to farms in France. The warranty of a pump ends two years after delivery. It does not cover the "
    "seals, because seals wear out within months.\n\nRepairs are made in Lyon by Marie Dupont, and a repair takes "
    "about nine days.",
)
STAFF = _passage(
    2,
    "Offices",
    "# Offices\n\nThe Lyon office opened in March 2014. Forty people work in the Lyon office, most of them mechanics. "
    "The Nantes office keeps the books.\n\nThere are three kinds of contract:\n\n- permanent contracts for mechanics\n"
    "- seasonal contracts for drivers\n- training contracts for apprentices\n\nHolidays are agreed in January.",
)
GARDEN = _passage(
    3,
    "Garden",
    "Tomatoes want sun, and they want water every second day. A marmot is a large ground squirrel that lives in the "
    "mountains. Fig. 3. A marmot at rest.\nReferences\n[1] Smith et al. “Marmots of the Alps.” arXiv 2101.1 (2021).",
)
PASSAGES = [TERMS, STAFF, GARDEN]
"""Three passages that every engine is asked about: terms of a warranty, offices and staff, a garden."""


class EngineContract:
    """Override `engine`; and, where an engine reads another language, `documents` and the questions about them."""

    @pytest.fixture
    def engine(self) -> Engine:
        raise NotImplementedError

    @pytest.fixture
    def documents(self) -> list[Document]:
        return PASSAGES

    @pytest.fixture
    def question(self) -> str:
        return "When does the warranty of a pump end?"

    @pytest.fixture
    def other_question(self) -> str:
        return "How many people work in the Lyon office?"

    @pytest.fixture
    def unanswerable(self) -> str:
        return "Who won the cup final?"

    def test_it_says_what_it_is(self, engine: Engine) -> None:
        assert engine.name and engine.describe
        assert "\n" not in engine.describe
        assert engine.fingerprint
        assert "\n" not in engine.fingerprint
        assert engine.fingerprint == engine.fingerprint

    def test_one_verdict_for_each_document_in_order(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        verdicts = engine.relevance(question, documents)
        assert len(verdicts) == len(documents)
        assert {verdict.label for verdict in verdicts} <= LABELS
        assert all(verdict.score is None or 0 <= verdict.score <= 1 for verdict in verdicts)
        turned = engine.relevance(question, documents[::-1])
        assert [verdict.label for verdict in turned] == [verdict.label for verdict in verdicts][::-1]

    def test_the_first_verdict_carries_the_usage_of_a_listwise_call(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        verdicts = engine.relevance(question, documents)
        assert all(isinstance(verdict.usage, Usage) for verdict in verdicts)
        assert sum(verdict.usage.seconds for verdict in verdicts) > 0

    def test_the_same_question_gives_the_same_result(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        assert _verdicts(engine, question, documents) == _verdicts(engine, question, documents)
        assert _answer(engine, question, documents) == _answer(engine, question, documents)
        draft = _answer(engine, question, documents)
        first, second = (engine.grade(question, documents, draft) for _ in range(2))
        assert (first.support, first.usefulness) == (second.support, second.usefulness)
        queries = {engine.rewrite(question, [question], "vectorstore").text for _ in range(2)}
        assert len(queries) == 1

    def test_what_the_documents_say_is_answered_and_cited(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        answer = _answer(engine, question, documents)
        cited = [number for _, numbers in marks(answer) for number in numbers]
        assert cited, f"an answer without a citation mark: {answer!r}"
        assert all(1 <= number <= len(documents) for number in cited)
        assert NOT_IN_PASSAGES not in answer

    def test_what_the_documents_do_not_say_is_refused(
        self, engine: Engine, unanswerable: str, documents: list[Document]
    ) -> None:
        assert _answer(engine, unanswerable, documents) == NOT_IN_PASSAGES

    def test_the_last_piece_alone_carries_the_usage(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        pieces = list(engine.answer(question, documents, Attempt()))
        assert pieces[-1].usage is not None
        assert pieces[-1].usage.seconds > 0
        assert all(piece.usage is None for piece in pieces[:-1])

    def test_without_documents(self, engine: Engine, question: str) -> None:
        assert engine.relevance(question, []) == []
        assert _answer(engine, question, []) == NOT_IN_PASSAGES
        assert engine.grade(question, [], "The plan costs 7 euros [1].").support in {"no", "unparsed"}

    def test_grades_are_in_range(self, engine: Engine, question: str, documents: list[Document]) -> None:
        drafts = [_answer(engine, question, documents), "Pumps fly to the moon on 3 May 1999 [1].", NOT_IN_PASSAGES]
        for draft in drafts:
            grade = engine.grade(question, documents, draft)
            assert grade.support in SUPPORTS
            assert set(grade.sentences) <= SUPPORTS
            assert len(grade.sentences) in {0, len(claims(draft))}
            assert 0 <= grade.usefulness <= 5
            assert grade.usage.seconds > 0
            assert grade.score is None or 0 <= grade.score <= 1

    @pytest.mark.parametrize("check", ["support", "usefulness"])
    def test_one_of_the_two_grades_may_be_asked_for(
        self, engine: Engine, question: str, documents: list[Document], check: Check
    ) -> None:
        draft = "The warranty of a pump ends two years after delivery [1]. Pumps fly to the moon on 3 May 1999 [2]."
        grade = engine.grade(question, documents, draft, check=check)
        assert grade.support in SUPPORTS
        assert len(grade.sentences) in {0, len(claims(draft))}
        if check == "usefulness":
            assert 1 <= grade.usefulness <= 5
        else:
            assert grade.support != "unparsed"

    def test_a_chain_of_reasoning_goes_on_or_ends(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        for given, thoughts in (([], []), (documents, []), (documents, ["A pump has a warranty."])):
            thought = engine.reason(question, given, thoughts)
            assert thought.done or thought.text.strip()
            assert len(sentences(thought.text)) <= 1
            assert thought.usage.seconds > 0

    def test_files_are_needed_or_not(self, engine: Engine, question: str) -> None:
        need = engine.needs_retrieval(question, FULL_CATALOG)
        assert need.retrieve in {"yes", "no"}
        assert need.usage.seconds > 0

    def test_an_answer_goes_on_or_ends(self, engine: Engine, question: str, documents: list[Document]) -> None:
        written = "The warranty of a pump ends two years after delivery."
        need = engine.needs_retrieval(question, FULL_CATALOG, documents, written)
        assert need.retrieve in {"yes", "no", "continue"}
        assert need.usage.seconds > 0

    def test_a_part_of_an_answer_is_not_written_twice(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        first = _answer(engine, question, documents, Attempt(written=""))
        assert first and first != NOT_IN_PASSAGES
        following = _answer(engine, question, documents, Attempt(written=without_marks(first)))
        assert without_marks(following) != without_marks(first)

    def test_the_room_for_more_text_shrinks_as_the_passages_grow(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        rooms = [engine.room(question, documents * count) for count in (1, 2, 500)]
        assert all(isinstance(room, int) for room in rooms)
        assert rooms[0] > rooms[1] > rooms[2] >= 0 or rooms[2] == 0

    @pytest.mark.parametrize("target", ["vectorstore", "web"])
    @pytest.mark.parametrize("first", [None, "Why?", "???", "Acme"])
    def test_a_rewrite_differs_from_everything_tried(
        self, engine: Engine, question: str, target: Target, first: str | None
    ) -> None:
        tried = [first or question]
        for _ in range(8):
            query = engine.rewrite(tried[0], tried, target).text
            assert query.strip()
            assert _same(query) not in {_same(earlier) for earlier in tried}
            tried.append(query)

    @pytest.mark.parametrize(
        "allowed", [("vectorstore",), ("vectorstore", "web_search"), ("web_search",), FULL_CATALOG.allowed]
    )
    @pytest.mark.parametrize("nearest", [None, 0.0, 0.9])
    @pytest.mark.parametrize("multi", [False, True])
    def test_a_route_is_one_of_those_allowed(
        self, engine: Engine, question: str, allowed: tuple[Source, ...], nearest: float | None, multi: bool
    ) -> None:
        route = engine.route(question, Catalog(2, 3, ("Plan",), ("plan",), nearest, allowed, ("Costs",), multi))
        assert route.source in allowed
        assert route.complexity in ({"direct", "single", "multi"} if multi else {"direct", "single"})
        assert (route.complexity == "direct") == (route.source == "direct")

    def test_a_question_without_history_stands_alone(self, engine: Engine, question: str) -> None:
        assert engine.standalone(question, []).text == question

    def test_questions_do_not_disturb_each_other(
        self, engine: Engine, question: str, other_question: str, documents: list[Document]
    ) -> None:
        alone = _answer(engine, question, documents), _answer(engine, other_question, documents)
        first = engine.answer(question, documents, Attempt())
        second = engine.answer(other_question, documents, Attempt())
        mixed: list[list[str]] = [[], []]
        running = [(0, first), (1, second)]
        while running:
            for which, stream in list(running):
                piece = next(stream, None)
                if piece is None:
                    running.remove((which, stream))
                else:
                    mixed[which].append(piece.text)
        assert tuple("".join(texts) for texts in mixed) == alone

    def test_two_threads_may_share_it(
        self, engine: Engine, question: str, other_question: str, documents: list[Document]
    ) -> None:
        questions = (question, other_question)
        alone = [_everything(engine, text, documents) for text in questions]
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda text: _everything(engine, text, documents), questions))
        assert together == alone

    def test_it_stops_at_once(self, engine: Engine, question: str, documents: list[Document]) -> None:
        tasks: list[Callable[[], object]] = [
            lambda: engine.relevance(question, documents),
            lambda: engine.needs_retrieval(question, FULL_CATALOG),
            lambda: engine.needs_retrieval(question, FULL_CATALOG, documents, "A pump has a warranty."),
            lambda: engine.reason(question, documents, []),
            lambda: engine.reason(question, [], ["A pump has a warranty."]),
            lambda: _answer(engine, question, documents),
            lambda: engine.grade(question, documents, "The warranty ends after two years [1]."),
            lambda: engine.rewrite(question, [question], "vectorstore"),
            lambda: engine.standalone("And why?", [Turn(question, "")]),
            lambda: engine.route(question, FULL_CATALOG),
        ]
        for task in tasks:
            stopped = cancel.Cancel()
            stopped.stop()
            started = time.monotonic()
            with cancel.scope(stopped), pytest.raises(Stopped):
                task()
            assert time.monotonic() - started < PROMPT

    def test_it_stops_in_the_middle_of_an_answer(
        self, engine: Engine, question: str, documents: list[Document]
    ) -> None:
        _answer(engine, question, documents)  # weights load on the first question, which cannot be stopped
        stopped = cancel.Cancel()
        with cancel.scope(stopped):
            stream = engine.answer(question, documents * 20, Attempt())
            timer = threading.Timer(0.05, stopped.stop)
            timer.start()
            started = time.monotonic()
            with pytest.raises(Stopped):
                for _ in stream:
                    stopped.wait(2)
            timer.cancel()
        assert time.monotonic() - started < PROMPT + 0.05


def _verdicts(engine: Engine, question: str, documents: list[Document]) -> list[tuple[str, float | None]]:
    return [(verdict.label, verdict.score) for verdict in engine.relevance(question, documents)]


def _answer(engine: Engine, question: str, documents: list[Document], attempt: Attempt | None = None) -> str:
    return "".join(piece.text for piece in engine.answer(question, documents, attempt or Attempt())).strip()


def _everything(engine: Engine, question: str, documents: list[Document]) -> tuple[list[tuple[str, float | None]], str]:
    return _verdicts(engine, question, documents), _answer(engine, question, documents)


def _same(query: str) -> str:
    return " ".join(re.sub(r"\s+", " ", str(query)).casefold().split())

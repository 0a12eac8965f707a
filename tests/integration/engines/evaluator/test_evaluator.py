"""The shipped evaluator reads real passages: order, windows, offsets, memory of a question, threads, stopping."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.shipped_evaluator import document, shipped_evaluator

from local_rag.config.settings import Settings
from local_rag.core import cancel, question_memory
from local_rag.core.errors import EngineError, Stopped
from local_rag.core.question_memory import QuestionMemory
from local_rag.core.readings import NOTHING
from local_rag.engines.evaluator import evaluator as evaluator_module
from local_rag.engines.evaluator import loading
from local_rag.engines.evaluator.evaluator import TrainedEvaluator

pytestmark = pytest.mark.usefixtures("converted")

QUESTION = "When was the lighthouse of Harnow built?"
ANSWER = "The lighthouse of Harnow was built in 1884 from granite. Its keeper lives in the village."
BREAD = "Bread dough must rest for two hours before it is baked at 220 degrees in a hot oven."


@pytest.fixture
def evaluator():
    return shipped_evaluator()


def test_a_reading_per_document_in_their_order(evaluator):
    documents = [document(BREAD), document(ANSWER), document(""), document(BREAD)]
    bread, answer, nothing, again = evaluator.read(QUESTION, documents)
    assert nothing == NOTHING and again == bread
    assert answer.answerable > 0.8 > 0.2 > bread.answerable
    assert answer.spans[0].text == "1884" == ANSWER[answer.spans[0].start : answer.spans[0].end]
    for reading in (bread, answer):
        assert reading.other + reading.about + reading.present == pytest.approx(1, abs=1e-6)
        assert [span.logit for span in reading.spans] == sorted((span.logit for span in reading.spans), reverse=True)
        ends = sorted((span.start, span.end) for span in reading.spans)
        assert len(ends) <= 5 and all(before[1] <= after[0] for before, after in pairwise(ends))
    assert evaluator.read(QUESTION, []) == []


def test_an_answer_deep_in_a_long_passage_has_the_offsets_of_the_passage(evaluator):
    before = "😀 The sea was calm and the fishing boats stayed at their nets until the evening. " * 60
    text = before + ANSWER + " " + BREAD * 30
    (reading,) = evaluator.read(QUESTION, [document(text)])
    best = reading.spans[0]
    assert best.text == "1884" == text[best.start : best.end]
    assert best.start == len(before) + ANSWER.index("1884") and reading.answerable > 0.5


def test_the_header_is_read_too(evaluator):
    text = "It was built in 1884 from granite. Its keeper lives in the village."
    named, alone, other = evaluator.read(
        QUESTION,
        [
            document(text, source="/n/harnow.md", title="The lighthouse of Harnow"),
            document(text),
            document(text, source="/n/mill.md", title="The mill of Sorby", heading="Its wheel"),
        ],
    )
    assert named != alone and named.spans[0].logit > other.spans[0].logit
    assert named.spans[0].text == "1884"


def test_within_a_question_nothing_is_read_twice(evaluator, monkeypatch):
    read = []
    compute = evaluator.compute
    monkeypatch.setattr(evaluator, "compute", lambda windows: read.append(len(windows)) or compute(windows))
    documents = [document(ANSWER), document(BREAD)]
    with question_memory.scope(QuestionMemory()):
        first = evaluator.read(QUESTION, documents)
        assert evaluator.read(QUESTION, documents[::-1]) == first[::-1]
        evaluator.read(QUESTION, [*documents, document(ANSWER, title="another header")])
        evaluator.supports([("It is made of granite.", ANSWER), ("It is made of granite.", ANSWER)])
        evaluator.supports([("It is made of granite.", ANSWER)])
    assert read == [2, 0, 1, 1, 0]
    with question_memory.scope(QuestionMemory()):
        evaluator.read(QUESTION, documents)
    evaluator.read(QUESTION, documents)
    assert read[5:] == [2, 2]


def test_several_threads_read_what_a_single_one_reads(evaluator):
    documents = [document(f"{ANSWER} {BREAD * number}") for number in range(6)]
    expected = [evaluator.read(QUESTION, [document]) for document in documents]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda number: evaluator.read(QUESTION, [documents[number % 6]]), range(24)))
    for number, (reading,) in enumerate(got):
        (same,) = expected[number % 6]
        assert reading.answerable == pytest.approx(same.answerable, abs=1e-3)
        assert reading.spans[0].text == same.spans[0].text


def test_threads_load_it_once_and_closing_forgets_it(evaluator, monkeypatch):
    loads = []

    def load(*arguments):
        loads.append(threading.current_thread().name)
        return loading.load(*arguments)

    monkeypatch.setattr(evaluator_module, "load", load)
    evaluator.close()
    assert not evaluator.ready
    evaluator.prepare()
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: evaluator.loaded, range(8)))
    assert evaluator.ready and not evaluator.loads_first
    evaluator.read(QUESTION, [document(ANSWER)])
    assert len(loads) == 1 and {id(model) for model in models} == {id(evaluator.loaded)}
    evaluator.close()
    evaluator.load()
    assert len(loads) == 2


def test_waiting_for_another_thread_that_loads_can_be_stopped_and_costs_no_time_of_the_question(evaluator, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def load(*arguments):
        begun.set()
        go_on.wait(60)
        return loading.load(*arguments)

    monkeypatch.setattr(evaluator_module, "load", load)
    evaluator.close()
    evaluator.prepare()
    assert begun.wait(60)
    stop = cancel.Cancel(60)
    deadline = stop.deadline
    timer = threading.Timer(0.3, stop.stop)
    timer.start()
    with cancel.scope(stop), pytest.raises(Stopped):
        evaluator.read(QUESTION, [document(ANSWER)])
    timer.join()
    assert stop.deadline > deadline and not evaluator.ready
    go_on.set()
    assert evaluator.read(QUESTION, [document(ANSWER)])[0].spans


def test_a_model_that_cannot_compute_is_a_clear_error(evaluator, monkeypatch):
    loaded = evaluator.loaded

    class Failing:
        def compute(self, inputs):
            raise RuntimeError("Could not allocate memory")

    monkeypatch.setitem(evaluator.__dict__, "_loaded", type(loaded)(Failing(), loaded.inputs, None))
    with pytest.raises(EngineError, match="the evaluator 'minilm' cannot compute: Could not allocate") as met:
        evaluator.read(QUESTION, [document(ANSWER)])
    assert "local-rag doctor" in met.value.hint


def test_a_stop_is_heard_between_two_batches(evaluator, monkeypatch):
    stop = cancel.Cancel()
    loaded = evaluator.loaded
    computed = []

    class Stopping:
        def compute(self, inputs):
            computed.append(len(inputs["input_ids"]))
            stop.stop()
            return loaded.model.compute(inputs)

    monkeypatch.setitem(evaluator.__dict__, "_loaded", type(loaded)(Stopping(), loaded.inputs, None))
    documents = [document(f"{ANSWER} {number}") for number in range(40)]
    with cancel.scope(stop), pytest.raises(Stopped):
        evaluator.read(QUESTION, documents)
    assert len(computed) == 1
    monkeypatch.undo()
    assert evaluator.read(QUESTION, documents[:1])[0].spans[0].text == "1884"


def test_support_is_a_probability_per_pair(evaluator):
    pairs = [("It was built in 1884.", ANSWER), ("It was built in 1884.", BREAD), ("", ANSWER), ("It was built.", "")]
    chances = evaluator.supports(pairs)
    assert len(chances) == 4 and all(0 <= chance <= 1 for chance in chances) and chances[3] == 0
    assert evaluator.supports([]) == []


@pytest.mark.parametrize("question", ["", "?", "what " * 5000, "\x00\ud7ff𝔘", "日本語の質問"])
def test_any_question_and_any_text_is_read(evaluator, question):
    for reading in evaluator.read(question, [document(ANSWER), document("\x00 \u202e�"), document("a" * 20_000)]):
        assert 0 <= reading.answerable <= 1


class NoNumbers:
    """A model whose logits are no numbers."""

    def compute(self, inputs):
        shape = inputs["input_ids"].shape
        return [np.full(size, np.nan, np.float32) for size in ((*shape, 2), (shape[0], 3), (shape[0], 2))]


class Broken(TrainedEvaluator):
    @property
    def loaded(self):
        return replace(super().loaded, model=NoNumbers())


def test_logits_that_are_no_numbers_are_an_error(evaluator):
    broken = Broken("minilm", evaluator.files, Settings.load().cache_folder)
    with pytest.raises(EngineError, match="what is no number"):
        broken.read(QUESTION, [document(ANSWER)])

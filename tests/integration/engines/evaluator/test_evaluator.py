"""The shipped evaluator reads real passages: order, windows, offsets, memory of a question, threads, stopping."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import mean

import numpy as np
import pytest
from support.shipped_evaluator import document, shipped_evaluator

from local_rag.core import cancel
from local_rag.core.errors import EngineError, Stopped
from local_rag.core.readings import NOTHING
from local_rag.engines.evaluator import evaluator as evaluators

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
    before = "😀 The sea was calm and the fishing boats stayed at their nets until the evening. " * 30
    text = before + ANSWER + " " + BREAD * 15
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
    with cancel.scope(cancel.Cancel()):
        first = evaluator.read(QUESTION, documents)
        assert evaluator.read(QUESTION, documents[::-1]) == first[::-1]
        evaluator.read(QUESTION, [*documents, document(ANSWER, title="another header")])
        evaluator.supports([("It is made of granite.", ANSWER), ("It is made of granite.", ANSWER)])
        evaluator.supports([("It is made of granite.", ANSWER)])
    assert read == [2, 1, 1]
    with cancel.scope(cancel.Cancel()):
        evaluator.read(QUESTION, documents)
    evaluator.read(QUESTION, documents)
    assert read[3:] == [2, 2]


def test_several_threads_read_what_a_single_one_reads(evaluator):
    documents = [document(f"{ANSWER} {BREAD * number}") for number in range(3)]
    expected = [evaluator.read(QUESTION, [document]) for document in documents]
    with ThreadPoolExecutor(3) as pool:
        got = list(pool.map(lambda document: evaluator.read(QUESTION, [document]), documents * 3))
    for (reading,), (same,) in zip(got, expected * 3, strict=True):
        assert reading.answerable == pytest.approx(same.answerable, abs=1e-3)
        assert reading.spans[0].text == same.spans[0].text


def test_onnx_runtime_reads_what_openvino_reads(evaluator, monkeypatch):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    documents = [document(ANSWER), document(BREAD)]
    expected, support = evaluator.read(QUESTION, documents), evaluator.supports([("It was built in 1884.", ANSWER)])
    evaluator.close()
    monkeypatch.setattr(evaluators, "runtime", lambda: "ONNX Runtime")
    for reading, same in zip(evaluator.read(QUESTION, documents), expected, strict=True):
        assert [span.text for span in reading.spans] == [span.text for span in same.spans]
        got, given = ((each.other, each.about, each.present, each.answerable) for each in (reading, same))
        assert got == pytest.approx(given, abs=1e-3)
    assert evaluator.supports([("It was built in 1884.", ANSWER)]) == pytest.approx(support, abs=1e-3)
    evaluator.close()


@pytest.fixture
def opened(evaluator, monkeypatch):
    """The names of the threads that load the model; a test may have each wait for `go_on`."""
    real, loads, begun, go_on = evaluators.open_model, [], threading.Event(), threading.Event()
    go_on.set()

    def opened(*arguments):
        loads.append(threading.current_thread().name)
        begun.set()
        go_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(evaluators, "open_model", opened)
    evaluator.close()
    return loads, begun, go_on


def test_threads_load_it_once_and_closing_forgets_it(evaluator, opened):
    evaluator.prepare()
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: evaluator.loaded, range(8)))
    evaluator.read(QUESTION, [document(ANSWER)])
    assert len(opened[0]) == 1 and {id(model) for model in models} == {id(evaluator.loaded)}
    evaluator.close()
    evaluator.read(QUESTION, [document(ANSWER)])
    assert len(opened[0]) == 2


def test_waiting_for_another_thread_that_loads_can_be_stopped_and_costs_no_time_of_the_question(evaluator, opened):
    _, begun, go_on = opened
    go_on.clear()
    evaluator.prepare()
    assert begun.wait(60)
    stop = cancel.Cancel(60)
    deadline = stop.deadline
    timer = threading.Timer(0.1, stop.stop)
    timer.start()
    with cancel.scope(stop), pytest.raises(Stopped):
        evaluator.read(QUESTION, [document(ANSWER)])
    timer.join()
    assert stop.deadline > deadline
    go_on.set()
    assert evaluator.read(QUESTION, [document(ANSWER)])[0].spans


def out_of_memory(inputs):
    raise RuntimeError("Could not allocate memory")


def no_numbers(inputs):
    shape = inputs["input_ids"].shape
    return [np.full(size, np.nan, np.float32) for size in ((*shape, 2), (shape[0], 3), (shape[0], 2))]


@pytest.mark.parametrize(
    ("compute", "message"), [(out_of_memory, "cannot compute: Could not"), (no_numbers, "computes what is no number")]
)
def test_a_model_that_cannot_compute_is_a_clear_error(evaluator, monkeypatch, compute, message):
    monkeypatch.setitem(evaluator.__dict__, "_loaded", (evaluator.loaded[0], compute))
    with pytest.raises(EngineError, match=f"the evaluator 'minilm' {message}") as met:
        evaluator.read(QUESTION, [document(ANSWER)])
    assert "local-rag doctor" in met.value.hint


def test_a_stop_is_heard_between_two_batches(evaluator, monkeypatch):
    stop, computed = cancel.Cancel(), []
    inputs, compute = evaluator.loaded

    def stopping(given):
        computed.append(len(given["input_ids"]))
        stop.stop()
        return compute(given)

    monkeypatch.setitem(evaluator.__dict__, "_loaded", (inputs, stopping))
    with cancel.scope(stop), pytest.raises(Stopped):
        evaluator.read(QUESTION, [document(f"{ANSWER} {number}") for number in range(40)])
    assert len(computed) == 1


@pytest.mark.parametrize("question", ["", "?", "what " * 5000, "\x00\ud7ff𝔘", "日本語の質問"])
def test_any_question_and_any_text_is_read(evaluator, question):
    texts = [document(ANSWER, title="header " * 999), document("\x00 \u202e�"), document("a" * 20_000)]
    readings = evaluator.read(question, texts)
    assert readings[0].spans, "a long question and a long header leave room for the passage"
    assert all(0 <= reading.answerable <= 1 for reading in readings)


STATEMENTS = [
    ("The lighthouse of Harnow was built in 1884 by Mara Lindqvist.",
     "Mara Lindqvist built the lighthouse.", "Jonas Weber built the lighthouse."),
    ("In 1921 Ida Brandt sold the mill to Jonas Weber for 4,000 marks.",
     "Ida Brandt sold the mill.", "Jonas Weber sold the mill."),
    ("The treaty was signed by Norway, Chile and Japan in 1998.",
     "Norway signed the treaty.", "Norway did not sign the treaty."),
]  # fmt: skip
"""Passage, statement that it supports, one that it does not."""


def test_a_statement_that_the_passage_supports(evaluator):
    chances = [evaluator.supports([(given, text), (other, text), (given, BREAD)]) for text, given, other in STATEMENTS]
    assert mean(given - other for given, other, _ in chances) > 0.2
    assert mean(given - other for given, _, other in chances) > 0.3
    assert evaluator.supports([("It was built.", "")]) == [0] and evaluator.supports([]) == []

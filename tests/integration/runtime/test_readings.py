"""Test that grading, answering, checking and comparing files share the evaluator's readings for a question."""

from collections import Counter

import pytest
from support.fakes import FakeCorpus, passage
from support.fakes_index import remembering_minilm
from support.shipped_evaluator import files_of

from local_rag.config.settings import Settings
from local_rag.engines.evaluator.evaluator import TrainedEvaluator
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.graphs import GRAPHS
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

TEXTS = (
    "The notice period of the lease is three months. Pets are welcome.",
    "The notice period of the lease is six months. Pets are welcome.",
    "The garden is shared by all tenants and is locked at night.",
    "The rent is due on the third working day of each month.",
)


class Counting(TrainedEvaluator):
    """Count how often each input is computed."""

    def __init__(self, cache):
        super().__init__("minilm", files_of("minilm"), cache)
        self.computed = Counter()

    def compute(self, windows):
        self.computed.update(window.ids for window in windows)
        return super().compute(windows)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_question_reads_a_passage_once(graph):
    settings = Settings.load(graph=graph)
    evaluator = Counting(settings.cache_folder)
    passages = [passage(number, text, source=f"/notes/{number}.md") for number, text in enumerate(TEXTS, start=1)]
    engine = ExtractiveEngine(remembering_minilm(), evaluator)
    with Rag(settings, FakeCorpus(passages), Choice(engine, evaluator=evaluator)) as rag:
        rag.ask("How long is the notice period of the lease?", record=False)
        first = Counter(evaluator.computed)
        assert len(first) >= len(TEXTS) and set(first.values()) == {1}
        rag.ask("How long is the notice period of the lease?", record=False)
    assert set(evaluator.computed.values()) == {2}, "nothing is kept between questions"

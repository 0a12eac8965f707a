"""An answer that is written part by part, in a chat and on a real index."""

from __future__ import annotations

from support.fakes import FakeCorpus, ScriptedEngine, passage

from local_rag.config.settings import Settings
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

QUESTION = "What does the plan cost?"


def test_a_chat_keeps_an_answer_of_several_parts(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_RETRIEVE", "each")
    engine = ScriptedEngine(
        drafts=["It costs 100 euros [1].", "The plan costs 500 euros [1]."],
        grades=[("fully", 0), ("fully", 0), ("unparsed", 5)],
        next=["continue", "no"],
    )
    rag = Rag(Settings.load(), FakeCorpus([passage(n) for n in range(1, 9)]), Choice(engine))
    first = rag.ask(QUESTION, thread="plan")
    again = rag.ask(QUESTION, thread="plan")
    assert first.text == "It costs 100 euros [1]. The plan costs 500 euros [1]."
    assert (again.path[0], again.path[-1]) == ("begin", "finish")
    assert again.text, "nothing of the first question is left over"
    assert again.tries["generations"] == 1

"""A Rag with scripted parts that understands follow-up questions."""

from __future__ import annotations

from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError
from local_rag.core.protocols import Rewrite
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from support.fakes import FakeCorpus, ScriptedEngine


class Recalling(ScriptedEngine):
    """Makes a follow-up whole from the last question, and fails where it is told to."""

    broken = False

    def standalone(self, question, history):
        self.asked.append(("standalone", question, tuple(history)))
        return Rewrite(f"{question} ({history[-1].question})" if question.startswith("And") else question)

    def answer(self, question, documents, attempt):
        if self.broken:
            raise EngineError("the model fell over", hint="ollama serve")
        yield from super().answer(question, documents, attempt)


def opened(engine=None, corpus=None, **flags):
    return Rag(Settings.load(**flags), corpus or FakeCorpus(), Choice(engine or Recalling()))

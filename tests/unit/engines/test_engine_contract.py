"""The engine contract fails an engine that never answers, and one that always does."""

from __future__ import annotations

import pytest
from support.engine_contract import EngineContract
from support.fakes import ScriptedEngine

from local_rag.core.generation import NOT_IN_PASSAGES


def test_an_engine_that_always_abstains_fails_the_contract():
    engine, contract = ScriptedEngine(drafts=[NOT_IN_PASSAGES]), EngineContract()
    with pytest.raises(AssertionError, match="without a citation mark"):
        contract.test_what_the_documents_say_is_answered_and_cited(engine)
    contract.test_what_the_documents_do_not_say_is_refused(engine)


def test_an_engine_that_never_abstains_fails_the_contract():
    engine, contract = ScriptedEngine(drafts=["It ends after two years [1]."]), EngineContract()
    contract.test_what_the_documents_say_is_answered_and_cited(engine)
    with pytest.raises(AssertionError):
        contract.test_what_the_documents_do_not_say_is_refused(engine)

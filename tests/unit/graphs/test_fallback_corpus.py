"""A fallback corpus in the graphs, with a scripted engine: no consent, its own budget, passages as those of files."""

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.graph_runs import final_state, ids

from local_rag.config.values import Crag, Limits
from local_rag.core.documents import WebResults
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps


class Source(FakeWeb):
    """A fallback corpus that brings two passages; the first has the id of the first one of the files."""

    def search(self, query, k):
        self.queries.append((query, k))
        about = {"origin": "web", "url": "https://example.org/plan", "fallback_corpus": self.fallback_corpus}
        return WebResults((passage(1, **about), passage(90, "One. Two. Three. Four.", start=7, **about)))


def documents(engine, **parts):
    """Return the passages that are left at the end."""
    web = Source(fallback_corpus="/pages")
    deps = Deps(FakeCorpus(), engine, web, Limits(), may_search=refuse, **parts)
    return final_state(compiled("crag"), deps)["documents"]


def refuse(query):
    pytest.fail(f"nobody is asked about {query}")


def test_a_passage_that_the_files_have_brought_comes_once():
    found = documents(ScriptedEngine(relevant=["ynnn", "yy"]))
    assert ids(found) == ["1", "90"] and found[1].metadata["start"] == 7, "a passage keeps its place in the file"


def test_its_passages_are_refined_as_those_of_the_files():
    engine = ScriptedEngine(relevant=["nnnn", "ny", "yn"], scores=[[], [], [0.9, 0.1]])
    (kept,) = documents(engine, crag=Crag(refine=True))
    assert kept.page_content == "One. Two. Three." and kept.metadata["pieces"] == [(7, 23)]

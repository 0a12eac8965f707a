"""What an index tells of itself: titles, terms, topics, kinds, and what a person says it is about."""

from __future__ import annotations

import numpy as np
import pytest
from support.fakes_index import add, indexed, markdown

from local_rag.core.documents import Catalog
from local_rag.core.errors import UsageError
from local_rag.index.catalog import TOPICS, representatives
from local_rag.index.index import Index

TEXTS = {
    "/notes/light.md": markdown("# Lamp\n\nThe lamp is lit at dusk.\n\n# Fog\n\nThe horn sounds in fog.", "Lighthouse"),
    "/notes/boats/supply.txt": "The supply boat brings coal and bread.",
    "/notes/boats/rescue.txt": "The rescue boats are kept ready. A boat has two oars.",
    "https://tax.test/may": markdown("Income tax is due in May.", "Taxes"),
}


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", TEXTS) as made:
        yield made


def test_the_catalog_is_made_of_the_index_and_follows_it(index, tmp_path):
    catalog = index.catalog()
    assert (catalog.documents, catalog.files, catalog.chunks) == (4, 4, index.count())
    assert set(catalog.titles) == {"Lighthouse", "Taxes"} and set(catalog.headings) == {"Lamp", "Fog"}
    assert catalog.terms[0] == "boat" and not {"the", "is"} & set(catalog.terms)
    assert catalog.folders[0] == "boats" and "tax.test" in catalog.folders
    assert set(catalog.kinds) == {".txt 2", ".md 1", "web page 1"}
    add(index, {"/whales.md": markdown("Whales sing.", "Whales")})
    assert "Whales" in index.catalog().titles
    with indexed(tmp_path / "empty", {}) as empty:
        assert empty.catalog() == Catalog() and empty.status().last_sync == ""


def test_a_person_says_what_it_is_about(index):
    summary = index.status(outlined=True).summary
    assert summary.startswith("4 files (") and "among them: " in summary
    index.set_about("  The lighthouse,\n its boats\x1b[31m ")
    assert index.catalog().about == Index.inspect(index.path).about == "The lighthouse, its boats"
    index.set_about("")
    assert (index.status().about, index.status(outlined=True).summary) == ("", summary)
    with pytest.raises(UsageError, match="at most 600 characters, and this one has 601"):
        index.set_about("x" * 601)


def test_topics_go_with_their_files_and_follow_great_changes(index):
    assert set(index.catalog().topics) == {"supply.txt", "rescue.txt", "Lighthouse", "Taxes"}
    index.remove(["/notes/boats/supply.txt"])
    assert "supply.txt" not in index.catalog().topics
    add(index, {f"/new-{number}.txt": f"Whales of kind {number} are seen in June." for number in range(5)})
    assert any(name.startswith("new-") for name in index.catalog().topics)


def test_topics_stand_for_the_largest_clusters():
    axes = np.eye(40, dtype=np.float32)
    rows = np.concatenate([np.repeat(axes[[7]], 30, axis=0), axes[:3]])
    chosen = representatives(rows)
    assert np.array_equal(rows[chosen[0]], axes[7]) and list(chosen) == list(representatives(rows))
    assert len(representatives(axes)) <= TOPICS and list(representatives(axes[:0])) == []

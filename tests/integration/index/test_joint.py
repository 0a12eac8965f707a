"""Several indexes answer as one: each passage knows its index, and a split corpus ranks as the whole does."""

from itertools import product

import pytest
from langchain_core.documents import Document
from support.fakes_index import HashingEmbedder, add, indexed, markdown

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.index.joint import JointIndex

SHARED = {"/shared.md": markdown("Oars of ash.", "Shared")}
BOATS = {"/boat.md": markdown("The rescue boat is kept ready with two oars.", "Boats", date="2021")} | SHARED
TAXES = {"/tax.txt": markdown("Income tax is due in May, late payment costs interest on oars.", date="2023")} | SHARED
ONLY = [("taxes", "/tax.txt")]


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    base = tmp_path_factory.mktemp("joint")
    indexes = {"boats": indexed(base / "boats", BOATS), "taxes": indexed(base / "taxes", TAXES)}
    with JointIndex(indexes) as joint:
        yield joint


def named(passages):
    return sorted((passage.metadata["index"], passage.metadata["source"]) for passage in passages)


def test_each_text_comes_once_and_says_of_which_index_it_is(joint):
    passages = joint.search("oars", 9)
    assert len(passages) == 3 and {("boats", "/boat.md"), *ONLY} < set(named(passages))
    assert [len(joint.search("oars", k)) for k in (0, 2)] == [0, 2]
    key = passages[0].metadata["chunk_id"]
    assert key not in {one.metadata["chunk_id"] for one in joint.search("oars", 9, repeats=True, exclude=[key])}


def test_the_files_that_hold_a_text_are_those_of_all(tmp_path):
    texts = [
        {"/a.md": markdown("Oars of ash."), "/b.md": markdown("Oars of ash.")},
        {"/c.md": markdown("Oars of  ash.")},
    ]
    with JointIndex({str(n): indexed(tmp_path / str(n), each) for n, each in enumerate(texts)}) as joint:
        (passage,) = joint.search("oars", 9)
        assert list(joint.also_in([passage]).values()) == [["/b.md", "/c.md"]]


def test_what_is_asked_of_a_passage_is_asked_of_its_own_index(joint):
    passages = [*joint.search("oars", 9), Document("no passage", metadata={"chunk_id": "elsewhere"})]
    keys = [passage.metadata["chunk_id"] for passage in passages]
    stored = joint.stored(keys)
    assert [vector is not None for vector in joint.vectors(passages)] == [True, True, True, False]
    assert {key: one.text for key, one in stored.passages.items()} == {
        key: one.page_content for key, one in zip(keys[:3], passages, strict=False)
    }
    assert stored.content == joint.content() and stored.files == BOATS.keys() | TAXES.keys()


def test_counts_and_catalog_are_of_all(joint):
    status, catalog = joint.status(), joint.catalog()
    assert joint.count() == status.files == catalog.documents == catalog.files == 4
    assert joint.document_frequency(["oars", "tax", "nothing"]) == {"oars": 4, "tax": 1, "nothing": 0}
    assert set(joint.spelled_like("oarss")) == {"oars"} and not joint.spelled_like("zebra")
    assert catalog.titles == ("Boats", "Shared")


@pytest.mark.parametrize("wanted", [{"types": ["txt"]}, {"after": "2022", "phrases": ["interest on"]}])
def test_a_filter_may_leave_nothing_in_one_of_them(joint, wanted):
    assert named(joint.search("oars", 9, within=Narrowing(**wanted))) == ONLY
    assert named(joint.as_retriever(9, within=Narrowing(**wanted)).invoke("oars")) == ONLY
    assert [file.path for file in joint.files(Narrowing(types=["txt"]))] == ["/tax.txt"]


def test_a_filter_that_leaves_nothing_in_any_is_refused_once(joint):
    for look in (lambda: joint.search("oars", 9, within=["nowhere"]), lambda: joint.files(["nowhere"])):
        with pytest.raises(UsageError, match=r"^no indexed file matches 'nowhere'$") as caught:
            look()
        hints = [f"local-rag files --index {joint.path.with_name(name)}" for name in ("boats", "taxes")]
        assert caught.value.hint == "   or   ".join(hints)


def test_each_index_says_what_waits(tmp_path):
    with indexed(tmp_path / "old", {}) as old, JointIndex({"old": old}) as joint:
        add(old, BOATS, embed=False)
        (line,) = joint.waiting_notes()
        assert line.startswith("old: none of ")


def test_a_split_corpus_ranks_as_the_whole_does(tmp_path):
    """ "boat" is in every text of one part and in one of the other, so BM25 alone would put that one first."""
    subjects = ["boat", "boat and the coal", "lamp", "lamp and the rope"]
    texts = {
        f"{number:02}": f"Number {number} of the {subjects[number % 2 + 2 * (number > 20)]}." for number in range(60)
    }
    texts["40"] = "Number 40 of the boat house."
    parts = {"all": texts, "a": dict(list(texts.items())[:21]), "b": dict(list(texts.items())[21:])}
    indexes = {name: indexed(tmp_path / name, part, HashingEmbedder(256)) for name, part in parts.items()}
    with indexes.pop("all") as whole, JointIndex(indexes) as joint:
        for query, mode in product(("boat", "boat house", "rope of the lamp", "coal 7"), ("dense", "hybrid")):
            ranked = [[one.metadata["source"] for one in index.search(query, 9, mode=mode)] for index in (whole, joint)]
            assert ranked[0] == ranked[1], (query, mode)

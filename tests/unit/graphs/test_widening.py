"""Relevant passages and what stands around them: what is added, what is merged, and that citations stay true."""

from __future__ import annotations

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

from local_rag.config.values import Crag, Limits, SelfRag, Values
from local_rag.graphs import compiled, widening
from local_rag.graphs.deps import Deps, Options, recursion_limit
from local_rag.graphs.widening import widened
from local_rag.text import citations
from local_rag.text.parts import chunk_ids, parts, stored
from local_rag.web.search import Off

TEXTS = ["Intro of the plan.", "The plan costs 100 euros.", "It runs for a year.", "Notice is three months.",
         "Pets are allowed.", "Parking is extra."]  # fmt: skip
HEADINGS = ["Plan", "Plan > Costs", "Plan > Costs", "Plan > Costs", "House", "House"]


def book(name="book", texts=TEXTS, headings=HEADINGS, overlap=0, **about):
    """Passages of one document, a blank line between two of them, or with so many code points in common."""
    passages, start = [], 0
    for number, (text, heading) in enumerate(zip(texts, headings, strict=True)):
        place = max(0, start - overlap)
        ranked = {"source": f"/{name}.md", "chunk_id": f"{name}{number}", "rank_score": 1 / (number + 2)}
        passages.append(passage(0, text, start=place, end=place + len(text), heading=heading, **(ranked | about)))
        start = place + len(text) + (0 if overlap else 2)
    return passages


BOOK = book()


def ids(documents):
    return [chunk_ids(document) for document in documents]


CASES = [
    # found, how, room, the stored passages of each
    ([1], "neighbours", 1000, [["book0", "book1", "book2"]]),
    ([0], "neighbours", 1000, [["book0", "book1"]]),
    ([5], "neighbours", 1000, [["book4", "book5"]]),
    ([1, 2], "neighbours", 1000, [["book0", "book1", "book2", "book3"]]),
    ([1, 5], "neighbours", 1000, [["book0", "book1", "book2"], ["book4", "book5"]]),
    ([1, 3], "neighbours", 1000, [["book0", "book1", "book2", "book3", "book4"]]),
    # the section where most of it was found
    ([1, 2], "section", 1000, [["book1", "book2", "book3"]]),
    ([1, 3], "section", 1000, [["book1", "book2", "book3"]]),
    ([1], "section", 1000, [["book1"]]),
    ([4], "section", 1000, [["book4"]]),
    ([1, 2], "auto", 1000, [["book1", "book2", "book3"]]),
    ([1], "auto", 1000, [["book0", "book1", "book2"]]),
    # what the engine has no room for is not added; what touches is one passage all the same
    ([1], "neighbours", 0, [["book1"]]),
    ([1], "neighbours", 20, [["book1", "book2"]]),
    ([1, 5], "neighbours", 25, [["book1", "book2"], ["book5"]]),
    ([1, 2], "section", 3, [["book1", "book2"]]),
]


@pytest.mark.parametrize(("found", "how", "room", "stored"), CASES)
def test_what_a_passage_is_widened_by(found, how, room, stored):
    wide = widened([BOOK[number] for number in found], FakeCorpus(BOOK), room, how)
    assert ids(wide) == stored
    text = "\n\n".join(TEXTS)
    for document in wide:
        start, end = document.metadata["start"], document.metadata["end"]
        assert " ".join(document.page_content.split()) == " ".join(text[start:end].split())
    assert [parts(document) == [] for document in wide] == [len(names) == 1 for names in stored]


def test_a_wider_passage_keeps_the_place_and_the_figures_of_its_best_one():
    (wide,) = widened([BOOK[2], BOOK[1]], FakeCorpus(BOOK), 1000, "neighbours")
    assert wide.metadata["chunk_id"] == "book1"
    assert wide.metadata["rank_score"] == BOOK[1].metadata["rank_score"]
    assert [(one.page_content, one.metadata["heading"]) for one in stored(wide)] == list(
        zip(TEXTS, HEADINGS, strict=True)
    )[:4]
    assert [one.metadata["chunk_id"] for one in stored(wide)] == ["book0", "book1", "book2", "book3"]
    assert stored(BOOK[1]) == [BOOK[1]]


def test_a_quote_in_the_wider_part_says_where_it_stands():
    wide = widened([BOOK[3]], FakeCorpus(BOOK), 1000, "neighbours")
    checked = citations.check("Pets are allowed [1]. Notice is three months [1].", wide)
    text = "\n\n".join(TEXTS)
    assert [one.quote for one in checked.citations] == ["Pets are allowed.", "Notice is three months."]
    assert [text[one.start : one.end] for one in checked.citations] == [one.quote for one in checked.citations]
    assert [one.heading for one in checked.citations] == ["House", "Plan > Costs"]
    assert all(one.verified for one in checked.citations)
    assert not citations.check("Cats are forbidden [1].", wide).citations[0].verified


def test_nothing_is_added_across_the_border_of_a_document():
    pages = [*book("book", TEXTS[:2], HEADINGS[:2], page=1), *book("next", TEXTS[2:4], HEADINGS[2:4], page=2)]
    assert ids(widened([pages[1]], FakeCorpus(pages), 1000, "auto")) == [["book0", "book1"]]


def test_overlapping_chunks_are_read_once():
    text = "One two three. Four five six. Seven eight nine."
    chunks = book("o", [text[:20], text[10:35], text[25:]], ["", "", ""])
    for chunk, (start, end) in zip(chunks, [(0, 20), (10, 35), (25, len(text))], strict=True):
        chunk.metadata |= {"start": start, "end": end}
    (wide,) = widened([chunks[1]], FakeCorpus(chunks), 1000, "neighbours")
    assert wide.page_content == text


def test_copies_known_passages_pages_of_the_web_and_refined_ones_stay_out_of_it():
    doubled = book(texts=[TEXTS[1], TEXTS[1], TEXTS[2]], headings=["", "", ""])
    assert ids(widened([doubled[1]], FakeCorpus(doubled), 1000, "neighbours")) == [["book1", "book2"]]
    assert ids(widened([BOOK[1]], FakeCorpus(BOOK), 1000, "neighbours", known=["book2"])) == [["book0", "book1"]]
    web = passage(9, origin="web")
    assert widened([web], FakeCorpus(BOOK), 1000, "auto") == [web]
    refined = BOOK[1].model_copy(update={"metadata": BOOK[1].metadata | {"pieces": [(20, 30)]}})
    assert widened([refined], FakeCorpus(BOOK), 1000, "auto") == [refined]


def test_a_document_that_changed_meanwhile_leaves_the_passage_as_it_is():
    class Changed(FakeCorpus):
        def span(self, chunk_id, start, end):
            return ""

    assert widened([BOOK[1], BOOK[2]], Changed(BOOK), 1000, "auto") == [BOOK[1], BOOK[2]]


# --- in the graphs ----------------------------------------------------------------------------------------------------


THINGS = ("house", "garden", "pump", "well", "road", "gate")


def ask(name, engine, *, corpus=None, web=False, **settings):
    values = Values(widen="auto", **settings)
    deps = Deps(
        corpus or FakeCorpus(BOOK),
        engine,
        FakeWeb() if web else Off(),
        Limits(),
        crag=values.crag,
        self_rag=values.self_rag,
        widen=values.widen,
    )
    path, state = [], {}
    graph = compiled(name, Options.of(values))
    config = {"recursion_limit": recursion_limit(Limits())}
    for update in graph.stream({"question": "What does the plan cost?"}, config, context=deps):
        for node, changed in update.items():
            path.append(node)
            state |= changed or {}
    return " ".join(path), state


READ = "retrieve grade_documents widen_documents"
PATHS = [
    ("self-rag", {}, f"{READ} generate grade_generation"),
    ("self-rag", {"self_rag": SelfRag(candidates=2)}, f"{READ} generate rank_candidates grade_generation"),
    ("crag", {}, f"{READ} refine_documents generate grade_generation"),
    ("adaptive", {}, f"route_question {READ} generate grade_generation"),
    ("plain", {}, "retrieve generate"),
]


@pytest.mark.parametrize(("name", "settings", "path"), PATHS)
def test_relevant_passages_are_widened_before_an_answer_is_written(name, settings, path):
    engine = ScriptedEngine(relevant=["nnyn"], drafts=["Pets are allowed [1]."])
    taken, state = ask(name, engine, **settings)
    if name == "crag":
        assert taken.startswith(READ)
    else:
        assert taken == path
    if name != "plain":
        assert ids(state["documents"]) == [["book1", "book2", "book3"]]


def test_pages_of_the_web_follow_the_wider_passages():
    engine = ScriptedEngine(relevant=["nnny", "y"], drafts=["Pets are allowed [1]."])
    _, state = ask("crag", engine, web=True)
    assert [chunk_ids(document) for document in state["documents"]] == [["book2", "book3", "book4"], ["90"]]


def test_a_wider_passage_is_refined_to_the_strips_that_help():
    texts = [" ".join(f"The {name} {thing} is here." for thing in THINGS) for name in ("old", "new", "red", "odd")]
    corpus = FakeCorpus(book(texts=texts, headings=[""] * 4))
    engine = ScriptedEngine(relevant=["nynn", "nny"], drafts=["The new pump is here [1]."])
    _, state = ask("crag", engine, corpus=corpus, crag=Crag(refine=True))
    (document,) = state["documents"]
    text = "\n\n".join(texts)
    assert document.metadata["pieces"]
    for start, end in document.metadata["pieces"]:
        assert " ".join(text[start:end].split()) in " ".join(document.page_content.split())


def test_what_was_widened_by_does_not_come_back_once_it_is_rejected():
    engine = ScriptedEngine(relevant=["ynnn", "n"], drafts=["The passages do not contain the answer."])
    corpus = FakeCorpus(BOOK)
    ask("self-rag", engine, corpus=corpus)
    assert {"book0", "book1"} <= set(corpus.queries[1][3])


def test_the_parts_of_an_answer_do_not_share_wider_passages():
    engine = ScriptedEngine(
        relevant=["ynnn", "y"],
        drafts=["Intro of the plan [1].", "Parking is extra [1]."],
        grades=[("fully", 0), ("fully", 0), ("unparsed", 5)],
        next=["yes", "no"],
    )
    corpus = FakeCorpus(BOOK)
    taken, state = ask("self-rag", engine, corpus=corpus, self_rag=SelfRag(retrieve="each"))
    assert taken.count("widen_documents") == 2
    stored = [name for names in ids(state["documents"]) for name in names]
    assert len(stored) == len(set(stored))
    checked = citations.check(state["generation"], state["documents"])
    assert [one.quote for one in checked.citations] == ["Intro of the plan.", "Parking is extra."]


def test_no_passage_is_split_into_words_twice(monkeypatch):
    split = []
    monkeypatch.setattr(widening, "words", lambda text: split.append(text) or text.split())
    widened([BOOK[1], BOOK[4]], FakeCorpus(BOOK), 1_000, "neighbours")
    for text in (BOOK[1].page_content, BOOK[4].page_content):
        assert split.count(text) == 1

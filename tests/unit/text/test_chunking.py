"""Passages are spans, in order, complete, and never longer than asked for."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.fakes_index import HashingEmbedder, markdown, minilm

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import Stopped
from local_rag.text.chunking import chunk
from local_rag.text.display import printable
from local_rag.text.sentences import sentences

WORDS = "the a retrieval unbelievability graphs, e.g. Dr. naïve 3.14 don't x_y don’t. Yes! 日本語です。 a/b?c=d ---"


def cut(text, size=50, overlap=0):
    return chunk(markdown(text), HashingEmbedder().token_ends(text), size=size, overlap=overlap, window=254)


prose = st.lists(
    st.sampled_from([*WORDS.split(), "\n\n", "\n", "# A\n", "\n## B c\n", " ", "é", "ab" * 300]), max_size=120
)
anything = st.one_of(prose.map(" ".join), st.text(max_size=400)).map(printable)


@settings(max_examples=3 * settings().max_examples)
@given(anything, st.integers(16, 60), st.integers(0, 8))
@example("# H\n\n" + "x" * 5000 + " tail", 16, 0)
@example("日本語" * 400, 20, 0)
@example("-" * 900, 16, 0)
def test_every_character_once_in_order_and_within_the_size_beside_the_overlap(text, size, overlap):
    ends = minilm().token_ends
    chunks = chunk(markdown(text), ends(text), size=size, overlap=overlap, window=254)
    plain = chunk(markdown(text), ends(text), size=size - overlap, overlap=0, window=254)
    rest, at = [], 0
    for wide, piece in zip(chunks, plain, strict=True):
        assert at <= piece.start < piece.end == wide.end
        assert text[piece.start : piece.end] == text[piece.start : piece.end].strip()
        assert len(ends(text[piece.start : piece.end])) <= size - overlap
        assert wide.start <= piece.start and wide.heading == piece.heading
        assert len(ends(text[wide.start : piece.start])) <= overlap
        assert len(ends(text[wide.start : wide.end])) <= size
        rest.append(text[at : piece.start])
        at = piece.end
    assert "".join([*rest, text[at:]]).strip() == ""


def test_headings_give_the_path_and_stay_with_their_text():
    text = (
        "# Plan\n\n## Cost\n\n"
        + "It costs a hundred euros today. " * 6
        + "\n\n## Time\n\n"
        + "It takes two years. " * 9
    )
    chunks = cut(text)
    assert [piece.heading for piece in chunks] == ["Plan > Cost", "Plan > Time"]
    assert text[chunks[0].start :].startswith("# Plan\n\n## Cost")
    assert text[chunks[1].start :].startswith("## Time")


def test_a_new_heading_of_the_same_level_replaces_the_old_path():
    long = "One more sentence stands here today. " * 6
    text = f"# A\n{long}\n## B\n{long}\n### C\n{long}\n## D\n{long}\n# E\n{long}"
    assert [piece.heading for piece in cut(text)] == ["A", "A > B", "A > B > C", "A > D", "E"]


def test_a_heading_alone_is_never_a_passage_if_text_follows():
    text = "# Title\n\n" + "A long paragraph goes on and on. " * 30 + "\n\n# Next\n\n" + "word " * 200
    chunks = cut(text)
    alone = [text[piece.start : piece.end] for piece in chunks if "\n" not in text[piece.start : piece.end]]
    assert not any(piece.startswith("#") for piece in alone)
    assert [text[p.start : p.end].split("\n")[0] for p in chunks if text[p.start] == "#"] == ["# Title", "# Next"]


def test_a_tiny_section_shares_its_passage_with_the_next_one():
    text = "# A\n\nYes.\n\n# B\n\n" + "It goes on here. " * 6
    assert [piece.heading for piece in cut(text)] == ["A"]
    assert len(cut("# A\n\n" + "Enough text. " * 6 + "\n\n# B\n\n" + "It goes on here. " * 6)) == 2


def test_long_paragraphs_are_cut_between_sentences_and_shared_out_evenly():
    text = "This is one sentence of nine words or so. " * 11
    chunks = cut(text)
    assert all(text[piece.end - 1] == "." for piece in chunks)
    lengths = [piece.end - piece.start for piece in chunks]
    assert len(chunks) == 3 and min(lengths) > 0.6 * max(lengths)


def test_overlap_begins_at_a_sentence_and_never_crosses_a_heading():
    text = (
        "# A\n" + "".join(f"Sentence {number} is right here. " for number in range(30)) + "\n# B\n" + "New text. " * 20
    )
    chunks = cut(text, size=50, overlap=10)
    inner = [piece for piece in chunks[1:] if piece.heading == "A"]
    assert inner and all(text[piece.start :].startswith("Sentence") for piece in inner)
    assert all(after.start < before.end for before, after in zip(chunks, inner, strict=False))
    first_of_b = next(piece for piece in chunks if piece.heading == "B")
    assert text[first_of_b.start :].startswith("# B")


def test_overlap_falls_back_to_words_and_no_text_has_no_chunk():
    chunks = cut("word " * 200, size=50, overlap=10)
    assert all(before.end - after.start == len("word " * 10) - 1 for before, after in pairwise(chunks))
    assert cut("") == cut(" \n\t\n ") == []


@pytest.mark.parametrize(("size", "overlap", "window"), [(0, 0, 10), (11, 0, 10), (10, 6, 10), (10, -1, 10)])
def test_impossible_sizes_are_refused(size, overlap, window):
    with pytest.raises(ValueError, match="expected 0 < size"):
        chunk(LoadedDocument("text"), [4], size=size, overlap=overlap, window=window)


def test_a_stop_is_heard_between_two_chunks():
    """And not only then: sentences of a long paragraph are looked for first."""
    stop = cancel.Cancel()
    stop.stop()
    for work in (lambda: cut("The keeper lights the lamp. " * 100), lambda: sentences("The keeper lights the lamp.")):
        work()
        with cancel.scope(stop), pytest.raises(Stopped):
            work()

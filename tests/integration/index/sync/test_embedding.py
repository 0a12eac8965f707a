"""Text first, vectors later: what is found in between, in which order vectors come, and which are made only once."""

import os
import shutil
from pathlib import Path

import pytest
from support.fakes_index import HashingEmbedder, indexed

from local_rag.core import cancel
from local_rag.core.errors import ModelMissing, Stopped
from local_rag.index.sync import embed

LETTERS = "abcdefgh"


class Remembering(HashingEmbedder):
    """Keeps the texts that it embedded as documents."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def embed_documents(self, texts):
        self.texts += texts
        return super().embed_documents(texts)

    def embed_queries(self, texts):
        return HashingEmbedder.embed_documents(self, texts)


@pytest.fixture
def index(tmp_path):
    with indexed(tmp_path / "index", {}, Remembering()) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    """A file for each letter, each a day older than the one before."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for age, letter in enumerate(LETTERS):
        (folder / f"{letter}.txt").write_text(f"The file {letter} is about the letter {letter * 3}.")
        os.utime(folder / f"{letter}.txt", (1_700_000_000 - 86_400 * age,) * 2)
    return folder


def sources(documents):
    return [Path(document.metadata["source"]).name for document in documents]


# --- two phases


def test_text_needs_no_weights_and_stays_without_them(index, notes):
    def missing():
        raise ModelMissing("there are no weights", hint="local-rag models pull")

    index.embedder.before_batch = missing
    with pytest.raises(ModelMissing):
        index.sync([notes])
    assert index.embedded_count() == (0, 8)


def test_newest_files_come_first_and_a_stop_keeps_every_batch(index, notes, monkeypatch):
    for name, value in {"FIRST": 2, "SMALLEST": 2, "LARGEST": 2, "_WINDOW": 1}.items():
        monkeypatch.setattr(embed, name, value)
    stop = cancel.Cancel()
    with cancel.scope(stop), pytest.raises(Stopped):
        index.sync([notes], progress=lambda progress: progress.phase == "vectors" and stop.stop())
    assert index.embedded_count() == (2, 8)
    assert sorted(sources(index.search("letter", 8, mode="dense"))) == ["a.txt", "b.txt"]
    assert len(index.search("letter", 8)) == 8
    index.embedder.texts.clear()
    assert index.sync().embedded == 6
    assert [text[9] for text in index.embedder.texts if text.startswith("The file")] == [*LETTERS[2:]]
    assert len(index.search("letter", 8, mode="dense")) == 8


def test_a_passage_without_a_vector_is_not_punished_for_that(index, notes):
    index.sync([notes])
    (notes / "new.txt").write_text("The notice period of the lease is three months.")
    (notes / "near.txt").write_text("A period of the lease: the file is about the letter.")
    index.sync(embed=False)
    for question in ("notice period lease", "How long is the notice period of a lease?"):
        assert sources(index.search(question, 1)) == ["new.txt"]


# --- nothing is embedded twice

PARAGRAPHS = 12


def text_of(subject, count=PARAGRAPHS):
    """Paragraphs of which each is a passage of its own."""
    words = (" ".join(f"w{number}x{n}" for n in range(30)) for number in range(count))
    return "\n\n".join(f"{subject} {number}: {text}" for number, text in enumerate(words))


def cost(index, *paths):
    """What a sync embeds, as (passages, headers)."""
    index.embedder.texts.clear()
    index.sync([*paths] or None)
    given = list(index.embedder.texts)
    passages = {passage.text for passage in index.passages()}
    assert index.embedded_count()[0] == index.count() and index.verify(deep=True)
    return sum(text in passages for text in given), sum(text not in passages for text in given)


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / "books"
    for name in ("bridges", "harbours", "deep/tunnels"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text_of(name))
    return folder


def edited(file, old, new):
    file.write_text(file.read_text().replace(old, new, 1))


def handed_on(folder):
    first, others = (folder / "bridges.txt").read_text().split("\n\n", 1)
    (folder / "bridges.txt").write_text(others)
    edited(folder / "harbours.txt", "harbours 0", f"{first}\n\nharbours 0")


CHANGES = {
    "a copy of the same name": (lambda folder: shutil.copy(folder / "bridges.txt", folder / "deep"), (0, 0)),
    "a copy": (lambda folder: shutil.copy(folder / "bridges.txt", folder / "viaducts.txt"), (0, 1)),
    "a renamed file": (lambda folder: (folder / "bridges.txt").rename(folder / "viaducts.txt"), (0, 1)),
    "a moved folder": (lambda folder: (folder / "deep").rename(folder / "below"), (0, 0)),
    "an edited paragraph": (lambda folder: edited(folder / "bridges.txt", "w5x3 ", "another word "), (1, 0)),
    "a paragraph that goes to another file": (handed_on, (0, 0)),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_what_a_change_costs(index, books, change, expected):
    assert cost(index, books) == (3 * PARAGRAPHS, 3)
    change(books)
    assert cost(index) == expected
    assert cost(index) == (0, 0)


def test_a_paragraph_that_grows_shifts_what_follows_only_until_a_border_is_the_same_again(index, tmp_path):
    """Several paragraphs make a passage here, so the cut moves with the first that changes."""
    parts = [f"Sentence {number} is of {'stone ' * (1 + number * 7919 % 13)}and water." for number in range(200)]
    book = tmp_path / "book.txt"
    book.write_text("\n\n".join(parts))
    cost(index, book)
    edited(book, parts[20], f"{parts[20]} It goes on with a few more words.")
    assert 1 <= cost(index)[0] <= 10

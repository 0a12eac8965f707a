"""What a check of an index sees: missing rows and tables, vectors that are none, text that is not what was stored."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder

from local_rag.core.errors import IndexDamaged
from local_rag.index.index import Index


@pytest.fixture
def index(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("lamp", "boat", "horn"):
        (notes / f"{name}.md").write_text(f"# Duties\n\nThe {name} is kept ready.\n\n## More\n\nAnd clean.")
    with Index.open(tmp_path / "index", HashingEmbedder(), chunk_size=12, create=True) as made:
        made.sync([notes])
        assert made.verify() and made.verify(deep=True)
        yield made


def change(index, sql):
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.executescript(sql)


def again(index):
    return Index.open(index.path, HashingEmbedder(), chunk_size=12)


@pytest.mark.parametrize("name", ["schema", "embedder", "fingerprint", "dimension", "size", "overlap"])
@pytest.mark.parametrize("harm", ["DELETE FROM meta", "UPDATE meta SET value = 'x'"])
def test_a_row_of_meta_that_nothing_else_knows(index, name, harm):
    if harm.startswith("UPDATE") and name in ("schema", "embedder", "fingerprint"):
        pytest.skip("any text will do there")
    change(index, f"{harm} WHERE name = '{name}'")
    for opening in (again, lambda index: Index.inspect(index.path)):
        with pytest.raises(IndexDamaged, match=f"'{name}'") as caught:
            opening(index)
        notes = index.path.parent / "notes"
        remove = f"local-rag remove --index {index.path}"
        assert caught.value.hint == f"{remove} && local-rag index {notes} --index {index.path}"


@pytest.mark.parametrize("name", ["generation", "epoch", "base", "last_sync"])
def test_a_row_of_meta_that_the_next_commit_renews(index, name):
    change(index, f"DELETE FROM meta WHERE name = '{name}'")
    with again(index) as opened:
        assert len(opened.search("boat", 2)) == 2 and opened.verify()
        opened.sync()


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        ("DROP TABLE roots", "lacks the table roots"),
        ("DELETE FROM documents WHERE id = 1", "belong to nothing"),
        ("DELETE FROM files WHERE id = 1", "belong to nothing"),
        ("DELETE FROM chunks WHERE id = 1", "belong to nothing"),
    ],
)
def test_rows_and_tables_that_are_missing(index, harm, found):
    change(index, harm)
    with pytest.raises(IndexDamaged, match=f"is damaged: .*{found}") as caught:
        index.verify()
    assert caught.value.hint.startswith("local-rag remove --index")


NOT_A_NUMBER = "zeroblob(252) || x'0000c07f'"
"""63 zeros and a NaN, as they are stored."""


@pytest.mark.parametrize(
    "harm",
    [
        f"UPDATE vectors SET vector = CAST({NOT_A_NUMBER} AS BLOB)",
        f"UPDATE vectors SET vector = CAST({NOT_A_NUMBER} AS BLOB) WHERE chunk = 2",
        "DELETE FROM vectors WHERE chunk = 2",
        "UPDATE vectors SET vector = x'00' WHERE chunk = 2",
    ],
)
def test_vectors_that_are_none_are_found_and_made_anew(index, harm):
    count = index.count()
    expected = index.search("boat ready", 3)
    change(index, harm)
    for look in (lambda: again(index).search("boat ready", 3), lambda: again(index).verify()):
        with pytest.raises(IndexDamaged, match="without a vector, or with one that is none") as caught:
            look()
        assert caught.value.hint == f"local-rag index --reembed --index {index.path}"
    with Index.open(index.path, HashingEmbedder(), chunk_size=12, reembed=True) as opened:
        assert opened.reembed() == (1 if "WHERE" in harm else count)
        assert opened.search("boat ready", 3) == expected and opened.verify(deep=True)


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        ("DELETE FROM full_text_docsize WHERE id = 1", "rows in the full-text index"),
        ("UPDATE full_text_data SET block = zeroblob(length(block)) WHERE id > 10", "the full-text index"),
        ("DELETE FROM full_text_idx", ""),
        ("INSERT INTO full_text (full_text) VALUES ('delete-all')", "0 rows in the full-text index"),
        (
            "INSERT INTO full_text (full_text, rowid, text, heading, title) VALUES ('delete', 2, 'b', 'b', 'b')",
            "full-text index",
        ),
    ],
)
def test_words_are_made_anew_from_the_texts(index, harm, found):
    expected = index.search("boat ready", 3, mode="words")
    change(index, harm)
    if found:
        with pytest.raises(IndexDamaged, match=f"is damaged: .*{found}") as caught:
            index.verify()
        assert caught.value.hint == f"local-rag index --reembed --index {index.path}"
    with Index.open(index.path, HashingEmbedder(), chunk_size=12, reembed=True) as opened:
        assert opened.reembed() == 0
        assert opened.search("boat ready", 3, mode="words") == expected and opened.verify(deep=True)


def test_words_that_belong_to_no_passage(index):
    change(
        index, "INSERT INTO full_text (rowid, text) VALUES (999, 'boat'); DELETE FROM full_text_docsize WHERE id = 999"
    )
    with pytest.raises(IndexDamaged) as caught:
        again(index).search("boat", 3)
    assert caught.value.hint == f"local-rag index --reembed --index {index.path}"
    with Index.open(index.path, HashingEmbedder(), chunk_size=12, reembed=True) as opened:
        assert opened.reembed() == 0 and opened.search("boat", 3)


class TestDeep:
    def test_a_vector_of_another_length(self, index):
        change(index, "UPDATE vectors SET vector = CAST(x'0000a040' || zeroblob(252) AS BLOB) WHERE chunk = 3")
        assert index.verify()
        with pytest.raises(IndexDamaged, match="1 passage without a vector"):
            index.verify(deep=True)

    @pytest.mark.parametrize(
        "harm",
        [
            "UPDATE documents SET text = replace(text, 'boat', 'coat')",
            "UPDATE documents SET text = replace(text, 'boat is', 'boat  s')",
            "UPDATE documents SET text = CAST(x'ff' || text AS TEXT) WHERE text LIKE '%boat%'",
            "UPDATE chunks SET start = start + 1 WHERE document = (SELECT id FROM documents WHERE text LIKE '%boat%')",
            "UPDATE chunks SET digest = x'00' WHERE document = (SELECT id FROM documents WHERE text LIKE '%boat%')",
        ],
    )
    def test_text_that_is_not_what_was_stored(self, index, harm):
        change(index, harm)
        assert index.verify()
        boat = index.path.parent / "notes" / "boat.md"
        with pytest.raises(IndexDamaged, match=r"text that has changed in 1 file, such as .*boat\.md") as caught:
            index.verify(deep=True)
        which = f"--index {index.path}"
        assert caught.value.hint == f"local-rag remove {boat} {which} && local-rag index {which}"
        with again(index) as opened:
            opened.remove([boat])
            opened.sync()
            assert opened.verify(deep=True) and "boat" in opened.search("boat", 1)[0].page_content

    def test_text_that_cannot_be_shown(self, index):
        change(index, "UPDATE documents SET text = CAST(x'ff' || text AS TEXT)")
        with pytest.raises(IndexDamaged, match="holds text that is not UTF-8") as caught:
            index.search("boat", 3)
        assert caught.value.hint == f"local-rag doctor --deep --index {index.path}"


def test_bytes_of_the_file_that_are_flipped(index):
    """No flipped byte is an error of ours; most are seen by the one check or the other."""
    index.close()
    data = (index.path / "index.sqlite").read_bytes()
    seen = 0
    for position in range(100, len(data), len(data) // 40):
        (index.path / "index.sqlite").write_bytes(data[:position] + bytes([data[position] ^ 16]) + data[position + 1 :])
        for file in index.path.glob("index.sqlite-*"):
            os.unlink(file)  # noqa: PTH108
        try:
            with again(index) as opened:
                opened.verify(deep=True)
                opened.search("boat ready", 3)
        except IndexDamaged as error:
            seen += 1
            assert error.hint
    assert seen > 0

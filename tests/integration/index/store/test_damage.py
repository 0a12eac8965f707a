"""What is damaged, of another program or of an earlier version is recognised, and made anew where that can be done."""

import sqlite3
from contextlib import closing

import pytest
from support.fakes_index import HashingEmbedder, indexed

from local_rag.core.errors import IndexDamaged, IndexMissing, LocalRagError
from local_rag.index.index import Index


@pytest.fixture
def index(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("lamp", "boat", "horn"):
        (notes / f"{name}.md").write_text(f"# Duties\n\nThe {name} is kept ready.\n\n## More\n\nAnd clean.")
    with indexed(tmp_path / "index", {}, chunk_size=12) as made:
        made.sync([notes])
        assert made.verify() and made.verify(deep=True)
        yield made


def change(index, sql):
    with closing(sqlite3.connect(index.path / "index.sqlite")) as db, db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.executescript(sql)


def again(index, **options):
    return Index.open(index.path, HashingEmbedder(), **options)


LOST = {
    **{f"DELETE FROM meta WHERE name = '{name}'": name for name in ("embedder", "fingerprint", "size", "overlap")},
    "UPDATE meta SET value = 'x' WHERE name = 'dimension'": "number",
    "DROP TABLE full_text": "no such table",
    "DELETE FROM documents WHERE id = 1": "belong to nothing",
    "DELETE FROM files WHERE id = 1": "belong to nothing",
    "DELETE FROM chunks WHERE id = 1": "belong to nothing",
    "UPDATE documents SET text = CAST(x'ff' || text AS TEXT)": "Could not decode to UTF-8 column 'text'$",
}


@pytest.mark.parametrize(("harm", "found"), LOST.items(), ids=LOST)
def test_what_is_lost_is_read_again_from_the_files(index, harm, found):
    change(index, harm)
    with pytest.raises(IndexDamaged, match=f"is damaged: .*{found}") as caught, again(index) as opened:
        opened.verify(deep=True)
    remove = f"local-rag remove --index {index.path}"
    assert caught.value.hint == f"{remove} && local-rag index {index.path.parent / 'notes'} --index {index.path}"


NOT_A_NUMBER = "CAST(zeroblob(252) || x'0000c07f' AS BLOB)"
ONE = "WHERE rowid = (SELECT max(rowid) FROM vectors)"
MENDED = {
    f"UPDATE vectors SET vector = {NOT_A_NUMBER}": "passages without a vector",
    f"UPDATE vectors SET vector = {NOT_A_NUMBER} {ONE}": "without a vector",
    f"UPDATE vectors SET vector = CAST(x'0000a040' || zeroblob(252) AS BLOB) {ONE}": "without a vector",
    f"UPDATE vectors SET vector = x'00' {ONE}": "without a vector",
    f"DELETE FROM vectors {ONE}": "without a vector",
    "UPDATE headers SET vector = NULL": "headers without a vector",
    "UPDATE headers SET vector = x'00'": "headers without a vector",
    "DELETE FROM full_text_docsize WHERE id = 1": "rows in the full-text index",
    "UPDATE full_text_data SET block = zeroblob(length(block)) WHERE id > 10": "the full-text index",
    "INSERT INTO full_text (full_text) VALUES ('delete-all')": "0 rows in the full-text index",
    "INSERT INTO full_text (full_text, rowid, text, heading) VALUES ('delete', 2, 'b', 'b')": "full-text index",
}


@pytest.mark.parametrize(("harm", "found"), MENDED.items(), ids=MENDED)
def test_vectors_and_words_are_made_anew_from_the_texts(index, harm, found):
    expected = index.search("boat ready", 3)
    change(index, harm)
    with again(index) as opened, pytest.raises(IndexDamaged, match=f"is damaged: .*{found}") as caught:
        opened.verify()
    assert caught.value.hint == f"local-rag index --reembed --index {index.path}"
    with again(index, reembed=True) as opened:
        opened.reembed()
        assert opened.search("boat ready", 3) == expected and opened.verify(deep=True)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE vectors SET vector = x'00'",
        "DELETE FROM vectors",
        "UPDATE headers SET vector = x'00'",
        "DELETE FROM full_text_data WHERE id > 10",
        "INSERT INTO full_text (rowid, text) VALUES (999, 'boat'); DELETE FROM full_text_docsize WHERE id = 999",
    ],
)
def test_a_search_says_so_too(index, harm):
    change(index, harm)
    with again(index) as opened, pytest.raises(IndexDamaged) as caught:
        opened.search("boat", 3)
    assert caught.value.hint == f"local-rag index --reembed --index {index.path}"


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE documents SET text = replace(text, 'boat', 'coat')",
        "UPDATE chunks SET start = start + 1 WHERE document = (SELECT id FROM documents WHERE text LIKE '%boat%')",
        "UPDATE chunks SET digest = x'00' WHERE document = (SELECT id FROM documents WHERE text LIKE '%boat%');"
        "INSERT INTO vectors SELECT x'00', vector FROM vectors LIMIT 1",
    ],
)
def test_a_deep_check_sees_text_that_is_not_what_was_stored(index, harm):
    change(index, harm)
    boat, which = index.path.parent / "notes" / "boat.md", f"--index {index.path}"
    with again(index) as opened:
        assert opened.verify()
        with pytest.raises(IndexDamaged, match=r"text that has changed in 1 file, such as .*boat\.md") as caught:
            opened.verify(deep=True)
        assert caught.value.hint == f"local-rag remove {boat} {which} && local-rag index --reembed {which}"
        opened.remove([boat])
        opened.reembed()
        opened.sync()
        assert opened.verify(deep=True) and "boat" in opened.search("boat", 1)[0].page_content


@pytest.mark.parametrize("content", ["CREATE TABLE meta (name, value); CREATE TABLE photos (a)", ""])
def test_the_database_of_another_program_is_safe(tmp_path, content):
    file = tmp_path / "index.sqlite"
    if content:
        with closing(sqlite3.connect(file)) as db:
            db.executescript(content)
    else:
        file.write_bytes(b"no database at all" * 100)
    before = file.read_bytes()
    with pytest.raises(IndexMissing, match="no index of local-rag"):
        Index.destroy(tmp_path)
    with pytest.raises(LocalRagError, match=r"is no index of local-rag|earlier version") as caught:
        Index.open(tmp_path)
    assert "local-rag index" in caught.value.hint
    assert [entry.name for entry in tmp_path.iterdir()] == ["index.sqlite"] and file.read_bytes() == before

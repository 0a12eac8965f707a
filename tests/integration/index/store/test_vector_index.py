"""Quantized vectors name candidates: whatever becomes of them, the nearest chunks are those of all vectors."""

from __future__ import annotations

import shutil
import threading
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_rag.index.store.quantized_vectors import QuantizedVectors, quantized
from local_rag.index.store.verification import verify
from support import storing

from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import IndexDamaged
from local_rag.index.store import connection, embedded, quantized_vectors, reads, vector_index, writes
from local_rag.index.store.folder import VECTORS, vectors_file
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

DIMENSION = 16
RECIPE = Recipe("toy", "toy-1", DIMENSION, 50, 0)
PER_FILE = 50


def rows_of(seed, count=PER_FILE):
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


QUERY = rows_of(0, 1)[0]


def put(opened, number, count=PER_FILE, *, embedded_now=True):
    """A file of so many passages, with vectors that its number decides, now or later."""
    text = f"{number} " * count
    width = len(f"{number} ")
    chunks = [Chunk(width * n, width * (n + 1), "") for n in range(count)]
    document = (LoadedDocument(text, f"file {number}", None), chunks, list(rows_of(number + 1, count)))
    row = FileRow(f"/{number}", "/", "hash", 1, 1)
    with opened.writing() as db:
        if embedded_now:
            storing.write(db, row, [document])
        else:
            writes.write(db, row, [document[:2]])


def embed_all(opened):
    """Vectors for all texts and headers that have none, which their ids decide."""
    chunks, _ = opened.read(embedded.without_vectors)
    texts, headers = opened.read(embedded.to_embed, chunks.tolist())
    with opened.writing() as db:
        rows = {chunk: rows_of(1000 + chunk, 1)[0] for chunk, _ in texts}
        named = {header: rows_of(9000 + header, 1)[0] for header, _ in headers}
        embedded.set_vectors(db, chunks.tolist(), rows, named)


def remove(opened, *numbers):
    with opened.writing() as db:
        writes.remove(db, [f"/{number}" for number in numbers])


def by_all_vectors(opened, k, files=None, exclude=()):
    """What every vector of the database says."""
    ids = opened.read(reads.chunk_ids).tolist() if files is None else opened.read(reads.chunks_of, files)
    scores = opened.cosines(QUERY, [chunk for chunk in ids if chunk not in exclude])
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]


def by_a_new_reader(folder, k=20):
    reader = Store(folder)
    try:
        return reader.nearest(QUERY, k, None, ())
    finally:
        reader.close()


def vectors_files(folder):
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith(VECTORS))


def token(opened):
    return opened.read(reads.meta).get("base", "")


@pytest.fixture
def opened(tmp_path):
    made = Store.create(tmp_path / "index", RECIPE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of an index with enough passages for a file, and some that came later."""
    made = Store.create(tmp_path_factory.mktemp("made") / "index", RECIPE)
    for number in range(30):
        put(made, number)
    made.refresh()
    put(made, 30)
    made.close()
    return made.folder


@pytest.fixture
def large(made, tmp_path):
    """A copy of it."""
    opened = Store(shutil.copytree(made, tmp_path / "large"))
    yield opened
    opened.close()


class TestNearest:
    def test_it_is_what_all_vectors_say(self, large):
        remove(large, 3, 17)
        put(large, 5)
        assert len(vectors_files(large.folder)) == 1
        assert large.nearest(QUERY, 100, None, ()) == by_all_vectors(large, 100) == by_a_new_reader(large.folder, 100)

    def test_a_reader_that_stays_open_takes_over_what_is_new(self, large):
        reader = Store(large.folder)
        for number in (31, 2, 32):
            put(large, number)
            assert reader.nearest(QUERY, 60, None, ()) == by_all_vectors(large, 60)
        reader.close()

    def test_more_is_looked_for_until_enough_is_there(self, large):
        reader = Store(large.folder)
        reader.nearest(QUERY, 5, None, ())
        near = {chunk for chunk, _ in reader.nearest(QUERY, 700, None, ())}
        gone = [file.path for file in large.read(reads.files) if near & set(large.read(reads.chunks_of, [file.id]))]
        with large.writing() as db:
            writes.remove(db, gone[:29])
        assert reader.nearest(QUERY, 60, None, ()) == by_all_vectors(large, 60)
        assert len(reader.nearest(QUERY, 5000, None, ())) == 100
        reader.close()

    @pytest.mark.parametrize("few", [0, 2000])
    def test_files_and_passages_narrow_it(self, large, monkeypatch, few):
        monkeypatch.setattr(vector_index, "FEW", few)
        files = [file.id for file in large.read(reads.files)][::2]
        left_out = [chunk for chunk, _ in by_all_vectors(large, 9)]
        assert large.nearest(QUERY, 30, storing.of_files(files), ()) == by_all_vectors(large, 30, files)
        assert large.nearest(QUERY, 30, storing.of_files(files), left_out) == by_all_vectors(large, 30, files, left_out)
        assert large.nearest(QUERY, 30, None, left_out) == by_all_vectors(large, 30, None, left_out)
        assert large.nearest(QUERY, 30, storing.of_files([]), ()) == []

    def test_another_embedder_leaves_nothing_of_the_old_codes(self, large):
        reader = Store(large.folder)
        reader.nearest(QUERY, 5, None, ())
        ids = large.read(reads.chunk_ids)
        with large.writing(vectors_change=True) as db:
            writes.add_fresh(db, ids.tolist(), rows_of(99, len(ids)))
            writes.adopt_fresh(db)
        assert reader.nearest(QUERY, 40, None, ()) == by_all_vectors(large, 40) == by_a_new_reader(large.folder, 40)
        reader.close()

    def test_while_another_thread_writes(self, large):
        reader, trouble = Store(large.folder), []

        def ask():
            while not done.is_set():
                ranking = reader.nearest(QUERY, 30, None, ())
                if len(ranking) != 30 or ranking != sorted(ranking, key=lambda item: (-item[1], item[0])):
                    trouble.append(ranking)

        done = threading.Event()
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(40):
            put(large, number % 7 + 25)
            large.refresh()
        done.set()
        for thread in threads:
            thread.join()
        assert not trouble and reader.nearest(QUERY, 30, None, ()) == by_all_vectors(large, 30)
        reader.close()

    @settings(deadline=None, max_examples=25)
    @given(
        st.lists(
            st.tuples(st.sampled_from("put remove refresh open ask text embed".split()), st.integers(0, 8)), max_size=25
        )
    )
    def test_whatever_came_before(self, tmp_path_factory, steps):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vector_index, "TAIL", 4)
            patch.setattr(vector_index, "OLD_ENOUGH", 12)
            patch.setattr(vector_index, "SPARE", 3)
            opened = Store.create(tmp_path_factory.mktemp("property") / "index", RECIPE)
            for step, number in steps:
                if step == "put":
                    put(opened, number, 6)
                elif step == "remove":
                    remove(opened, number)
                elif step == "text":
                    put(opened, number, 6, embedded_now=False)
                elif step == "embed":
                    embed_all(opened)
                elif step == "refresh":
                    opened.refresh()
                elif step == "open":
                    opened.close()
                else:
                    assert list(map(itemgetter(0), opened.nearest(QUERY, 5, None, ()))) == list(
                        map(itemgetter(0), by_all_vectors(opened, 5))
                    )
            everything = by_all_vectors(opened, 100)
            assert opened.nearest(QUERY, 100, None, ()) == everything == by_a_new_reader(opened.folder, 100)
            opened.close()


class TestFile:
    def test_a_small_index_needs_none(self, opened):
        put(opened, 1)
        opened.refresh()
        assert by_a_new_reader(opened.folder) == by_all_vectors(opened, 20)
        assert vectors_files(opened.folder) == [] and opened.cache_is_fresh()

    def test_it_is_written_only_when_much_is_new_or_gone(self, large):
        first = vectors_files(large.folder)
        for number in range(40, 60):
            put(large, number)
            large.refresh()
        assert vectors_files(large.folder) == first == [f"{VECTORS}.{token(large)}"]
        put(large, 60)
        large.refresh()
        assert len(vectors_files(large.folder)) == 1 and vectors_files(large.folder) != first
        second = vectors_files(large.folder)
        remove(large, *range(20))
        large.refresh()
        assert vectors_files(large.folder) == second
        remove(large, *range(20, 45))
        large.refresh()
        assert vectors_files(large.folder) != second
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)

    def test_codes_are_taken_over_as_they_would_be_made(self, large, monkeypatch):
        monkeypatch.setattr(vector_index, "OLD_ENOUGH", 100)
        remove(large, 3, 4, 5)
        before = QuantizedVectors.mapped(vectors_file(large.folder, token(large)), token(large), DIMENSION)
        monkeypatch.setattr(vector_index, "TAIL", 10)
        large.refresh()
        after = QuantizedVectors.mapped(vectors_file(large.folder, token(large)), token(large), DIMENSION)
        numbers = large.read(embedded.seqs)
        assert after.bound == before.bound and after.ids.tolist() == numbers.tolist()
        matrix = large.read(embedded.combined, numbers.tolist(), DIMENSION).matrix
        assert (after.codes == quantized(matrix, before.bound)).all()

    def test_all_passages_gone(self, large):
        remove(large, *range(31))
        large.refresh()
        assert by_a_new_reader(large.folder) == [] == large.nearest(QUERY, 5, None, ())
        put(large, 1)
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)

    @pytest.mark.parametrize(
        "harm",
        "missing empty short long text huge-header list zeroed shuffled bound size negative foreign older".split(),
    )
    def test_any_harm_to_it_costs_only_time(self, large, tmp_path, harm):
        expected = by_all_vectors(large, 20)
        file = vectors_file(large.folder, token(large))
        data = file.read_bytes()
        head, body = data[:4096], data[4096:]
        if harm == "missing":
            file.unlink()
        elif harm == "foreign":
            other = Store.create(tmp_path / "other", RECIPE)
            for number in range(50, 80):
                put(other, number)
            other.refresh()
            stranger = vectors_file(other.folder, token(other)).read_bytes()
            file.write_bytes(stranger.replace(token(other).encode(), token(large).encode()))
            other.close()
        else:
            swapped = body[8:16] + body[:8] + body[16:]
            harmed = {
                "empty": b"",
                "short": data[:-4],
                "long": data + b"1234",
                "text": b"hello\nworld\n" * 1000,
                "huge-header": b"local-rag vectors 2\n" + b"9" * 100_000,
                "list": b"local-rag vectors 2\n" + b"[1, 2]".ljust(4075) + b"\n" + body,
                "zeroed": head + bytes(len(body)),
                "shuffled": head + swapped,
                "bound": head.replace(b'"bound": ', b'"bound": 9') + body,
                "size": head.replace(b'"rows": 1', b'"rows": 2') + body,
                "negative": head.replace(b'"rows": ', b'"rows": -') + body,
                "older": b"local-rag vectors 1\n" + data[20:],
            }
            file.write_bytes(harmed[harm])
        assert by_a_new_reader(large.folder) == expected
        assert large.cache_is_fresh() and len(vectors_files(large.folder)) == 1
        assert by_a_new_reader(large.folder) == expected == by_all_vectors(large, 20)

    @pytest.mark.parametrize("harm", ["a bit", "a tenth of the rows"])
    def test_what_is_damaged_between_the_probes_is_made_anew(self, large, harm):
        file = vectors_file(large.folder, token(large))
        data = bytearray(file.read_bytes())
        rows = QuantizedVectors.mapped(file, token(large), DIMENSION).codes.shape[0]
        first = 4096 + 8 * rows
        if harm == "a bit":
            data[first + 40 * DIMENSION] ^= 64
        else:
            for row in range(10, rows, 10):
                data[first + row * DIMENSION :][:DIMENSION] = bytes(DIMENSION)
            data = data[: 4096 + rows * (8 + DIMENSION) + 4]
        file.write_bytes(bytes(data))
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)
        assert large.read(vector_index.file_is_whole, large.folder, True)

    def test_a_check_of_the_index_makes_it_anew(self, large):
        assert verify(large) and verify(large, deep=True)
        file = vectors_file(large.folder, token(large))
        data = bytearray(file.read_bytes())
        data[-9] ^= 64
        file.write_bytes(bytes(data))
        assert not verify(large) and verify(large, deep=True)

    def test_a_deep_check_compares_all_codes(self, large):
        numbers = QuantizedVectors.mapped(vectors_file(large.folder, token(large)), token(large), DIMENSION).ids
        chunk = int(large.read(embedded.combined, [int(numbers[700])], DIMENSION).chunks[0])
        with large.writing() as db:
            db.execute("UPDATE vectors SET vector = ? WHERE chunk = ?", (rows_of(9999, 1)[0].tobytes(), chunk))
        assert verify(large) and not verify(large, deep=True) and verify(large, deep=True)

    def test_a_copy_of_the_folder_goes_its_own_way(self, large, tmp_path):
        large.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copytree(large.folder, tmp_path / "copy")
        copy = Store(tmp_path / "copy")
        for number in range(100, 125):
            put(copy, number)
            put(large, number + 100)
        copy.refresh()
        large.refresh()
        assert token(copy) != token(large)
        for name in vectors_files(large.folder):
            shutil.copy(large.folder / name, copy.folder / name)
        assert by_a_new_reader(copy.folder) == by_all_vectors(copy, 20)
        copy.close()

    def test_what_a_killed_writer_left_is_swept_away(self, large):
        (large.folder / f"{VECTORS}.0123456789abcdef").write_bytes(b"half")
        (large.folder / VECTORS).write_bytes(b"local-rag vectors 1\n{}")
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)
        for number in range(40, 62):
            put(large, number)
        large.refresh()
        assert vectors_files(large.folder) == [f"{VECTORS}.{token(large)}"]

    def test_where_it_cannot_be_named_it_is_not_left(self, large, monkeypatch):
        monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
        for name in vectors_files(large.folder):
            (large.folder / name).unlink()
        with large.writing():
            assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)
        assert vectors_files(large.folder) == []
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20) and len(vectors_files(large.folder)) == 1

    def test_no_room_for_it_is_no_error(self, large, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        for name in vectors_files(large.folder):
            (large.folder / name).unlink()
        monkeypatch.setattr(quantized_vectors.os, "fsync", full)
        large.refresh()
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20) and vectors_files(large.folder) == []

    def test_an_index_that_never_had_one(self, large):
        """An index of an earlier version, or of a bundle."""
        large.connection.execute("DELETE FROM meta WHERE name = 'base'")
        for name in vectors_files(large.folder):
            (large.folder / name).rename(large.folder / VECTORS)
        assert not large.cache_is_fresh()
        assert by_a_new_reader(large.folder) == by_all_vectors(large, 20)
        assert large.cache_is_fresh() and len(vectors_files(large.folder)) == 1

    def test_a_lost_vector_is_damage(self, large):
        with large.writing() as db:
            db.execute("DELETE FROM vectors WHERE chunk = 1502")
        with pytest.raises(IndexDamaged, match="1 passage without a vector"):
            by_a_new_reader(large.folder)

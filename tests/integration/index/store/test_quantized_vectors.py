"""Vectors in one byte per dimension, in memory and in a file, without a database."""

from __future__ import annotations

import stat

import numpy as np
import pytest
from local_rag.index.store.quantized_vectors import QuantizedVectors, bound_of, extent, quantized, write

from local_rag.index.store import quantized_vectors

DIMENSION = 16


def unit_vectors(seed, count, dimension=DIMENSION):
    rows = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_memory(ids, vectors):
    bound = bound_of(vectors)
    return QuantizedVectors(np.asarray(ids, dtype=np.int64), quantized(vectors, bound), bound)


@pytest.fixture
def path(tmp_path):
    """A file of 40 vectors."""
    short = in_memory(range(5, 45), unit_vectors(2, 40))
    write(tmp_path / "vectors", "token", short.ids, short.bound, [short.codes[:30], short.codes[30:]])
    return tmp_path / "vectors"


@pytest.fixture(params=["NumPy", "FAISS"])
def compared_by(request, monkeypatch):
    """Both ways to compare vectors, whatever their number."""
    monkeypatch.setattr(quantized_vectors, "FEW", 0 if request.param == "FAISS" else 10**9)


def test_codes_are_those_of_faiss_to_the_bit():
    import faiss

    vectors, bound = unit_vectors(11, 5_000, 384), 0.2371
    vectors[0], vectors[1, :3] = 0, (-1, 1, bound)
    quantizer = faiss.ScalarQuantizer(384, faiss.ScalarQuantizer.QT_8bit_uniform)
    faiss.copy_array_to_vector(np.array([-bound, 2 * bound], dtype=np.float32), quantizer.trained)
    assert np.array_equal(quantized(vectors, bound), quantizer.compute_codes(vectors))


@pytest.mark.usefixtures("compared_by")
class TestNearest:
    @pytest.mark.parametrize("dimension", [3, 16, 384])
    def test_a_product_is_off_by_the_rounding_and_no_more(self, dimension):
        vectors = unit_vectors(1, 500, dimension)
        short = in_memory(np.arange(500) * 3, vectors)
        ids, products = short.nearest(vectors[7], 500)
        off = products[np.argsort(ids)] - vectors @ vectors[7]
        assert sorted(ids.tolist()) == (np.arange(500) * 3).tolist()
        assert np.abs(off).max() < 5 * short.bound / 440 and abs(off.std() - short.bound / 440) < short.bound / 1000

    def test_the_k_largest_products_are_kept(self):
        vectors = unit_vectors(3, 200)
        ids, _ = in_memory(range(200), vectors).nearest(vectors[50], 10)
        assert 50 in ids and len(ids) == 10

    def test_only_allowed_ids_are_found(self):
        vectors = unit_vectors(2, 40)
        allowed = np.zeros(45, dtype=np.bool_)
        allowed[[5, 9, 44]] = True
        assert sorted(in_memory(range(5, 45), vectors).nearest(vectors[0], 10, allowed)[0].tolist()) == [5, 9, 44]

    def test_more_vectors_make_another_value(self):
        vectors = unit_vectors(2, 40)
        short = in_memory(range(30), vectors[:30])
        longer = short.with_more(np.arange(30, 40), quantized(vectors[30:], short.bound))
        assert len(short.ids) == 30 and sorted(longer.nearest(vectors[35], 40)[0].tolist()) == list(range(40))

    def test_what_lies_beyond_the_bound_is_cut_to_it(self):
        codes = quantized(np.array([[5.0, -5.0, 0.0]], dtype=np.float32), 0.5)
        assert codes[0, 0] == 255 and codes[0, 1] == 0 and codes[0, 2] in (127, 128)


class TestFile:
    def test_what_was_written_is_mapped(self, path):
        vectors = unit_vectors(2, 40)
        mapped = QuantizedVectors.mapped(path, "token", DIMENSION)
        assert mapped.ids.tolist() == list(range(5, 45)) and (mapped.codes == quantized(vectors, mapped.bound)).all()
        assert sorted(mapped.nearest(vectors[3], 40)[0].tolist()) == list(range(5, 45))
        assert extent(path) == (40, 44) and stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_file_of_another_token_or_dimension_is_none(self, path):
        assert QuantizedVectors.mapped(path, "other", DIMENSION) is None
        assert QuantizedVectors.mapped(path, "token", DIMENSION + 1) is None
        assert QuantizedVectors.mapped(path.with_name("nothing"), "token", DIMENSION) is None
        assert extent(path.with_name("nothing")) == (0, -1)

    @pytest.mark.parametrize("harm", ["cut off", "too long", "no header", "ids out of order", "a negative id"])
    def test_a_damaged_file_is_none(self, path, harm):
        data = path.read_bytes()
        head, ids = data[:4096], data[4096:]
        path.write_bytes(
            {
                "cut off": data[:-4],
                "too long": data + b"1234",
                "no header": b"hello\n" * 1000,
                "ids out of order": head + ids[8:16] + ids[:8] + ids[16:],
                "a negative id": head + b"\xff" * 8 + ids[8:],
            }[harm]
        )
        assert QuantizedVectors.mapped(path, "token", DIMENSION) is None

    def test_bytes_of_every_block_are_checked(self, tmp_path, monkeypatch):
        monkeypatch.setattr(quantized_vectors, "_BLOCK", 128)
        short = in_memory(range(5, 45), unit_vectors(2, 40))
        path = tmp_path / "vectors"
        write(path, "token", short.ids, short.bound, [short.codes])
        data = path.read_bytes()
        assert len(data) == 4096 + 40 * (8 + DIMENSION) + 4 * 8
        assert QuantizedVectors.mapped(path, "token", DIMENSION) is not None
        for position in [*range(4096, len(data), 13), len(data) - 1]:
            path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
            assert QuantizedVectors.mapped(path, "token", DIMENSION) is None, position

    @pytest.mark.parametrize("trouble", ["too few codes", "no room"])
    def test_a_file_that_cannot_be_written_is_not_left(self, tmp_path, monkeypatch, trouble):
        def full(*_):
            raise OSError(28, "No space left on device")

        short = in_memory(range(40), unit_vectors(2, 40))
        batches = [short.codes[:30]] if trouble == "too few codes" else [short.codes]
        if trouble == "no room":
            monkeypatch.setattr(quantized_vectors.os, "fsync", full)
        with pytest.raises(ValueError if trouble == "too few codes" else OSError):
            write(tmp_path / "vectors", "token", short.ids, short.bound, batches)
        assert list(tmp_path.iterdir()) == []

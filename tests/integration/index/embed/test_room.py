"""A full disk is no property of a model: converting it is tried again, and doctor says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.child_process import Finished
from local_rag.diagnostics.doctor import run_checks
from local_rag.index.embed import conversion, converter, room, weights
from local_rag.index.embed.embedder import CONVERTER, FOLDER, SentenceTransformerEmbedder

SPEC = load_models(Settings.load()).embedder("minilm")
MODEL = weights.folder(SPEC)


@pytest.fixture
def small(tmp_path):
    """A disk of 20 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def replies(monkeypatch, **reply):
    """A converter that gives this reply, and how often it is asked."""
    asked = []
    done = Finished(0, json.dumps(reply).encode(), b"")
    monkeypatch.setattr(conversion.child_process, "run", lambda *_, **__: asked.append(True) or done)
    return asked


def test_a_full_disk_passes_and_nothing_is_begun(small, monkeypatch):
    asked = replies(monkeypatch, why="converted, its vectors differ: cosine nan")
    folder = small / FOLDER / "0123"
    for _ in range(2):
        found = conversion.convert(folder, CONVERTER, MODEL, 256)
        assert found.passing and found.why == f"{small / FOLDER} has no room for it (282.6 MB are needed)"
        assert found.describe.startswith("sentence-transformers; it was not converted this time: ")
    assert asked == [] and conversion.find(folder) is None and list((small / FOLDER).iterdir()) == []


def test_doctor_and_status_say_what_is_missing(small, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_CACHE_DIR", str(small))
    runtime = next(check for check in run_checks(Settings.load()) if check.name == "runtime")
    assert runtime.state == "note" and "20.0 MB free, and 282.6 MB are needed" in runtime.found.replace("21.0", "20.0")
    assert runtime.fix.startswith("free 26") and f"export {'LOCAL_RAG_CACHE_DIR'}=FOLDER" in runtime.fix
    served = SentenceTransformerEmbedder(SPEC, small).served_by
    assert served == runtime.found
    monkeypatch.setenv("LOCAL_RAG_CACHE_DIR", str(small.parent))
    runtime = next(check for check in run_checks(Settings.load()) if check.name == "runtime")
    assert (runtime.found, runtime.fix) == ("the next question or index converts the embedder for OpenVINO", "")


def test_a_reason_that_a_full_disk_may_have_made_is_not_remembered(tmp_path, monkeypatch):
    """The disk fills up while the model is written: the library gives another reason."""
    replies(monkeypatch, why="converted, its vectors differ: cosine nan")
    folder = tmp_path / FOLDER / "0123"
    takes = iter([None, OSError(28, "No space left on device")])

    def take(draft, size):
        if error := next(takes):
            raise error

    monkeypatch.setattr(conversion, "take_room", take)
    assert conversion.convert(folder, CONVERTER, MODEL, 256).passing and conversion.find(folder) is None


def test_a_reason_of_the_model_is_remembered_for_this_version(tmp_path, monkeypatch):
    replies(monkeypatch, why="converted, its vectors differ: cosine 0.5")
    folder = tmp_path / FOLDER / "0123"
    found = conversion.convert(folder, CONVERTER, MODEL, 256)
    assert not found.passing and conversion.find(folder) == found and "it cannot be converted: " in found.describe
    monkeypatch.setattr(conversion, "version", lambda: "another")
    assert conversion.find(folder) is None


def test_a_reason_that_an_earlier_version_remembered_is_tried_again(tmp_path):
    (tmp_path / conversion.RECORD).write_text(
        json.dumps({"format": 1, "openvino": conversion.version(), "sha256": {}, "why": "RuntimeError: cannot write"})
    )
    assert conversion.find(tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("RuntimeError('std::bad_alloc')", "passing"),
        ('RuntimeError("DefaultCPUAllocator: can\'t allocate memory")', "passing"),
        ("MemoryError()", "passing"),
        ("OSError(28, 'No space left on device')", "passing"),
        ("RuntimeError('unsupported operation')", "why"),
    ],
)
def test_what_the_converter_says_of_an_error(error, kind):
    code = f"""
from local_rag.index.embed.converter import run
def convert(*_):
    raise {error}
run(convert)
"""
    command = [sys.executable, "-c", code, "model", "256", "folder"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert list(json.loads(done.stdout)) == [kind]


def test_what_cannot_be_written_is_an_error_of_the_disk(tmp_path, monkeypatch):
    class Library:
        class PartialShape(list):
            pass

        @staticmethod
        def convert_model(*_, **__):
            return type("Graph", (), {"inputs": []})()

        @staticmethod
        def save_model(*_, **__):
            raise RuntimeError("Exception from src/core/serialize.cpp: cannot write")

    monkeypatch.setattr(converter.encoders, "import_openvino", lambda: Library)
    with pytest.raises(OSError, match="cannot be written"):
        converter.write_openvino(None, {}, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_a_limit_on_files_counts_and_the_file_is_gone(tmp_path):
    code = f"""
import resource, sys
from pathlib import Path
from local_rag.index.embed.room import take_room
take_room(Path({str(tmp_path)!r}), 3_000_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
try:
    take_room(Path({str(tmp_path)!r}), 3_000_000)
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "27" and os.listdir(tmp_path) == []  # noqa: PTH208


def test_without_the_call_of_posix_it_is_written(tmp_path, monkeypatch):
    monkeypatch.delattr(room.os, "posix_fallocate", raising=False)
    room.take_room(tmp_path, 3_000_000)
    assert list(Path(tmp_path).iterdir()) == []

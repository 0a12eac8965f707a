"""Test that a bundle's other contents are put where local-rag looks for them, without overwriting anything."""

from __future__ import annotations

import hashlib
import os

import pytest
import yaml
from support.bundle_parts import listed, ollama_model, seal
from support.fakes_index import HashingEmbedder
from support.processes import bound_by_permissions

from local_rag.bundle import ollama_store, place
from local_rag.bundle.install import Refused, read
from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError
from local_rag.core.progress import Silent
from local_rag.index.index import Index

BLOB = b"GGUF" * 100


@pytest.fixture
def store(home, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "models"))
    return home / "models"


@pytest.fixture
def bundle(tmp_path, store):
    """Make a bundle with an index of one passage, an embedder in a folder, and a model of Ollama, without packages."""
    folder = tmp_path / "bundle"
    (tmp_path / "plan.md").write_text("The greenhouse costs 4,200 euros.")
    with Index.open(folder / "indexes" / "notes", HashingEmbedder(), chunk_size=40, create=True) as index:
        index.sync([tmp_path / "plan.md"])
    for file in [*(folder / "indexes/notes").glob("writer.lock*"), *(folder / "indexes/notes").glob("vectors*")]:
        file.unlink()
    (folder / "embedders" / "mine").mkdir(parents=True)
    (folder / "embedders" / "mine" / "model.safetensors").write_bytes(b"weights")
    (folder / "models.yaml").write_text("embedders:\n  mine: {dimension: 3, window: 9, path: embedders/mine}\n")
    ollama_model(folder / "ollama")
    for name in ("install.py", "requirements.txt"):
        (folder / name).write_text("")
    seal(folder)
    return folder


def install(bundle, *options):
    return run(["bundle", "install", str(bundle), *options])


def test_everything_has_its_place(bundle, home, store, capsys):
    assert install(bundle, "--dry-run") == 0
    assert capsys.readouterr().out.count("would put: ") == 6
    assert listed(home) == []
    assert install(bundle) == 0
    out = capsys.readouterr().out
    assert out.count("\nput: ") + out.startswith("put: ") == 6
    assert 'local-rag ask "…" --index notes\n' in out
    index = home / "data" / "indexes" / "notes"
    assert Index.inspect(index).chunks == 1
    if os.name != "nt":
        assert index.stat().st_mode & 0o777 == 0o700
        assert (index / "index.sqlite").stat().st_mode & 0o777 == 0o600
    data = yaml.safe_load((home / "config" / "models.yaml").read_text())
    assert data["embedders"]["mine"]["path"] == str(home / "data" / "embedders" / "mine")
    assert (home / "data" / "embedders" / "mine" / "model.safetensors").read_bytes() == b"weights"
    assert ollama_store.stored("llama3.2:3b", store).size == 402
    assert install(bundle) == 0, "what is there already is fine"
    assert capsys.readouterr().out.count("is there already: ") == 6


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("data/indexes/notes/index.sqlite", "give the new one another name: the same command with --index notes-2"),
        ("data/indexes/notes/thesis.txt", "give the new one another name: the same command with --index notes-2"),
        ("data/embedders/mine/model.safetensors", "mv "),
        ("config/models.yaml", "mv "),
        ("models/manifests/registry.ollama.ai/library/llama3.2/3b", "ollama rm llama3.2:3b "),
        (f"models/blobs/sha256-{hashlib.sha256(BLOB).hexdigest()}", "that file is damaged: rm "),
    ],
)
def test_what_is_there_and_differs_stays(bundle, home, capsys, path, hint):
    (home / path).parent.mkdir(parents=True)
    (home / path).write_bytes(b"mine")
    before = listed(home)
    assert install(bundle) == 1
    err = capsys.readouterr().err
    assert "in the way: " in err and "nothing was put anywhere" in err and f"hint: {hint}" in err
    assert listed(home) == before, "nothing was written"
    place.place(read(bundle), Settings.load(), None, Silent(), keep=True)
    assert (home / path).read_bytes() == b"mine" and len(listed(home)) >= 6


def test_an_index_gets_another_name(bundle, home, capsys):
    assert install(bundle, "--index", "garden") == 0
    assert 'ask "…" --index garden\n' in capsys.readouterr().out
    assert Index.inspect(home / "data" / "indexes" / "garden").files == 1
    for name in ("a b", "a\\b"):
        assert install(bundle, "--index", name) == 2


def test_what_a_stopped_run_left_is_finished(bundle, home):
    folder = home / "data" / "indexes" / "notes"
    folder.mkdir(parents=True)
    (folder / "index.sqlite.part").write_bytes(b"half")
    assert install(bundle) == 0
    assert "index.sqlite.part" not in listed(folder)


def test_a_file_that_changes_while_it_is_copied_is_not_put(bundle, home):
    known = read(bundle)
    (bundle / "embedders" / "mine" / "model.safetensors").write_bytes(b"wicked!")
    with pytest.raises(LocalRagError, match="changed while it was copied"):
        place.place(known, Settings.load(), None, Silent())
    assert listed(home) == []


def test_an_ollama_model_comes_with_all_its_blobs(bundle, home, store, capsys):
    (bundle / "ollama" / "blobs" / f"sha256-{hashlib.sha256(BLOB).hexdigest()}").unlink()
    seal(bundle)
    assert install(bundle) == 1
    assert "is incomplete: no blob sha256:" in capsys.readouterr().err
    assert listed(home) == []


def test_a_blob_that_is_there_is_not_written_again(bundle, store):
    ollama_model(store, "registry.ollama.ai/library/other/latest", layers=(BLOB, b"more"))
    shared = store / "blobs" / f"sha256-{hashlib.sha256(BLOB).hexdigest()}"
    before = shared.stat().st_mtime_ns
    assert install(bundle) == 0
    assert shared.stat().st_mtime_ns == before


@pytest.mark.skipif(os.name == "nt", reason="Windows writes everywhere")
def test_a_store_of_somebody_else(bundle, store):
    store.mkdir(mode=0o500)
    with pytest.raises(LocalRagError, match="where you may not write") as caught:
        bound_by_permissions(lambda: place.place(read(bundle), Settings.load(), None, Silent()))
    assert caught.value.hint.startswith("sudo cp -rn ")


def test_the_store_is_where_ollama_keeps_its_models(monkeypatch, home):
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    (home / ".ollama" / "models").mkdir(parents=True)
    assert ollama_store.folder() == home / ".ollama" / "models"
    monkeypatch.setenv("OLLAMA_MODELS", "~/elsewhere")
    assert ollama_store.folder() == home / "elsewhere"


def test_a_refusal_is_told_as_all_errors_are(tmp_path, capsys):
    assert install(tmp_path) == 1
    assert "hint: local-rag bundle create" in capsys.readouterr().err
    with pytest.raises(Refused):
        read(tmp_path)

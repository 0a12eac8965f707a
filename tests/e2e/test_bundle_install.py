"""Installing from a bundle: all that fits, nothing that does not, and nothing of a person is overwritten."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.bundle_parts import PYTHON, ollama_model, seal, sha256, show_every_piece, tiny_bundle
from support.permissions import bound_by_permissions

from local_rag.bundle import installer, machine
from local_rag.bundle.installer import InstallRequest, install
from local_rag.bundle.machine import Refused
from local_rag.config.settings import Settings

SQLITE = b"SQLite format 3\0" + b"\0" * 100


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("made"))


@pytest.fixture
def bundle(made, tmp_path):
    """A bundle of its own; wheels are links in the file system, to be quick."""
    folder = tmp_path / "bundle"
    for file in made.rglob("*"):
        target = folder / file.relative_to(made)
        if file.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".whl":
                target.hardlink_to(file)
            else:
                target.write_bytes(file.read_bytes())
    return folder


@pytest.fixture
def store(home, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "models"))
    return home / "models"


@pytest.fixture
def no_pip(monkeypatch):
    """For what is put beside the environment."""
    monkeypatch.setattr(installer, "install_wheels", lambda place, bundle: None)
    monkeypatch.setattr(installer, "finish", lambda request, bundle, folder: 0)


def with_contents(bundle, **contents):
    return seal(bundle, contents={"embedder": {"name": "minilm", "folder": ""}, "models": "packaged"} | contents)


def with_index(bundle, data=SQLITE):
    file = bundle / "indexes" / "notes" / "index.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    with_contents(bundle, index={"name": "notes"})


def listed(folder):
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def run(bundle, *arguments, **variables):
    command = [sys.executable, "-I", str(bundle / "install.py"), *map(str, arguments)]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=600)


def test_install_py_installs_and_does_it_once(bundle, made, tmp_path, home):
    place = tmp_path / "there"
    done = run(bundle, "--venv", place, PIP_INDEX_URL="http://127.0.0.1:1", PIP_REQUIRE_VIRTUALENV="x", PYTHONPATH="x")
    assert done.returncode == 0, done.stderr
    program = installer.program(place, "local-rag")
    assert done.stdout == f"installed. Now:\n  {program} demo\n  {program} index FOLDER\n"
    asked = subprocess.run([program, "demo"], capture_output=True, text=True, check=True)
    assert asked.stdout == "asked: demo\n"
    assert listed(bundle) == listed(made)
    again = run(bundle, "--venv", place)
    assert again.returncode == 0
    assert f"already installed in {place}" in again.stderr
    assert f"already installed in {place}\n" in run(bundle, "--venv", place, "--dry-run").stdout
    mark = place / installer.MARK
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"done": False}))
    program.unlink()
    assert run(bundle, "--venv", place).returncode == 0, "half an installation is made anew"
    assert program.exists()


def test_the_usual_place_is_in_the_data_folder(bundle, home):
    done = run(bundle, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"would install 3 packages in {home / 'data' / 'venv'}" in done.stdout
    assert not (home / "data").exists()


def test_an_index_is_looked_at_by_the_program_that_was_installed(bundle, tmp_path, home):
    with_index(bundle)
    done = run(bundle, "--venv", tmp_path / "there", "--index", "other")
    assert done.returncode == 0, done.stderr
    folder = home / "data" / "indexes" / "other"
    assert f"asked: status --index {folder}\nthe index other can be read\n" in done.stdout
    assert listed(folder) == ["index.sqlite", "writer.lock"]
    if os.name != "nt":
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_package_that_is_not_what_requirements_say_is_not_installed(bundle, tmp_path):
    """As in a bundle whose manifest somebody made anew."""
    text = (bundle / "requirements.txt").read_text()
    (bundle / "requirements.txt").write_text(text.replace(text[-20:], f"{'0' * 19}\n"))
    seal(bundle)
    done = run(bundle, "--venv", tmp_path / "there")
    assert done.returncode == 1
    assert "error: pip could not install the packages" in done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr


def tamper_byte(bundle):
    file = bundle / "install.py"
    file.write_text(file.read_text().replace("a", "b", 1))


def tamper_extra(bundle):
    (bundle / "sitecustomize.py").write_text("")


def tamper_missing(bundle):
    (bundle / "requirements.txt").unlink()


def tamper_link(bundle):
    (bundle / "requirements.txt").rename(bundle.parent / "requirements.txt")
    (bundle / "requirements.txt").symlink_to(bundle.parent / "requirements.txt")


def tamper_manifest(bundle):
    (bundle / "manifest.json").write_text("{")


def tamper_platform(bundle):
    seal(bundle, platform="linux-riscv64")


def tamper_python(bundle):
    seal(bundle, python="3.99")


def tamper_needs(bundle):
    seal(bundle, needs={"glibc" if sys.platform == "linux" else "macos": "99.0"})


def tamper_pip(bundle):
    next((bundle / "wheels").glob("pip-*")).unlink()
    seal(bundle)


def tamper_index(bundle):
    with_index(bundle, b"\x80\x04 a pickle, say")


def tamper_model(bundle):
    manifest = ollama_model(bundle / "ollama")
    manifest.write_text(manifest.read_text().replace("sha256:44", "sha256:45"))
    seal(bundle)


TAMPERED = [value for name, value in globals().items() if name.startswith("tamper_")]


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__.removeprefix("tamper_"))
def test_what_does_not_match_is_refused_before_anything_is_written(bundle, tamper, home, store):
    tamper(bundle)
    with pytest.raises(Refused) as caught:
        install(InstallRequest(bundle))
    assert caught.value.hint
    assert not store.exists()
    assert listed(home) == []


def test_the_sum_of_the_manifest_is_compared(bundle, home, no_pip):
    with pytest.raises(Refused, match="not " + "0" * 64):
        install(InstallRequest(bundle, sum="0" * 64))
    assert listed(home) == []
    assert install(InstallRequest(bundle, sum=sha256(bundle / "manifest.json"))) == 0


@pytest.mark.parametrize("place", ["bundle", "bundle/venv", "full"])
def test_the_environment_needs_a_place_of_its_own(bundle, tmp_path, place):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("")
    with pytest.raises(Refused, match=r"is inside the bundle|something other"):
        install(InstallRequest(bundle, venv=str(tmp_path / place)))
    assert listed(tmp_path / "full") == ["thesis.txt"]


# --- files of the person


def test_an_index_of_the_same_name_is_left_alone(bundle, home, no_pip, capsys):
    with_index(bundle)
    there = home / "data" / "indexes" / "notes"
    assert install(InstallRequest(bundle)) == 0
    assert install(InstallRequest(bundle)) == 0, "the same content is fine"
    (there / "index.sqlite").write_bytes(b"mine")
    with pytest.raises(Refused) as caught:
        install(InstallRequest(bundle))
    assert "--index notes-2" in caught.value.hint
    assert f"in the way: {there / 'index.sqlite'}" in capsys.readouterr().err
    assert install(InstallRequest(bundle, keep=True)) == 0
    assert install(InstallRequest(bundle, index_as="notes-2")) == 0
    assert (there / "index.sqlite").read_bytes() == b"mine"
    assert (there.with_name("notes-2") / "index.sqlite").read_bytes() == SQLITE


def test_an_index_does_not_move_in_with_other_files(bundle, home, no_pip):
    with_index(bundle)
    there = home / "data" / "indexes" / "notes"
    there.mkdir(parents=True)
    (there / "index.sqlite.part").write_bytes(b"half, from a run that was stopped")
    assert install(InstallRequest(bundle)) == 0
    assert listed(there) == ["index.sqlite", "writer.lock"]
    (there / "index.sqlite").rename(there / "thesis.sqlite")
    with pytest.raises(Refused):
        install(InstallRequest(bundle))
    assert listed(there) == ["thesis.sqlite", "writer.lock"]


@pytest.mark.parametrize("name", ["../x", "..", ".", "a/b", "a b"])
def test_the_name_of_an_index_leads_nowhere_else(bundle, no_pip, name):
    with_index(bundle)
    with pytest.raises(Refused, match="an index is a name"):
        install(InstallRequest(bundle, index_as=name))


def with_embedder(bundle):
    (bundle / "embedders" / "mine").mkdir(parents=True)
    (bundle / "embedders" / "mine" / "model.safetensors").write_bytes(b"weights")
    (bundle / "models.yaml").write_text("embedders:\n  mine:\n    dimension: 3\n    path: embedders/mine\n")
    with_contents(bundle, embedder={"name": "mine", "folder": "embedders/mine"}, models="own")


def test_models_yaml_names_the_place_of_its_embedder(bundle, home, no_pip):
    with_embedder(bundle)
    assert install(InstallRequest(bundle)) == 0
    data = yaml.safe_load((home / "config" / "models.yaml").read_text())
    place = home / "data" / "embedders" / "mine"
    assert data == {"embedders": {"mine": {"dimension": 3, "path": str(place)}}}
    assert (place / "model.safetensors").read_bytes() == b"weights"
    assert install(InstallRequest(bundle)) == 0
    (home / "config" / "models.yaml").write_text("embedders: {}\n")
    with pytest.raises(Refused) as caught:
        install(InstallRequest(bundle))
    assert caught.value.hint.startswith("mv ")
    assert install(InstallRequest(bundle, keep=True)) == 0
    assert (home / "config" / "models.yaml").read_text() == "embedders: {}\n"


def test_a_packaged_models_yaml_stays_in_its_package(bundle, home, no_pip):
    (bundle / "models.yaml").write_text("embedders: {}\n")
    seal(bundle)
    assert install(InstallRequest(bundle)) == 0
    assert not (home / "config").exists()


def test_models_of_ollama_go_into_its_store(bundle, store, no_pip):
    manifest = ollama_model(bundle / "ollama")
    seal(bundle)
    ollama_model(store, "registry.ollama.ai/library/other/latest", layers=(b"GGUF" * 100, b"more"))
    shared = store / "blobs" / f"sha256-{hashlib.sha256(b'GGUF' * 100).hexdigest()}"
    before = shared.stat().st_mtime_ns
    assert install(InstallRequest(bundle)) == 0
    there = store / "manifests/registry.ollama.ai/library/llama3.2/3b"
    assert there.read_text() == manifest.read_text()
    assert shared.stat().st_mtime_ns == before, "a blob that is there is not written again"
    there.write_text("{}")
    with pytest.raises(Refused) as caught:
        install(InstallRequest(bundle))
    assert caught.value.hint.startswith("ollama rm llama3.2:3b ")
    assert there.read_text() == "{}"


@pytest.mark.skipif(os.name == "nt", reason="Windows writes everywhere")
def test_a_store_of_somebody_else(bundle, store, no_pip):
    ollama_model(bundle / "ollama")
    seal(bundle)
    store.mkdir(mode=0o500)
    with pytest.raises(Refused) as caught:
        bound_by_permissions(lambda: install(InstallRequest(bundle)))
    assert caught.value.hint.startswith("sudo cp -rn ")


def test_a_dry_run_shows_and_writes_nothing(bundle, home, store, capsys):
    ollama_model(bundle / "ollama")
    with_index(bundle)
    assert install(InstallRequest(bundle, dry_run=True)) == 0
    out = capsys.readouterr().out
    assert f"would put: {home / 'data' / 'indexes' / 'notes' / 'index.sqlite'}\n" in out
    assert out.count("would put: ") == 4
    assert listed(home) == []
    there = home / "data" / "indexes" / "notes" / "index.sqlite"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"mine")
    with pytest.raises(Refused, match="nothing would be installed") as caught:
        install(InstallRequest(bundle, dry_run=True))
    assert f"in the way: {there}\n" in capsys.readouterr().out
    with pytest.raises(Refused, match="nothing was installed") as real:
        install(InstallRequest(bundle))
    assert caught.value.hint == real.value.hint
    assert capsys.readouterr().err.count("in the way: ") == 1
    assert install(InstallRequest(bundle, keep=True, dry_run=True)) == 0
    assert f"would keep: {there}\n" in capsys.readouterr().out
    assert listed(home) == ["data/indexes/notes/index.sqlite"]


def test_a_dry_run_of_install_py_says_what_to_type(bundle, home):
    with_index(bundle)
    there = home / "data" / "indexes" / "notes" / "index.sqlite"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"mine")
    done = run(bundle, "--dry-run")
    assert done.returncode == 1
    assert done.stdout.endswith(f"in the way: {there}\n")
    assert done.stderr.splitlines()[1:] == [
        "error: nothing would be installed, because something else is there already",
        "hint: give the new one another name: the same command with --index notes-2   or leave what is there and "
        "install the rest: the same command with --keep",
    ]
    assert run(bundle, "--dry-run", "--keep").returncode == 0


def test_large_files_show_how_far_they_are(bundle, store, no_pip, monkeypatch, capsys):
    ollama_model(bundle / "ollama")
    seal(bundle)
    total = sum(file.stat().st_size for file in (bundle / "ollama").rglob("*") if file.is_file())
    show_every_piece(monkeypatch, 200)
    assert install(InstallRequest(bundle)) == 0
    said = capsys.readouterr().err.splitlines()
    copied = [line for line in said if line.startswith("copied ")]
    assert f"copied {202 / total:.0%} of 0 MB" in copied, "a blob of 2 bytes, then 200 of the next"
    assert copied[-1] == "copied 100% of 0 MB"
    assert [line for line in said if line.startswith("checked ")][-1].startswith("checked 100% of ")
    assert install(InstallRequest(bundle)) == 0
    again = capsys.readouterr().err.splitlines()
    assert "compared 50% of 0 MB" in again
    assert not [line for line in again if line.startswith("copied ")]


def test_a_file_that_changes_while_it_is_copied_is_not_put(bundle, home, no_pip, monkeypatch):
    with_index(bundle)
    file = bundle / "indexes" / "notes" / "index.sqlite"

    def change(place, bundle):
        file.write_bytes(SQLITE + b"!")

    monkeypatch.setattr(installer, "install_wheels", change)
    with pytest.raises(Refused, match="changed while it was copied"):
        install(InstallRequest(bundle))
    assert listed(home / "data" / "indexes") == ["notes/writer.lock"]


# --- the machine


@pytest.mark.parametrize("own", [True, False], ids=["variables", "usual places"])
@pytest.mark.parametrize("xdg", ["/xdg", "relative", ""])
def test_the_folders_are_those_of_the_program(monkeypatch, own, xdg):
    for variable in ("LOCAL_RAG_CONFIG_DIR", "LOCAL_RAG_DATA_DIR"):
        if not own:
            monkeypatch.delenv(variable)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, xdg)
    settings = Settings.load()
    assert machine.folders() == (settings.config_folder, settings.data_folder)


def test_the_store_of_ollama(monkeypatch, home):
    monkeypatch.delenv("OLLAMA_MODELS", raising=False)
    (home / ".ollama" / "models").mkdir(parents=True)
    assert machine.ollama_store() == home / ".ollama" / "models"
    monkeypatch.setenv("OLLAMA_MODELS", "~/elsewhere")
    assert machine.ollama_store() == home / "elsewhere"


def test_this_machine_fits_itself_only():
    machine.must_fit(machine.here(), PYTHON, {}, "install.py")
    with pytest.raises(Refused) as caught:
        machine.must_fit(machine.here(), "3.99", {}, "install.py")
    assert caught.value.hint.startswith("python3.99 install.py")
    with pytest.raises(Refused, match="needs musl"):
        machine.must_fit(machine.here(), PYTHON, {"musl": "1.2"}, "install.py")


def test_errors_of_install_py_are_two_lines(bundle):
    (bundle / "extra").write_text("")
    done = run(bundle)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [
        "extra: extra is not in the manifest (delete it, if you know what it is)",
        f"error: {Path(bundle)} is not as its manifest says, so nothing was installed",
        "hint: bring the bundle again",
    ]

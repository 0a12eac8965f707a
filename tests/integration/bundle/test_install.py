"""Test install.py of a bundle: it refuses any difference from the manifest, and installs what fits."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest
from support.bundle_parts import listed, ollama_model, seal, sha256, tiny_bundle
from support.shipped_evaluator import rewrite

from local_rag.bundle import install as module
from local_rag.bundle.install import Refused, must_fit, problems, program, read, usual_environment
from local_rag.config.settings import Settings


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("made"))


@pytest.fixture
def bundle(made, tmp_path):
    return shutil.copytree(made, tmp_path / "bundle", copy_function=os.link)


def started(bundle, *arguments, **variables):
    """Run install.py as a person does."""
    command = [sys.executable, "-I", str(bundle / "install.py"), *map(str, arguments)]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=600)


# --- what is checked --------------------------------------------------------------------------------------------------


def test_a_whole_bundle_passes_verification(bundle, said):
    sum = sha256(bundle / "manifest.json")
    assert problems(read(bundle, sum.upper())) == []
    said(f"bundle install {bundle} --dry-run --sum {sum}")
    assert "compare with the sum that" in said(f"bundle install {bundle} --dry-run --sum {'0' * 64}", 1)


def linked(path):
    path.rename(path.parent.parent / path.name)
    path.symlink_to(path.parent.parent / path.name)


def misnamed_blob(bundle):
    ollama_model(bundle / "ollama")
    blob = min((bundle / "ollama/blobs").iterdir())
    blob.rename(blob.with_name(f"sha256-{'1' * 64}"))
    seal(bundle)


def unnamed_program(bundle):
    (bundle / "install.py").unlink()
    seal(bundle)


TAMPERED = {
    "changed: requirements.txt does not have its SHA-256": lambda bundle: rewrite(bundle / "requirements.txt", b"x"),
    "extra: sitecustomize.py is not in the manifest (delete it, if you know what it is)": lambda bundle: (
        bundle / "sitecustomize.py"
    ).touch(),
    "missing: requirements.txt": lambda bundle: (bundle / "requirements.txt").unlink(),
    "not a plain file: requirements.txt": lambda bundle: linked(bundle / "requirements.txt"),
    "not a plain file: wheels": lambda bundle: linked(bundle / "wheels"),
    f"not allowed: ollama/blobs/sha256-{'1' * 64} is named for another SHA-256 than its own": misnamed_blob,
    "missing: the manifest does not name install.py": unnamed_program,
}


@pytest.mark.parametrize("line", TAMPERED)
def test_a_bundle_that_is_not_as_its_manifest_says(bundle, home, said, line):
    TAMPERED[line](bundle)
    assert line in problems(read(bundle))
    assert "so nothing was installed" in said(f"bundle install {bundle}", 1)
    assert listed(home) == []


@pytest.mark.parametrize(
    "path",
    ["../outside.whl", "wheels/../../outside.whl", "wheels/..", "/etc/passwd", "C:/windows.whl", "C:windows.whl", "",
     "wheels\\..\\outside.whl", "wheels//a.whl", "wheels/./a.whl", "wheels/a.whl.", "wheels/a.whl ", "wheels/a\n.whl",
     "wheels/.hidden.whl", "wheels/\ud800.whl", "setup.py", "wheels/a.tar.gz", "embedders/x/weights.bin",
     "embedders/../../config.json", "indexes/../index.sqlite", "indexes/x/index.faiss", "ollama/manifests/a/b/../c"],
)  # fmt: skip
def test_only_what_a_bundle_holds_and_nothing_that_leads_out(bundle, path):
    data = json.loads((bundle / "manifest.json").read_text())
    rewrite(bundle / "manifest.json", json.dumps(data | {"files": data["files"] | {path: "0" * 64}}).encode())
    assert problems(read(bundle)) == [f"not allowed: {path!r} is nothing that a bundle holds"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not the manifest"),
        ("[1]", "is not the manifest"),
        ("[" * 100_000, "is not the manifest"),
        ('{"what": "local-rag bundle", "format": 2}', "of format 2"),
        ('{"what": "local-rag bundle", "format": 1}', "'files'"),
        ('{"what": "local-rag bundle", "format": 1, "files": {"install.py": "0"}}', "has no SHA-256"),
        ('{"what": "local-rag bundle", "format": 1, "files": {"install.py": 0}}', "is not the manifest"),
        (None, "is not a whole bundle"),
    ],
)
def test_without_a_readable_manifest_the_program_says_so(bundle, home, text, said):
    (bundle / "manifest.json").unlink()
    if text is not None:
        (bundle / "manifest.json").write_text(text)
    with pytest.raises(Refused, match=said):
        read(bundle)
    done = started(bundle)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ") and said in done.stderr and "hint: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("change", "said", "hint"),
    [
        ({"platform": "linux-riscv64"}, "for linux-riscv64, and this machine is", "local-rag bundle create DIR --pl"),
        ({"python": "3.99"}, "for Python 3.99, and this is Python", "python3.99 -I "),
    ],
)
def test_a_bundle_for_another_machine_is_refused(bundle, change, said, hint):
    seal(bundle, **change)
    with pytest.raises(Refused, match=said) as caught:
        must_fit(read(bundle))
    assert caught.value.hint.startswith(hint)


def test_a_system_older_than_the_wheels_is_refused(bundle, monkeypatch):
    must_fit(read(bundle))
    monkeypatch.setattr(module, "OLDEST_SYSTEM", {"linux": ("glibc", "99.0"), "macos": ("macOS", "99.0")})
    if sys.platform != "win32":
        with pytest.raises(Refused, match=r"needs (glibc|macOS) 99\.0 or newer, and this machine has"):
            must_fit(read(bundle))


def test_an_old_python_can_read_the_program():
    source = module.Path(module.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 6))
    imported = {node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= sys.stdlib_module_names
    before = tree.body[: next(i for i, node in enumerate(tree.body) if ast.unparse(node) == "_require()")]
    assert not any(isinstance(node, ast.ClassDef) for node in before)


# --- what is installed ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_installs_once_and_hands_over(bundle, made, tmp_path):
    place = tmp_path / "there"
    hostile = {"PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_REQUIRE_VIRTUALENV": "x", "PYTHONPATH": "x"}
    done = started(bundle, "--venv", place, "--index", "other", "--keep", **hostile)
    assert done.returncode == 0, done.stderr
    sum = sha256(bundle / "manifest.json")
    assert done.stdout == f"asked: bundle install {bundle} --sum {sum} --index other --keep\n"
    assert listed(bundle) == listed(made)
    again = started(bundle, "--venv", place, "--dry-run")
    assert again.stdout == f"asked: bundle install {bundle} --sum {sum} --dry-run\n"
    (place / module.MARK).write_text("")
    program(place, "local-rag").unlink()
    assert started(bundle, "--venv", place).returncode == 0, "half an installation is made anew"
    assert f"already installed in {place}" in started(bundle, "--venv", place).stderr


@pytest.mark.slow
def test_a_package_that_is_not_what_requirements_say_is_not_installed(bundle, tmp_path):
    """Change a hash and make the manifest anew, as an attacker would."""
    text = (bundle / "requirements.txt").read_text()
    rewrite(bundle / "requirements.txt", f"{text[:-20]}{'0' * 19}\n".encode())
    seal(bundle)
    done = started(bundle, "--venv", tmp_path / "there")
    assert done.returncode == 1
    assert "error: pip could not install the packages" in done.stderr and "DO NOT MATCH THE HASHES" in done.stderr


@pytest.mark.parametrize("place", ["bundle", "bundle/venv", "full"])
def test_the_environment_needs_a_folder_of_its_own(bundle, tmp_path, place):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("")
    done = started(bundle, "--venv", tmp_path / place)
    assert done.returncode == 1
    assert "is inside the bundle" in done.stderr or "something other" in done.stderr
    assert listed(tmp_path / "full") == ["thesis.txt"]


@pytest.mark.parametrize("own", [True, False], ids=["variable", "usual place"])
@pytest.mark.parametrize("xdg", ["/xdg", "relative", ""])
def test_the_usual_environment_is_in_the_data_folder(bundle, home, monkeypatch, own, xdg):
    if not own:
        monkeypatch.delenv("LOCAL_RAG_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", xdg)
    assert usual_environment() == Settings.load().data_folder / "venv"

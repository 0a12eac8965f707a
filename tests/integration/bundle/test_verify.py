"""A bundle that is not as its manifest says is refused, whatever was done to it."""

from __future__ import annotations

import json
import os

import pytest
from support.bundle_parts import ollama_model, seal, sha256

from local_rag.bundle.checking import problems, read
from local_rag.bundle.machine import Refused
from local_rag.cli.bundle import bundle_app
from local_rag.core.errors import LocalRagError


@pytest.fixture
def bundle(tmp_path):
    folder = tmp_path / "bundle"
    (folder / "wheels").mkdir(parents=True)
    (folder / "wheels" / "a-1.0-py3-none-any.whl").write_bytes(b"wheel")
    (folder / "install.py").write_text("")
    (folder / "requirements.txt").write_text("a==1.0\n")
    (folder / "README.txt").write_text("read me")
    seal(folder)
    return folder


def found(folder, wanted=""):
    return problems(read(folder, wanted))


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def rewrite(folder, change):
    data = manifest(folder)
    change(data)
    (folder / "manifest.json").write_text(json.dumps(data))


def add(folder, path, size=1, digest="0" * 64):
    rewrite(folder, lambda data: data["files"].append({"path": path, "bytes": size, "sha256": digest}))


def test_a_whole_bundle_has_no_problems(bundle):
    assert found(bundle) == []
    assert found(bundle, sha256(bundle / "manifest.json").upper()) == []


def test_a_flipped_byte(bundle):
    file = bundle / "wheels" / "a-1.0-py3-none-any.whl"
    file.write_bytes(b"Wheel")
    assert found(bundle) == ["changed: wheels/a-1.0-py3-none-any.whl does not have its SHA-256"]
    file.write_bytes(b"wheels")
    assert found(bundle) == ["changed: wheels/a-1.0-py3-none-any.whl must have 5 bytes, and has 6"]


def test_missing_and_extra_files(bundle):
    (bundle / "README.txt").rename(bundle / "json.py")
    (bundle / "wheels" / "b").mkdir()
    (bundle / "wheels" / "b" / "c.whl").write_text("")
    assert [line.split(" is not")[0] for line in found(bundle)] == [
        "extra: json.py",
        "extra: wheels/b/c.whl",
        "missing: README.txt",
    ]


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_are_refused_even_to_the_right_content(bundle, tmp_path):
    wheels = bundle / "wheels"
    wheels.rename(tmp_path / "elsewhere")
    wheels.symlink_to(tmp_path / "elsewhere")
    readme = tmp_path / "readme"
    (bundle / "README.txt").rename(readme)
    (bundle / "README.txt").symlink_to(readme)
    os.mkfifo(bundle / "pipe")
    lines = found(bundle)
    assert lines[:3] == ["not a plain file: README.txt", "not a plain file: pipe", "not a plain file: wheels"]
    assert lines[3:] == ["missing: wheels/a-1.0-py3-none-any.whl"]


@pytest.mark.parametrize(
    "path",
    [
        "../outside.whl",
        "wheels/../../outside.whl",
        "wheels/..",
        "/etc/passwd",
        "C:/windows.whl",
        "C:windows.whl",
        "wheels\\..\\..\\outside.whl",
        "wheels//a.whl",
        "wheels/./a.whl",
        "wheels/nul.whl",
        "wheels/a.whl.",
        "wheels/a.whl ",
        "wheels/a\n.whl",
        "wheels/.hidden.whl",
        "wheels/\ud800.whl",
        "",
    ],
)
def test_paths_that_may_lead_out(bundle, path):
    add(bundle, path)
    assert found(bundle) == [f"not allowed: {path!r} may lead out of the bundle"]


@pytest.mark.parametrize("path", ["setup.py", "wheels/a.tar.gz", "embedders/x/weights.bin", "indexes/x/index.faiss"])
def test_only_what_a_bundle_holds(bundle, path):
    add(bundle, path)
    assert found(bundle) == [f"not allowed: {path} is nothing that a bundle holds"]


def test_names_that_differ_in_case_only(bundle):
    add(bundle, "wheels/A-1.0-py3-none-any.whl")
    assert found(bundle) == [
        "not allowed: wheels/a-1.0-py3-none-any.whl and wheels/A-1.0-py3-none-any.whl are one file on some disks"
    ]


def test_a_blob_is_named_for_its_content(bundle):
    ollama_model(bundle / "ollama")
    seal(bundle)
    assert found(bundle) == []
    add(bundle, f"ollama/blobs/sha256-{'1' * 64}")
    assert found(bundle) == [f"not allowed: ollama/blobs/sha256-{'1' * 64} is named for another SHA-256 than its own"]


def test_a_huge_size_is_a_wrong_size(bundle):
    rewrite(bundle, lambda data: data["files"][0].update(bytes=10**30))
    assert "must have 1,000,000,000,000" in found(bundle)[0]


def test_install_py_must_be_named(bundle):
    (bundle / "install.py").unlink()
    seal(bundle)
    assert found(bundle) == ["missing: the manifest does not name install.py"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not the manifest"),
        ("not JSON", "is not the manifest"),
        ("[1]", "is not the manifest"),
        ("[" * 100_000, "is not the manifest"),
        ('{"what": "else"}', "'what' must be"),
        ('{"what": "local-rag bundle", "format": 2}', "format 2, and this program reads 1"),
        ('{"what": "local-rag bundle", "format": true}', "format True"),
        ('{"what": "local-rag bundle", "format": 1}', "'files' is missing"),
    ],
)
def test_what_is_no_manifest(bundle, text, said):
    (bundle / "manifest.json").write_text(text)
    with pytest.raises(Refused, match=said):
        read(bundle)


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": -1},
        {"bytes": 1.5},
        {"bytes": True},
        {"bytes": "1"},
        {"sha256": "0" * 63},
        {"sha256": None},
        {"path": None},
        {"path": "requirements.txt"},
    ],
    ids=str,
)
def test_entries_out_of_form(bundle, change):
    rewrite(bundle, lambda data: data["files"][0].update(change))
    with pytest.raises(Refused, match="is not the manifest"):
        read(bundle)


def test_the_name_of_an_index_is_no_path(bundle):
    seal(bundle, contents={"index": {"name": "../x"}})
    with pytest.raises(Refused, match="is no name of an index"):
        read(bundle)


def test_a_manifest_that_is_not_there_or_no_file(bundle, tmp_path):
    (bundle / "manifest.json").rename(tmp_path / "manifest.json")
    with pytest.raises(Refused, match="not a whole bundle") as caught:
        read(bundle)
    assert caught.value.hint.startswith("local-rag bundle create "), "one that is not finished"
    with pytest.raises(Refused) as caught:
        read(tmp_path / "elsewhere")
    assert caught.value.hint == "name the folder that holds manifest.json"
    (bundle / "manifest.json").symlink_to(tmp_path / "manifest.json")
    with pytest.raises(Refused, match="is no manifest"):
        read(bundle)


def test_another_sum(bundle):
    with pytest.raises(Refused, match=f"not {'0' * 64}"):
        read(bundle, "0" * 64)


def verify(*arguments):
    return bundle_app(args=["verify", *map(str, arguments)], standalone_mode=False)


def test_the_command_says_what_it_found(bundle, capsys):
    assert verify(bundle) == 0
    assert capsys.readouterr().out.startswith("whole: 4 files, for ")
    assert verify(bundle, "--json") == 0
    assert json.loads(capsys.readouterr().out)["sum"] == sha256(bundle / "manifest.json")
    (bundle / "README.txt").write_text("Read me")
    (bundle / "install.py").unlink()
    assert verify(bundle) == 1
    assert capsys.readouterr().out == "missing: install.py\nbring the bundle again\n"
    assert verify(bundle, "--json", "--sum", "0" * 64) == 1
    assert not json.loads(capsys.readouterr().out)["ok"]
    with pytest.raises(LocalRagError) as caught:
        verify(bundle, "--sum", "0" * 64)
    assert caught.value.hint

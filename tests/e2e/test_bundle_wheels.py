"""The wheels of a bundle: chosen for the other machine, whatever this one is."""

from __future__ import annotations

import ast
import sys
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution

import pytest
from support.bundle_parts import wheel

from local_rag.bundle import wheels as module
from local_rag.bundle.machine import here
from local_rag.bundle.own_wheel import install_program, own_wheel
from local_rag.bundle.target import PLATFORMS, Target
from local_rag.bundle.wheels import Wheels, wheel_of
from local_rag.core.errors import LocalRagError, UsageError

LINUX = Target("linux-x86_64", "3.12")


@pytest.fixture
def index(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def gather(tmp_path, index):
    """Gather wheels from the folder `index` alone; the lines of progress are in `.said`."""

    def run(*roots, target=LINUX):
        run.said = []
        options = ["--no-index", "--find-links", str(index)]
        found = Wheels(tmp_path / "wheels", target, options, run.said.append).gather(roots)
        return [one.pinned for one in found]

    return run


def test_markers_are_those_of_the_other_machine(index, gather):
    requires = [
        "everywhere",
        'only-windows; sys_platform == "win32"',
        'only-linux; platform_system == "Linux" and platform_machine == "x86_64"',
        'only-old; python_version < "3.12"',
        'for-an-extra; extra == "more"',
        'never; extra == "other"',
    ]
    wheel(index, "top", requires=requires, extras=["more", "other"])
    for name in ("everywhere", "only-windows", "only-linux", "only-old", "for-an-extra"):
        wheel(index, name)
    assert gather("top") == ["everywhere==1.0", "only-linux==1.0", "top==1.0"]
    windows = Target("windows-x86_64", "3.11")
    assert gather("top[more]", target=windows) == [
        "everywhere==1.0",
        "for-an-extra==1.0",
        "only-old==1.0",
        "only-windows==1.0",
        "top==1.0",
    ]


def test_wheels_are_of_the_other_platform(index, gather, tmp_path):
    for tag in (
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-cp312-manylinux_2_39_x86_64",
        "cp310-abi3-win_amd64",
        "cp312-cp312-macosx_12_0_arm64",
        "cp311-cp311-manylinux2014_x86_64",
    ):
        wheel(index, "native", tag=tag)

    def of(platform, python):
        target = Target(platform, python)
        gather("native", target=target)
        found = [one for one in map(wheel_of, (tmp_path / "wheels").glob("*.whl")) if one.tags & target.tags]
        return [one.file.name.removeprefix("native-1.0-") for one in found], target.needs([found[0].tags])

    assert of("linux-x86_64", "3.12") == (["cp312-cp312-manylinux_2_28_x86_64.whl"], {"glibc": "2.28"})
    assert of("linux-x86_64", "3.11") == (["cp311-cp311-manylinux2014_x86_64.whl"], {"glibc": "2.17"})
    assert of("windows-x86_64", "3.13") == (["cp310-abi3-win_amd64.whl"], {})
    assert of("macos-arm64", "3.12") == (["cp312-cp312-macosx_12_0_arm64.whl"], {"macos": "12.0"})
    with pytest.raises(LocalRagError, match=r"no wheel of native for linux-aarch64 and Python 3\.12") as caught:
        of("linux-aarch64", "3.12")
    assert "pip wheel --no-deps -w DIR native" in caught.value.hint


def test_the_version_that_is_installed_here_is_taken(index, gather, monkeypatch):
    def version(name):
        if name not in ("known", "torch", "outside"):
            raise PackageNotFoundError(name)
        return "2.0+cpu" if name == "torch" else "1.5"

    monkeypatch.setattr("importlib.metadata.version", version)
    for found in ("1.0", "1.5", "2.0"):
        wheel(index, "known", found)
        wheel(index, "outside", found)
        wheel(index, "torch", f"{found}+cpu")
    assert gather("known>=1", "outside>1.5", "torch") == ["known==1.5", "outside==2.0", "torch==2.0+cpu"]


def test_a_wish_that_comes_later_changes_the_choice(index, gather):
    wheel(index, "top", requires=["shared", "middle"])
    wheel(index, "middle", requires=["shared<2"])
    wheel(index, "shared", "1.0")
    wheel(index, "shared", "2.0")
    assert gather("top") == ["middle==1.0", "shared==1.0", "top==1.0"]


def test_wishes_that_exclude_each_other_are_named(index, gather):
    wheel(index, "top", requires=["shared>=2", "middle"])
    wheel(index, "middle", requires=["shared<2"])
    wheel(index, "shared", "1.0")
    wheel(index, "shared", "2.0")
    with pytest.raises(LocalRagError, match="no wheel of shared"):
        gather("top")


def test_what_a_stopped_run_left_is_used_if_it_is_whole(index, gather, tmp_path):
    wheel(index, "top", requires=["leaf"])
    wheel(tmp_path / "wheels", "leaf")
    whole = wheel(tmp_path / "wheels.part", "leaf", "3.0")
    half = tmp_path / "wheels.part" / "top-1.0-py3-none-any.whl"
    half.write_bytes(whole.read_bytes()[:100])
    (tmp_path / "wheels.part" / "pip-left-over").write_text("")
    assert gather("top") == ["leaf==3.0", "top==1.0"]
    assert gather.said == ["fetching top"]
    assert not (tmp_path / "wheels.part").exists()
    assert gather("top") == ["leaf==3.0", "top==1.0"]
    assert gather.said == []


def test_a_requirement_by_address_is_refused(index, gather):
    wheel(index, "top", requires=["leaf @ https://example.org/leaf.whl"])
    with pytest.raises(LocalRagError, match="installed from an address"):
        gather("top")


def test_a_target_must_be_one_that_there_is():
    assert Target.of(None, None).platform == here()
    with pytest.raises(UsageError, match="not for amiga"):
        Target.of("amiga", None)
    for python in ("3.10", "4.0", "3.12.1", "x"):
        with pytest.raises(UsageError, match=r"version of Python from 3\.11 on"):
            Target.of(PLATFORMS[0], python)


def test_torch_on_linux_never_comes_from_the_ordinary_index(tmp_path):
    ways = Wheels(tmp_path, LINUX).torch_ways()
    assert all("--no-index" in way or module.CPU_INDEX in way for way in ways)
    assert Wheels(tmp_path, Target("macos-arm64", "3.12")).torch_ways() == ((),)


# --- local-rag's own wheel


def test_an_installed_wheel_is_put_together_again(tmp_path):
    first = wheel(tmp_path / "first", "some-app", requires=["leaf"], files={"some_app/data.txt": "data"})
    site = tmp_path / "site"
    with zipfile.ZipFile(first) as packed:
        packed.extractall(site)
    info = site / "some_app-1.0.dist-info"
    added = ["INSTALLER", "REQUESTED", "direct_url.json"]
    for name in added:
        (info / name).write_text("{}")
    record = (info / "RECORD").read_text()
    extra = "".join(f"some_app-1.0.dist-info/{name},,\n" for name in added)
    (info / "RECORD").write_text(f"{record}{extra}../../bin/some-app,,\nsome_app/__pycache__/x.pyc,,\n")
    again = own_wheel(PathDistribution(info), tmp_path)
    assert again.name == first.name
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        rows = [sorted(file.read("some_app-1.0.dist-info/RECORD").decode().split()) for file in (one, other)]
        assert rows[0] == rows[1]


BACKEND = """
import zipfile
def build_wheel(directory, settings=None, metadata=None):
    name = "some_app-2.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as out:
        info = "some_app-2.0.dist-info"
        out.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: some-app\\nVersion: 2.0\\n")
        out.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr(f"{info}/RECORD", "")
    return name
"""


class Editable(Distribution):
    def __init__(self, url):
        self.url = url

    def read_text(self, filename):
        return f'{{"url": "{self.url}", "dir_info": {{"editable": true}}}}'

    def locate_file(self, path):
        raise AssertionError(path)


def test_a_source_tree_is_built(tmp_path):
    source, into = tmp_path / "source tree", tmp_path / "into"
    source.mkdir()
    into.mkdir()
    (source / "backend.py").write_text(BACKEND)
    settings = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (source / "pyproject.toml").write_text(settings)
    made = own_wheel(Editable(source.as_uri()), into, ["--no-index"])
    assert made == into / "some_app-2.0-py3-none-any.whl"
    assert list(into.iterdir()) == [made]
    (source / "backend.py").write_text("")
    with pytest.raises(LocalRagError, match="could not be built"):
        own_wheel(Editable(source.as_uri()), into, ["--no-index"])


def test_install_py_is_one_file_that_an_old_python_can_read():
    tree = ast.parse(install_program(), feature_version=(3, 6))
    imported = {node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names
    before = tree.body[: next(i for i, node in enumerate(tree.body) if ast.unparse(node) == "_require()")]
    assert all(
        isinstance(node, ast.Import | ast.ImportFrom | ast.Expr | ast.Assign | ast.FunctionDef) for node in before
    )

"""Test the two commands of the README, as far as they go without installing anything."""

from __future__ import annotations

import ast
import importlib.util
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support import CHECKOUT

sys.path.append(str(CHECKOUT / "scripts"))

import environment as setup

SCRIPTS = CHECKOUT / "scripts"


def module(name: str):
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", SCRIPTS / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


check = module("test")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / setup.CONSTRAINTS).write_text("torch==2.13.0\n")
    (tmp_path / setup.LOCK).write_text("")
    return tmp_path


@pytest.fixture
def environment(checkout: Path):
    """Return a real virtual environment whose pip fails, with an installation that is complete."""
    made = setup.Environment(checkout)
    venv.create(made.folder, with_pip=False, symlinks=os.name != "nt")
    (packages,) = made.folder.glob("**/site-packages")
    (packages / "pip.py").write_text(
        "if __name__ == '__main__':\n    raise SystemExit('first\\nNo space left on device')"
    )
    made.stamp.write_text("\n".join([made.fingerprint(made.version()), "minilm", "test"]))
    return made


@pytest.mark.parametrize("name", ["quickstart", "test", "python_version"])
def test_python_3_6_can_read_it(name):
    ast.parse((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("name", ["quickstart.py", "test.py"])
@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_an_old_python_is_told_so_in_one_line(name, version):
    code = f"import sys, runpy; sys.version_info = {version}; runpy.run_path(sys.argv[1], run_name='__main__')"
    code = f"import sys; sys.path.insert(0, {str(SCRIPTS)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code, str(SCRIPTS / name)], capture_output=True, text=True)
    first, second = done.stderr.splitlines()
    assert done.returncode == 1
    assert first == f"local-rag needs Python 3.11 or newer, and this is Python {'.'.join(map(str, version))}"
    assert second.startswith("  try: ")


def test_linux_takes_torch_from_the_machine_then_without_cuda_then_as_usual():
    on_hand, cpu, ordinary = setup.torch_ways("linux")
    assert on_hand.arguments == ("--no-index", "--no-deps", "torch==2.13.0")
    assert "--index-url https://download.pytorch.org/whl/cpu" in " ".join(cpu.arguments)
    assert ordinary.arguments == ("torch==2.13.0",) and "CUDA" in ordinary.doing
    for platform in ("darwin", "win32"):
        assert [way.arguments for way in setup.torch_ways(platform)] == [("--no-deps", "torch==2.13.0")]
    assert setup.TORCH in (CHECKOUT / setup.CONSTRAINTS).read_text().splitlines()


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("ERROR: [Errno 28] No space left on device", "disk space"),
        ("WARNING: Retrying: connection broken by NewConnectionError", "pip config list"),
        ("ERROR: No matching distribution found for torch==2.13.0", "another Python"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "do not go on with that one"),
        ("Failed building wheel for something", "the same command again"),
    ],
)
def test_a_failure_says_what_to_do(output, part):
    assert part in setup.hint(output)


def test_variables_that_send_pip_elsewhere_are_dropped():
    given = {"PIP_USER": "1", "PYTHONPATH": "/x", "PIP_INDEX_URL": "https://mirror", "PATH": "/usr/bin"}
    got = setup.Environment(Path("/c")).variables(given)
    assert not {"PIP_USER", "PYTHONPATH"} & set(got)
    assert got["PIP_INDEX_URL"] == "https://mirror"
    assert got["PATH"].split(os.pathsep) == [str(setup.Environment(Path("/c")).python.parent), "/usr/bin"]


@pytest.mark.parametrize(
    ("windows", "typed", "activate"),
    [
        (False, ".venv/bin/local-rag", "source .venv/bin/activate"),
        (True, r".venv\Scripts\local-rag", r".venv\Scripts\activate"),
    ],
)
def test_the_next_commands_can_be_typed(windows, typed, activate):
    lines = setup.Environment(Path("/c"), windows).next_commands().split("\n")
    assert f"  {typed} index FOLDER" in lines
    assert f"  {activate}" in lines
    assert setup.Environment(Path("/c"), True).program("local-rag").parts[-2:] == ("Scripts", "local-rag.exe")


def test_a_finished_installation_is_left_alone(environment, capsys):
    environment.prepare(["minilm"])
    assert capsys.readouterr().out == "everything is installed in .venv\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda made: (made.checkout / "pyproject.toml").write_text("other"),
        lambda made: (made.checkout / setup.CONSTRAINTS).write_text("other"),
        lambda made: (made.checkout / setup.LOCK).write_text("other"),
        lambda made: made.stamp.write_text(""),
        lambda made: made.stamp.write_bytes(b"\xff\nminilm"),
        lambda made: made.stamp.unlink(),
    ],
)
def test_a_change_makes_an_installation_void(environment, change):
    assert environment.installed(environment.version()) == {"minilm", "test"}
    assert environment.installed("3.99.1") == set()
    change(environment)
    assert environment.installed(environment.version()) == set()


def test_a_failed_installation_leaves_no_stamp_and_shows_all_that_pip_said(environment, capsys):
    def script() -> int:
        return environment.prepare(["eval"])

    assert setup.main(script) == 1
    shown = capsys.readouterr()
    assert shown.out.count("failed (") == 1
    message, hint = shown.err.split("\n  try: ")
    assert message.endswith("it says:\nfirst\nNo space left on device") and hint.startswith("free 3 GB of disk space")
    assert not environment.stamp.exists()


def test_after_a_file_that_is_not_the_one_of_the_lock_file_nothing_else_is_tried(environment, capsys):
    (pip,) = environment.folder.glob("**/site-packages/pip.py")
    pip.write_text(f"raise SystemExit({setup.TAMPERED!r})")
    with pytest.raises(setup.SetupError, match=setup.TAMPERED):
        environment.install([setup.Way("locked", ()), setup.Way("as usual", ())])
    assert "as usual" not in capsys.readouterr().out


def test_a_folder_that_is_no_environment_has_no_version_and_is_not_deleted(checkout):
    made = setup.Environment(checkout)
    assert made.version() == ""
    made.folder.mkdir()
    (made.folder / "thesis.txt").touch()
    with pytest.raises(setup.SetupError, match="not a virtual environment"):
        made.prepare(["minilm"], recreate=True)
    assert (made.folder / "thesis.txt").exists()


def test_a_stage_shows_one_line_and_that_it_works_and_keeps_the_output(environment, capfd, monkeypatch):
    monkeypatch.setattr(setup, "TICK", 0.001)
    monkeypatch.setattr(setup, "BEAT", 0.0)
    code = "import sys; print('out'); sys.exit('err')"
    assert environment.stage("doing it", sys.executable, "-c", code) == (1, "out\nerr")
    shown = capfd.readouterr().out
    assert shown.startswith("doing it….") and " failed (" in shown and shown.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a console, not to a process group")
def test_ctrl_c_stops_the_child_too(tmp_path):
    child = "import pathlib, time; pathlib.Path('started').touch(); time.sleep(60)"
    code = (
        f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import pathlib, environment as e\n"
        f"made = e.Environment(pathlib.Path().resolve())\n"
        f"sys.exit(e.main(lambda: made.stage('working', sys.executable, '-c', {child!r})[0]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        while not (tmp_path / "started").exists():
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGINT)
        error = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert error == "\nstopped; the same command goes on from here\n"


def test_arguments_go_to_pytest_alone_and_only_all_of_it_runs_what_is_slow():
    assert check.checks(["-k", "index"], False) == [["pytest", "-k", "index"]]
    assert check.split(["--recreate", "--", "-h", "--recreate"]) == (["--recreate"], ["-h", "--recreate"])
    assert check.split(["-x"]) == (["-x"], [])
    quick, everything = check.checks([], False), check.checks([], True)
    assert [command[0] for command in quick] == ["ruff", "ruff", "mypy", "pytest"]
    assert {"tests/unit", "tests/integration", "not slow"} <= set(quick[-1])
    assert not {"-m", "tests/unit"} & set(everything[-1]), "pytest's own testpaths"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_ci_runs_the_same_command():
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 scripts/test.py --all" in script.read_text()

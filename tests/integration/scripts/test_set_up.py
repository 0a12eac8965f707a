"""Test the two commands of the README in a small checkout, mostly with a Python that only repeats its arguments."""

import ast
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import CHECKOUT, bundle_parts
from support.marks import posix

SCRIPTS = CHECKOUT / "scripts"
STUB = """#!/bin/sh
echo "ran $*"
case "$*" in *"$FAILS"*) exit 3;; *"$WAITS"*) touch started; exec sleep 60;; esac
"""
INSTALLS = "installing PyTorch", "installing what local-rag needs", "installing local-rag"


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout of the scripts with a package named local-rag that repeats its arguments."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = tmp_path / "wheels"
    packed = bundle_parts.wheel(
        tmp_path, "local-rag", requires=["leaf"], files={"local_rag_said.py": bundle_parts.SAID}
    )
    bundle_parts.wheel(wheels, "torch", "2.13.0")
    leaf = bundle_parts.wheel(wheels, "leaf")
    (tmp_path / "scripts/requirements.txt").write_text(f"leaf==1.0 --hash=sha256:{bundle_parts.sha256(leaf)}\n")
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'local-rag'\nversion = '1.0'\n"
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    )
    (tmp_path / "backend.py").write_text(
        f"import shutil\n"
        f"def build_editable(folder, config_settings=None, metadata_directory=None):\n"
        f"    return shutil.copy({packed.name!r}, folder) and {packed.name!r}\n"
    )
    return tmp_path


@pytest.fixture
def stubbed(checkout):
    """Return the checkout with an environment whose programs repeat their arguments."""
    programs = checkout / ".venv/bin"
    programs.mkdir(parents=True)
    (checkout / ".venv/pyvenv.cfg").touch()
    for name in ("python", "local-rag"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    return checkout


def variables(checkout, **changes):
    """Return variables with which pip and uv find packages in the checkout alone."""
    wheels = str(checkout / "wheels")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    alone = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "PIP_CONFIG_FILE": os.devnull}
    alone |= {"UV_OFFLINE": "1", "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(checkout / "uv")}
    return kept | alone | {"PATH": "/usr/bin:/bin", "FAILS": "nothing", "WAITS": "nothing"} | changes


def ran(checkout, script, *arguments, **changes):
    command = [sys.executable, checkout / "scripts" / script, *arguments]
    return subprocess.run(
        command, cwd=checkout.parent, env=variables(checkout, **changes), capture_output=True, text=True
    )


def stages(done):
    """Return what an installation shows of its own."""
    return tuple(line.partition(" (")[0].removesuffix(" for the CPU") for line in done.stdout.splitlines()
                 if line.startswith("installing"))  # fmt: skip


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


@posix
def test_the_quickstart_installs_runs_the_demo_and_shows_commands_to_type(stubbed):
    done = ran(stubbed, "quickstart.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert stages(done) == INSTALLS
    shown = done.stdout.splitlines()
    assert shown.index("installed in .venv") < shown.index("ran demo") < shown.index("Now your own files:")
    assert {"  .venv/bin/local-rag index FOLDER", "  source .venv/bin/activate"} < set(shown)


@posix
def test_an_installation_is_left_alone_until_its_requirements_change(stubbed):
    assert stages(ran(stubbed, "test.py")) == INSTALLS
    for script in ("test.py", "quickstart.py"):
        done = ran(stubbed, script)
        assert "everything is installed in .venv\n" in done.stdout and not stages(done)
    for name in ("pyproject.toml", "scripts/constraints.txt", "scripts/requirements.txt"):
        with (stubbed / name).open("a") as file:
            file.write("\n")
        assert stages(ran(stubbed, "quickstart.py")) == INSTALLS
    assert stages(ran(stubbed, "test.py")) == INSTALLS, "the quickstart does not install the test tools"


@posix
@pytest.mark.parametrize(("problem", "step"), [("FAILS", "--no-deps -r"), ("WAITS", "--require-hashes")])
def test_an_installation_that_failed_or_was_stopped_is_completed_by_the_same_command(stubbed, problem, step):
    command = [sys.executable, stubbed / "scripts/quickstart.py"]
    env = variables(stubbed, **{problem: step})
    with subprocess.Popen(
        command, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        while problem == "WAITS" and not (stubbed / "started").exists():
            assert running.poll() is None
        if problem == "WAITS":
            os.killpg(running.pid, signal.SIGINT)
        shown, error = running.communicate(timeout=60)
    assert ("installing what local-rag needs" in shown) == (problem == "WAITS") and "installing local-rag" not in shown
    if problem == "WAITS":
        assert (running.returncode, error) == (130, "\nstopped; the same command goes on from here\n")
    else:
        first, second = filter(None, error.splitlines())
        assert running.returncode == 1
        assert first.startswith("could not install") and second.startswith("  try: what pip says above")
    assert stages(ran(stubbed, "quickstart.py")) == INSTALLS


@posix
def test_arguments_go_to_pytest_alone_and_only_all_of_it_runs_what_is_slow(stubbed):
    def commands(*arguments):
        done = ran(stubbed, "test.py", *arguments)
        assert done.returncode == 0 and done.stdout.endswith("\nall passed\n")
        return [line.removeprefix("$ ") for line in done.stdout.splitlines() if line.startswith("$ ")]

    assert commands("-k", "index") == ["pytest -k index"]
    assert commands("--", "-h", "--recreate") == ["pytest -h --recreate"]
    quick, everything = commands(), commands("--all")
    assert quick[:3] == everything[:3] == ["ruff check", "ruff format --check", "mypy"]
    assert "tests/unit -m not slow" in quick[3] and "-m" not in everything[3].split()


@posix
def test_a_check_that_fails_does_not_keep_the_others_from_running(stubbed):
    done = ran(stubbed, "test.py", FAILS="-m mypy")
    assert done.returncode == 3 and done.stdout.endswith("\nfailed: mypy\n") and "$ pytest" in done.stdout


def test_a_folder_that_is_no_environment_is_not_deleted(checkout):
    thesis = checkout / ".venv/thesis.txt"
    thesis.parent.mkdir()
    thesis.touch()
    done = ran(checkout, "quickstart.py", "--recreate")
    assert done.returncode == 1 and "is not a virtual environment\n  try: move it away" in done.stderr
    assert thesis.exists()


@pytest.mark.slow
def test_pip_fills_a_new_environment_and_repairs_it_but_takes_no_file_that_the_lock_file_does_not_name(checkout):
    lock = checkout / "scripts/requirements.txt"
    right = lock.read_text()
    lock.write_text(right[:-3] + "00\n")
    done = ran(checkout, "quickstart.py")
    assert done.returncode == 1 and stages(done) == INSTALLS[:2]
    assert "DO NOT MATCH THE HASHES" in done.stderr and "asked: demo" not in done.stdout
    lock.write_text("not-there==1.0 --hash=sha256:" + "0" * 64 + "\n")
    done = ran(checkout, "quickstart.py")
    assert "not all of it is there as pinned; going on" in done.stdout and "asked: demo" in done.stdout, done
    lock.write_text(right)
    done = ran(checkout, "quickstart.py")
    assert "making" not in done.stdout and "asked: demo" in done.stdout, done
    (pip,) = (checkout / ".venv").glob("**/site-packages/pip")
    shutil.rmtree(pip)
    done = ran(checkout, "quickstart.py")
    assert done.stdout.startswith("making a virtual environment") and "asked: demo" in done.stdout, done


@pytest.mark.slow
def test_uv_installs_where_it_is_and_pip_what_uv_cannot(checkout):
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    done = ran(checkout, "quickstart.py", PATH=path)
    assert "uv could not; trying pip" in done.stdout and "asked: demo" in done.stdout, done
    done = ran(checkout, "quickstart.py", "--recreate", PATH=path, UV_FIND_LINKS=str(checkout / "wheels"))
    assert "uv could not" not in done.stdout and "asked: demo" in done.stdout, done


@posix  # Windows has no executable bit
def test_ci_runs_the_same_command():
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 scripts/test.py --all" in script.read_text()

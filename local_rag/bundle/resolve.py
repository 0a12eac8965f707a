"""Collect the packages of a bundle: uv chooses them for the target machine, pip downloads their wheels."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import NamedTuple

from local_rag.bundle.install import OLDEST, OLDEST_SYSTEM, REQUIREMENTS, here, sum_of
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.progress import Display

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of wheels without CUDA (https://pytorch.org/get-started/locally/)."""

_GLIBC = int(OLDEST_SYSTEM["linux"][1].partition(".")[2])
_MACOS = OLDEST_SYSTEM["macos"][1]


def _linux(cpu: str) -> tuple[str, ...]:
    """Return the platform tags (https://peps.python.org/pep-0600/) up to the oldest supported glibc, best first."""
    tags = [f"manylinux_2_{minor}_{cpu}" for minor in range(_GLIBC, 4, -1)]
    return (*tags, *(f"manylinux{year}_{cpu}" for year in (2014, 2010, 1)), f"linux_{cpu}")


_MACHINES = {
    "linux-x86_64": (f"x86_64-manylinux_2_{_GLIBC}", _linux("x86_64")),
    "linux-aarch64": (f"aarch64-manylinux_2_{_GLIBC}", _linux("aarch64")),
    "macos-arm64": ("aarch64-apple-darwin", (f"macosx_{_MACOS.replace('.', '_')}_arm64",)),
    "macos-x86_64": ("x86_64-apple-darwin", (f"macosx_{_MACOS.replace('.', '_')}_x86_64",)),
    "windows-x86_64": ("x86_64-pc-windows-msvc", ("win_amd64",)),
}
"""The names of each platform for uv and for pip."""


class Target(NamedTuple):
    """Name the machine that a bundle is for: a platform and a minor version of CPython."""

    platform: str
    python: str

    @classmethod
    def of(cls, platform: str | None, python: str | None) -> Target:
        """Return the named target, with this machine's values for missing parts; raise UsageError for unknown ones."""
        platform, python = platform or here(), python or "{}.{}".format(*sys.version_info[:2])
        if platform not in _MACHINES:
            raise UsageError(
                f"a bundle is for one of {', '.join(_MACHINES)}, not for {platform}",
                hint="local-rag bundle create DIR --platform linux-x86_64",
            )
        match = re.fullmatch(r"3\.(\d+)", python)
        if not match or (3, int(match[1])) < OLDEST:
            raise UsageError(
                f"a bundle is for a version of Python from 3.11 on, such as 3.12, not for {python}",
                hint="local-rag bundle create DIR --python 3.12",
            )
        return cls(platform, python)


def download(
    folder: Path, roots: Sequence[str], own: Path, target: Target, options: Sequence[str], display: Display
) -> None:
    """Fill `folder`/wheels with `own` and the wheels that it and `roots` need, and write `folder`/requirements.txt.

    The versions are those that are installed here, if they fit, because they were tested together. `options` are
    understood by both uv and pip: --no-index, --find-links. Raise LocalRagError.
    """
    wheels, lock = folder / "wheels", folder / REQUIREMENTS
    uv_platform, pip_platforms = _MACHINES[target.platform]
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir()
    installed = sorted(f"{found.name}=={found.version}\n" for found in distributions() if found.name != "local-rag")
    lock.write_text("".join(installed), encoding="utf-8")  # uv prefers the versions in its output file
    has_torch = "--no-index" in options or any(wheel for each in options for wheel in Path(each).glob("torch-*+cpu-*"))
    from_cpu_index = target.platform.startswith("linux") and not has_torch  # the ordinary index has 3 GB of CUDA

    display.say(f"choosing packages for {target.platform} and Python {target.python}…")
    command = [_uv(), "pip", "compile", "-", "--output-file", str(lock), "--python", sys.executable, "--quiet"]
    command += ["--python-platform", uv_platform, "--python-version", target.python, "--only-binary", ":all:"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-package", "local-rag"]
    command += [*options, *(("--torch-backend", "cpu") if from_cpu_index else ())]
    asked = "\n".join([f"local-rag @ {own.as_uri()}", "pip", *roots])
    chosen = subprocess.run(
        command,
        input=asked,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": _MACOS},
    )
    if chosen.returncode:
        raise LocalRagError(
            f"there are no packages for {target.platform} and Python {target.python}: {chosen.stderr.strip()}",
            hint="another --python; or on such a machine: pip wheel --no-deps -w DIR NAME   then here the same command "
            "with --find-links DIR",
        )
    count = lock.read_text(encoding="utf-8").count("==")
    display.say(f"fetching {count} packages with pip, which keeps what it has fetched…")
    pip = ["download", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--dest", str(wheels)]
    pip += ["--implementation", "cp", "--python-version", target.python, "--abi", f"cp{target.python.replace('.', '')}"]
    pip += [part for platform in pip_platforms for part in ("--platform", platform)]
    run_pip([*pip, *options, *(("--extra-index-url", CPU_INDEX) if from_cpu_index else ()), "-r", str(lock)])
    shutil.copy(own, wheels)
    lines = [f"{_pinned(wheel)} --hash=sha256:{sum_of(wheel)}\n" for wheel in sorted(wheels.iterdir())]
    lock.write_text("".join(lines), encoding="utf-8")


def _uv() -> str:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("uv", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if not found:
        raise LocalRagError("uv, which chooses the packages of a bundle, is not installed", hint="pip install uv")
    return found


def _pinned(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    return f"{name}=={version}"


def run_pip(arguments: Sequence[str]) -> None:
    """Run a command of pip; raise LocalRagError with its last error if it fails."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", *arguments]
    done = subprocess.run(pip, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        raise LocalRagError(
            f"pip {arguments[0]} failed: {(errors or done.stderr.splitlines() or ['it says nothing'])[-1]}",
            hint="see that pip reaches its index (pip config list shows which), then the same command",
        )


def own_wheel(into: Path, options: Sequence[str]) -> Path:
    """Build the wheel of local-rag itself from the source it was installed from: a folder, a URL, or an index.

    Raise LocalRagError.
    """
    installed = distribution("local-rag")
    origin = json.loads(installed.read_text("direct_url.json") or "{}")  # PEP 610
    source = origin.get("url") or f"local-rag=={installed.version}"
    if commit := origin.get("vcs_info"):
        source = f"{commit['vcs']}+{source}@{commit['commit_id']}"
    run_pip(["wheel", "--no-deps", "--wheel-dir", str(into), *options, source])
    return next(into.glob("local_rag-*.whl"))

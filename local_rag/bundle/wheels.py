"""The wheels of everything that local-rag needs on another machine.

pip reads the markers of requirements for the Python that it runs in, so it is only asked for one wheel at a time; what
a wheel needs in its turn is read from the wheel, for the machine that the bundle is for.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.bundle.target import Target
from local_rag.core.errors import LocalRagError

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.tags import Tag

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of wheels without CUDA (https://pytorch.org/get-started/locally/)."""

AT_ONCE = 25
"""Wheels per call of pip, which takes half a second to start: what a call has brought is kept when a later one is
stopped."""


@dataclass(frozen=True)
class Wheel:
    """One file, as its name says; `tags` are the machines that it is for."""

    file: Path
    name: str
    version: str
    tags: frozenset[Tag] = field(compare=False)

    @property
    def pinned(self) -> str:
        return f"{self.name}=={self.version}"


class Wheels:
    """The folder of wheels of a bundle. What is there already and fits is used; what is missing is fetched.

    `options` are for pip (--no-index, --find-links), `say` shows a line of progress.
    """

    def __init__(
        self, folder: Path, target: Target, options: Sequence[str] = (), say: Callable[[str], None] = lambda line: None
    ) -> None:
        self.folder, self.target, self.say = folder, target, say
        self.options = tuple(options)
        self._part = folder.with_name(f"{folder.name}.part")

    def gather(self, roots: Sequence[str]) -> list[Wheel]:
        """The wheels of these requirements and of all that they need, fetched where they are missing.

        Raises LocalRagError for one that cannot be had.
        """
        from packaging.requirements import Requirement

        self.folder.mkdir(parents=True, exist_ok=True)
        self._take_over()
        fetched: set[str] = set()
        while True:
            chosen, missing = self._closure([Requirement(root) for root in roots])
            if not missing:
                return sorted(chosen.values(), key=lambda wheel: wheel.name)
            wanted = [f"{name}{_pin(name, specifier)}" for name, specifier in sorted(missing.items())]
            for again in fetched.intersection(wanted):
                raise self._none(again, "what pip brought does not fit")
            fetched.update(wanted)
            self._fetch(wanted)

    def _closure(self, roots: Iterable[Requirement]) -> tuple[dict[str, Wheel], dict[str, SpecifierSet]]:
        """The chosen wheels by name, and what is asked of those that are not there."""
        from packaging.specifiers import SpecifierSet
        from packaging.utils import canonicalize_name

        every = [wheel_of(file) for file in sorted(self.folder.glob("*.whl"))]
        available = [wheel for wheel in every if wheel and wheel.tags & self.target.tags]
        wanted: dict[str, tuple[SpecifierSet, frozenset[str]]] = {}
        ahead = list(roots)
        chosen: dict[str, Wheel] = {}
        while ahead:
            requirement = ahead.pop()
            if requirement.url:
                raise LocalRagError(
                    f"{requirement} is installed from an address; a bundle takes only packages from an index",
                    hint=f"pip install {requirement.name}   from an index, then the same command",
                )
            name = canonicalize_name(requirement.name)
            specifier, extras = wanted.get(name, (SpecifierSet(), frozenset()))
            now = (specifier & requirement.specifier, extras | requirement.extras)
            if wanted.get(name) == now:
                continue
            wanted[name] = now
            wheel = _best([wheel for wheel in available if wheel.name == name], now[0])
            if wheel:
                chosen[name] = wheel
                ahead += self._needs(wheel, now[1])
            else:
                chosen.pop(name, None)
        return chosen, {name: specifier for name, (specifier, _) in wanted.items() if name not in chosen}

    def _needs(self, wheel: Wheel, extras: Iterable[str]) -> Iterator[Requirement]:
        """What a wheel asks for on the other machine."""
        for requirement in requirements(wheel.file):
            marker = requirement.marker
            if not marker or any(marker.evaluate(self.target.markers | {"extra": extra}) for extra in ("", *extras)):
                yield requirement

    # --- fetching

    def _fetch(self, wanted: Sequence[str]) -> None:
        torch = [requirement for requirement in wanted if requirement.partition("==")[0] == "torch"]
        others = [requirement for requirement in wanted if requirement not in torch]
        for start in range(0, len(others), AT_ONCE):
            batch = others[start : start + AT_ONCE]
            self.say(f"fetching {', '.join(batch)}")
            output = self._download(batch)
            if output:
                raise self._none(_named(output, batch), last_line(output))
        for requirement in torch:
            self.say(f"fetching {requirement} for the CPU (about 200 MB)")
            for way in self.torch_ways():
                output = self._download([requirement], way)
                if not output:
                    break
            else:
                raise self._none(requirement, last_line(output))

    def torch_ways(self) -> tuple[tuple[str, ...], ...]:
        """Where PyTorch without CUDA is looked for; on Linux the ordinary index has it with several GB of CUDA."""
        if not self.target.is_linux or "--no-index" in self.options:
            return ((),)
        return (("--no-index",), ("--timeout", "5", "--retries", "0", "--index-url", CPU_INDEX))

    def _download(self, wanted: Sequence[str], more: Sequence[str] = ()) -> str:
        """Empty when all is there, else what pip said."""
        arguments = ["download", "--no-deps", "--only-binary", ":all:", *self.target.options]
        status, output = run_pip([*arguments, *self.options, *more, "--dest", str(self._part), *wanted])
        self._take_over(sure=status == 0)
        return output if status else ""

    def _take_over(self, *, sure: bool = False) -> None:
        """Keep what pip brought; of what a stopped run left, only what is whole."""
        if not self._part.is_dir():
            return
        for file in self._part.glob("*.whl"):
            if sure or _is_whole(file):
                file.replace(self.folder / file.name)
            else:
                file.unlink()
        for left_over in self._part.iterdir():
            left_over.unlink()
        self._part.rmdir()

    def _none(self, requirement: str, reason: str) -> LocalRagError:
        platform, python = self.target.platform, self.target.python
        where = (
            f"see that pip reaches {CPU_INDEX}, or " if requirement.startswith("torch") and self.target.is_linux else ""
        )
        return LocalRagError(
            f"there is no wheel of {requirement} for {platform} and Python {python} ({reason})",
            hint=f"{where}on such a machine: pip wheel --no-deps -w DIR {requirement}   then here the same command "
            f"with --find-links DIR; or another --python",
        )


def _named(output: str, batch: Sequence[str]) -> str:
    """The requirement of a batch that pip did not find."""
    signs = {name: (f"for {name}", f"requirement {name} ") for name in batch}
    return next((name for name in batch if any(sign in output for sign in signs[name])), batch[0])


def _is_whole(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as wheel:
            return wheel.testzip() is None
    except (zipfile.BadZipFile, OSError):
        return False


def _best(wheels: Sequence[Wheel], specifier: SpecifierSet) -> Wheel | None:
    """The version that is installed here, else the newest; a local version (+cpu) before the one without."""
    from packaging.version import Version

    fitting = [wheel for wheel in wheels if specifier.contains(wheel.version, prereleases=True)]
    pin = _pin(wheels[0].name, specifier).removeprefix("==") if wheels else ""
    return max(fitting, key=lambda wheel: (Version(wheel.version).public == pin, Version(wheel.version)), default=None)


def _pin(name: str, specifier: SpecifierSet) -> str:
    """==VERSION of what is installed here, without its local part, if that fits; else the specifier itself."""
    from packaging.version import InvalidVersion, Version

    if name == "pip":
        return str(specifier)  # the one here may be too old for the other Python
    try:
        installed = Version(metadata.version(name))
    except (metadata.PackageNotFoundError, InvalidVersion):
        return str(specifier)
    return f"=={installed.public}" if specifier.contains(installed, prereleases=True) else str(specifier)


@cache
def wheel_of(file: Path) -> Wheel | None:
    """A wheel by the name of its file, None for a name that says nothing."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        name, version, _, tags = parse_wheel_filename(file.name)
    except InvalidWheelFilename:
        return None
    return Wheel(file, name, str(version), tags)


@cache
def requirements(file: Path) -> tuple[Requirement, ...]:
    """Requires-Dist of a wheel. Raises LocalRagError for a file that is none."""
    from packaging.metadata import parse_email
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        with zipfile.ZipFile(file) as wheel:
            folder = next(path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info"))
            text = (folder / "METADATA").read_text(encoding="utf-8")
        headers, _ = parse_email(text)
        return tuple(map(Requirement, headers.get("requires_dist", ())))
    except (zipfile.BadZipFile, KeyError, StopIteration, UnicodeDecodeError, InvalidRequirement, OSError) as error:
        raise LocalRagError(f"{file} is no wheel: {error}", hint=f"delete {file}, then the same command") from error


def run_pip(arguments: Sequence[str]) -> tuple[int, str]:
    """The exit status of one command of pip, and what it wrote. Raises LocalRagError where there is no pip."""
    command, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, "--disable-pip-version-check", "--no-input", "--quiet", *rest],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode and "No module named pip" in output:
        raise LocalRagError(f"{sys.executable} has no pip, which fetches the wheels", hint="python -m ensurepip")
    return done.returncode, output


def last_line(output: str) -> str:
    """The last thing that pip complained about."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["nothing was said"])[-1]

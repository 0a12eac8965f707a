"""The machine that a bundle is for: what it answers to the markers of requirements, and which wheels it takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from local_rag.bundle import machine
from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from packaging.tags import Tag

GLIBC = 28
"""Minor version of the oldest glibc 2 that wheels are chosen for: that of Debian 10, Ubuntu 18.10 and RHEL 8."""

MACOS = (14, 0)
"""The newest macOS that wheels may ask for."""

_OLDER = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""Old names of manylinux_2_N, https://peps.python.org/pep-0600/#legacy-manylinux-tags"""

_MACHINES = {
    "linux-x86_64": ("posix", "linux", "Linux", "x86_64"),
    "linux-aarch64": ("posix", "linux", "Linux", "aarch64"),
    "macos-arm64": ("posix", "darwin", "Darwin", "arm64"),
    "macos-x86_64": ("posix", "darwin", "Darwin", "x86_64"),
    "windows-x86_64": ("nt", "win32", "Windows", "AMD64"),
}
"""os.name, sys.platform, platform.system() and platform.machine() of each."""

PLATFORMS = tuple(_MACHINES)


@dataclass(frozen=True)
class Target:
    """A platform and a minor version of CPython."""

    platform: str
    python: str

    @classmethod
    def of(cls, platform: str | None, python: str | None) -> Target:
        """The named one, what is not named is that of this machine. Raises UsageError for what there is not."""
        platform = platform or machine.here()
        python = python or "{}.{}".format(*sys.version_info[:2])
        if platform not in PLATFORMS:
            raise UsageError(
                f"a bundle is for one of {', '.join(PLATFORMS)}, not for {platform}",
                hint=f"local-rag bundle create DIR --platform {PLATFORMS[0]}",
            )
        match = re.fullmatch(r"3\.(\d+)", python)
        if not match or int(match[1]) < machine.OLDEST[1]:
            oldest = "{}.{}".format(*machine.OLDEST)
            raise UsageError(
                f"a bundle is for a version of Python from {oldest} on, such as 3.12, not for {python}",
                hint=f"local-rag bundle create DIR --python {oldest}",
            )
        return cls(platform, python)

    @property
    def is_linux(self) -> bool:
        return self.platform.startswith("linux")

    @property
    def abi(self) -> str:
        return f"cp{self.python.replace('.', '')}"

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The platform tags of wheels that run there, best first."""
        from packaging.tags import mac_platforms

        cpu = _MACHINES[self.platform][3]
        if self.platform.startswith("macos"):
            return tuple(mac_platforms(MACOS, cpu))
        if not self.is_linux:
            return ("win_amd64",)
        tags = []
        for minor in range(GLIBC, 4, -1):
            tags.append(f"manylinux_2_{minor}_{cpu}")
            if minor in _OLDER and (minor == 17 or cpu == "x86_64"):
                tags.append(f"{_OLDER[minor]}_{cpu}")
        return (*tags, f"linux_{cpu}")

    @cached_property
    def tags(self) -> frozenset[Tag]:
        """Every tag of a wheel that runs there."""
        from packaging.tags import compatible_tags, cpython_tags

        version = tuple(map(int, self.python.split(".")))
        return frozenset(
            [*cpython_tags(version, [self.abi], self.systems), *compatible_tags(version, self.abi, self.systems)]
        )

    @cached_property
    def markers(self) -> dict[str, str]:
        """What stands for this machine in markers (https://packaging.python.org/specifications/dependency-specifiers/)."""
        name, system, long_system, cpu = _MACHINES[self.platform]
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": name,
            "platform_machine": cpu,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": long_system,
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": system,
        }

    @property
    def options(self) -> tuple[str, ...]:
        """What pip download is told of it."""
        chosen = [part for system in self.systems for part in ("--platform", system)]
        return (*chosen, "--python-version", self.python, "--implementation", "cp", "--abi", self.abi)

    def needs(self, tags: Iterable[Iterable[Tag]]) -> dict[str, str]:
        """The oldest system that runs wheels with these tags: {"glibc": "2.28"} or {"macos": "12.0"}, empty for all.

        Each wheel asks for the least of the systems that it names.
        """
        least = [min(versions) for wheel in tags if (versions := [_oldest_system(tag.platform) for tag in wheel])]
        newest = max(least, default=(0, 0))
        if newest == (0, 0):
            return {}
        return {"glibc" if self.is_linux else "macos": "{}.{}".format(*newest)}


def _oldest_system(tag: str) -> tuple[int, int]:
    """The version that a platform tag asks for, (0, 0) for any."""
    match = re.match(r"(?:manylinux|macosx)_(\d+)_(\d+)_", tag)
    if match:
        return int(match[1]), int(match[2])
    return next(((2, minor) for minor, name in _OLDER.items() if tag.startswith(f"{name}_")), (0, 0))

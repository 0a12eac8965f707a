"""Whether the disk below a folder is encrypted, as far as the system says: dm-crypt, FileVault, BitLocker.

What is at rest is plain text, so this is what stands between it and whoever takes the disk. None of these sees a disk
that encrypts itself, or what the host of a virtual machine does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["encrypted", "plain", "unknown"]

SECONDS = 15
"""How long a system may take to say it; PowerShell takes seconds to start."""

_BY_FILE = {"ecryptfs", "fuse.gocryptfs", "fuse.cryfs", "fuse.encfs"}
"""File systems that encrypt each file by themselves."""

_NO_CIPHER = {"VERITY", "INTEGRITY", "SUBDEV"}
"""What cryptsetup makes besides encrypted devices."""

_GET_FLAGS, _ENCRYPTED = 0x80086601, 0x800
"""FS_IOC_GETFLAGS and its flag of a folder that fscrypt encrypts (ext4, f2fs): linux/fs.h."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """What is known of the disk below a folder, and by what; `why` says why nothing is known, or not all."""

    state: State
    why: str = ""


def encryption_of(folder: Path) -> Encryption:
    """Of a folder that is there. Never raises."""
    try:
        folder = folder.resolve()
        if sys.platform == "darwin":
            return _file_vault(folder)
        return _bit_locker(folder) if os.name == "nt" else _linux(folder)
    except (OSError, subprocess.SubprocessError) as error:
        return Encryption("unknown", f"this system does not say ({error})")


# --- Linux ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of /proc/self/mountinfo: `device` is major:minor, `source` what was mounted."""

    point: str
    device: str
    kind: str
    source: str


def _linux(folder: Path) -> Encryption:
    if _fscrypt(folder):
        return Encryption("encrypted", "fscrypt")
    mount = mount_of(folder, Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace"))
    return disk_state(mount, Path("/"))


def mount_of(folder: Path, mountinfo: str) -> Mount:
    """The mount that a folder lies on; of several on one point the last one. Raises OSError where there is none."""
    nearest = None
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        parts, about = fields.split(), rest.split()
        if len(parts) < 5 or len(about) < 2:
            continue
        mount = Mount(_unescaped(parts[4]), parts[2], about[0], _unescaped(about[1]))
        if folder.is_relative_to(mount.point) and (nearest is None or len(mount.point) >= len(nearest.point)):
            nearest = mount
    if nearest is None:
        raise OSError(f"nothing is mounted for {folder}")
    return nearest


def disk_state(mount: Mount, root: Path) -> Encryption:
    """What is below a mount, by the tree of block devices in `root`/sys."""
    if mount.kind in _BY_FILE:
        return Encryption("encrypted", mount.kind.removeprefix("fuse."))
    device = _device(mount, root)
    if device is None:
        return Encryption("unknown", f"it is on {mount.kind}, which is on no disk that this machine knows")
    members = [name.parent for name in (root / "sys/fs/btrfs").glob(f"*/devices/{device.name}")]
    devices = [each.resolve() for folder in members for each in folder.iterdir()] or [device]
    return _worst([_below(each) for each in devices])


def _device(mount: Mount, root: Path) -> Path | None:
    """The folder in /sys of the device that is mounted."""
    by_number = root / "sys/dev/block" / mount.device
    if by_number.exists():
        return by_number.resolve()
    if mount.source.startswith("/dev/"):
        by_name = root / "sys/class/block" / (root / mount.source[1:]).resolve().name
        return by_name.resolve() if by_name.exists() else None
    return None


def _below(device: Path) -> Encryption:
    """A device and what it is made of: partitions of a disk, volumes of a group, members of a RAID."""
    uuid = device / "dm/uuid"
    made_by, _, how = (uuid.read_text(encoding="ascii", errors="replace") if uuid.exists() else "").partition("-")
    how = how.partition("-")[0].strip()
    if made_by == "CRYPT" and how not in _NO_CIPHER:
        return Encryption("encrypted", f"dm-crypt, {how}")
    slaves = device / "slaves"
    below = [each.resolve() for each in slaves.iterdir()] if slaves.is_dir() else []
    if (device / "partition").exists():
        below = [device.parent]
    if below:
        return _worst([_below(each) for each in below])
    if (device / "device").exists():
        return Encryption("plain")
    return Encryption("unknown", f"what is below {device.name} is not known")


def _worst(states: Sequence[Encryption]) -> Encryption:
    order: Sequence[State] = ("plain", "unknown", "encrypted")
    return min(states, key=lambda encryption: order.index(encryption.state))


def _unescaped(text: str) -> str:
    """A blank is written as a backslash and 040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _fscrypt(folder: Path) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        flags = fcntl.ioctl(handle, _GET_FLAGS, bytes(8))
    except OSError:  # most file systems know no flags
        return False
    finally:
        os.close(handle)
    return bool(int.from_bytes(flags, sys.byteorder) & _ENCRYPTED)


# --- macOS and Windows ----------------------------------------------------------------------------------------------


def _file_vault(folder: Path) -> Encryption:
    if folder.is_relative_to("/Volumes"):
        return Encryption("unknown", "FileVault says it of the startup disk alone")
    return file_vault_state(_output_of("/usr/bin/fdesetup", "status"))


def file_vault_state(reply: str) -> Encryption:
    """What `fdesetup status` says of the startup disk."""
    if "in progress" in reply:
        return Encryption("plain", "FileVault is at work on it and not done")
    if "FileVault is On" in reply:
        return Encryption("encrypted", "FileVault")
    return Encryption("plain") if "FileVault is Off" in reply else Encryption("unknown", "fdesetup does not say")


def _bit_locker(folder: Path) -> Encryption:
    if not re.fullmatch("[A-Za-z]:", folder.drive):
        return Encryption("unknown", "it is on no drive of this machine")
    shell = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32/WindowsPowerShell/v1.0/powershell.exe"
    volume = f"(New-Object -ComObject Shell.Application).NameSpace('{folder.drive}').Self"
    reply = _output_of(
        str(shell), "-NoProfile", "-Command", f"{volume}.ExtendedProperty('System.Volume.BitLockerProtection')"
    )
    return bit_locker_state(reply)


def bit_locker_state(reply: str) -> Encryption:
    """What Windows's shell says of a drive to everybody; `manage-bde -status` says it to administrators only."""
    states = {
        "1": Encryption("encrypted", "BitLocker"),
        "2": Encryption("plain"),
        "3": Encryption("plain", "BitLocker is at work on it and not done"),
        "4": Encryption("plain", "BitLocker is being taken off it"),
        "5": Encryption("plain", "BitLocker is suspended, so the key lies open on it"),
        "6": Encryption("encrypted", "BitLocker"),
        "8": Encryption("plain", "BitLocker waits to be activated"),
    }
    return states.get(reply.strip(), Encryption("unknown", "Windows does not say"))


def _output_of(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    return done.stdout.decode("utf-8", "replace")

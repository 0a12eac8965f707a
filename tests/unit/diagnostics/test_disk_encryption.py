"""Whether a disk is encrypted: from trees of /sys as kernels show them, and from what macOS and Windows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_rag.diagnostics.disk_encryption import (
    Encryption,
    Mount,
    bit_locker_state,
    disk_state,
    encryption_of,
    file_vault_state,
    mount_of,
)

MOUNTINFO = r"""21 27 0:20 / /proc rw,nosuid - proc proc rw
27 1 253:1 / / rw,relatime shared:1 - ext4 /dev/mapper/vg-root rw
31 27 259:1 / /boot rw,relatime shared:29 - ext4 /dev/nvme0n1p1 rw
40 27 0:45 / /home/a\040b rw,relatime shared:60 - fuse.gocryptfs /home/a\040b.cipher rw
41 27 0:46 / /mnt/nas rw,relatime - nfs4 nas:/export rw
42 27 0:47 /@home /home/c rw,relatime shared:2 - btrfs /dev/mapper/luks-c rw
43 42 8:17 / /home/c/disk rw - ext4 /dev/sdb1 rw
44 42 8:33 / /home/c/disk rw master:4 - ext4 /dev/sdc1 rw
"""


class Sys:
    """A tree of block devices under `root`, with links as a kernel makes them."""

    def __init__(self, root):
        self.root = root
        for folder in ("sys/dev/block", "sys/class/block", "dev/mapper"):
            (root / folder).mkdir(parents=True)

    def add(self, name, number, *, parent="", slaves=(), uuid="", hardware=False):
        """A device; a partition lies in the folder of its disk."""
        base = self.root / "sys/devices"
        device = base / parent / name if parent else base / name
        device.mkdir(parents=True)
        (self.root / "sys/dev/block" / number).symlink_to(Path("../../devices") / device.relative_to(base))
        (self.root / "sys/class/block" / name).symlink_to(Path("../../devices") / device.relative_to(base))
        if parent:
            (device / "partition").write_text("1\n")
        if uuid:
            (device / "dm").mkdir()
            (device / "dm/uuid").write_text(f"{uuid}\n")
        (device / "slaves").mkdir()
        for slave in slaves:
            (device / "slaves" / slave).symlink_to((self.root / "sys/class/block" / slave).resolve())
        if hardware:
            (device / "device").mkdir()

    def mapped(self, name, target):
        (self.root / "dev" / target).touch()
        (self.root / "dev/mapper" / name).symlink_to(Path("..") / target)

    def btrfs(self, *names):
        folder = self.root / "sys/fs/btrfs/1f2e/devices"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).symlink_to((self.root / "sys/class/block" / name).resolve())

    def state(self, device, kind="ext4", source="/dev/x"):
        return disk_state(Mount("/", device, kind, source), self.root)


@pytest.fixture
def tree(tmp_path):
    sys = Sys(tmp_path)
    sys.add("nvme0n1", "259:0", hardware=True)
    sys.add("nvme0n1p2", "259:2", parent="nvme0n1")
    sys.add("dm-0", "253:0", slaves=["nvme0n1p2"], uuid="CRYPT-LUKS2-1f2e-cryptroot")
    sys.add("dm-1", "253:1", slaves=["dm-0"], uuid="LVM-abc")
    sys.add("sda", "8:0", hardware=True)
    sys.add("sda1", "8:1", parent="sda")
    sys.add("dm-2", "253:2", slaves=["sda1"], uuid="LVM-def")
    sys.add("dm-3", "253:3", slaves=["sda1"], uuid="CRYPT-VERITY-77-usr")
    sys.add("dm-4", "253:4", slaves=["dm-0", "sda1"], uuid="LVM-spread-over-two")
    sys.add("md0", "9:0", slaves=["dm-0", "dm-1"])
    sys.add("md0p1", "259:9", parent="md0")
    sys.add("loop0", "7:0")
    return sys


@pytest.mark.parametrize(
    ("device", "state"),
    [
        ("253:0", "encrypted"),  # LUKS
        ("253:1", "encrypted"),  # a volume group on LUKS
        ("259:9", "encrypted"),  # a partition of a RAID of encrypted members
        ("8:1", "plain"),
        ("253:2", "plain"),  # a volume group on a bare partition
        ("253:3", "plain"),  # cryptsetup makes this, too, and it encrypts nothing
        ("253:4", "plain"),  # a volume group of which one disk is bare
        ("7:0", "unknown"),  # a file of some other file system
    ],
)
def test_a_stack_of_devices_is_as_good_as_its_weakest(tree, device, state):
    assert tree.state(device).state == state


def test_a_device_without_a_number_of_its_own_is_found_by_its_name(tree):
    tree.mapped("luks-c", "dm-0")
    assert tree.state("0:47", "btrfs", "/dev/mapper/luks-c") == Encryption("encrypted", "dm-crypt, LUKS2")
    assert tree.state("0:47", "btrfs", "/dev/sda1").state == "plain"
    tree.btrfs("dm-0", "sda1")
    assert tree.state("0:47", "btrfs", "/dev/mapper/luks-c").state == "plain", "it lies on both"


@pytest.mark.parametrize(
    ("kind", "source", "state"),
    [
        ("fuse.gocryptfs", "/home/a.cipher", "encrypted"),
        ("ecryptfs", "/home/.ecryptfs/a", "encrypted"),
        ("nfs4", "nas:/export", "unknown"),
        ("tmpfs", "tmpfs", "unknown"),
        ("overlay", "overlay", "unknown"),
        ("ext4", "/dev/not-there", "unknown"),
    ],
)
def test_what_lies_on_no_disk_is_told_by_its_kind_or_not_at_all(tree, kind, source, state):
    found = tree.state("0:99", kind, source)
    assert found.state == state and found.why


@pytest.mark.parametrize(
    ("folder", "kind", "device"),
    [
        ("/home/x/data", "ext4", "253:1"),
        ("/boot/data", "ext4", "259:1"),
        ("/bootstrap", "ext4", "253:1"),
        ("/home/a b/data", "fuse.gocryptfs", "0:45"),
        ("/home/c/data", "btrfs", "0:47"),
        ("/home/c/disk/data", "ext4", "8:33"),
    ],
)
def test_a_folder_lies_on_the_last_mount_of_the_longest_path(folder, kind, device):
    mount = mount_of(Path(folder), MOUNTINFO)
    assert (mount.kind, mount.device) == (kind, device)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("FileVault is On.\n", "encrypted"),
        ("FileVault is Off.\n", "plain"),
        ("FileVault is Off.\nDeferred enablement appears to be active for user 'a'.\n", "plain"),
        ("FileVault is On.\nEncryption in progress: Percent completed = 41\n", "plain"),
        ("FileVault is Off.\nDecryption in progress: Percent completed = 3\n", "plain"),
        ("", "unknown"),
        ("Error: no status\n", "unknown"),
    ],
)
def test_file_vault(said, state):
    assert file_vault_state(said).state == state


@pytest.mark.parametrize(
    ("said", "state"),
    [("1\n", "encrypted"), ("6\r\n", "encrypted"), ("2\n", "plain"), ("3\n", "plain"), ("5\n", "plain"), ("8", "plain"),
     ("0\n", "unknown"), ("\n", "unknown"), ("Zugriff verweigert", "unknown")],
)  # fmt: skip
def test_bit_locker(said, state):
    assert bit_locker_state(said).state == state


def test_this_machine_is_asked_and_never_fails(tmp_path):
    assert encryption_of(tmp_path).state in ("encrypted", "plain", "unknown")
    gone = encryption_of(tmp_path / "gone")
    assert gone.state in ("encrypted", "plain", "unknown")

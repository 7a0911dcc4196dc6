"""Recorded outputs: Debian 12 on this project's test machines, Debian 13 from its packages, unpacked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import Program
from app.domain.options.option_spec import KERNEL, Component, format_version, parse_version
from app.domain.options.raid import Level
from app.storage.layout.disk_target import (
    Reason,
    Support,
    array_availability,
    describe_versions,
    filesystem_availability,
    level_availability,
    needed_programs,
    parse_filesystems,
    parse_modules,
    parse_personalities,
    parse_tool_version,
    read_support,
)

RECORDED: dict[str, dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "data/storage/versions.json").read_text(encoding="utf-8")
)
RELEASE = "6.1.0-56-amd64"
# Lines of the files of linux-image-6.1.0-56-amd64 and zfs-dkms 2.1.11.
MODULES_DEP = """\
kernel/fs/f2fs/f2fs.ko: kernel/lib/lz4/lz4hc_compress.ko kernel/lib/lz4/lz4_compress.ko
kernel/fs/btrfs/btrfs.ko: kernel/lib/raid6/raid6_pq.ko
kernel/fs/xfs/xfs.ko: kernel/lib/libcrc32c.ko
kernel/fs/reiserfs/reiserfs.ko:
kernel/fs/ext4/ext4.ko: kernel/crypto/crc32c_generic.ko
kernel/drivers/md/md-mod.ko:
kernel/drivers/md/raid0.ko: kernel/drivers/md/md-mod.ko
kernel/drivers/md/raid1.ko: kernel/drivers/md/md-mod.ko
kernel/drivers/md/raid10.ko.xz: kernel/drivers/md/md-mod.ko
kernel/drivers/md/raid456.ko.zst: kernel/drivers/md/md-mod.ko
updates/dkms/zfs.ko: updates/dkms/zunicode.ko
"""
MODULES_BUILTIN = "kernel/arch/x86/events/amd/amd-uncore.ko\nkernel/mm/zswap.ko\n"
PROC_FILESYSTEMS = "nodev\tsysfs\nnodev\ttmpfs\n\text3\n\text2\n\text4\nnodev\tfuse\n"


def asking(system: str) -> Asking:
    return Asking(RECORDED[system])


class Asking:
    """Answers as the programs of a recorded system."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers

    def __call__(self, argv: Sequence[str]) -> str:
        asked = " ".join(argv)
        assert asked in self._answers, f"record what {asked!r} prints in tests/data/storage/versions.json"
        return self._answers[asked]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a machine with all modules of Debian's kernel and all programs."""
    modules = {module for spec in FILESYSTEMS for module in spec.kernel_modules}
    others = "".join(
        f"kernel/fs/{each}.ko:\n" for each in sorted(modules) if f"/{each}.ko" not in MODULES_DEP
    )
    files = {
        f"lib/modules/{RELEASE}/modules.dep": MODULES_DEP + others,
        f"lib/modules/{RELEASE}/modules.builtin": MODULES_BUILTIN,
        "proc/filesystems": PROC_FILESYSTEMS,
        "proc/sys/kernel/modules_disabled": "0\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    folder = tmp_path / "usr/sbin"
    folder.mkdir(parents=True)
    for program in needed_programs():
        (folder / program.name).write_text("#!/bin/false\n", encoding="utf-8")
        (folder / program.name).chmod(0o755)
    return tmp_path


def support_of(root: Path, system: str = "debian-12", release: str = RELEASE) -> Support:
    return read_support(root, ask=asking(system), release=release)


def messages(reasons: Sequence[Reason]) -> list[str]:
    return [reason.message for reason in reasons]


def test_everything_works_where_everything_is_installed(root: Path) -> None:
    support = support_of(root)
    for spec in FILESYSTEMS:
        assert filesystem_availability(spec, support).reasons == ()
        for level in spec.levels:
            assert level_availability(spec, level, support).works


@pytest.mark.parametrize(
    ("system", "versions"),
    [
        (
            "debian-12",
            (
                "Linux 6.1.0, mdadm 4.2, e2fsprogs 1.47.0, xfsprogs 6.1.0, btrfs-progs 6.2, OpenZFS 2.1.11, "
                "f2fs-tools 1.15.0"
            ),
        ),
        (  # without the module zpool does not tell its version
            "debian-13",
            "Linux 6.1.0, mdadm 4.4, e2fsprogs 1.47.2, xfsprogs 6.13.0, btrfs-progs 6.14, f2fs-tools 1.16.0",
        ),
    ],
)
def test_versions_are_what_the_programs_print(root: Path, system: str, versions: str) -> None:
    assert describe_versions(support_of(root, system).versions) == versions


def test_each_component_asked_once(root: Path) -> None:
    asked: list[str] = []

    def ask(argv: Sequence[str]) -> str:
        asked.append(argv[0])
        return RECORDED["debian-12"][" ".join(argv)]

    (root / "usr/sbin/mkfs.f2fs").unlink()
    versions = read_support(root, ask=ask, release=RELEASE).versions
    named = [program for program in needed_programs() if program.component is not None]
    there = {program.component for program in named if (root / "usr/sbin" / program.name).exists()}
    assert len(asked) == len(there)
    assert "mkfs.f2fs" not in asked
    assert set(versions) == there | {KERNEL}


def test_module_counts_beside_its_version(root: Path) -> None:
    (root / "sys/module/zfs").mkdir(parents=True)
    (root / "sys/module/version").write_text("0.1\n", encoding="utf-8")
    (root / "sys/module/zfs/version").write_text("2.0.7-1\n", encoding="utf-8")
    versions = support_of(root).versions
    assert min(versions.values()) > (1,), (
        "no version of what has no module is read from the folder of modules"
    )
    assert Component("OpenZFS") not in read_support(root, ask=lambda _argv: "", release=RELEASE).versions


def test_older_of_zfs_module_and_program(root: Path) -> None:
    path = root / "sys/module/zfs/version"
    path.parent.mkdir(parents=True)
    path.write_text("2.0.7-1\n", encoding="utf-8")
    assert support_of(root).versions[Component("OpenZFS")] == (2, 0, 7)


def test_missing_program_names_its_package(root: Path) -> None:
    (root / "usr/sbin/mkfs.xfs").unlink()
    (reason,) = filesystem_availability(filesystem("xfs"), support_of(root)).reasons
    assert reason.message == "Not installed: mkfs.xfs."
    assert reason.remedy == "Install the package xfsprogs (as Debian calls it)."
    assert reason.package == "xfsprogs"


@pytest.mark.parametrize("program", needed_programs(), ids=lambda item: item.name)
def test_every_needed_program_can_be_missing(root: Path, program: Program) -> None:
    name = program.name
    (root / "usr/sbin" / name).unlink()
    support = support_of(root)
    lacking = {
        reason.message
        for spec in FILESYSTEMS
        for level in spec.levels
        for reason in level_availability(spec, level, support).reasons
    }
    assert lacking == {f"Not installed: {name}."}


def test_programs_of_one_package_are_missed_together(root: Path) -> None:
    for name in ("zpool", "zfs"):
        (root / "usr/sbin" / name).unlink()
    (reason,) = filesystem_availability(filesystem("zfs"), support_of(root)).reasons
    assert reason.message == "Not installed: zpool, zfs."


def test_program_without_execute_permission(root: Path) -> None:
    (root / "usr/sbin/mkfs.f2fs").chmod(0o644)
    assert not filesystem_availability(filesystem("f2fs"), support_of(root)).works


def test_program_elsewhere_in_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "opt").mkdir()
    (root / "usr/sbin/mkfs.xfs").rename(root / "opt/mkfs.xfs")
    monkeypatch.setenv("PATH", str(root / "opt"))
    assert not filesystem_availability(filesystem("xfs"), support_of(root)).works


def test_a_kernel_without_the_filesystem_is_named(root: Path) -> None:
    dep = root / f"lib/modules/{RELEASE}/modules.dep"
    dep.write_text(MODULES_DEP.replace("f2fs", "g2fs"), encoding="utf-8")
    (reason,) = filesystem_availability(filesystem("f2fs"), support_of(root)).reasons
    assert reason.message == f"Kernel {RELEASE} has no f2fs."
    assert reason.remedy


def test_remedy_by_kernel_and_missing_part(root: Path) -> None:
    support = replace(support_of(root), loadable=frozenset({"something"}))
    (reason,) = filesystem_availability(filesystem("zfs"), support).reasons
    assert reason.package == "zfs-dkms"
    (reason,) = filesystem_availability(filesystem("f2fs"), support).reasons
    assert (reason.remedy, reason.package) == ("Boot a kernel that has it.", "")
    cloud = replace(support, release="6.1.0-56-cloud-amd64")
    (reason,) = filesystem_availability(filesystem("f2fs"), cloud).reasons
    assert reason.package == "linux-image-amd64"


def test_modules_of_another_kernel(root: Path) -> None:
    (reason,) = filesystem_availability(filesystem("xfs"), support_of(root, release="6.1.0-55-amd64")).reasons
    assert "its modules are not installed" in reason.message
    assert "Restart" in reason.remedy
    assert filesystem_availability(filesystem("ext4"), support_of(root, release="6.1.0-55-amd64")).works


def test_kernel_with_modules_disabled(root: Path) -> None:
    (root / "proc/sys/kernel/modules_disabled").write_text("1\n", encoding="utf-8")
    support = support_of(root)
    assert filesystem_availability(filesystem("ext4"), support).works
    (reason,) = filesystem_availability(filesystem("xfs"), support).reasons
    assert "kernel.modules_disabled" in reason.message
    (root / "sys/module/xfs").mkdir(parents=True)
    assert filesystem_availability(filesystem("xfs"), support_of(root)).works


def test_unreadable_list_of_filesystems(root: Path) -> None:
    (root / "proc/filesystems").unlink()
    (reason,) = filesystem_availability(filesystem("ext4"), support_of(root)).reasons
    assert "/proc/filesystems cannot be read" in reason.message


def test_md_and_each_level_missing(root: Path) -> None:
    support = support_of(root)
    without_md = replace(support, loadable=support.loadable - {"md_mod"})
    assert messages(array_availability(Level.RAID5, without_md).reasons) == [f"Kernel {RELEASE} has no md."]
    without_parity = replace(support, loadable=support.loadable - {"raid456"})
    ext4 = filesystem("ext4")
    works = {level: level_availability(ext4, level, without_parity).works for level in ext4.levels}
    assert [level for level, answer in works.items() if not answer] == [Level.RAID5, Level.RAID6]
    assert level_availability(filesystem("btrfs"), Level.RAID5, without_parity).works
    assert level_availability(filesystem("zfs"), Level.RAIDZ3, without_parity).works


def test_arrays_without_mdadm(root: Path) -> None:
    (root / "usr/sbin/mdadm").unlink()
    support = support_of(root)
    (reason,) = level_availability(filesystem("xfs"), Level.MIRROR, support).reasons
    assert reason.package == "mdadm"
    assert level_availability(filesystem("xfs"), Level.SINGLE, support).works


def test_md_built_into_the_kernel(root: Path) -> None:
    dep = root / f"lib/modules/{RELEASE}/modules.dep"
    dep.write_text("kernel/fs/xfs/xfs.ko:\n", encoding="utf-8")
    (root / "proc/mdstat").write_text(
        "Personalities : [raid1] [raid6] [raid5] [raid4] \nunused devices: <none>\n", encoding="utf-8"
    )
    support = support_of(root)
    assert array_availability(Level.RAID6, support).works
    assert array_availability(Level.MIRROR, support).works
    assert not array_availability(Level.STRIPE, support).works


def test_level_unsupported_by_filesystem(root: Path) -> None:
    (reason,) = level_availability(filesystem("ext4"), Level.RAIDZ3, support_of(root)).reasons
    assert reason.message == "ext4 has no level “raidz3”."


def test_program_without_version_still_counts(root: Path) -> None:
    support = read_support(root, ask=lambda argv: "", release=RELEASE)
    assert support.versions == {KERNEL: (6, 1, 0)}
    assert filesystem_availability(filesystem("xfs"), support).works


@pytest.mark.parametrize(
    ("text", "version"),
    [
        *[
            (text, version)
            for system, versions in {
                "debian-12": ["1.47.0", "1.47.0", "6.1.0", "6.2", "1.15.0", "4.2", "2.1.11"],
                "debian-13": ["1.47.2", "1.47.2", "6.13.0", "6.14", "1.16.0", "4.4", ""],
            }.items()
            for text, version in zip(RECORDED[system].values(), versions, strict=True)
        ],
        ("", ""),
        ("mke2fs", ""),
        ("mkfs.btrfs", ""),
        ("command not found", ""),
    ],
)
def test_version_from_output(text: str, version: str) -> None:
    parsed = parse_tool_version(text)
    assert (format_version(parsed) if parsed else "") == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("6.18.44-fc-v657", (6, 18, 44)),
        ("6.1.0-56-amd64", (6, 1, 0)),
        ("2.1.11-1+deb12u1", (2, 1, 11)),
        ("6.19.0-rc1", (6, 19, 0)),
        ("no number", None),
        ("9" * 30, (999999999,)),
    ],
)
def test_a_version_is_the_first_dotted_number(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("name", ["modules.dep", "modules.builtin"])
def test_either_list_of_modules(root: Path, name: str) -> None:
    folder = root / f"lib/modules/{RELEASE}"
    for other in folder.iterdir():
        if other.name != name:
            other.unlink()
    assert support_of(root).modules_installed
    (folder / name).unlink()
    assert not support_of(root).modules_installed


def test_memory_needs_no_program_that_partitions(root: Path) -> None:
    (root / "usr/sbin/sfdisk").unlink()
    support = support_of(root)
    assert filesystem_availability(filesystem("tmpfs"), support).works
    assert not filesystem_availability(filesystem("xfs"), support).works


def test_kernel_lists_by_line() -> None:
    assert parse_filesystems("\n  \n\text4\n") == ("ext4",)
    assert parse_modules("\nkernel/fs/:\n.ko\nkernel/fs/xfs/xfs.ko:\n") == ("xfs",)
    assert parse_personalities("md1 : active [raid1]\nPersonalities : [raid10]\n") == {"md_mod", "raid10"}
    assert parse_filesystems(PROC_FILESYSTEMS) == ("sysfs", "tmpfs", "ext3", "ext2", "ext4", "fuse")
    assert parse_modules(MODULES_BUILTIN) == ("amd_uncore", "zswap")
    assert {"md_mod", "raid10", "raid456", "zfs"} <= set(parse_modules(MODULES_DEP))
    assert parse_modules(None) == ()
    assert parse_personalities(None) == frozenset()
    assert parse_personalities("") == {"md_mod"}
    assert parse_personalities("Personalities : \nunused devices: <none>\n") == {"md_mod"}


def test_this_machine_is_read_without_a_fault() -> None:
    support = read_support()
    assert support.registered
    assert KERNEL in support.versions
    assert support.page_bytes >= 4096
    assert filesystem_availability(filesystem("tmpfs"), support).reasons == ()

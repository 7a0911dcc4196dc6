from __future__ import annotations

import io
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console

from app.cli.doctor import doctor
from app.cli.doctor.doctor import ALL, filesystem_as_json, show_options, storage_as_json, versions_as_json
from app.cli.main import main
from app.dbus.bus_thread import Presence
from app.dbus.helper_client import HelperClient
from app.doctor import checks as examination
from app.doctor.checks import Check, _install_lines, storage_checks
from app.domain.errors import UsageError
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.option_spec import KERNEL, Component
from app.storage.layout.disk_target import Support, needed_programs

WHOLE = Support(
    "6.1.0-56-amd64",
    frozenset(name for spec in FILESYSTEMS for name in spec.kernel_modules),
    present=frozenset({"md_mod", "raid0", "raid1", "raid10", "raid456"}),
    programs={program.name: f"/usr/sbin/{program.name}" for program in needed_programs()},
    versions={KERNEL: (6, 1, 0), Component("OpenZFS"): (2, 1, 11)},
)
WITHOUT_MD = replace(WHOLE, present=frozenset())
WITHOUT_ZFS = replace(
    WHOLE,
    registered=(WHOLE.registered or frozenset()) - {"zfs"},
    programs={name: path for name, path in WHOLE.programs.items() if name not in {"zpool", "zfs"}},
)


def checks(support: Support) -> dict[str, tuple[bool | None, str, str]]:
    return {item.topic: (item.works, item.message, item.hint) for item in storage_checks(support)}


def test_every_filesystem_and_md_has_a_line() -> None:
    lines = checks(WHOLE)
    assert set(lines) == {spec.id for spec in FILESYSTEMS} | {"md", "tools"}
    assert all(works is not False for works, _, _ in lines.values())
    assert lines["ext4"][1] == "single, stripe, mirror, raid10, raid5, raid6"
    assert lines["zfs"][1] == "single, stripe, mirror, raid10, raid5, raid6, raidz3"
    assert lines["tools"][1] == "Linux 6.1.0, OpenZFS 2.1.11"


def test_missing_md_reason_once() -> None:
    lines = checks(WITHOUT_MD)
    assert lines["xfs"][:2] == (True, "single; stripe, mirror, raid10, raid5, raid6 unavailable (see md)")
    assert lines["btrfs"][1] == "single, stripe, mirror, raid10, raid5, raid6"
    assert lines["md"][0] is False
    assert lines["md"][1].count("no md") == 1
    assert lines["md"][2]


def test_broken_has_reason_remedy_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "is_ubuntu", lambda: False)
    lines = checks(WITHOUT_ZFS)
    works, message, _ = lines["zfs"]
    assert works is False
    assert "no zfs" in message
    assert "Not installed: zpool, zfs." in message
    assert "linux-headers-" in lines["packages"][2]
    assert [each for each in lines.values() if "zfsutils-linux" in each[1] + each[2]] == [lines["packages"]]


def test_common_disk_requirements_once() -> None:
    programs = {name: path for name, path in WHOLE.programs.items() if name not in {"sfdisk", "mkfs.xfs"}}
    lines = checks(replace(WHOLE, programs=programs))
    assert lines["every disk"] == (False, "Not installed: sfdisk.", "")
    assert lines["ext4"] == (False, "see the line “every disk”", "")
    assert lines["xfs"] == (False, "Not installed: mkfs.xfs.", "")
    assert lines["tmpfs"][0] is True
    assert [topic for topic, each in lines.items() if "fdisk" in each[1] + each[2]] == [
        "every disk",
        "packages",
    ]


@pytest.mark.parametrize("works", [True, False])
def test_what_is_ready_stands_first(monkeypatch: pytest.MonkeyPatch, *, works: bool) -> None:
    monkeypatch.setattr(examination, "_installations", lambda account: [Check("postgresql", works, "16")])
    topics = [each.topic for each in examination.examine_machine(WHOLE)]
    assert (topics[0] == "ready") is works
    storage = topics.index("spare")
    assert {"fio", "window", "reports", "memory"} <= set(topics[:storage])
    assert {"disks", "ext4", "md"} <= set(topics[storage:])


def test_other_kernel_only_needs_no_packages() -> None:
    """Ubuntu 26.04 has no reiserfsprogs, as its kernels have no ReiserFS: apt would install nothing."""
    without = replace(
        WHOLE,
        registered=(WHOLE.registered or frozenset()) - {"reiserfs"},
        programs={
            name: path for name, path in WHOLE.programs.items() if name not in {"mkfs.reiserfs", "mkfs.xfs"}
        },
    )
    found = checks(without)["packages"]
    assert "xfsprogs" in found[2]
    assert "reiserfsprogs" not in found[1] + found[2]
    found = checks(replace(without, modules_installed=False))["packages"]
    assert "reiserfsprogs" not in found[1] + found[2]
    there = replace(without, loadable=frozenset({"reiserfs"}))
    assert "reiserfsprogs" in checks(there)["packages"][2]


def test_ubuntu_zfs_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no package linux-headers-amd64, and needs none of it: its kernels bring the module."""
    monkeypatch.setattr(examination, "is_ubuntu", lambda: True)
    lines = list(_install_lines(["xfsprogs", "zfsutils-linux"]))
    assert lines == ["On Debian and Ubuntu: sudo apt-get install xfsprogs zfsutils-linux"]


def test_debian_contrib_does_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """apt installs none of the packages of a line of which it does not know one."""
    monkeypatch.setattr(examination, "is_ubuntu", lambda: False)
    lines = list(_install_lines(["btrfs-progs", "xfsprogs", "zfsutils-linux"]))
    assert lines[0] == "On Debian and Ubuntu: sudo apt-get install btrfs-progs xfsprogs"
    assert "contrib" in lines[1]
    command = "sudo apt-get install linux-headers-$(dpkg --print-architecture) zfs-dkms zfsutils-linux"
    assert lines[1].endswith(command)
    assert len(list(_install_lines(["btrfs-progs"]))) == 1
    assert "contrib" in next(_install_lines(["zfs-dkms"]))


@pytest.mark.parametrize("polkit", [True, False])
def test_helper_without_polkit(
    monkeypatch: pytest.MonkeyPatch,
    polkit: bool,  # noqa: FBT001
) -> None:
    client = SimpleNamespace(version=SimpleNamespace(program="9.9", test_devices=False), close=lambda: None)
    monkeypatch.setattr(HelperClient, "open", lambda: client)
    monkeypatch.setattr(examination, "service_presence", lambda name: Presence(there=polkit))
    check = examination.helper_check()
    assert check.works is polkit
    assert "9.9" in check.message
    assert ("sudo apt-get install polkitd" in check.hint) is not polkit


def test_json_levels_with_reasons() -> None:
    found = json.loads(json.dumps(storage_as_json(WITHOUT_MD)))
    assert [item["id"] for item in found] == [spec.id for spec in FILESYSTEMS]
    levels = {item["id"]: item for item in found[0]["levels"]}
    assert levels["single"] == {"id": "single", "assembler": "raw", "works": True, "reasons": []}
    assert levels["raid5"]["works"] is False
    assert set(levels["raid5"]["reasons"][0]) == {"message", "remedy", "package"}
    assert versions_as_json(WHOLE) == {"Linux": "6.1.0", "OpenZFS": "2.1.11"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what a terminal of 80 columns is told."""
    stream = io.StringIO()

    def console() -> Console:
        return Console(file=stream, force_terminal=True, width=80, color_system=None)

    monkeypatch.setattr(doctor, "Console", console)
    return stream


@pytest.mark.parametrize("spec", FILESYSTEMS, ids=lambda spec: spec.id)
def test_options_fit_terminal_and_are_complete(spec: object, terminal: io.StringIO) -> None:
    chosen = next(item for item in FILESYSTEMS if item is spec)
    show_options(chosen.id, WHOLE, as_json=False)
    lines = terminal.getvalue().splitlines()
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    text = " ".join(" ".join(lines).split())
    for option in chosen.options:
        assert f"{option.id} ({option.stage.value})" in text
        assert option.effect in text
        assert option.source in text
    for preset in chosen.presets:
        assert preset.label in text
    for lack in chosen.lacks:
        assert lack.why in text


def test_missing_in_kernel_shows_both_versions(terminal: io.StringIO) -> None:
    show_options("xfs", WHOLE, as_json=False)
    text = " ".join(terminal.getvalue().split())
    assert "Unavailable here: removed in Linux 4.19; found 6.1.0" in text
    show_options("btrfs", WHOLE, as_json=False)
    assert "zstd:-1 … zstd:-15: Unavailable here: needs Linux 6.15 or newer; found 6.1.0" in " ".join(
        terminal.getvalue().split()
    )


def test_options_that_were_never_tested_say_so(terminal: io.StringIO) -> None:
    show_options("f2fs", WHOLE, as_json=False)
    assert "Newer than any tested kernel or tool" in " ".join(terminal.getvalue().split())


def test_options_table_row_for_each(terminal: io.StringIO) -> None:
    show_options(ALL, WITHOUT_ZFS, as_json=False)
    text = terminal.getvalue()
    for spec in FILESYSTEMS:
        for option in spec.options:
            assert any(line.split()[:2] == [spec.id, option.id] for line in text.splitlines())
    assert "no ZFS here" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_unknown_filesystem_lists_known() -> None:
    with pytest.raises(UsageError, match=r"There is no filesystem “ext5”\. Known: ext4") as caught:
        show_options("ext5", WHOLE, as_json=False)
    assert "ext" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        show_options("\x1b[31m" + "x" * 500, WHOLE, as_json=False)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


def test_options_json_unavailable_values() -> None:
    found = json.loads(json.dumps(filesystem_as_json(filesystem("btrfs"), WHOLE)))
    options = {item["id"]: item for item in found["options"]}
    assert options["compress"]["unavailable"] == ""
    assert set(options["compress"]["unavailable_values"]) == {f"zstd:-{level}" for level in range(1, 16)}
    assert options["datacow"]["risks"] == [{"value": False, "safety": ["no-checksums", "torn-pages"]}]
    xfs = json.loads(json.dumps(filesystem_as_json(filesystem("xfs"), WHOLE)))
    presets = {item["id"]: item for item in xfs["presets"]}
    assert presets["2011-nobarrier"]["unavailable"]
    assert presets["2011"]["unavailable"] == []


def test_options_command_and_unknown_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--options", "tmpfs"]) == 0
    assert "noswap" in capsys.readouterr().out
    assert main(["doctor", "--options", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["filesystems"]) == len(FILESYSTEMS)
    assert main(["doctor", "--options", "ntfs"]) == 2
    assert "There is no filesystem “ntfs”" in capsys.readouterr().err

"""What `pgfooting disks` prints: on a terminal of 80 columns, in a pipe, and as JSON."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from app.arguments.declared import build_parser
from app.cli.commands import disks
from app.cli.commands.disks import show_disks
from app.dbus.helper_errors import not_installed
from app.doctor import checks
from app.doctor import checks as found
from app.domain.disk import DiskIdentity, DiskRefusal, SpareAnswer
from app.domain.disk_answers import Disk, RootAnswer
from app.draft.disks.table import InspectionResult
from app.storage.layout.disk_target import find_disks as find_named
from app.storage.layout.disk_target import read_support
from app.storage.spare.disks import Listing

SPARE = Disk(
    identity=DiskIdentity("Z1D0ABCD", "naa.5000c500a1b2c3d4", "ST4000NM0033", 4_000_787_030_016, "8:16", 12),
    name="sdb",
    bus="sata",
    rotational=True,
    removable=False,
    read_only=False,
    logical_block_bytes=512,
    physical_block_bytes=4096,
    answer=SpareAnswer.SPARE,
    rotation_rpm=7200,
)
WIPING = "To erase everything on it for good: wipefs --all /dev/sdb && blkdiscard --zeroout /dev/sdb"
REFUSED = dataclasses.replace(
    SPARE,
    answer=SpareAnswer.NOT_SPARE,
    refusals=(
        DiskRefusal("D08", "It contains a filesystem or a partition table.", "gpt, at byte 512", WIPING),
        DiskRefusal(
            "D08", "It contains a filesystem or a partition table.", "partition sdb1, 3.6 TiB", WIPING
        ),
        DiskRefusal("D11", "A configuration file names it.", "/etc/fstab names /dev/sdb1", "Take it out."),
    ),
)


def shown(listing: Listing, *, width: int | None = None) -> str:
    """Return the output on a terminal of that width, or in a pipe."""
    file = io.StringIO()
    console = Console(file=file, width=width or 80, force_terminal=width is not None, no_color=True)
    show_disks(listing, console)
    return file.getvalue()


def lines_without_style(text: str) -> list[str]:
    return [re.sub("\x1b\\[[0-9;]*m", "", line) for line in text.splitlines()]


def test_spare_disk_line() -> None:
    assert shown(Listing((SPARE,), (), as_root=True)) == (
        "✔ sdb  spare  ST4000NM0033, 3.64 TiB, sata, 7200 rpm, serial number Z1D0ABCD, naa.5000c500a1b2c3d4\n"
    )


def test_reasons_grouped_remedies_once() -> None:
    lines = shown(Listing((REFUSED,), (), as_root=True)).splitlines()
    assert lines[1:] == [
        "  D08 It contains a filesystem or a partition table. gpt, at byte 512; partition sdb1, 3.6 TiB",
        f"      → {WIPING}",
        "  D11 A configuration file names it. /etc/fstab names /dev/sdb1",
        "      → Take it out.",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_terminal_width_keeps_commands_whole(width: int) -> None:
    long = dataclasses.replace(
        REFUSED, identity=dataclasses.replace(REFUSED.identity, model="A very long model name " * 6)
    )
    lines = lines_without_style(shown(Listing((long, SPARE), ("md0",), as_root=True), width=width))
    assert all(len(line) <= width or "→" in line for line in lines)
    assert any(WIPING in line for line in lines)


def test_no_disks_names_other_devices() -> None:
    lines = shown(Listing((), ("md127", "dm-0"), as_root=True)).splitlines()
    assert lines == [
        "pgFooting found no disk on this machine that it could format.",
        "Not listed, because pgFooting does not format such devices: md127, dm-0.",
    ]


LOOKS = dataclasses.replace(
    SPARE, answer=SpareAnswer.LOOKS_SPARE, questions=(DiskRefusal("D14", "It cannot be told.", "x"),)
)


def test_root_answers_where_only_root_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def inspect(questions: Sequence[Disk], _progress: object) -> dict[str, InspectionResult]:
        asked.extend(disk.name for disk in questions)
        refusals = (DiskRefusal("D07", "It holds data.", "at byte 0"),)
        return {
            "sdb": InspectionResult(LOOKS, SpareAnswer.SPARE, (), None),
            "sdc": InspectionResult(other, SpareAnswer.NOT_SPARE, refusals, None),
        }

    other = dataclasses.replace(LOOKS, name="sdc")
    known = dataclasses.replace(REFUSED, name="sdd")
    monkeypatch.setattr(disks, "inspect_disks", inspect)
    listing, unanswered = disks.with_roots_answers(Listing((LOOKS, other, known), (), as_root=False))
    assert asked == ["sdb", "sdc"]
    assert unanswered is None
    answers = [disk.answer for disk in listing.disks]
    assert answers == [SpareAnswer.SPARE, SpareAnswer.NOT_SPARE, SpareAnswer.NOT_SPARE]
    assert "sudo" not in shown(listing)
    assert "D07 It holds data. at byte 0" in shown(listing)


def test_no_prompt_when_answer_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "inspect_disks", lambda *_: pytest.fail("asked"))
    listing = Listing((SPARE, REFUSED), (), as_root=True)
    assert disks.with_roots_answers(listing) == (listing, None)


def test_user_told_why_root_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise not_installed()

    monkeypatch.setattr(disks, "inspect_disks", refuse)
    listing, unanswered = disks.with_roots_answers(Listing((LOOKS,), (), as_root=False))
    file = io.StringIO()
    show_disks(listing, Console(file=file, width=80, no_color=True), unanswered)
    text = file.getvalue()
    assert text.startswith("? sdb  looks spare")
    assert "needs the helper" in text or "need the helper" in text
    assert "sudo packaging/helper install" in text
    assert "sudo pgfooting" not in text


def test_hostile_model_escaped() -> None:
    hostile = dataclasses.replace(
        SPARE, identity=dataclasses.replace(SPARE.identity, model="\x1b[2J\nsda [bold]x")
    )
    text = shown(Listing((hostile,), (), as_root=True))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 1
    assert "[bold]x" in text


def test_a_test_device_is_marked() -> None:
    assert "TEST DEVICE" in shown(
        Listing((dataclasses.replace(SPARE, is_test_device=True),), (), as_root=True)
    )


def test_disk_with_leftovers_names_release_command() -> None:
    left = dataclasses.replace(REFUSED, is_left_over=True)
    command = "To release disks left behind: pgfooting disks --release Z1D0ABCD"
    assert command in shown(Listing((left,), (), as_root=True))
    kept = dataclasses.replace(left, refusals=(DiskRefusal("D18", "Kept.", "session 7", "Release it."),))
    assert command not in shown(Listing((kept,), (), as_root=True)), "its remedy names the command"
    released = dataclasses.replace(SPARE, is_left_over=True)
    assert "--release" not in shown(Listing((released,), (), as_root=True))


def test_unreleased_disk_reason_in_red(monkeypatch: pytest.MonkeyPatch) -> None:
    left = dataclasses.replace(REFUSED, is_left_over=True)
    kept = DiskRefusal(
        "D18", "pgFooting used it and has not released it.", "xfs, label PRECIOUS", "Ask again then."
    )
    asked: list[list[DiskIdentity]] = []

    def ask(disks: list[DiskIdentity]) -> dict[str, RootAnswer]:
        asked.append(disks)
        return {"8:16": RootAnswer(is_spare=False, refusals=(kept, *REFUSED.refusals))}

    other = dataclasses.replace(
        REFUSED, name="sdc", identity=dataclasses.replace(SPARE.identity, device_number="8:32")
    )
    monkeypatch.setattr(found, "find_disks", lambda *_: Listing((left, other), (), as_root=False))
    monkeypatch.setattr(found, "ask_root", ask)
    file = io.StringIO()
    monkeypatch.setattr(disks, "Console", lambda **_: Console(file=file, width=80, force_terminal=True))
    assert disks.disks_command(build_parser().parse_args(["disks"])) == 0
    assert asked == [[left.identity]], "who has nothing left on his disks starts no helper"
    (line,) = [each for each in file.getvalue().splitlines() if "PRECIOUS" in each]
    assert "\x1b[31m" in line
    monkeypatch.setattr(found, "ask_root", lambda _disks: {})
    file.truncate(0)
    assert disks.disks_command(build_parser().parse_args(["disks"])) == 0
    assert "D08 It contains" in file.getvalue()


@pytest.mark.parametrize("serial", ["S1", "$(touch x) 'y'"])
def test_doctor_names_kept_disks(monkeypatch: pytest.MonkeyPatch, serial: str) -> None:
    identity = dataclasses.replace(SPARE.identity, serial=serial, device_number="8:32")
    left = dataclasses.replace(REFUSED, name="sdc", identity=identity, is_left_over=True)
    monkeypatch.setattr(found, "find_disks", lambda *_: Listing((left, REFUSED, SPARE), (), as_root=False))
    monkeypatch.setattr(found, "ask_root", lambda _disks: {})
    (kept,) = [each for each in checks.examine_machine(read_support()) if each.topic == "kept"]
    assert kept.message.startswith("/dev/sdc: ")
    words = shlex.split(kept.message.rpartition("To release disks left behind: ")[2])
    assert words[-3:-1] == ["disks", "--release"]
    assert find_named(words[-1], (left,))


def test_command_on_this_machine_and_json() -> None:
    argv = [sys.executable, "-m", "app", "disks", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    listing = json.loads(done.stdout)
    assert set(listing) == {"as_root", "disks", "others"}
    for disk in listing["disks"]:
        assert disk["answer"] in {"spare", "looks spare", "not spare"}
        assert (disk["answer"] == "not spare") == bool(disk["refusals"])

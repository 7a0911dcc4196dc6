"""Disks that must be refused, made for real on loop devices; each made blank again and then accepted."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.disk import DiskIdentity, SpareAnswer
from app.domain.text import MIB
from app.storage.inspect.snapshot import Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import SpareDecision
from tests.disks.refused_kinds import KINDS, Kind
from tests.disks.workshop import LIMIT_S, Workshop, attach, images, own_loop_device, readable_proc

Note = Callable[[str, str, str], None]

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

SIZE_BYTES = 640 * MIB


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A workshop over sparse files; nothing of it is left when the test ends."""
    with ExitStack() as devices, ExitStack() as state:
        files = images(tmp_path, SIZE_BYTES)
        yield Workshop(
            path=attach(devices, next(files)),
            folder=tmp_path,
            another=lambda: attach(devices, next(files)),
            policy=Policy(accept_loop_devices=True),
            stack=state,
        )


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Puts a row into the table of refused disks: kind, rule, evidence."""

    def row(title: str, rule: str, evidence: str) -> None:
        record_property("refused", f"loop\t{title}\t{rule}\t{evidence}")

    return row


def identity_of(shop: Workshop) -> DiskIdentity:
    with readable_proc(shop.folder) as proc:
        snapshot = inspect_machine(shop.policy, SourceFolders(proc=proc, as_root=True), only=frozenset())
    identity = snapshot.disk(shop.name).identity.value
    assert identity is not None
    return identity


def refused_by(decision: SpareDecision, rule: str, evidence: str) -> str:
    """Return the evidence by which that rule refuses."""
    found = [refusal.evidence for refusal in decision.refusals if refusal.rule == rule]
    assert any(evidence in text for text in found), decision.refusals
    return next(text for text in found if evidence in text)


def test_a_blank_loop_device_is_spare(shop: Workshop) -> None:
    decision = shop.decide()
    assert (decision.answer, decision.refusals) == (SpareAnswer.SPARE, ())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_refused_until_blank(shop: Workshop, kind: Kind, note: Note) -> None:
    kind.make(shop)
    decision = shop.decide()
    assert decision.answer is SpareAnswer.NOT_SPARE
    note(kind.title, kind.rule, refused_by(decision, kind.rule, kind.evidence.format(path=shop.path)))
    shop.stack.close()
    shop.make_blank()
    accepted = shop.decide()
    assert (accepted.answer, accepted.refusals) == (SpareAnswer.SPARE, ())


def test_a_read_only_disk_is_refused(shop: Workshop, note: Note) -> None:
    shop.run("blockdev", "--setro", shop.path)
    note("read-only", "D02", refused_by(shop.decide(), "D02", "ro is 1"))
    shop.run("blockdev", "--setrw", shop.path)
    assert shop.decide().answer is SpareAnswer.SPARE


def test_too_small_disk_refused(shop: Workshop, tmp_path: Path, note: Note) -> None:
    small = tmp_path / "small"
    with small.open("wb") as file:
        file.truncate(100 * MIB)
    shop.path = attach(shop.stack, small)
    note("too small", "D02", refused_by(shop.decide(), "D02", "100 MiB, at least 512 MiB"))


def test_a_disk_without_an_identity_is_refused(shop: Workshop, tmp_path: Path, note: Note) -> None:
    gone = tmp_path / "gone"
    with gone.open("wb") as file:
        file.truncate(SIZE_BYTES)
    shop.path = attach(shop.stack, gone)
    assert shop.decide().answer is SpareAnswer.SPARE
    gone.unlink()
    note("no identity", "D15", refused_by(shop.decide(), "D15", "no WWN"))


def test_two_disks_of_one_identity_are_refused(shop: Workshop, tmp_path: Path, note: Note) -> None:
    first = shop.path
    shop.path = attach(shop.stack, tmp_path / "image 1")
    note("two devices of one disk", "D10", refused_by(shop.decide(), "D10", Path(first).name))
    shop.stack.close()
    shop.path = first
    assert shop.decide().answer is SpareAnswer.SPARE


@pytest.fixture
def swapped(shop: Workshop, tmp_path: Path) -> Iterator[Workshop]:
    """A workshop whose disk can be swapped: nobody else takes its number in between."""
    with ExitStack() as stack:
        (tmp_path / "mine").touch()
        os.truncate(tmp_path / "mine", SIZE_BYTES)
        shop.path = attach(stack, tmp_path / "mine", device=own_loop_device(stack))
        yield shop


def replace(shop: Workshop, image: Path) -> None:
    """Detach the disk and attach another file under the same name."""
    subprocess.run(["losetup", "--detach", shop.path], check=True)
    backing = Path("/sys/block", shop.name, "loop/backing_file")
    deadline = time.monotonic() + LIMIT_S
    while backing.exists():  # the kernel waits for who has it open, such as udevd
        assert time.monotonic() < deadline, f"{shop.path} is not let go"
        time.sleep(0.01)
    subprocess.run(["losetup", shop.path, str(image)], check=True)


def test_swapped_disk_refused(swapped: Workshop, tmp_path: Path, note: Note) -> None:
    chosen = identity_of(swapped)
    with (tmp_path / "other").open("wb") as file:
        file.truncate(SIZE_BYTES)
    replace(swapped, tmp_path / "other")
    swapped.chosen = chosen
    note("replaced between choice and use", "D15", refused_by(swapped.decide(), "D15", "serial was"))


def test_chosen_disk_refused_after_absence(swapped: Workshop, tmp_path: Path, note: Note) -> None:
    chosen = identity_of(swapped)
    replace(swapped, tmp_path / "mine")
    swapped.chosen = chosen
    evidence = refused_by(swapped.decide(), "D15", "diskseq was")
    assert "serial" not in evidence
    note("pulled and plugged in again after the choice", "D15", evidence)
    swapped.chosen = identity_of(swapped)
    assert swapped.decide().answer is SpareAnswer.SPARE


def test_loop_device_refused_outside_development(shop: Workshop, note: Note) -> None:
    shop.policy = Policy()
    with readable_proc(shop.folder) as proc:
        snapshot = inspect_machine(shop.policy, SourceFolders(proc=proc, as_root=True), only=frozenset())
    assert shop.name in snapshot.others
    assert shop.name not in {facts.name for facts in snapshot.disks}
    note("a loop device without development mode", "D01", "not among the disks")


def test_the_disk_of_the_system_is_refused(shop: Workshop, note: Note) -> None:
    """Whatever disk this machine runs from is refused by D12, and nothing of it was read."""
    source = shop.run("findmnt", "--noheadings", "--output", "MAJ:MIN", "--target", "/")
    device = Path("/sys/dev/block", source).resolve()
    shop.path = f"/dev/{device.parent.name if (device / 'partition').exists() else device.name}"
    note("the system's own disk", "D12", refused_by(shop.decide(), "D12", "/ is on"))


def test_kinds_cover_loop_device_rules() -> None:
    assert {kind.rule for kind in KINDS} == {"D04", "D05", "D06", "D08", "D08b", "D09", "D11", "D13", "D14"}
    assert len({kind.title for kind in KINDS}) == len(KINDS) >= 30

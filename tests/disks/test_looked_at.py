"""What may be called spare: data between the ends of a disk is found, lost as it was when people lost it."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.domain.disk import SpareAnswer
from app.domain.disk_answers import looked_words
from app.domain.text import GIB, MIB
from app.storage.inspect.snapshot import ChangesSinceRelease, Content, Policy
from app.storage.inspect.sources import SourceFolders
from app.storage.spare.inspect import inspect_machine
from app.storage.spare.rules import SpareDecision, decide
from app.storage.spare.spare import SpareDisks
from tests.disks.workshop import Workshop, attach, images, readable_proc

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]

POLICY = Policy(accept_loop_devices=True)
ATTEMPTS = 10
PART_BYTES = 128 * MIB


def workshop(folder: Path, size_bytes: int, devices: ExitStack, state: ExitStack) -> Workshop:
    files = images(folder, size_bytes)
    path = attach(devices, next(files))
    return Workshop(path, folder, lambda: attach(devices, next(files)), POLICY, state)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    """A disk of 2 GiB, and a folder for records."""
    with ExitStack() as devices, ExitStack() as state:
        yield workshop(tmp_path, 2 * GIB, devices, state)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Workshop]:
    """A disk of 200 GiB: a sparse file."""
    with ExitStack() as devices, ExitStack() as state:
        yield workshop(tmp_path, 200 * GIB, devices, state)


def records(shop: Workshop) -> Path:
    return shop.folder / "records/disks"


def looked(shop: Workshop) -> tuple[SpareDecision, Content]:
    """Return what the rules say of the disk, and what was seen on it."""
    shop.settle()
    with readable_proc(shop.folder) as proc:
        places = SourceFolders(proc=proc, released=records(shop), as_root=True)
        snapshot = inspect_machine(POLICY, places, only=frozenset({shop.name}))
    content = snapshot.disk(shop.name).content.known(Content())
    return decide(snapshot, shop.name, POLICY), content


def data_found(shop: Workshop) -> str:
    """Return the evidence of D08b: where data lies, and what changed since the release."""
    return "; ".join(each.evidence for each in looked(shop)[0].refusals if each.rule == "D08b")


def release(shop: Workshop, written_end: int) -> None:
    """Use the front of a disk as a session does, and have it recorded as released."""
    shop.write(3 * MIB, os.urandom(MIB))
    for start in range(20 * MIB, written_end, 16 * MIB):
        shop.write(start, random.randbytes(8 * MIB))  # noqa: S311 - old data
    with readable_proc(shop.folder) as proc:
        disks = SpareDisks(POLICY, SourceFolders(proc=proc, released=records(shop), as_root=True))
        disks.release({shop.path: disks.identify(shop.path)}, {shop.path: written_end})


def restart(shop: Workshop) -> None:
    """Make the record one of another boot: the kernel's count says nothing any more."""
    (record,) = records(shop).glob("*.json")
    values = json.loads(record.read_text())
    values["marks"]["appearance"] = "another boot"
    record.write_text(json.dumps(values))


def fill(shop: Workshop, start: int, length: int) -> None:
    with open(shop.path, "r+b", buffering=0) as disk:  # noqa: PTH123 - a device
        block = os.urandom(4 * MIB)
        for offset in range(start, start + length, len(block)):
            os.pwrite(disk.fileno(), block, offset)
        os.fsync(disk.fileno())


def test_ext4_behind_reserved_partition_found(large: Workshop) -> None:
    """200 GiB, 300 MiB of data: 64 random samples accepted it five times of six."""
    script = "label: gpt\nstart=1MiB, size=16MiB, type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE\nstart=17MiB\n"
    large.run("sfdisk", "--quiet", large.path, text=script)
    large.run("partx", "--update", large.path)
    large.settle()
    large.run("mkfs.ext4", "-q", f"{large.path}p2")
    folder = large.mount(f"{large.path}p2")
    (folder / "data").write_bytes(os.urandom(300 * MIB))
    large.stack.close()
    large.run("wipefs", "--all", "--quiet", large.path)
    for offset in (0, 200 * GIB - 16 * MIB):
        large.write(offset, bytes(16 * MIB))
    large.settle()
    for _ in range(ATTEMPTS):
        assert "samples are not zero" in data_found(large)


def test_zeroed_disk_spare_with_coverage(large: Workshop) -> None:
    decision, content = looked(large)
    assert decision.answer is SpareAnswer.SPARE
    assert decision.looked is not None
    assert "samples of 64 KiB were checked; all are zero" in looked_words(decision.looked)
    assert 450 < content.sampled == decision.looked.places
    assert decision.looked.certain_bytes <= 2 * GIB


@pytest.mark.parametrize("other_boot", [False, True], ids=["same boot", "another boot"])
def test_unchanged_released_disk_spare(shop: Workshop, *, other_boot: bool) -> None:
    release(shop, PART_BYTES)
    if other_boot:
        restart(shop)
    decision, content = looked(shop)
    assert (decision.answer, decision.refusals) == (SpareAnswer.SPARE, ())
    assert content.comparison is not None
    assert content.comparison.since is (
        ChangesSinceRelease.ALIKE if other_boot else ChangesSinceRelease.NOTHING
    )


@pytest.mark.parametrize("other_boot", [False, True], ids=["same boot", "another boot"])
@pytest.mark.parametrize(
    ("start", "length"),
    [(20 * MIB, 1536 * MIB), (32 * MIB, GIB), (PART_BYTES + MIB, 32 * MIB)],
    ids=["1.5 GiB from 20 MiB", "1 GiB from 32 MiB", "32 MiB behind the partition"],
)
def test_overwritten_released_disk_refused(
    shop: Workshop, start: int, length: int, *, other_boot: bool
) -> None:
    release(shop, PART_BYTES)
    fill(shop, start, length)
    if other_boot:
        restart(shop)
    decision, _ = looked(shop)
    messages = {each.message for each in decision.refusals if each.rule == "D08b"}
    assert messages == {"It was changed since pgFooting released it."}
    assert any("pgfooting disks --read" in each.remedy for each in decision.refusals)


def test_ext4_at_offset_refused(shop: Workshop) -> None:
    release(shop, 64 * MIB)
    shop.run("mkfs.ext4", "-q", "-E", "offset=104857600", shop.path, "1800M")
    assert "written since then" in data_found(shop)


def test_few_bytes_seen_with_kernel_counters(shop: Workshop) -> None:
    release(shop, 64 * MIB)
    shop.write(1500 * MIB + 4711 * 512, bytes(511) + b"\1")
    assert "written since then" in data_found(shop)


def test_released_disk_blanked_as_advised_spare(shop: Workshop) -> None:
    release(shop, PART_BYTES)
    fill(shop, 100 * MIB, 16 * MIB)
    assert data_found(shop)
    shop.make_blank()
    assert looked(shop)[0].answer is SpareAnswer.SPARE


def test_uncounted_disk_judged_by_samples(shop: Workshop) -> None:
    counting = Path("/sys/block", shop.name, "queue/iostats")
    shop.stack.callback(counting.write_text, "1")
    counting.write_text("0")
    release(shop, PART_BYTES)
    decision, content = looked(shop)
    assert decision.answer is SpareAnswer.SPARE
    assert content.comparison is not None
    assert content.comparison.since is ChangesSinceRelease.ALIKE
    fill(shop, GIB, 64 * MIB)
    assert "secret samples" in data_found(shop)


def test_foreign_data_behind_partition_not_recorded(shop: Workshop) -> None:
    fill(shop, PART_BYTES + 64 * MIB, 64 * MIB)
    release(shop, PART_BYTES)
    restart(shop)
    assert "secret samples" in data_found(shop)

"""Layouts that are interrupted, meddled with or refused: what is undone, and what is left alone."""

from __future__ import annotations

import errno
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from typing_extensions import override

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import CancelledError, RefusedError, StorageError
from app.domain.messages.message import say
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.storage.checks.disk_checks import probe, probe_with_program
from app.storage.execution import Execution, Hooks
from app.storage.layout.commands import build_steps
from app.storage.layout.partitions import Names
from app.storage.layout.steps import ClaimDisks, Command, Mark, Step, undo_of
from app.storage.spare.spare import SpareDisks
from tests.disks.layout_loops import SENTINEL_BYTES, MakeLoop, loops, spare_loops
from tests.disks.layout_proof import (
    Journal,
    digest,
    fill,
    leftovers,
    make_and_unmake,
    plan_devices,
    release_offered,
)

pytestmark = [
    pytest.mark.disks,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
]


class KilledError(BaseException):
    """The process ends here, and undoes nothing."""


@dataclass
class Scene:
    """Two blank disks, one that was not chosen, and the folder of a session."""

    nodes: list[str]
    other: str
    before: str
    folder: Path
    spare: SpareDisks

    @property
    def disks(self) -> dict[str, DiskIdentity]:
        return {node: self.spare.identify(node) for node in self.nodes}

    def plan(self, filesystem: str, level: Level) -> StoragePlan:
        count = 1 if level is Level.SINGLE else 2
        return StoragePlan(Group(tuple(self.disks.values())[:count], level, filesystem))

    def steps(self, plan: StoragePlan) -> tuple[Step, ...]:
        nodes = self.nodes[: len(plan.data.disks)]
        return build_steps(plan, plan_devices(plan, nodes), Names(uuid.uuid4()), str(self.folder))

    def is_as_before(self) -> bool:
        return leftovers(self.nodes, self.folder) == [] and digest(self.other) == self.before


@pytest.fixture
def make_loop(tmp_path: Path) -> Iterator[MakeLoop]:
    with loops(tmp_path) as make:
        yield make


@pytest.fixture
def scene(make_loop: MakeLoop, tmp_path: Path) -> Scene:
    nodes, other = [make_loop(), make_loop()], make_loop(SENTINEL_BYTES)
    folder = tmp_path / "session"
    folder.mkdir()
    return Scene(nodes, other, fill(other), folder, spare_loops(tmp_path))


LAYOUTS = [("ext4", Level.SINGLE), ("btrfs", Level.MIRROR)]


def killed_at(journal: Journal, number: int) -> Hooks:
    """Return hooks with which the process dies when the journal has the step of this number."""
    hooks = journal.hooks()

    def write(step: Step, undo: tuple[Step, ...]) -> None:
        hooks.journal(step, undo)
        if len(journal.begun) == number:
            raise KilledError

    return replace(hooks, journal=write)


def again(scene: Scene, journal: Journal) -> Execution:
    """Return an execution of another process, which has nothing but the journal."""
    return Execution(scene.disks, journal.hooks(), dict(journal.facts))


class Dying(Execution):
    """An execution whose process is killed: it has no time to undo anything."""

    @override
    def _take_back(self, err: BaseException, steps: Sequence[Step]) -> None:
        if not isinstance(err, KilledError):
            super()._take_back(err, steps)


@pytest.mark.parametrize(("filesystem", "level"), LAYOUTS)
def test_killed_at_any_step_freed_or_offered(scene: Scene, filesystem: str, level: Level) -> None:
    plan = scene.plan(filesystem, level)
    for number in range(1, 30):
        journal = Journal(scene.spare)
        try:
            Dying(scene.disks, killed_at(journal, number)).make(scene.steps(plan))
        except KilledError:
            ended = False
        else:
            ended = True
        undo = undo_of(journal.begun[:number])
        for _ in range(2):  # who comes next may be killed too, and the one after finds all done
            text = ""
            try:
                again(scene, journal).unmake(undo)
            except StorageError as err:
                text = err.message
                release_offered(scene.disks, journal, undo)
            assert ("did not unmount it itself" in text) if text and not ended else not text
        assert scene.is_as_before(), journal.begun[-1]
        if ended:
            assert number > 3
            return
    pytest.fail("it never ended")


def test_who_unmakes_twice_finds_everything_done(scene: Scene) -> None:
    journal = Journal(scene.spare)
    again(scene, journal).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    undo = undo_of(journal.begun)
    again(scene, journal).unmake(undo)
    report = again(scene, journal).unmake(undo)
    assert all(
        step.skipped for step in report.steps if step.exit_code is None and not step.text.startswith("#")
    )
    assert [step.exit_code for step in report.steps if step.exit_code is not None] == []


def at_command(hooks: Hooks, program: str, act: Callable[[], object]) -> Hooks:
    """Return hooks that do something when the next step to begin runs this program."""
    seen: list[str] = []

    def progress(_progress: object) -> None:
        text = getattr(_progress, "text", "")
        if text.startswith(program) and not seen:
            seen.append(text)
            act()

    return replace(hooks, progress=progress)


def test_replaced_disk_not_written_or_wiped(scene: Scene) -> None:
    answers = {"serial": ""}

    def identify(node: str) -> DiskIdentity:
        now = scene.spare.identify(node)
        return replace(now, serial=answers["serial"] or now.serial)

    journal = Journal(scene.spare)
    hooks = replace(journal.hooks(), identify=identify)
    hooks = at_command(hooks, "mkfs.ext4", lambda: answers.update(serial="another disk"))
    disks = scene.disks
    with pytest.raises(RefusedError, match="is not the disk that was selected") as caught:
        Execution(disks, hooks).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    assert say("not-all-undone") in caught.value.hint
    assert list(Path("/sys/block", Path(scene.nodes[0]).name).glob("*/partition"))
    # it comes back: nobody knows what became of it meanwhile, so that a person is asked
    with pytest.raises(StorageError, match="did not unmount it itself"):
        again(scene, journal).unmake(undo_of(journal.begun))
    release_offered(disks, journal, undo_of(journal.begun))
    assert scene.is_as_before()


def test_foreign_partition_content_not_overwritten(
    scene: Scene,
) -> None:
    partition = f"{scene.nodes[0]}p1"
    journal = Journal(scene.spare)
    act = lambda: subprocess.run(("mkswap", partition), check=True, capture_output=True)  # noqa: E731
    with pytest.raises(RefusedError, match=": swap"):
        Execution(scene.disks, at_command(journal.hooks(), "mkfs.ext4", act)).make(
            scene.steps(scene.plan("ext4", Level.SINGLE))
        )
    assert not any("mkfs" in step.argv[0] for step in journal.begun if isinstance(step, Command))
    assert probe(partition, probe_with_program)["TYPE"] == "swap", "nor wiped"
    assert not scene.is_as_before()


def claims_only(steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(step for step in steps if isinstance(step, ClaimDisks))


@contextmanager
def foreign(kind: str, node: str, place: Path) -> Iterator[None]:
    """Bring a disk into a state in which it is not spare."""
    if kind == "data":
        fill(node)
    if kind in {"filesystem", "mounted"}:
        subprocess.run(("mkfs.ext4", "-q", node), check=True)
    with ExitStack() as stack:
        if kind == "mounted":
            place.mkdir()
            subprocess.run(("mount", "-o", "ro", node, str(place)), check=True)
            stack.callback(subprocess.run, ("umount", str(place)), check=True)
        if kind == "open":
            file = stack.enter_context(Path(node).open("rb"))
            holder = subprocess.Popen(("sleep", "600"), stdin=file)
            stack.callback(holder.wait)
            stack.callback(holder.kill)
        yield


@pytest.mark.parametrize("kind", ["filesystem", "data", "open", "mounted"])
def test_no_longer_spare_disk_refused_untouched(scene: Scene, kind: str, tmp_path: Path) -> None:
    node = scene.nodes[0]
    disks, steps = scene.disks, scene.steps(scene.plan("ext4", Level.SINGLE))
    journal = Journal(scene.spare)
    with foreign(kind, node, tmp_path / "theirs"):
        before = digest(node)
        with pytest.raises(RefusedError, match=r"not spare \(D\d"):
            Execution(disks, journal.hooks(), dict(journal.facts)).make(steps)
        assert digest(node) == before
    assert journal.begun == []
    assert not (tmp_path / "released").exists()


def test_foreign_data_before_partitioning_untouched(scene: Scene) -> None:
    node = scene.nodes[0]
    journal = Journal(scene.spare)
    steps = scene.steps(scene.plan("ext4", Level.SINGLE))
    act = lambda: subprocess.run(("mkswap", node), check=True, capture_output=True)  # noqa: E731
    with pytest.raises(RefusedError, match=r"D\d\d") as caught:
        Execution(scene.disks, at_command(journal.hooks(), "sfdisk", act)).make(steps)
    assert say("was-undone") in caught.value.hint
    found = subprocess.run(("blkid", "-p", node), capture_output=True, text=True, check=True).stdout
    assert 'TYPE="swap"' in found


def test_briefly_open_filesystem_unmade_later(scene: Scene) -> None:
    journal = Journal(scene.spare)
    execution = again(scene, journal)
    execution.make(scene.steps(scene.plan("xfs", Level.SINGLE)))
    storage = scene.folder / "storage"
    with subprocess.Popen(["sleep", "1"], cwd=storage):
        tried = subprocess.run(["umount", str(storage)], capture_output=True, text=True, check=False)
        assert "target is busy" in tried.stderr, tried
        execution.unmake(undo_of(journal.begun))
    assert scene.is_as_before()


def test_busy_filesystem_kept_and_freed_later(scene: Scene) -> None:
    journal = Journal(scene.spare)
    again(scene, journal).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    undo = undo_of(journal.begun)
    with (scene.folder / "storage" / "open").open("w") as file:
        file.write("in use")
        file.flush()
        with pytest.raises(StorageError, match="busy"):
            again(scene, journal).unmake(undo)
        assert (scene.folder / "storage" / "open").read_text() == "in use"
    again(scene, journal).unmake(undo)
    assert scene.is_as_before()


def has_begun(journal: Journal, count: int) -> bool:
    return len(journal.begun) >= count


@pytest.mark.parametrize(("filesystem", "level"), LAYOUTS)
def test_cancel_at_any_step_leaves_blank(scene: Scene, filesystem: str, level: Level) -> None:
    plan = scene.plan(filesystem, level)
    for number in (1, 2, 4):
        journal = Journal(scene.spare)
        hooks = replace(journal.hooks(), is_cancelled=partial(has_begun, journal, number))
        with pytest.raises(CancelledError):
            Execution(scene.disks, hooks, dict(journal.facts)).make(scene.steps(plan))
        assert scene.is_as_before()


def test_released_disks_reused_unknown_data_refused(scene: Scene, tmp_path: Path) -> None:
    plan = scene.plan("ext4", Level.SINGLE)
    make_and_unmake(plan, scene.nodes[:1], scene.folder, scene.spare)
    make_and_unmake(plan, scene.nodes[:1], scene.folder, scene.spare)
    (record,) = (tmp_path / "released").glob("*.json")
    record.unlink()
    with pytest.raises(RefusedError, match="D08b"):
        make_and_unmake(plan, scene.nodes[:1], scene.folder, scene.spare)


def test_wiped_and_never_released_is_offered(scene: Scene, tmp_path: Path) -> None:
    journal = Journal(scene.spare)
    again(scene, journal).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    undo = undo_of(journal.begun)

    def fail(_disks: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(StorageError, match="No space left"):
        Execution(scene.disks, replace(journal.hooks(), release=fail), dict(journal.facts)).unmake(undo)
    assert not (tmp_path / "released").exists()
    with pytest.raises(StorageError, match="did not unmount it itself"):
        again(scene, journal).unmake(undo)
    release_offered(scene.disks, journal, undo)
    assert len(list((tmp_path / "released").glob("*.json"))) == 1
    assert scene.is_as_before()


def test_foreign_mount_on_folder_kept(scene: Scene) -> None:
    journal = Journal(scene.spare)
    again(scene, journal).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    place = scene.folder / "storage"
    subprocess.run(("mount", "-t", "tmpfs", "none", str(place)), check=True)
    try:
        with pytest.raises(StorageError):
            again(scene, journal).unmake(undo_of(journal.begun))
        assert os.path.ismount(place)
        mounted = Path("/proc/self/mountinfo").read_text()
        assert f"{place} " in mounted
        assert "tmpfs" in next(line for line in reversed(mounted.splitlines()) if f" {place} " in line)
    finally:
        subprocess.run(("umount", str(place)), check=True)
    again(scene, journal).unmake(undo_of(journal.begun))
    assert scene.is_as_before()


def test_rules_checked_before_and_at_partitioning(scene: Scene) -> None:
    journal = Journal(scene.spare)
    asked: list[Mapping[str, DiskIdentity]] = []

    def refusals(chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        asked.append(dict(chosen))
        return {}

    hooks = replace(journal.hooks(), refusals=refusals)
    steps = scene.steps(scene.plan("btrfs", Level.MIRROR))
    Execution(scene.disks, hooks, dict(journal.facts)).make(steps)
    assert [set(each) for each in asked] == [set(scene.nodes), {scene.nodes[0]}, {scene.nodes[1]}]
    again(scene, journal).unmake(undo_of(journal.begun))
    assert scene.is_as_before()
    assert len(claims_only(steps)) == 1


def run(*argv: str, text: str = "") -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, input=text or None).stdout


def made_and_lost(scene: Scene, filesystem: str, level: Level) -> Journal:
    """Make a layout, and lose its mounts as a power cut does."""
    journal = Journal(scene.spare)
    Execution(scene.disks, journal.hooks()).make(scene.steps(scene.plan(filesystem, level)))
    run("umount", str(scene.folder / "storage"))
    return journal


def unmade(scene: Scene, journal: Journal) -> str:
    """Unmake it; return what was told."""
    with pytest.raises(StorageError) as caught:
        again(scene, journal).unmake(undo_of(journal.begun))
    return f"{caught.value.message} {caught.value.hint}"


def xfs(node: str) -> None:
    run("mkfs.xfs", "-q", "-f", "-L", "PRECIOUS", f"{node}p1")


def ext4_of_two_partitions(node: str) -> None:
    run("sfdisk", "--quiet", "--delete", node, "1")
    run("sfdisk", "--quiet", "--append", node, text="size=300MiB\n- \n")
    run("partx", "--update", node)
    run("udevadm", "settle")
    run("mkfs.ext4", "-q", "-F", "-L", "THEIRS", f"{node}p2")


def swap(node: str) -> None:
    run("mkswap", "-f", f"{node}p1")


def zeros(node: str) -> None:
    run("dd", "if=/dev/zero", f"of={node}p1", "bs=1M", "count=4", "conv=fsync")


def new_table(node: str) -> None:
    run("sfdisk", "--quiet", "--wipe", "always", node, text="label: gpt\nsize=100MiB\n")


def whole_disk(node: str) -> None:
    run("mkfs.xfs", "-q", "-f", "-L", "WHOLE", node)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (xfs, "xfs, UUID"),
        (ext4_of_two_partitions, "byte for byte"),
        (swap, "swap, UUID"),
        (zeros, "did not unmount it itself"),
        (new_table, "byte for byte"),
        (whole_disk, "xfs, UUID"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.parametrize(("filesystem", "level"), [("ext4", Level.SINGLE), ("btrfs", Level.MIRROR)])
def test_foreign_disk_content_kept_and_reported(
    scene: Scene,
    change: Callable[[str], None],
    expected: str,
    filesystem: str,
    level: Level,
) -> None:
    journal = made_and_lost(scene, filesystem, level)
    node = scene.nodes[0]
    change(node)
    before, said = digest(node), ""
    for _ in range(2):
        said = unmade(scene, journal)
        assert expected in said
        assert node in said
        assert digest(node) == before
    assert digest(scene.other) == scene.before
    assert not list(scene.spare.places.released.glob("*.json"))
    if level is Level.MIRROR:
        assert scene.nodes[1] in said, "its other disk was found unmounted, too"


def test_content_made_before_filesystem_kept(scene: Scene) -> None:
    journal = Journal(scene.spare)
    hooks = at_command(journal.hooks(), "mkfs.ext4", lambda: swap(scene.nodes[0]))
    with pytest.raises(RefusedError, match=": swap") as caught:
        Execution(scene.disks, hooks).make(scene.steps(scene.plan("ext4", Level.SINGLE)))
    assert "contains swap" in caught.value.hint
    assert run("blkid", "-p", "-o", "value", "-s", "TYPE", f"{scene.nodes[0]}p1") == "swap\n"


@pytest.mark.parametrize("mark", [Mark.MADE, Mark.WIPING, Mark.WIPED])
def test_disk_blanked_by_owner_not_kept(scene: Scene, mark: Mark) -> None:
    journal = made_and_lost(scene, "ext4", Level.SINGLE)
    node = scene.nodes[0]
    xfs(node)
    unmade(scene, journal)
    journal.facts.update({name: mark for name in journal.facts if name.startswith("mark of table")})
    run("wipefs", "--all", f"{node}p1", node)
    run("blkdiscard", "--zeroout", node)
    again(scene, journal).unmake(undo_of(journal.begun))
    assert scene.is_as_before()
    assert not scene.spare.places.released.exists(), "blank is blank without a record"

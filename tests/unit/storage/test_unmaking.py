"""When unmaking is tried again, what it goes on with, and what it tells: real programs, no disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.domain.errors import CancelledError, StorageError
from app.domain.text import MIB
from app.storage import execution as execution_module
from app.storage.checks.disk_checks import ConditionResult
from app.storage.execution import Execution
from app.storage.layout.conditions import (
    Condition,
    MountIs,
    NotMounted,
    OwnMember,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    SignedPlace,
)
from app.storage.layout.steps import (
    Command,
    MakeFolder,
    Mark,
    RemoveFolder,
    Step,
    WipeTable,
    look_fact,
    mark_fact,
    mount_fact,
    table_fact,
)
from app.storage.system import state
from app.storage.system.device import content_digest
from app.storage.system.programs import TimeBudget
from app.storage.wiping.wipe import InUseError, KeptError
from tests.unit.storage.file_disk import FileDevice
from tests.unit.storage.plans import disk
from tests.unit.storage.test_execution import FAIL, NODE, OTHER, World, touch

THIRD = "/dev/no-such-third-disk"
PARTITION = SessionPartition(NODE, f"{NODE}p1", "table", "uuid", "type", 1 << 20, 1 << 30)
TABLE = WipeTable(PARTITION, SignatureIs(PARTITION.node, "ext4"), "wipe the table")
HOLDS, FAILS = MountIs("/there", ()), NotMounted("/elsewhere")


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The disks that are locked, without opening any; conditions but FAILS hold."""
    taken: list[str] = []

    def locked(node: str, *_: object) -> AbstractContextManager[None]:
        taken.append(node)
        return nullcontext()

    def check(condition: Condition, *_: object) -> ConditionResult:
        return ConditionResult(condition is not FAILS, "as it was seen")

    monkeypatch.setattr(execution_module, "locked", locked)
    monkeypatch.setattr(execution_module, "check", check)
    monkeypatch.setattr(execution_module, "check_spare", lambda *_: None)
    return taken


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Execution:
    """Whose unmaking is repeated for a long time, with hardly a pause."""
    monkeypatch.setattr(execution_module, "_LATER_S", 0.001)
    execution = World().execution()
    execution.patience_s = 3600.0
    return execution


def wiping(monkeypatch: pytest.MonkeyPatch, wipe: Callable[[Step], str]) -> None:
    monkeypatch.setattr(execution_module, "Wiper", lambda *_: SimpleNamespace(wipe=wipe, wipe_table=wipe))


def refusing(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[Step]:
    """Have wiping fail with these errors, one after the other, and then succeed; return what is asked."""
    asked: list[Step] = []

    def wipe(step: Step) -> str:
        asked.append(step)
        if len(asked) <= len(errors):
            raise errors[len(asked) - 1]
        return ""

    wiping(monkeypatch, wipe)
    return asked


def tried(folder: Path, succeeds_at: int, says: str = "no") -> Command:
    """Return a program that fails until it is run for the so-manieth time."""
    file = folder / "tries"
    script = f"echo tried >>{file}; [ $(wc -l <{file}) -ge {succeeds_at} ] && exit; echo {says} >&2; exit 1"
    return Command(("sh", "-c", script), "try")


def tries(folder: Path) -> int:
    return len((folder / "tries").read_text().splitlines())


def test_failure_is_retried(patient: Execution, tmp_path: Path) -> None:
    patient.unmake((tried(tmp_path, succeeds_at=3),))
    assert tries(tmp_path) == 3


def test_busy_retried_foreign_not(patient: Execution, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = refusing(monkeypatch, InUseError(NODE, "It is open.", ""), InUseError(NODE, "It is open.", ""))
    patient.unmake((TABLE,))
    assert len(asked) == 3
    assert patient.kept == {}
    asked = refusing(monkeypatch, KeptError(NODE, "It holds xfs.", ""))
    with pytest.raises(StorageError, match="holds xfs"):
        patient.unmake((TABLE,))
    assert len(asked) == 1


def test_rest_retried_beside_foreign(
    patient: Execution, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def wipe(_step: Step) -> str:
        raise KeptError(NODE, "It holds xfs.", "")

    wiping(monkeypatch, wipe)
    with pytest.raises(StorageError, match="holds xfs"):
        patient.unmake((TABLE, tried(tmp_path, succeeds_at=3)))
    assert tries(tmp_path) == 3


def test_no_retry_without_patience_or_time(patient: Execution, tmp_path: Path) -> None:
    hasty = World().execution()
    with pytest.raises(StorageError):
        hasty.unmake((tried(tmp_path, succeeds_at=9),))
    assert tries(tmp_path) == 1
    patient.hooks = replace(patient.hooks, patience=TimeBudget(0.0))
    with pytest.raises(StorageError):
        patient.unmake((tried(tmp_path, succeeds_at=9),))
    assert tries(tmp_path) == 2


def test_unexpected_error_undone_and_reraised(tmp_path: Path) -> None:
    world = World()
    execution = world.execution()

    def journal(step: Step, _undo: tuple[Step, ...]) -> None:
        if step.why == "make b":
            raise ValueError("the journal has a fault")

    execution.hooks = replace(execution.hooks, journal=journal)
    with pytest.raises(ValueError, match=r"^the journal has a fault$"):
        execution.make((touch(tmp_path / "a"), touch(tmp_path / "b")))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("locks")
def test_only_failed_wipe_protects_its_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = refusing(monkeypatch)
    writes = (OwnPartition(NODE, "uuid", "t"),)
    execution = World().execution()
    with pytest.raises(StorageError, match="on fire"):
        execution.unmake((replace(FAIL, writes=writes), TABLE))
    assert asked == [TABLE]
    assert execution.kept == {}, "a program that failed does not say that the disk is not ours"
    refusing(monkeypatch, KeptError(NODE, "It holds xfs.", "Copy it."))
    with pytest.raises(StorageError, match="holds xfs"):
        execution.unmake((TABLE, replace(touch(tmp_path / "a"), writes=writes)))
    assert list(tmp_path.iterdir()) == []
    kept = execution.kept[NODE]
    assert (kept.message, kept.hint) == ("It holds xfs.", "Copy it.")


def test_unreportable_wipe_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def done(_result: object) -> None:
        raise OSError(5, "the run file is gone")

    refusing(monkeypatch)
    execution = World().execution()
    execution.hooks = replace(execution.hooks, done=done)
    with pytest.raises(StorageError, match=r"^Not everything could be undone.*the run file is gone"):
        execution.unmake((TABLE,))
    assert execution.kept == {}


def test_failures_of_kept_disks_and_first_other(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(TABLE, partition=replace(PARTITION, disk=OTHER))
    kept = KeptError(NODE, "It holds xfs.", "Copy it.")
    for undo, more in (
        ((TABLE, FAIL), ""),
        ((TABLE, FAIL, other), "after it: 1)"),
        ((TABLE, FAIL, other, FAIL), "after it: 2)"),
    ):
        refusing(monkeypatch, kept, StorageError("It is broken.", hint="Never told."))
        with pytest.raises(StorageError) as caught:
            World().execution().unmake(undo)
        message = caught.value.message
        line = "sh -c 'echo the disk is on fire >&2; exit 3'"
        first = f"{line}: {line} failed (status 3): the disk is on fire."
        assert message.startswith(f"Not everything could be undone. It holds xfs. {first}"), message
        assert "StorageError" not in message
        assert (more in message) if more else ("after it" not in message)
        assert caught.value.hint == "Copy it."


def test_python_step_not_begun_after_cancel(tmp_path: Path) -> None:
    world = World()
    world.cancel_after = 0
    with pytest.raises(CancelledError):
        world.execution().make((MakeFolder(str(tmp_path / "folder"), "cannot create the folder"),))
    assert list(tmp_path.iterdir()) == []
    assert world.progress == []


@pytest.mark.usefixtures("locks")
def test_step_skipped_by_its_unmet_condition(tmp_path: Path) -> None:
    World().execution().make((touch(tmp_path / "a", when=(HOLDS,)), touch(tmp_path / "b", when=(FAILS,))))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def member(node: str) -> OwnMember:
    part = SessionPartition(node, f"{node}1", "table", f"of {node}", "type", 0, 512)
    return OwnMember(part, SignatureIs(part.node, "linux_raid_member"))


def over(*nodes: str) -> Execution:
    execution = World().execution()
    execution.disks = {node: disk(number) for number, node in enumerate(nodes, 1)}
    return execution


def test_vanished_disk_is_not_queried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    asked: list[object] = []

    def check(condition: Condition, *_: object) -> ConditionResult:
        asked.append(condition)
        return ConditionResult(holds=True, evidence="")

    monkeypatch.setattr(execution_module, "check", check)
    monkeypatch.setattr(state, "size_bytes", lambda node: 0 if node == OTHER else 512)
    writes = (OwnPartition(NODE, "u1", "t1"), OwnPartition(OTHER, "u2", "t2"))
    over(NODE, OTHER).unmake((replace(touch(tmp_path / "a"), writes=writes),))
    assert asked == [writes[0]]
    assert locks == [NODE]


def test_claim_of_all_disks_with_one_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    monkeypatch.setattr(state, "size_bytes", lambda node: 0 if node == OTHER else 512)
    writes = (OwnPartition(NODE, "u1", "t1"), OwnPartition(OTHER, "u2", "t2"))
    command = replace(touch(tmp_path / "a"), claims=(THIRD,), writes=writes)
    over(NODE, OTHER, THIRD).unmake((command,))
    assert locks == sorted([NODE, OTHER, THIRD])


def test_vanished_partition_is_held_by_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    sizes = {NODE: 512, OTHER: 512, f"{NODE}1": 512, f"{OTHER}1": 0}
    monkeypatch.setattr(state, "size_bytes", sizes.__getitem__)
    monkeypatch.setattr(state, "is_claimed", lambda _node: True)
    over(NODE, OTHER).unmake((replace(touch(tmp_path / "a"), writes=(member(NODE), member(OTHER))),))
    assert locks == [NODE]


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is seen in places, by node, in the order in which it is looked at."""
    seen: list[str] = []

    @contextmanager
    def reading(node: str) -> Iterator[str]:
        seen.append(node)
        yield node

    monkeypatch.setattr(execution_module, "reading", reading)
    monkeypatch.setattr(execution_module, "table_digest", lambda node: f"table {len(seen)} of {node}")
    monkeypatch.setattr(execution_module, "content_digest", lambda node: f"content {len(seen)} of {node}")
    return seen


HERE, TABLE_HERE = SignedPlace("here", "/dev/x1"), SignedPlace("table", "/dev/x", is_table=True)


@pytest.mark.usefixtures("locks", "digests")
def test_signature_marks_and_digests(tmp_path: Path) -> None:
    world = World()
    execution = world.execution()
    execution.make((replace(touch(tmp_path / "a"), signs=(HERE, TABLE_HERE), undo=()),))
    assert world.recorded == [
        "make a | ",
        f"{mark_fact('here')}=begun",
        f"{mark_fact('table')}=begun",
        f"{look_fact('here')}=content 1 of /dev/x1",
        f"{table_fact('table')}=table 2 of /dev/x",
        f"{mark_fact('here')}=made",
        f"{mark_fact('table')}=made",
    ]
    assert execution.ours == {"here", "table"}
    found: list[object] = []
    execution.hooks = replace(execution.hooks, facts=found.append)
    execution.make((replace(touch(tmp_path / "b"), undo=()),))
    assert found == []


@pytest.mark.usefixtures("locks", "digests")
def test_equalised_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was never written on a mirror differs from disk to disk: what is compared is zeroed on all."""
    file = tmp_path / "array"
    file.write_bytes(b"\xff" * 80 * MIB)
    array = FileDevice(file)

    def exclusive(node: str, number: str, _pause: object) -> AbstractContextManager[FileDevice]:
        assert (node, number) == ("/dev/md127", "9:127")
        return nullcontext(array)

    monkeypatch.setattr(execution_module, "exclusive", exclusive)
    monkeypatch.setattr(state, "device_number", lambda _node: "9:127")
    place = SignedPlace("array", "/dev/md127")
    make = replace(touch(tmp_path / "a"), signs=(place,), equalises=(place,), undo=())
    world = World()
    world.execution().make((make,))
    assert world.recorded[:2] == ["make a | ", f"{mark_fact('array')}=begun"]
    tail = f"zero {79 * MIB} {MIB}"
    assert array.did == [f"zero 0 {8 * MIB}", tail, f"zero {64 * MIB} 4096", "flush"]
    before = content_digest(array)
    array.put(9 * MIB, b"legs differ")
    assert content_digest(array) == before
    array.put(79 * MIB, b"x")
    assert content_digest(array) != before


@pytest.mark.usefixtures("locks", "digests")
def test_failed_equalising_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exclusive(*_: object) -> AbstractContextManager[None]:
        raise OSError(5, "Input/output error", "/dev/md127")

    monkeypatch.setattr(execution_module, "exclusive", exclusive)
    monkeypatch.setattr(state, "device_number", lambda _node: "9:127")
    world = World()
    with pytest.raises(StorageError, match="Input/output"):
        world.execution().make((replace(touch(tmp_path / "a"), signs=(HERE,), equalises=(HERE,), undo=()),))
    assert f"{look_fact('here')}=content 1 of /dev/x1" in world.recorded
    assert not (tmp_path / "a").exists()


@pytest.mark.usefixtures("locks", "digests")
def test_failed_program_is_looked_at(tmp_path: Path) -> None:
    world = World()
    execution = world.execution()
    failing = replace(FAIL, signs=(HERE,), undo=())
    with pytest.raises(StorageError, match="on fire"):
        execution.make((failing,))
    assert world.recorded[1:] == [f"{mark_fact('here')}=begun", f"{look_fact('here')}=content 1 of /dev/x1"]
    assert execution.ours == {"here"}


@pytest.mark.usefixtures("locks")
def test_failed_program_unreadable(tmp_path: Path) -> None:
    execution = World().execution()
    with pytest.raises(StorageError, match="on fire"):  # and not that the place cannot be opened
        execution.make((replace(FAIL, signs=(SignedPlace("here", "/dev/no-such-disk"),), undo=()),))
    assert look_fact("here") not in execution.facts


FOLDER = "/run/pgfooting/x/storage"
UMOUNT = Command(
    ("true",), "unmount", when=(MountIs(FOLDER, ("/dev/x1",)),), frees=(TABLE_HERE, HERE), looks=(HERE,)
)


FORGET = Command(("true",), "the kernel forgets the device", owned=(HERE,))


@pytest.mark.usefixtures("locks")
@pytest.mark.parametrize(
    ("journal", "since", "is_freed"),
    [
        ("unique 7", {}, True),
        ("unique 8", {}, False),
        (None, {}, False),
        ("unique 7", {"/dev/x": "other boot"}, False),
        ("unique 7", {"/dev/y": "other boot"}, True),
        ("mountinfo 7", {}, False),  # by another process: a later mount may have got the number
    ],
)
def test_only_own_mount_frees(
    digests: list[str],
    monkeypatch: pytest.MonkeyPatch,
    journal: str | None,
    since: dict[str, str],
    is_freed: bool,  # noqa: FBT001
) -> None:
    now = "unique 7" if journal is None or state.is_unique(journal) else journal
    monkeypatch.setattr(state, "mount_of", lambda _folder: now)
    execution = World().execution()
    execution.hooks = replace(execution.hooks, since=since)
    if journal is not None:
        execution.facts[mount_fact(FOLDER)] = journal
    execution.unmake((UMOUNT,))
    assert execution.ours == ({"here", "table"} if is_freed else set())
    assert digests == (["/dev/x1"] if is_freed else [])


@pytest.mark.usefixtures("locks", "digests")
def test_programs_that_write_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A pool that is destroyed, an array that is stopped and an unmounting write, also where they fail."""
    monkeypatch.setattr(state, "mount_of", lambda _folder: "unique 7")
    monkeypatch.setattr(state, "size_bytes", lambda _node: 512)
    stop = replace(touch(tmp_path / "stopped"), writes=(OwnPartition(NODE, "u", "t"),), undo=())
    world = World()
    execution = world.execution()
    execution.make((stop,))
    assert not [each for each in world.recorded if "written" in each]
    execution.unmake((replace(stop, when=(FAILS,)), replace(UMOUNT, argv=("true",), looks=()), FORGET))
    assert [each for each in world.recorded if "written" in each] == ["written table=", "written here="]
    with pytest.raises(StorageError):
        execution.unmake((replace(stop, argv=("false",)),))
    assert world.recorded[-1] == "written partition u="


@pytest.mark.usefixtures("locks", "digests")
def test_failed_umount_frees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "mount_of", lambda _folder: "unique 7")
    execution = World().execution()
    execution.facts[mount_fact(FOLDER)] = "unique 7"
    with pytest.raises(StorageError):
        execution.unmake((replace(UMOUNT, argv=("false",)),))
    assert execution.ours == set()


@pytest.mark.usefixtures("locks", "digests")
def test_mount_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "mount_of", lambda folder: f"unique mount of {folder}")
    world = World()
    world.execution().make((Command(("true",), "mount", mounts=FOLDER),))
    assert world.recorded[1:] == [f"{mount_fact(FOLDER)}=unique mount of {FOLDER}"]


@pytest.mark.usefixtures("locks", "digests")
def test_owned_and_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "size_bytes", lambda _node: 512)
    destroy = replace(touch(tmp_path / "destroyed"), owned=(HERE,), undo=())
    stop = replace(touch(tmp_path / "stopped"), writes=(OwnPartition(NODE, "u", "t"),), undo=())
    execution = World().execution()
    execution.hooks = replace(execution.hooks, since={NODE: "another boot"})
    execution.unmake((destroy, stop))
    assert list(tmp_path.iterdir()) == []
    execution.agreed = {NODE: "digest"}
    execution.ours.add("here")
    execution.unmake((destroy, stop))
    assert {path.name for path in tmp_path.iterdir()} == {"destroyed", "stopped"}


MOUNT = Command(("true",), "mount", mounts=FOLDER, undo=(UMOUNT,))


@pytest.mark.usefixtures("locks", "digests")
@pytest.mark.parametrize("mount", ["unique 7", "mountinfo 7"])
def test_mounting_gives_up_what_was_made(monkeypatch: pytest.MonkeyPatch, mount: str) -> None:
    monkeypatch.setattr(state, "mount_of", lambda _folder: mount)
    execution = World().execution()
    execution.make((replace(touch(Path("/dev/null")), signs=(HERE, TABLE_HERE), undo=()), MOUNT))
    assert execution.ours == set()
    execution.unmake((UMOUNT,))
    assert execution.ours == {"here", "table"}


@pytest.mark.usefixtures("locks", "digests")
def test_unmounted_by_others_is_not_destroyed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(state, "mount_of", lambda _folder: "unique 7")
    destroy = replace(touch(tmp_path / "destroyed"), owned=(HERE,), looks=(HERE,))
    make = Command(("true",), "make", signs=(HERE, TABLE_HERE), undo=(destroy,))
    execution = World().execution()
    execution.make((make, MOUNT))
    execution.unmake((replace(UMOUNT, when=(*UMOUNT.when, FAILS)), destroy))
    assert list(tmp_path.iterdir()) == []
    execution.unmake((UMOUNT, destroy))
    assert list(tmp_path.iterdir()) != []


@pytest.mark.usefixtures("locks", "digests")
def test_pool_of_an_attempt_before_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(state, "mount_of", lambda _folder: "unique 7")
    execution = World().execution()
    execution.facts[mount_fact(FOLDER)] = "unique 7"
    destroy = replace(touch(tmp_path / "destroyed"), owned=(HERE,), looks=(HERE,))
    with pytest.raises(StorageError):
        execution.unmake((UMOUNT, replace(destroy, argv=("false",))))
    assert execution.ours == {"table"}
    execution.unmake((replace(UMOUNT, when=(*UMOUNT.when, FAILS)), destroy))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("locks")
def test_looks_go_on_beside_a_pulled_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def reading(node: str) -> Iterator[str]:
        if node == "/dev/pulled":
            raise FileNotFoundError(2, "No such file or directory", node)
        yield node

    monkeypatch.setattr(execution_module, "reading", reading)
    monkeypatch.setattr(execution_module, "content_digest", lambda node: f"content of {node}")
    pulled = SignedPlace("pulled", "/dev/pulled")
    execution = World().execution()
    execution.ours |= {"pulled", "here"}
    execution.facts[look_fact("pulled")] = "older"
    execution.unmake((Command(("true",), "stop", looks=(pulled, HERE)),))
    assert execution.facts[look_fact("here")] == "content of /dev/x1"
    assert execution.facts[look_fact("pulled")] == "older"


@pytest.mark.usefixtures("locks")
def test_look_waits_until_let_go(digests: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [True, True, False]
    seen_at: list[int] = []

    def is_claimed(_node: str) -> bool:
        seen_at.append(len(digests))
        return claims.pop(0)

    monkeypatch.setattr(state, "size_bytes", lambda _node: 512)
    monkeypatch.setattr(state, "is_claimed", is_claimed)
    execution = World().execution()
    execution.ours.add("here")
    execution.unmake((Command(("true",), "unmount", looks=(HERE,)),))
    assert (claims, seen_at, digests) == ([], [0, 0, 0], ["/dev/x1"])


def test_folder_of_a_claimed_disk_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "storage"
    folder.mkdir()
    claimed = {OTHER}
    monkeypatch.setattr(execution_module, "LOOKING_S", 0.0)
    monkeypatch.setattr(state, "size_bytes", lambda _node: 512)
    monkeypatch.setattr(state, "is_claimed", claimed.__contains__)
    tables = tuple(SignedPlace(f"table of {node}", node, is_table=True) for node in (NODE, OTHER))
    step = RemoveFolder(str(folder), "remove", tables)
    with pytest.raises(StorageError, match=OTHER):
        World().execution().unmake((step,))
    assert folder.is_dir()
    execution = World().execution()
    execution.facts[mark_fact(tables[1].name)] = Mark.RELEASED  # whoever has it now is somebody else
    execution.unmake((step,))
    assert not folder.exists()
    folder.mkdir()
    claimed.clear()
    World().execution().unmake((step,))
    assert not folder.exists()


def test_kernel_log_read_only_on_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[int] = []

    def lines() -> Sequence[str]:
        asked.append(1)
        return ("sdb: I/O error", "sdb: gone")

    @contextmanager
    def log() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(lines=lines)

    monkeypatch.setattr(execution_module, "kernel_log", log)
    World().execution().make((touch(tmp_path / "a"),))
    assert asked == []
    with pytest.raises(StorageError) as caught:
        World().execution().make((FAIL,))
    assert "sdb: I/O error / sdb: gone" in caught.value.hint


def test_only_busy_failure_is_run_again(tmp_path: Path) -> None:
    count = f"echo tried >>{tmp_path}/tries; echo is busy >&2"
    World().execution().make((Command(("sh", "-c", count), "warn", busy=("is busy",)),))
    assert tries(tmp_path) == 1
    with pytest.raises(StorageError):
        World().execution().make((replace(tried(tmp_path, succeeds_at=9), busy=("is busy",)),))
    assert tries(tmp_path) == 2
    execution = World().execution()
    execution.hooks = replace(execution.hooks, patience=TimeBudget(0.0))
    with pytest.raises(StorageError):
        execution.make((replace(tried(tmp_path, succeeds_at=9, says="is busy"), busy=("is busy",)),))
    assert tries(tmp_path) == 3


def test_late_condition_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def check(*_: object) -> ConditionResult:
        seen.append(1)
        return ConditionResult(len(seen) >= 3, "not yet")

    monkeypatch.setattr(execution_module, "check", check)
    World().execution().make((Command(("true",), "let go", after=(HOLDS,)),))
    assert len(seen) == 3

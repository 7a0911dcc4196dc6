"""Steps are checked, recorded, verified, and undone where one fails; with real programs, without disks."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.errors import CancelledError, RefusedError, StorageError
from app.domain.messages.message import say
from app.domain.step_progress import StepProgress
from app.storage import execution as execution_module
from app.storage.checks import disk_checks
from app.storage.checks.disk_checks import ConditionResult
from app.storage.execution import Execution, Hooks, StepResult
from app.storage.layout.conditions import (
    MountIs,
    OwnMember,
    OwnPartition,
    SessionPartition,
    SignatureIs,
    partition_place,
)
from app.storage.layout.steps import (
    ClaimDisks,
    Command,
    MakeFolder,
    Mark,
    ReadBackArray,
    ReadBackPool,
    RemoveFolder,
    Step,
    Wipe,
    WipeTable,
    mark_fact,
    undo_of,
)
from app.storage.system import state
from app.storage.system.programs import CompletedProgram, run_program
from app.storage.wiping.wipe import KeptError
from tests.unit.storage.plans import disk

NODE, OTHER = "/dev/no-such-disk", "/dev/no-such-other-disk"


class World:
    """What the hooks of a test answer, and what they were told."""

    def __init__(self) -> None:
        self.disk = disk(1)
        self.refused: Sequence[DiskRefusal] = ()
        self.recorded: list[str] = []
        self.progress: list[StepProgress] = []
        self.done: list[StepResult] = []
        self.cancel_after = 1 << 30

    def execution(self) -> Execution:
        hooks = Hooks(
            identify=self.identify,
            refusals=self.refusals,
            journal=lambda step, undo: self.recorded.append(
                f"{step.why} | {', '.join(each.why for each in undo)}"
            ),
            facts=lambda facts: self.recorded.extend(f"{name}={value}" for name, value in facts.items()),
            progress=self.progress.append,
            done=self.done.append,
            is_cancelled=lambda: len(self.recorded) >= self.cancel_after,
        )
        return Execution({NODE: disk(1)}, hooks)

    def identify(self, _node: str) -> DiskIdentity:
        return self.disk

    def refusals(self, chosen: Mapping[str, DiskIdentity]) -> Mapping[str, Sequence[DiskRefusal]]:
        return dict.fromkeys(chosen, self.refused) if self.refused else {}


def touch(path: Path, **more: object) -> Command:
    undo = (Command(("rm", str(path)), f"remove {path.name}"),)
    return Command(("touch", str(path)), f"make {path.name}", undo=undo, **more)  # type: ignore[arg-type]


FAIL = Command(("sh", "-c", "echo the disk is on fire >&2; exit 3"), "fail")


def test_step_and_undo_journaled_before_it_begins(tmp_path: Path) -> None:
    world = World()
    a, b = tmp_path / "a", tmp_path / "b"
    report = world.execution().make((touch(a), touch(b)))
    assert world.recorded == ["make a | remove a", "make b | remove b"]
    assert [step.exit_code for step in report.steps] == [0, 0]
    assert [(each.number, each.count) for each in world.progress] == [(1, 2), (2, 2)]
    assert 0 < sum(step.program_seconds for step in report.steps) <= report.seconds


def test_failed_step_named_rest_undone_in_reverse(tmp_path: Path) -> None:
    world = World()
    with pytest.raises(StorageError, match="the disk is on fire") as caught:
        world.execution().make((touch(tmp_path / "a"), touch(tmp_path / "b"), FAIL, touch(tmp_path / "c")))
    assert say("was-undone") in caught.value.hint
    assert "status 3" in caught.value.message
    assert list(tmp_path.iterdir()) == []
    assert world.recorded[-2:] == ["remove b | ", "remove a | "]


@pytest.mark.parametrize(
    "look",
    [
        ReadBackArray("/dev/md/no-such-array", (), "the array is as it was asked for"),
        ReadBackPool("no-such-pool", (), "the pool is as it was asked for"),
    ],
    ids=["array", "pool"],
)
def test_differing_array_or_pool_undone(tmp_path: Path, look: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def without_zfs(argv: Sequence[str], **_: object) -> CompletedProgram:
        if argv[0] == "zpool":
            said = "cannot open 'no-such-pool': no such pool\n"
            return CompletedProgram(tuple(argv), 1, "", said, seconds=0.0)
        return run_program(argv, timeout_s=60)

    monkeypatch.setattr(execution_module, "run_program", without_zfs)
    with pytest.raises(StorageError, match="as it was asked for|no-such") as caught:
        world.execution().make((touch(tmp_path / "a"), look, touch(tmp_path / "never")))
    assert say("was-undone") in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    assert world.recorded[-1] == "remove a | "


def test_every_program_reported_in_order(tmp_path: Path) -> None:
    world = World()
    folder = str(tmp_path / "folder")
    steps = (
        MakeFolder(folder, "make folder", undo=(RemoveFolder(folder, "remove folder"),)),
        touch(tmp_path / "a"),
        FAIL,
        touch(tmp_path / "never"),
    )
    with pytest.raises(StorageError):
        world.execution().make(steps)
    assert [(each.text, each.exit_code) for each in world.done] == [
        ("# make folder", None),
        (f"touch {tmp_path}/a", 0),
        ("sh -c 'echo the disk is on fire >&2; exit 3'", 3),
        (f"rm {tmp_path}/a", 0),
        ("# remove folder", None),
    ]
    assert world.done[2].output == "the disk is on fire\n"
    assert not any(each.skipped for each in world.done)
    world.execution().unmake((RemoveFolder(folder, "remove folder"),))
    assert world.done[-1].skipped == "it is not there"


def test_missed_effect_reported_refused_step_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.execution.AFTER_S", 0.0)
    world = World()
    for wrong in ({"after": (MountIs(str(tmp_path), ()),)}, {"before": (MountIs(str(tmp_path), ()),)}):
        with pytest.raises(StorageError if "after" in wrong else RefusedError):
            world.execution().make((touch(tmp_path / "a", **wrong),))
    assert [(each.text, each.exit_code) for each in world.done] == [
        (f"touch {tmp_path}/a", 0),
        (f"rm {tmp_path}/a", 0),
    ]


def test_interrupted_program_reported_with_signal() -> None:
    world = World()
    world.cancel_after = 1
    with pytest.raises(CancelledError):
        world.execution().make((Command(("sleep", "4711"), "sleep"),))
    assert [(each.text, each.exit_code) for each in world.done] == [("sleep 4711", -signal.SIGTERM)]


def test_failed_step_itself_is_undone(tmp_path: Path) -> None:
    half = Command(
        ("sh", "-c", f"touch {tmp_path}/half; exit 1"),
        "half",
        undo=(Command(("rm", f"{tmp_path}/half"), "rm"),),
    )
    with pytest.raises(StorageError):
        World().execution().make((half,))
    assert list(tmp_path.iterdir()) == []


def test_undoing_continues_after_failures(tmp_path: Path) -> None:
    kept = Command(("true",), "kept", undo=(FAIL,))
    with pytest.raises(StorageError) as caught:
        World().execution().make((touch(tmp_path / "a"), kept, FAIL))
    assert say("not-all-undone") in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_unmaking_reports_first_failure_and_count(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="on fire.*after it: 1"):
        World().execution().unmake((FAIL, FAIL, Command(("touch", f"{tmp_path}/done"), "on")))
    assert (tmp_path / "done").exists()


def test_reason_of_failed_wipe_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_step: Step) -> str:
        raise RefusedError(f"{NODE} is not the disk that was chosen.", hint="Choose the disks again.")

    def wiper(*_arguments: object) -> SimpleNamespace:
        return SimpleNamespace(wipe=refuse, wipe_table=refuse)

    monkeypatch.setattr(execution_module, "Wiper", wiper)
    partition = SessionPartition(NODE, f"{NODE}p1", "table", "uuid", "type", 1 << 20, 1 << 30)
    execution = World().execution()
    with pytest.raises(StorageError, match="is not the disk"):
        execution.unmake((WipeTable(partition, SignatureIs(partition.node, "ext4"), "wipe the table"),))
    assert {node: (err.message, err.hint) for node, err in execution.kept.items()} == {
        NODE: (f"{NODE} is not the disk that was chosen.", "")
    }


def test_unwiped_disk_untouched_other_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def wipe(step: Wipe | WipeTable) -> str:
        asked.append(step.why)
        if step.why == f"content of {NODE}":
            raise KeptError(NODE, "It holds xfs.", "")
        return ""

    monkeypatch.setattr(execution_module, "Wiper", lambda *_: SimpleNamespace(wipe=wipe, wipe_table=wipe))
    undo: list[Step] = []
    for node in (NODE, OTHER):
        part = SessionPartition(node, f"{node}p1", "table", "uuid", "type", 1 << 20, 1 << 30)
        signature = SignatureIs(part.node, "ext4", "uuid")
        undo += [Wipe(part.node, "place", signature, (part,), f"content of {node}")]
        undo += [WipeTable(part, signature, f"table of {node}")]
    with pytest.raises(StorageError, match="holds xfs"):
        World().execution().unmake(undo)
    assert asked == [f"content of {NODE}", f"content of {OTHER}", f"table of {OTHER}"]


def test_cancelled_execution_undone_undoing_goes_on(tmp_path: Path) -> None:
    world = World()
    world.cancel_after = 2
    with pytest.raises(CancelledError):
        world.execution().make((touch(tmp_path / "a"), touch(tmp_path / "b"), touch(tmp_path / "c")))
    assert list(tmp_path.iterdir()) == []
    assert not any("make c" in texts for texts in world.recorded)


def test_step_with_unmet_condition_skipped(tmp_path: Path) -> None:
    command = touch(tmp_path / "a", when=(MountIs(str(tmp_path), ("/dev/null",)),))
    report = World().execution().make((command,))
    assert "nothing mounted" in report.steps[0].skipped
    assert list(tmp_path.iterdir()) == []


def test_step_with_unmet_precondition_refused(tmp_path: Path) -> None:
    command = touch(tmp_path / "a", before=(MountIs(str(tmp_path), ("/dev/null",)),))
    with pytest.raises(RefusedError, match="nothing mounted"):
        World().execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_step_without_effect_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.execution.AFTER_S", 0.05)
    command = Command(("true",), "nothing", after=(MountIs(str(tmp_path), ("/dev/null",)),))
    with pytest.raises(StorageError, match="did not have the expected effect"):
        World().execution().make((command,))


def test_brief_opener_lets_go(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    script = f"echo tried >>{tries}; [ $(wc -l <{tries}) -ge 3 ] && exit; echo is busy >&2; exit 32"
    command = Command(("sh", "-c", script), "let go", busy=("is busy",))
    World().execution().make((command,))
    assert tries.read_text() == "tried\n" * 3


def test_busy_failure_keeps_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.execution.LOOKING_S", 0.2)
    script = f"echo tried >>{tmp_path}/tries; echo is busy >&2; exit 32"
    with pytest.raises(StorageError, match="is busy"):
        World().execution().make((Command(("sh", "-c", script), "let go", busy=("is busy",)),))
    assert len((tmp_path / "tries").read_text().splitlines()) > 1
    with pytest.raises(StorageError):
        World().execution().make((Command(("sh", "-c", script), "let go"),))


def test_already_done_is_no_failure() -> None:
    gone = Command(("ls", "/no/such/file"), "gone", forgives=("No such file or directory",))
    assert World().execution().make((gone,)).steps[0].exit_code != 0
    with pytest.raises(StorageError):
        World().execution().make((replace(gone, forgives=("Permission denied",)),))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("serial", "OTHER"),
        ("wwn", None),
        ("model", "OTHER"),
        ("size_bytes", 1),
        ("device_number", "8:99"),
        ("diskseq", 99),
    ],
)
@pytest.mark.parametrize("kind", ["claims", "writes"])
def test_another_disk_under_same_name_untouched(tmp_path: Path, field: str, value: object, kind: str) -> None:
    world = World()
    world.disk = replace(world.disk, **{field: value})  # type: ignore[arg-type]
    disks: tuple[object, ...] = (NODE,) if kind == "claims" else (OwnPartition(NODE, "uuid", "t"),)
    command = touch(tmp_path / "a", **{kind: disks})
    with pytest.raises(RefusedError, match=field):
        world.execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_nothing_written_without_our_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_module, "locked", lambda *_: nullcontext())
    command = touch(tmp_path / "a", writes=(OwnPartition(NODE, "uuid", "t"),))
    with pytest.raises(RefusedError, match="gone"):
        World().execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_gone_is_refused(tmp_path: Path) -> None:
    world = World()
    execution = world.execution()
    execution.hooks = replace(execution.hooks, identify=lambda node: disk(int(Path(node).read_text())))
    with pytest.raises(RefusedError, match="can no longer be identified"):
        execution.make((ClaimDisks((NODE,), "claim"),))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The disks that are locked, without opening any; conditions of them hold."""
    taken: list[str] = []

    def locked(node: str, *_: object) -> AbstractContextManager[None]:
        taken.append(node)
        return nullcontext()

    monkeypatch.setattr(execution_module, "locked", locked)
    monkeypatch.setattr(execution_module, "check", lambda *_: ConditionResult(holds=True, evidence=""))
    return taken


def over_two_disks(folder: Path, monkeypatch: pytest.MonkeyPatch, *gone: str) -> tuple[Execution, Command]:
    execution = World().execution()
    execution.disks = {NODE: disk(1), OTHER: disk(2)}
    monkeypatch.setattr(state, "size_bytes", lambda node: 0 if node in gone else 512)
    return execution, touch(
        folder / "a", writes=(OwnPartition(NODE, "u1", "t1"), OwnPartition(OTHER, "u2", "t2"))
    )


def test_taken_apart_with_one_disk_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch, OTHER)
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE]
    assert (tmp_path / "a").exists()


def test_array_stopped_other_member_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch)
    execution.facts[mark_fact(partition_place("u2"))] = Mark.WIPED
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE]
    execution.facts[mark_fact(partition_place("u1"))] = Mark.WIPED
    locks.clear()
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE, OTHER], "of whom none is left all are asked for"


def test_array_stopped_other_partition_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch)
    members = [
        OwnMember(
            SessionPartition(node, f"{node}1", "t", f"u{node}", "type", 0, 512), SignatureIs(f"{node}1", "x")
        )
        for node in (NODE, OTHER)
    ]
    command = replace(command, undo=(), writes=tuple(members))
    claimed = {f"{NODE}1"}
    monkeypatch.setattr(state, "is_claimed", claimed.__contains__)
    execution.unmake((command,))
    assert locks == [NODE]
    locks.clear()
    claimed.add(f"{OTHER}1")
    execution.unmake((command,))
    assert locks == [NODE, OTHER]


def test_nothing_skipped_while_making_or_without_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch, OTHER)
    execution.make((replace(command, undo=()),))
    assert locks == [NODE, OTHER]
    locks.clear()
    execution, command = over_two_disks(tmp_path, monkeypatch, NODE, OTHER)
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE, OTHER]  # of which the real one refuses both


def test_refused_by_rules_untouched_with_evidence(tmp_path: Path) -> None:
    world = World()
    world.refused = (DiskRefusal("D05", "It is mounted.", "8:17 at /srv", "umount /srv"),)
    with pytest.raises(RefusedError, match="D05.*mounted.*8:17 at /srv") as caught:
        world.execution().make((ClaimDisks((NODE,), "claim"), touch(tmp_path / "a")))
    assert "umount /srv" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_no_longer_spare_disk_not_partitioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_module, "locked", lambda *_: nullcontext())
    world = World()
    world.refused = (DiskRefusal("D05", "It is mounted.", "8:17 at /srv", "umount /srv"),)
    with pytest.raises(RefusedError, match="D05"):
        world.execution().make((replace(touch(tmp_path / "a", claims=(NODE,)), undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_folders_made_and_removed(tmp_path: Path) -> None:
    steps: tuple[Step, ...] = (
        MakeFolder(str(tmp_path / "m"), "make", undo=(RemoveFolder(str(tmp_path / "m"), "remove"),)),
    )
    World().execution().make(steps)
    assert (tmp_path / "m").is_dir()
    World().execution().unmake(undo_of(steps))
    World().execution().unmake(undo_of(steps))
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_not_ours(tmp_path: Path) -> None:
    link, empty = tmp_path / "link", tmp_path / "empty"
    link.symlink_to(tmp_path / "elsewhere")
    empty.mkdir()
    for there in (tmp_path, link, empty):
        world, undo = World(), (RemoveFolder(str(there), "remove"),)
        with pytest.raises(StorageError, match="exists"):
            world.execution().make((MakeFolder(str(there), "make", undo=undo),))
        assert world.recorded == [], "it was never begun, so that nothing undoes it"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link"], (
        "nothing was made where it leads, or removed"
    )


def test_libblkid_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def run(argv: Sequence[str], *, timeout_s: float, **_: object) -> CompletedProgram:
        limits.append(timeout_s)
        return CompletedProgram(tuple(argv), 2, "", "", 0.0)

    monkeypatch.setattr(execution_module, "run_program", run)
    monkeypatch.setattr(disk_checks, "run_program", run)
    World().execution()._probe(("wipefs", NODE))
    disk_checks.probe_with_program(("blkid", NODE))
    assert len(limits) == 2
    assert all(0 < each <= 300 for each in limits), "seconds"


def test_missing_program_is_named() -> None:
    with pytest.raises(Exception, match=r"mkfs\.none"):
        World().execution().make((Command(("mkfs.none",), "make"),))


def test_fake_disk_names_do_not_exist_here() -> None:
    assert state.size_bytes(NODE) == 0

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
from app.domain.step_progress import StepProgress
from app.storage import execution as execution_module
from app.storage.checks import conditions
from app.storage.checks.conditions import ConditionResult
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
        self.told: list[str] = []
        self.progress: list[StepProgress] = []
        self.done: list[StepResult] = []
        self.cancel_after = 1 << 30

    def execution(self) -> Execution:
        hooks = Hooks(
            identify=self.identify,
            refusals=self.refusals,
            journal=lambda step, undo: self.told.append(
                f"{step.why} | {', '.join(each.why for each in undo)}"
            ),
            facts=lambda facts: self.told.extend(f"{name}={value}" for name, value in facts.items()),
            progress=self.progress.append,
            done=self.done.append,
            is_cancelled=lambda: len(self.told) >= self.cancel_after,
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


def test_each_step_is_told_to_the_journal_with_what_undoes_it_before_it_begins(tmp_path: Path) -> None:
    world = World()
    a, b = tmp_path / "a", tmp_path / "b"
    report = world.execution().make((touch(a), touch(b)))
    assert world.told == ["make a | remove a", "make b | remove b"]
    assert [step.exit_code for step in report.steps] == [0, 0]
    assert [(each.number, each.count) for each in world.progress] == [(1, 2), (2, 2)]
    assert 0 < sum(step.program_seconds for step in report.steps) <= report.seconds


def test_a_step_that_fails_is_named_and_everything_before_it_is_undone_in_reverse(tmp_path: Path) -> None:
    world = World()
    with pytest.raises(StorageError, match="the disk is on fire") as caught:
        world.execution().make((touch(tmp_path / "a"), touch(tmp_path / "b"), FAIL, touch(tmp_path / "c")))
    assert "What had been made was undone." in caught.value.hint
    assert "status 3" in caught.value.message
    assert list(tmp_path.iterdir()) == []
    assert world.told[-2:] == ["remove b | ", "remove a | "]


@pytest.mark.parametrize(
    "look",
    [
        ReadBackArray("/dev/md/no-such-array", (), "the array is as it was asked for"),
        ReadBackPool("no-such-pool", (), "the pool is as it was asked for"),
    ],
    ids=["array", "pool"],
)
def test_where_an_array_or_a_pool_is_not_as_asked_everything_before_it_is_undone(
    tmp_path: Path, look: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()

    def without_zfs(argv: Sequence[str], **_: object) -> CompletedProgram:
        if argv[0] == "zpool":
            said = "cannot open 'no-such-pool': no such pool\n"
            return CompletedProgram(tuple(argv), 1, "", said, seconds=0.0)
        return run_program(argv, timeout_s=60)

    monkeypatch.setattr(execution_module, "run_program", without_zfs)
    with pytest.raises(StorageError, match="as it was asked for|no-such") as caught:
        world.execution().make((touch(tmp_path / "a"), look, touch(tmp_path / "never")))
    assert "What had been made was undone." in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    assert world.told[-1] == "remove a | "


def test_every_program_that_ran_is_told_at_once_and_in_order_also_the_one_that_failed(tmp_path: Path) -> None:
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


def test_a_program_that_had_not_the_right_effect_is_told_and_a_step_that_was_refused_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.execution.AFTER_S", 0.0)
    world = World()
    for wrong in ({"after": (MountIs(str(tmp_path), ()),)}, {"before": (MountIs(str(tmp_path), ()),)}):
        with pytest.raises(StorageError if "after" in wrong else RefusedError):
            world.execution().make((touch(tmp_path / "a", **wrong),))
    assert [(each.text, each.exit_code) for each in world.done] == [
        (f"touch {tmp_path}/a", 0),
        (f"rm {tmp_path}/a", 0),
    ]


def test_a_program_that_was_interrupted_is_told_with_the_signal_that_ended_it() -> None:
    world = World()
    world.cancel_after = 1
    with pytest.raises(CancelledError):
        world.execution().make((Command(("sleep", "4711"), "sleep"),))
    assert [(each.text, each.exit_code) for each in world.done] == [("sleep 4711", -signal.SIGTERM)]


def test_what_a_failed_step_itself_began_is_undone_too(tmp_path: Path) -> None:
    half = Command(
        ("sh", "-c", f"touch {tmp_path}/half; exit 1"),
        "half",
        undo=(Command(("rm", f"{tmp_path}/half"), "rm"),),
    )
    with pytest.raises(StorageError):
        World().execution().make((half,))
    assert list(tmp_path.iterdir()) == []


def test_undoing_goes_on_where_a_step_fails_and_says_so(tmp_path: Path) -> None:
    kept = Command(("true",), "kept", undo=(FAIL,))
    with pytest.raises(StorageError) as caught:
        World().execution().make((touch(tmp_path / "a"), kept, FAIL))
    assert "Not everything could be undone." in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_unmaking_tells_the_first_failure_and_how_many_followed(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="on fire.*1 more"):
        World().execution().unmake((FAIL, FAIL, Command(("touch", f"{tmp_path}/done"), "on")))
    assert (tmp_path / "done").exists()


def test_why_a_disk_could_not_be_wiped_is_kept_by_its_node_also_where_nothing_foreign_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_nothing_more_is_written_to_a_disk_that_could_not_be_wiped_and_the_other_is_freed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_a_cancelled_execution_is_undone_and_undoing_cannot_be_cancelled(tmp_path: Path) -> None:
    world = World()
    world.cancel_after = 2
    with pytest.raises(CancelledError):
        world.execution().make((touch(tmp_path / "a"), touch(tmp_path / "b"), touch(tmp_path / "c")))
    assert list(tmp_path.iterdir()) == []
    assert not any("make c" in told for told in world.told)


def test_a_step_whose_condition_does_not_hold_is_left_out(tmp_path: Path) -> None:
    command = touch(tmp_path / "a", when=(MountIs(str(tmp_path), ("/dev/null",)),))
    report = World().execution().make((command,))
    assert "nothing mounted" in report.steps[0].skipped
    assert list(tmp_path.iterdir()) == []


def test_a_step_whose_precondition_does_not_hold_is_refused_and_not_run(tmp_path: Path) -> None:
    command = touch(tmp_path / "a", before=(MountIs(str(tmp_path), ("/dev/null",)),))
    with pytest.raises(RefusedError, match="nothing mounted"):
        World().execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_had_no_effect_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.execution.AFTER_S", 0.05)
    command = Command(("true",), "nothing", after=(MountIs(str(tmp_path), ("/dev/null",)),))
    with pytest.raises(StorageError, match="had not the effect"):
        World().execution().make((command,))


def test_what_somebody_only_looks_at_is_let_go_of_a_moment_later(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    script = f"echo tried >>{tries}; [ $(wc -l <{tries}) -ge 3 ] && exit; echo is busy >&2; exit 32"
    command = Command(("sh", "-c", script), "let go", busy=("is busy",))
    World().execution().make((command,))
    assert tries.read_text() == "tried\n" * 3


def test_what_stays_busy_is_a_failure_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.execution.LOOKING_S", 0.2)
    script = f"echo tried >>{tmp_path}/tries; echo is busy >&2; exit 32"
    with pytest.raises(StorageError, match="is busy"):
        World().execution().make((Command(("sh", "-c", script), "let go", busy=("is busy",)),))
    assert len((tmp_path / "tries").read_text().splitlines()) > 1
    with pytest.raises(StorageError):
        World().execution().make((Command(("sh", "-c", script), "let go"),))


def test_a_failure_that_means_it_was_already_so_is_none() -> None:
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
def test_another_disk_under_the_same_name_is_not_touched(
    tmp_path: Path, field: str, value: object, kind: str
) -> None:
    world = World()
    world.disk = replace(world.disk, **{field: value})  # type: ignore[arg-type]
    disks: tuple[object, ...] = (NODE,) if kind == "claims" else (OwnPartition(NODE, "uuid", "t"),)
    command = touch(tmp_path / "a", **{kind: disks})
    with pytest.raises(RefusedError, match=field):
        world.execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_our_partition_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution_module, "locked", lambda *_: nullcontext())
    command = touch(tmp_path / "a", writes=(OwnPartition(NODE, "uuid", "t"),))
    with pytest.raises(RefusedError, match="gone"):
        World().execution().make((replace(command, undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_gone_is_refused(tmp_path: Path) -> None:
    world = World()
    execution = world.execution()
    execution.hooks = replace(execution.hooks, identify=lambda node: disk(int(Path(node).read_text())))
    with pytest.raises(RefusedError, match="cannot be identified"):
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


def test_what_lies_on_several_disks_is_taken_apart_also_where_one_of_them_was_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch, OTHER)
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE]
    assert (tmp_path / "a").exists()


def test_an_array_is_stopped_also_where_another_disk_of_it_was_wiped_and_given_back(
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


def test_an_array_is_stopped_also_where_nothing_holds_the_partition_of_another_disk_any_more(
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


def test_nothing_is_left_out_while_something_is_made_or_where_no_disk_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: list[str]
) -> None:
    execution, command = over_two_disks(tmp_path, monkeypatch, OTHER)
    execution.make((replace(command, undo=()),))
    assert locks == [NODE, OTHER]
    locks.clear()
    execution, command = over_two_disks(tmp_path, monkeypatch, NODE, OTHER)
    execution.unmake((replace(command, undo=()),))
    assert locks == [NODE, OTHER]  # of which the real one refuses both


def test_what_the_rules_refuse_is_not_touched_and_their_evidence_is_told(tmp_path: Path) -> None:
    world = World()
    world.refused = (DiskRefusal("D05", "It is mounted.", "8:17 at /srv", "umount /srv"),)
    with pytest.raises(RefusedError, match="D05.*mounted.*8:17 at /srv") as caught:
        world.execution().make((ClaimDisks((NODE,), "claim"), touch(tmp_path / "a")))
    assert "umount /srv" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_not_spare_any_more_is_not_partitioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution_module, "locked", lambda *_: nullcontext())
    world = World()
    world.refused = (DiskRefusal("D05", "It is mounted.", "8:17 at /srv", "umount /srv"),)
    with pytest.raises(RefusedError, match="D05"):
        world.execution().make((replace(touch(tmp_path / "a", claims=(NODE,)), undo=()),))
    assert list(tmp_path.iterdir()) == []


def test_folders_are_made_and_removed_and_gone_ones_are_none_to_remove(tmp_path: Path) -> None:
    steps: tuple[Step, ...] = (
        MakeFolder(str(tmp_path / "m"), "make", undo=(RemoveFolder(str(tmp_path / "m"), "remove"),)),
    )
    World().execution().make(steps)
    assert (tmp_path / "m").is_dir()
    World().execution().unmake(undo_of(steps))
    World().execution().unmake(undo_of(steps))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_not_taken_for_ours(tmp_path: Path) -> None:
    link, empty = tmp_path / "link", tmp_path / "empty"
    link.symlink_to(tmp_path / "elsewhere")
    empty.mkdir()
    for there in (tmp_path, link, empty):
        world, undo = World(), (RemoveFolder(str(there), "remove"),)
        with pytest.raises(StorageError, match="exists"):
            world.execution().make((MakeFolder(str(there), "make", undo=undo),))
        assert world.told == [], "it was never begun, so that nothing undoes it"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link"], (
        "nothing was made where it leads, or removed"
    )


def test_libblkid_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def run(argv: Sequence[str], *, timeout_s: float, **_: object) -> CompletedProgram:
        limits.append(timeout_s)
        return CompletedProgram(tuple(argv), 2, "", "", 0.0)

    monkeypatch.setattr(execution_module, "run_program", run)
    monkeypatch.setattr(conditions, "run_program", run)
    World().execution()._probe(("wipefs", NODE))
    conditions.probe_with_program(("blkid", NODE))
    assert len(limits) == 2
    assert all(0 < each <= 300 for each in limits), "seconds"


def test_a_program_that_is_missing_is_an_error_that_names_it() -> None:
    with pytest.raises(Exception, match=r"mkfs\.none"):
        World().execution().make((Command(("mkfs.none",), "make"),))


def test_no_disk_of_this_machine_is_behind_the_name_of_these_tests() -> None:
    assert state.size_bytes(NODE) == 0

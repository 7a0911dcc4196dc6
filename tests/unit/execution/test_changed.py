"""What changed between the begin of a campaign and its going on is refused or said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app import VERSION
from app.domain.disk import DiskIdentity
from app.domain.errors import RefusedError
from app.domain.json_value import Json
from app.domain.options.raid import Level
from app.domain.run import RunState
from app.domain.storage_plan.plan import Group, StoragePlan
from app.execution.resume.begun import BegunRuns
from app.execution.resume.changed import Before, check_changes, machine_now, read_before, server_changes
from app.postgres.existing.look import ServerLook
from app.probes.base.backing_devices import mount_of
from app.probes.base.probe import Facts
from app.probes.facts.environment import identity_facts
from app.recording.events import RunResult
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import (
    InstallationMetadata,
    RunMetadata,
    ServerMetadata,
    TargetMetadata,
)
from tests.fix_window import Trial, write_trial
from tests.unit.postgres.test_existing import LOOK

NOW = 1.9e9
DISK = DiskIdentity("S1", "wwn-1", "Fast", 10**12, "8:0", 7)
PLAN = StoragePlan(Group((DISK,), Level.SINGLE, "ext4", (), 10**9))


def machine(**changes: Json) -> Facts:
    """A machine as facts have it; parts are replaced by their names."""
    return {
        "kernel": {"release": "6.1"},
        "processor": {"info": {"model_name": "Cpu 1"}, "online": 8},
        "memory": {"info": {"MemTotal": 8 * 2**30}},
        "identity": {"machine_id": "aa"},
        **changes,
    }


def metadata_with(**values: Any) -> RunMetadata:  # noqa: ANN401 - fields of all kinds
    installation = InstallationMetadata(version="17.1")
    first = RunMetadata(installation=installation, program_version=VERSION, started_epoch_s=NOW - 60)
    return replace(first, **values)


def here(path: str = "/", plan: StoragePlan | None = None, version: str = "17.1") -> Any:  # noqa: ANN401 - what is asked of it
    configuration = SimpleNamespace(
        target=SimpleNamespace(path=path, plan=plan), installation=SimpleNamespace(version=version)
    )
    return SimpleNamespace(configurations={"a": configuration})


def changes(
    before: Before, resolved: object = None, *, machine_here: Facts | None = None, now: float = NOW
) -> tuple[str, ...]:
    found = cast("Any", resolved or here())
    return check_changes([before], found, here=machine_here or machine(), now_epoch_s=now)


def test_nothing_is_said_where_nothing_changed() -> None:
    assert changes(Before("a", metadata_with(), machine())) == ()
    assert check_changes([], here(), here=machine(), now_epoch_s=NOW) == ()


def test_other_machine_refused_in_words() -> None:
    before = Before("a", metadata_with(), machine(identity={"machine_id": "bb"}, memory={}))
    with pytest.raises(RefusedError, match=r"\(Cpu 1, 8 CPUs; this one is .*8 GiB") as refused:
        changes(before)
    assert "--resume" in refused.value.hint


@pytest.mark.parametrize("unknown", [{}, {"machine_id": {"unreadable": "x"}}, {"machine_id": ""}])
def test_unknown_identity_compares_processor(unknown: Json) -> None:
    same = Before("a", metadata_with(), machine(identity=unknown))
    assert changes(same) == ()
    other = machine(identity=unknown, processor={"info": {"model_name": "Cpu 2"}, "online": 8})
    with pytest.raises(RefusedError, match="another machine"):
        changes(Before("a", metadata_with(), other))
    assert changes(Before("a", metadata_with(), {})) == ()  # a file that says nothing: nobody knows


def test_more_memory_or_other_kernel_reported() -> None:
    before = machine(memory={"info": {"MemTotal": 4 * 2**30}}, kernel={"release": "5.10"})
    first, second = changes(Before("a", metadata_with(), before))
    assert "4 GiB" in first
    assert "8 GiB" in first
    assert "5.10 then, 6.1 now" in second


def test_other_server_and_program_versions() -> None:
    before = Before("a", metadata_with(program_version="0.0.1"), machine())
    server, program = changes(before, here(version="18.0"))
    assert "Earlier runs used PostgreSQL 17.1; the remaining ones use 18.0" in server
    assert f"pgFooting 0.0.1; the remaining ones use {VERSION}" in program


def test_clock_set_back_reported() -> None:
    (sentence,) = changes(Before("a", metadata_with(), machine()), now=NOW - 3600)
    assert "clock was set back" in sentence


@pytest.mark.parametrize(
    "other",
    [
        replace(DISK, serial="S2"),
        replace(DISK, wwn="wwn-2"),
        replace(DISK, wwn=None),
        replace(DISK, model="Slow"),
        replace(DISK, size_bytes=10**12 + 512),
    ],
)
def test_replaced_disk_refused(other: DiskIdentity) -> None:
    before = Before("a", metadata_with(target=TargetMetadata(plan=PLAN)), machine())
    plan = replace(PLAN, data=replace(PLAN.data, disks=(other,)))
    with pytest.raises(RefusedError, match="no disk was touched") as refused:
        changes(before, here(plan=plan))
    assert "started with Fast S1" in refused.value.message


def test_missing_disk_refused_recabled_accepted() -> None:
    two = replace(PLAN, data=replace(PLAN.data, disks=(DISK, replace(DISK, serial="S2")), level=Level.MIRROR))
    before = Before("a", metadata_with(target=TargetMetadata(plan=two)), machine())
    with pytest.raises(RefusedError, match="found now: none"):
        changes(before, here(plan=PLAN))
    moved = replace(DISK, device_number="8:64", diskseq=99)
    plan = replace(PLAN, data=replace(PLAN.data, disks=(moved,)))
    assert (
        changes(Before("a", metadata_with(target=TargetMetadata(plan=PLAN)), machine()), here(plan=plan))
        == ()
    )


def test_folder_on_other_filesystem_refused(tmp_path: Path) -> None:
    mount = mount_of(str(tmp_path))
    storage: Facts = {"mount": {"filesystem": mount.filesystem, "mount_point": mount.mount_point}}
    assert changes(Before("a", metadata_with(), machine(storage=storage)), here(path=str(tmp_path))) == ()
    storage = {"mount": {"filesystem": "xfs", "mount_point": "/srv/fast"}}
    with pytest.raises(RefusedError, match="was on xfs at /srv/fast") as refused:
        changes(Before("a", metadata_with(), machine(storage=storage)), here(path=str(tmp_path)))
    assert "Mount" in refused.value.hint
    assert changes(Before("a", metadata_with(), machine(storage={})), here(path=str(tmp_path))) == ()


def test_newest_done_run_per_configuration(tmp_path: Path) -> None:
    paths = [
        write_trial(
            tmp_path / f"{name}.footing", Trial(configuration=name[0], more={"program_version": name})
        )
        for name in ("a1", "b1", "a2")
    ]
    results = [
        RunResult(
            cast("Any", SimpleNamespace(configuration=SimpleNamespace(name=path.stem[0]))),
            RunState.DONE,
            str(path),
            {},
        )
        for path in paths
    ]
    lost = replace(results[1], path=str(tmp_path / "gone.footing"))
    runs = BegunRuns({1: [results[0]], 2: [results[1]], 3: [results[2]]})
    assert {each.name: each.metadata.program_version for each in read_before(runs)} == {"a": "a2", "b": "b1"}
    assert [each.name for each in read_before(BegunRuns({1: [results[0]], 2: [lost]}))] == ["a"]


def test_machine_identity_is_hashed(tmp_path: Path) -> None:
    path = tmp_path / "machine-id"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    one = identity_facts(path)["machine_id"]
    assert isinstance(one, str)
    assert len(one) == 32
    assert "01234567" not in one
    path.write_text("0123456789abcdef0123456789abcdee\n")
    assert identity_facts(path)["machine_id"] != one
    for text in ("", "uninitialized", "0" * 32, "ff"):
        path.write_text(text)
        assert isinstance(identity_facts(path)["machine_id"], dict)
    assert set(machine_now()) == {"kernel", "processor", "memory", "identity"}


# --- servers of others

SERVER = ServerMetadata(host_name="db:5432", version="17.1", system_identifier="7123")


def on_server(facts: Facts | None = None, **changes: str) -> Before:
    target = TargetMetadata(kind="server", server=replace(SERVER, **changes))  # type: ignore[arg-type]
    return Before("a", metadata_with(target=target), machine() if facts is None else facts)


def there(**changes: str) -> ServerLook:
    return replace(LOOK, **{"version": "17.1", "system_identifier": "7123", **changes})  # type: ignore[arg-type]


def test_same_server_without_identity_is_silent() -> None:
    assert server_changes(on_server(), there(), None) == ()
    assert server_changes(on_server(system_identifier=""), there(), None) == ()
    assert server_changes(on_server(), there(system_identifier=""), None) == ()
    assert server_changes(Before("a", metadata_with(), machine()), there(system_identifier="9"), None) == ()


def test_other_server_refused_other_version_reported() -> None:
    with pytest.raises(RefusedError, match=r"system_identifier.*7123 then, 9 now") as refused:
        server_changes(on_server(), there(system_identifier="9"), None)
    assert "--resume" in refused.value.hint
    (sentence,) = server_changes(on_server(), there(version="17.2"), None)
    assert "Earlier runs used PostgreSQL 17.1; the remaining ones use 17.2" in sentence


def elsewhere(machine_id: str = "bb", filesystem: str = "zfs", release: str = "14.1") -> Facts:
    """The machine of a server, as ssh tells it."""
    return machine(
        kernel={"release": release},
        identity={"machine_id": machine_id},
        reached={"over": "ssh"},
        storage={"mount": {"filesystem": filesystem, "mount_point": "/tank"}},
    )


def test_server_machine_compared_with_itself() -> None:
    before = on_server(elsewhere())
    assert changes(before, here(path="", version="15.18")) == ()
    same = read_environment_facts(elsewhere(release="14.2"))
    (sentence,) = server_changes(before, there(), same)
    assert "14.1 then, 14.2 now" in sentence
    for other, words in (
        (elsewhere(machine_id="cc"), "machine"),
        (
            elsewhere(filesystem="ufs"),
            "filesystem.* zfs then, ufs now",
        ),
    ):
        with pytest.raises(RefusedError, match=words):
            server_changes(before, there(), read_environment_facts(other))
    not_asked = read_environment_facts({"reached": {"over": "ssh", "unreadable": "no key"}})
    assert server_changes(before, there(), not_asked) == ()


def test_unasked_server_machine_compares_local() -> None:
    with pytest.raises(RefusedError, match="another machine"):
        changes(on_server(machine(identity={"machine_id": "bb"})), here(path=""))

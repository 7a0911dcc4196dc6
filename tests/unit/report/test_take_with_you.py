"""The configuration that won, as it is typed: what is taken, what is said beside each line, what never."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from app.domain.filesystems import FILESYSTEMS
from app.domain.json_value import Json
from app.domain.options.raid import Level
from app.domain.run import RunState
from app.domain.storage_plan.plan import Group, Scheduler, StoragePlan
from app.report.blocks import TextRole
from app.report.findings import Findings
from app.report.report import read_findings, read_report
from app.report.take_with_you import TakenConfiguration, storage_commands, take_with_you, taken_text, winners
from app.runfile.metadata.safety import NOT_DURABLE
from tests.fix_report import UNSAFE, Case, write_cases
from tests.fix_runs import Shape
from tests.unit.report.test_report_content import texts, words
from tests.unit.storage.plans import disks


def settings(**values: str) -> tuple[str, Json]:
    return "settings", [{"name": name, "value": value, "origin": "user"} for name, value in values.items()]


def three_times(*cases: Case) -> list[Case]:
    return [dataclasses.replace(case, repeat=repeat) for repeat in range(3) for case in cases]


def taken(found: Findings) -> TakenConfiguration:
    [found_one] = take_with_you(found)
    return found_one


def part(one: TakenConfiguration, heading: str) -> str:
    [lines] = [each.lines for each in one.parts if each.heading.startswith(heading)]
    return "\n".join(lines)


def test_fastest_safe_names_faster_unsafe(tmp_path: Path) -> None:
    cases = three_times(
        Case("nobarrier", shape=Shape(20, 6000), marks=(UNSAFE,)),
        Case("ext4", shape=Shape(20, 5000)),
        Case("memory", shape=Shape(20, 9000), marks=((NOT_DURABLE, "it is in memory"),)),
    )
    found = read_findings(write_cases(tmp_path, cases))
    one = taken(found)
    assert one.name.endswith("ext4")
    faster = [sentence for sentence in one.sentences if "had a higher mean but is not used" in sentence]
    assert [sentence.split()[0] for sentence in faster] == ["nobarrier", "memory"]
    assert not one.warnings
    assert "without unsafe options" in one.sentences[-1]


def test_long_names_stay_apart(tmp_path: Path) -> None:
    """They differ only behind the letters that a sentence has room for."""
    name = "full_page_writes on, wal_compression lz4, clients {}"
    cases = three_times(
        Case(name.format("2"), shape=Shape(20, 6000), marks=(UNSAFE,)),
        Case(name.format("8"), shape=Shape(20, 5000)),
    )
    sentences = taken(read_findings(write_cases(tmp_path, cases))).sentences
    [faster] = [each for each in sentences if "had a higher mean but is not used" in each]
    assert faster.split(" had ")[0] == "clients 2"


def test_no_safe_choice_states_cost(tmp_path: Path) -> None:
    cases = three_times(Case("nobarrier", shape=Shape(20, 6000), marks=(UNSAFE,)))
    one = taken(read_findings(write_cases(tmp_path, cases)))
    assert one.warnings == (UNSAFE[1],)
    assert not [sentence for sentence in one.sentences if "without unsafe" in sentence]
    assert UNSAFE[1] in one.as_text()


def test_no_result_nothing_to_take(tmp_path: Path) -> None:
    paths = write_cases(tmp_path, [Case("a", shape=Shape(12, 5000), state=RunState.FAILED)])
    found = read_findings(paths)
    assert winners(found) == ()
    assert take_with_you(found) == ()
    assert "Winning setup" not in list(words(read_report(paths)))


READ, WRITE = (("workload", {"label": label, "clients": 4}) for label in ("select-only", "tpcb-like"))


def two_scripts(**tps: tuple[int, int]) -> list[Case]:
    """Return three runs of each filesystem with TPS of reads and of writes."""
    return three_times(
        *(
            Case(f"{filesystem} {kind[1]['label']}", 0, Shape(20, speed), filesystem, values=(kind,))
            for filesystem, speeds in tps.items()
            for kind, speed in zip((READ, WRITE), speeds, strict=True)
        )
    )


def test_first_page_answers_each_condition(tmp_path: Path) -> None:
    report = read_report(write_cases(tmp_path, two_scripts(ext4=(5000, 4000), btrfs=(6000, 1600))))
    [answer] = texts(report, TextRole.ANSWER)
    reading, writing = answer.split("tpcb-like: ")
    assert reading.startswith("select-only: btrfs")
    assert "faster than ext4" in reading
    assert writing.startswith("btrfs")
    assert "slower than ext4" in writing


def test_loser_of_one_condition_not_recommended(tmp_path: Path) -> None:
    """What reads fastest writes slowest."""
    found = read_findings(write_cases(tmp_path, two_scripts(ext4=(5000, 4000), btrfs=(6000, 1600))))
    reading, writing = take_with_you(found)
    assert (reading.name.split(), writing.name.split()) == (
        ["btrfs", "select-only"],
        ["ext4", "tpcb-like"],
    )
    assert reading.sentences[0].startswith("For select-only: ")
    assert taken_text(found).count("Winning setup") == 2


def test_winner_of_all_conditions_recommended(tmp_path: Path) -> None:
    found = read_findings(write_cases(tmp_path, two_scripts(ext4=(5000, 4000), btrfs=(4000, 1600))))
    [one] = take_with_you(found)
    assert one.name.split()[0] == "ext4"
    assert {sentences.split(":")[0] for sentences in one.sentences[:-1]} == {"select-only", "tpcb-like"}


def test_condition_without_a_result_is_not_counted(tmp_path: Path) -> None:
    failed = Case("zfs", 0, Shape(20, 5000), "zfs", state=RunState.FAILED, values=(("scale", 7),))
    cases = [*two_scripts(ext4=(5000, 4000), btrfs=(4000, 1600)), failed]
    found = read_findings(write_cases(tmp_path, cases))
    assert len(found.conditions) == 3
    [one] = take_with_you(found)
    assert one.name.split()[0] == "ext4"
    assert "under every condition" not in one.as_text()


def test_kept_rate_is_no_condition_to_win(tmp_path: Path) -> None:
    """What is the fastest is so whatever noise says at a rate that all kept."""
    loads: list[dict[str, Json]] = [
        {"label": "tpcb-like", "clients": 4, "rate_tps": rate} for rate in (None, 1900.0)
    ]
    cases = three_times(
        *(
            Case(f"{filesystem} {kind}", 0, Shape(20, tps), filesystem, values=(("workload", load),))
            for kind, load, speeds in zip(("fast", "rate"), loads, ((5000, 4000), (2000, 2030)), strict=True)
            for filesystem, tps in zip(("ext4", "btrfs"), speeds, strict=True)
        )
    )
    found = read_findings(write_cases(tmp_path, cases))
    assert sorted(row.load.kept or False for each in found.conditions for row in each.part.rows) == (
        [False, False, True, True]
    )
    [one] = take_with_you(found)
    assert one.name.split() == ["ext4", "fast"]
    only = read_findings(
        write_cases(tmp_path / "only", [each for each in cases if "rate" in each.configuration])
    )
    assert "not proven to be the fastest" in taken(only).sentences[-1]


@pytest.mark.parametrize(("count", "is_proved"), [(1, False), (3, True)])
def test_highest_mean_not_proved_by_few(tmp_path: Path, count: int, *, is_proved: bool) -> None:
    cases = two_scripts(ext4=(5000, 4000), btrfs=(6000, 1600))
    found = read_findings(write_cases(tmp_path, [each for each in cases if each.repeat < count]))
    for one in take_with_you(found):
        assert (
            "no configuration is among the fastest under every condition" in one.sentences[0]
        ) is is_proved
        assert ("not proven to be the fastest" in one.sentences[-1]) is not is_proved
        assert one.sentences[-1].startswith("Among the fastest of") is is_proved


def test_single_run_recommendation_indicative(tmp_path: Path) -> None:
    one = taken(read_findings(write_cases(tmp_path, [Case(shape=Shape(12, 5000))])))
    assert "indicative only" in one.sentences[0]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("8GB", "work_mem = 8GB"),
        ("on", "work_mem = on"),
        ("it's", "work_mem = 'it''s'"),
        ("a b\nfsync = off", "work_mem = 'a b fsync = off'"),
        ("", "work_mem = ''"),
        ("x # y", "work_mem = 'x # y'"),
    ],
)
def test_settings_written_as_server_reads(tmp_path: Path, value: str, line: str) -> None:
    [path] = write_cases(tmp_path, [Case(shape=Shape(12, 5000), values=(settings(work_mem=value),))])
    assert part(taken(read_findings([path])), "postgresql.conf").splitlines()[-1] == line


def test_names_of_others_end_no_comment(tmp_path: Path) -> None:
    name = "ext4\nrm -rf /srv\r\u2028reboot"
    text = taken(read_findings(write_cases(tmp_path, [Case(name, shape=Shape(12, 5000))]))).as_text()
    assert not [line for line in text.splitlines() if line.strip().startswith(("rm", "reboot"))]


def plan(spec_id: str, level: Level, *, count: int = 4) -> StoragePlan:
    return StoragePlan(Group(disks(count), level, spec_id))


@pytest.mark.parametrize(
    ("spec_id", "level"), [(spec.id, level) for spec in FILESYSTEMS for level in spec.levels]
)
def test_filesystem_and_level_commands_portable(spec_id: str, level: Level) -> None:
    made = storage_commands(plan(spec_id, level, count=1 if level is Level.SINGLE else 4))
    text = "\n".join((*made.commands, *made.fstab))
    assert not [word for word in ("@", "session", "pgfooting", "00000000") if word in text]
    assert [line for line in made.fstab if f"  /srv/pgdata  {spec_id}  " in line]
    for line in made.commands:
        if not line.startswith("#"):
            shlex.split(line.partition("   #")[0])
    used = [line for line in made.commands if '"$DISK1"' in line]
    assert used, "the first disk is used"


def test_array_with_separate_wal_commands() -> None:
    known = disks(6)
    made = storage_commands(
        StoragePlan(
            Group(known[:4], Level.RAID10, "xfs", scheduler=Scheduler.NONE, read_ahead_bytes=4 << 20),
            wal=Group(known[4:], Level.MIRROR, "ext4", (("barrier", False),), partition_bytes=16 << 30),
        )
    )
    text = "\n".join(made.commands)
    assert "mdadm --create /dev/md/pgdata --metadata=1.2 --name=pgdata --level=raid10" in text
    assert '"$DISK5" "$DISK6"' in text
    assert 'ATTR{queue/scheduler}="none", ATTR{queue/read_ahead_kb}="4096"' in text
    assert "# /srv/pgwal: measured on a partition of 16 GiB at the beginning of each disk" in text
    assert made.fstab == (
        "UUID=$UUID_DATA  /srv/pgdata  xfs  defaults  0 0",
        "UUID=$UUID_WAL  /srv/pgwal  ext4  errors=remount-ro,nobarrier  0 2",
    )


def test_no_serial_number_is_taken_along() -> None:
    made = storage_commands(plan("ext4", Level.RAID10))
    text = "\n".join(made.commands)
    assert all(disk.serial not in text and str(disk.wwn) not in text for disk in disks(4))

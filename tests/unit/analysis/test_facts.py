from __future__ import annotations

from pathlib import Path

import pytest

from app.analysis.facts import command_line, read_run_facts
from app.analysis.properties import LABELS
from app.comparison.comparison import compare_runs
from app.comparison.differences import Variant, find_differences
from app.domain.errors import CorruptRunFileError
from app.domain.json_value import Json
from app.domain.run import RunState
from app.domain.step_progress import ROOT_STEP
from app.domain.text import tr
from app.process.starter import CommandOutcome
from app.runfile.finalize import finish_run_file
from app.runfile.reader import CommandRecord
from tests.fix_window import Trial, begin_trial, write_bad_files, write_campaign, write_trial


def test_properties_by_topic(tmp_path: Path) -> None:
    path = write_trial(tmp_path / "a.footing", Trial(settings=(("fsync", "off"),)))
    values = {(item.topic, item.name): item.value for item in read_run_facts(path).properties}
    assert values["Target", "kind"] == "folder"
    assert values["Target", "filesystem"] == "ext4"
    assert values["Target", "mount options"] == "rw,noatime"
    assert values["Workload", "clients"] == "4"
    assert values["Workload", "data"] == "191 MiB"
    assert values["PostgreSQL", "version"] == "15.18"
    assert values["Setting", "fsync"] == "off"
    assert values["Machine", "kernel"] == "6.1"


def test_properties_have_value_unique_name(tmp_path: Path) -> None:
    facts = read_run_facts(write_trial(tmp_path / "a.footing", Trial()))
    assert all(item.value for item in facts.properties)
    keys = [(item.topic, item.name) for item in facts.properties]
    assert len(keys) == len(set(keys))


def test_protocol_label_translatable() -> None:
    assert LABELS["protocol"] == tr("protocol")


def test_root_steps_among_commands(tmp_path: Path) -> None:
    path = tmp_path / "a.footing"
    writer = begin_trial(path, Trial())
    with writer.transaction():
        for number, program in enumerate(("umount", "rmdir")):
            argv = (f"/usr/bin/{program}", "/run/a b")
            writer.add_command(CommandOutcome(argv, "root", 10.0 * number, 0.5, number, "", ""))
        for kind, message in ((ROOT_STEP, "/dev/sdb1: our signature (ext4) is wiped"), ("note", "hot")):
            writer.add_event(writer.t_ms(5.0), kind, message)
    writer.close()
    finish_run_file(path, RunState.DONE, {})
    commands = read_run_facts(path).commands
    assert [(each.account, each.exit_code, command_line(each)) for each in commands] == [
        ("root", 0, "/usr/bin/umount '/run/a b'"),
        ("root", None, "# /dev/sdb1: our signature [ext4] is wiped"),
        ("root", 1, "/usr/bin/rmdir '/run/a b'"),
    ]


@pytest.mark.parametrize("exit_code", [None, 0])
def test_line_breaks_stay_in_the_comment(exit_code: int | None) -> None:
    argv = ("module", "do_this\nrm -rf ~", '{"path": "/a\nrm -rf ~"}')
    found = command_line(CommandRecord(0, 0, "root", argv, exit_code, "", ""))
    assert found.startswith("# ")
    assert "\n" not in found


def test_the_environment_is_flat_with_dotted_names(tmp_path: Path) -> None:
    facts = read_run_facts(write_trial(tmp_path / "a.footing", Trial()))
    assert ("storage.mount.filesystem", "ext4") in facts.environment
    assert ("kernel.release", "6.1") in facts.environment


def test_unexpected_value_types(tmp_path: Path) -> None:
    more: dict[str, Json] = {
        "workload": ["no", "table"],
        "settings": {"a": 1},
        "target": 5,
        "repeat": "x",
        "error": "late",
    }
    facts = read_run_facts(write_trial(tmp_path / "a.footing", Trial(more=more)))
    assert facts.repeat == 0
    assert facts.error == ""
    assert "Workload" not in {item.topic for item in facts.properties if item.name == "clients"}


def test_a_value_without_end_is_cut(tmp_path: Path) -> None:
    target = {"kind": "x" * 100_000}
    facts = read_run_facts(write_trial(tmp_path / "a.footing", Trial(more={"target": target})))
    assert max(len(item.value) for item in facts.properties) <= 2000


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    error = {"code": "server", "message": "The server died.", "hint": "Look at its log."}
    trial = Trial(state=RunState.FAILED, more={"error": error})
    facts = read_run_facts(write_trial(tmp_path / "a.footing", trial))
    assert (facts.state, facts.error) == ("failed", "The server died. Look at its log.")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptRunFileError):
        read_run_facts(write_bad_files(tmp_path)["cut"])


def test_differences_group_equal_values(tmp_path: Path) -> None:
    runs = [read_run_facts(path) for path in write_campaign(tmp_path)]
    found = find_differences(runs)
    assert [(item.topic, item.name) for item in found] == [("Target", "filesystem")]
    assert found[0].variants == (Variant("ext4", (0, 2, 4)), Variant("xfs", (1, 3, 5)))


def test_missing_value_is_difference(tmp_path: Path) -> None:
    plain = read_run_facts(write_trial(tmp_path / "a.footing", Trial()))
    changed = read_run_facts(write_trial(tmp_path / "b.footing", Trial(settings=(("fsync", "off"),))))
    assert find_differences([plain, changed])[0].variants == (Variant("not set", (0,)), Variant("off", (1,)))


def test_one_run_or_none_has_no_differences(tmp_path: Path) -> None:
    assert find_differences([]) == ()
    assert find_differences([read_run_facts(write_trial(tmp_path / "a.footing", Trial()))]) == ()


def test_stopped_run_not_in_verdict(tmp_path: Path) -> None:
    paths = write_campaign(tmp_path)
    stopped = Trial("xfs #4", "xfs", 3, state=RunState.STOPPED, tps=1.0, filesystem="xfs")
    paths.append(write_trial(tmp_path / "one" / "06-xfs.footing", stopped))
    rows = compare_runs([read_run_facts(path) for path in paths]).rows
    assert (rows[1].runs, rows[1].failed) == (3, 1)

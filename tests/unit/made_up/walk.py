"""What every room makes of a filesystem that is one file and one line; run by `test_made_up_filesystem`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from app.analysis.properties import properties_of
from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.cli.doctor.doctor import versions_as_json
from app.comparison.differences import compare_properties
from app.domain.campaign.configuration import Campaign, Configuration, DiskTarget
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Role, StoragePlan, plan_as_mapping
from app.domain.storage_plan.reader import parse_plan, plan_from_wire, plan_to_wire
from app.domain.text import GIB
from app.draft.commands import devices_of, making_lines, plan_of
from app.draft.disks.filesystems import (
    choose_filesystem,
    circumstances,
    filesystem_cards,
    options_page,
    set_option,
)
from app.draft.disks.table import StorageFacts, assign
from app.draft.disks.target import read_target
from app.draft.fields.state import DisksDraft
from app.execution.run_description import describe_target
from app.importers.formats.storage_texts import read_storage
from app.probes.sources.processes import family_of
from app.runfile.metadata.environment import read_environment_facts
from app.storage.checks.readback import ReadBackError, read_back
from app.storage.layout.commands import build_steps
from app.storage.layout.conditions import SignatureIs
from app.storage.layout.disk_target import Support, filesystem_availability
from app.storage.layout.steps import ReadBack
from app.storage.system import state
from app.storage.system.programs import CompletedProgram
from app.storage.wiping.found import place_of
from tests.known_runs import WHOLE
from tests.made_disks import SPARE, everything_works, listing
from tests.unit.made_up.filesystem import MADE_UP
from tests.unit.storage.plans import FOLDER, NAMES

FACTS = StorageFacts(listing(), everything_works())
KEYS = tuple(disk.identity.key() for disk in SPARE[:2])


def chosen_in_the_wizard(options: Mapping[str, str]) -> DisksDraft:
    disks = DisksDraft()
    for key in KEYS:
        assign(disks, key, Role.DATA)
    made = disks.data.made
    made.level = Level.STRIPE
    choose_filesystem(made, "madeup")
    for name, text in options.items():
        set_option(made, MADE_UP.option(name), text)
    return disks


def target_of(**options: str) -> DiskTarget:
    found = read_target(chosen_in_the_wizard(options))
    assert found.problems == []
    assert found.target
    return found.target


def plan(**options: str) -> StoragePlan:
    found = plan_of(target_of(**options), SPARE, GIB)
    assert found
    return found


def test_wizard_offers_options() -> None:
    disks = chosen_in_the_wizard({})
    (card,) = (each for each in filesystem_cards(disks.data, disks.data.made, FACTS) if each.id == "madeup")
    assert (card.label, card.obstacles) == ("MadeUpFS", ())
    page = options_page(disks.data.made, circumstances(disks, FACTS, {}))
    assert {"Pace", "Unit"} <= {row.option.label for row in page.rows}


def test_wizard_applies_its_rule() -> None:
    found = read_target(chosen_in_the_wizard({"pace": "fast", "unit_bytes": "1 KiB"}))
    assert [each.message for each in found.problems] == ["Small units are slow."]


def test_missing_on_machine_has_remedy() -> None:
    support = Support("6.1.0", registered=frozenset())
    reasons = filesystem_availability(MADE_UP, support).reasons
    assert {"madeup-dkms", "madeup-progs"} <= {each.package for each in reasons}


def test_program_version() -> None:
    component = MADE_UP.programs[0].component
    assert component
    assert versions_as_json(Support("6.1.0", None, versions={component: (1, 2)})) == {"madeup-progs": "1.2"}


def test_a_campaign_file_holds_it() -> None:
    target = target_of(pace="fast")
    text = format_campaign(Campaign("c", (Configuration("one", target),)))
    read = parse_campaign(text, base_directory="/", source_name="text")
    assert read.configurations[0].target == target


def test_plan_round_trips_over_bus() -> None:
    made = plan(unit_bytes="8 KiB")
    assert plan_from_wire(*json.loads(json.dumps(plan_to_wire(made)))) == made
    assert parse_plan(json.loads(json.dumps(plan_as_mapping(made)))) == made


def test_wizard_shows_root_commands() -> None:
    lines = making_lines(plan(unit_bytes="8 KiB", pace="fast"), SPARE)
    (mkfs,) = (line for line in lines if "mkfs.madeup" in line)
    assert "mkfs.madeup --uuid UUID -u 8192 --chunk 524288 /dev/md/" in mkfs
    (mount,) = (line for line in lines if "mount" in line and "madeup" in line)
    assert "pace=fast" in mount
    assert "nosuid" in mount


@pytest.mark.parametrize(
    ("mounted", "shown", "differing"),
    [
        ("pace=fast", "unit=8192 chunk=524288", set()),
        ("noatime", "unit=8192 chunk=524288", {"pace"}),
        ("pace=fast", "unit=4096 chunk=65536", {"unit_bytes", "alignment"}),
    ],
)
def test_it_is_read_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mounted: str, shown: str, differing: set[str]
) -> None:
    made = plan(unit_bytes="8 KiB", pace="fast")
    steps = build_steps(made, devices_of(made, SPARE), NAMES, FOLDER)
    (step,) = (each for each in steps if isinstance(each, ReadBack))
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text(
        f"43 27 7:0 / {step.folder} rw,nosuid,nodev - madeup {step.node} rw,{mounted}\n"
    )
    monkeypatch.setattr(state, "PROC", tmp_path)

    def run(argv: Sequence[str]) -> CompletedProgram:
        assert list(argv) == ["madeup-show", step.node]
        return CompletedProgram(tuple(argv), 0, shown, "", 0.0)

    found: set[str] = set()
    try:
        read_back(step, run)
    except ReadBackError as err:
        found = {each.option for each in err.differences}
    assert found == differing


def test_wipe_covers_superblock() -> None:
    signature = SignatureIs("/dev/sdb1", "madeup", str(UUID(int=1)))
    assert place_of(signature.type) is MADE_UP.superblock


def test_what_differs_tells_its_options() -> None:
    runs = [
        replace(WHOLE, target=describe_target(target_of(**options), plan(**options)))
        for options in ({}, {"unit_bytes": "8 KiB"})
    ]
    found = compare_properties([tuple(properties_of(run, read_environment_facts({}))) for run in runs])
    assert [each.name for each in found.differences] == ["MadeUpFS Unit"]


def test_published_results_and_kernel_threads() -> None:
    found = read_storage("/dev/sdb1 on /mnt type madeup (rw,pace=fast)\n")
    assert found
    assert found.filesystem == "madeup"
    assert family_of("madeup_commit") == "madeup"

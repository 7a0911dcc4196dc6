"""Phases in the wizard's fields: every key of every phase arrives, is kept and is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.campaign_file.fields import PHASE_FIELDS
from app.campaign_file.reader import load_campaign, parse_campaign
from app.campaign_file.recipes.head import RECIPES
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    MemoryTarget,
    Protocol,
    RateShare,
    Script,
    Workload,
    WorkloadPhase,
)
from app.domain.text import MIB
from app.draft.builder import build
from app.draft.fields.phases import (
    PHASE_COLUMNS,
    PlannedPhase,
    new_phase,
    phase_part,
    phase_rows,
    raw_phase,
    scripts_words,
    shown_columns,
)
from app.draft.fields.state import (
    OWN_SCRIPTS,
    PHASES,
    DraftParts,
    PhaseDraft,
    ScriptDraft,
    Step,
    put,
    step_of,
)
from app.draft.from_campaign import first_parts, parts_of

READS = WorkloadPhase("reads")
OTHERWISE: dict[str, object] = {
    "name": "another name, with a comma",
    "times": 3,
    "counts": False,
    "scripts": (Script(BuiltinScript.SELECT_ONLY, weight=3), Script(BuiltinScript.TPCB_LIKE)),
    "clients": 2,
    "threads": 2,
    "duration_s": 5400,
    "transactions": 70,
    "protocol": Protocol.SIMPLE,
    "rate": RateShare(12.5, "reads"),
    "latency_limit_ms": 1.5,
    "maintenance": ("vacuum", "checkpoint"),
    "background": "pg_basebackup",
    "max_rate_bytes": 10 * MIB,
}


def with_phases(*phases: WorkloadPhase) -> Campaign:
    return Campaign("x", (Configuration("a", MemoryTarget(), workload=Workload(phases=phases)),))


def problems_of(*phases: PhaseDraft) -> list[tuple[str, str]]:
    parts = first_parts()
    parts.phases = list(phases)
    found = build(parts, {}).problems
    assert {step_of(each.path) for each in found} <= {Step.WORKLOAD}
    return [(each.path, each.message) for each in found]


NEEDED: dict[str, dict[str, object]] = {"max_rate_bytes": {"background": "pg_basebackup"}}
"""What a phase has to say as well."""
OF_SPARE_DISKS = {"every_s"}


def test_snapshot_interval_round_trip() -> None:
    phase = WorkloadPhase("a", background="snapshot", every_s=300)
    assert raw_phase(phase_part(phase)) == {"name": "a", "background": "snapshot", "every": "300s"}
    (row,) = (each for each in PHASE_COLUMNS if each.id == "background")
    assert row.cell(PlannedPhase(phase_part(phase), {})) == "snapshot"


@pytest.mark.parametrize(
    "attribute", [field.attribute for field in PHASE_FIELDS if field.attribute not in OF_SPARE_DISKS]
)
def test_phase_round_trip(attribute: str) -> None:
    said = {attribute: OTHERWISE[attribute], **NEEDED.get(attribute, {})}
    second = replace(WorkloadPhase("second"), **said)  # type: ignore[arg-type]
    campaign = with_phases(READS, second)
    parts = parts_of(campaign)
    assert build(parts, {}).problems == ()
    made = build(parts, {}).campaign
    assert made == campaign
    assert made is not None
    assert parse_campaign(format_campaign(made), base_directory="/", source_name="x") == campaign
    plain, found = ([column.cell(row) for column in PHASE_COLUMNS] for row in phase_rows(parts))
    assert found[1:] != plain[1:] or attribute == "name"  # it stands in the table


@pytest.mark.parametrize("name", ["lentfer-2009", "vondra-2023-rate"])
def test_recipe_phases_in_draft(name: str) -> None:
    phases = load_campaign(RECIPES / f"{name}.toml").configurations[0].workload.phases
    assert [phase_part(each) for each in phases] == parts_of(with_phases(*phases)).phases
    assert len(phases) > 1


def test_number_reads_as_rate() -> None:
    assert raw_phase(PhaseDraft({"name": "a", "rate": "12.5", "times": "2"})) == {
        "name": "a",
        "times": 2,
        "rate": 12.5,
    }


@pytest.mark.parametrize(
    ("texts", "path", "says"),
    [
        ({"name": ""}, "workload.phase[2].name", "its own name"),
        ({"name": "reads"}, "workload.phase[2].name", "names must differ"),
        ({"name": "b", "times": "0"}, "workload.phase[2].times", "Found 0"),
        ({"name": "b", "times": "often"}, "workload.phase[2].times", "whole number"),
        ({"name": "b", "clients": "-1"}, "workload.phase[2].clients", "Found -1"),
        ({"name": "b", "rate": "70 % of writes"}, "workload.phase[2].rate", "earlier: reads"),
        ({"name": "b", "rate": "a lot"}, "workload.phase[2].rate", "a share of an earlier phase's TPS"),
        ({"name": "b", "maintenance": "rm"}, "workload.phase[2].maintenance[1]", "one of"),
        ({"name": "b", "background": "x"}, "workload.phase[2].background", "one of"),
        ({"name": "b", "max_rate": "1 MiB"}, "workload.phase[2].max_rate", "pg_basebackup"),
        ({"name": "b", "protocol": "x"}, "workload.phase[2].protocol", "one of"),
        ({"name": "b", "duration": "5s", "transactions": "4"}, "workload.phase[2]", "“transactions”"),
        ({"name": "b", "threads": "5"}, "workload.phase[2].threads", "the number of clients"),
    ],
)
def test_phase_errors_at_field(texts: dict[str, str], path: str, says: str) -> None:
    found = problems_of(PhaseDraft({"name": "reads"}), PhaseDraft(texts))
    assert [place for place, _ in found] == [path]
    assert says in found[0][1]
    assert found[0][1][0].isupper() or found[0][1].startswith("“")


def test_no_compared_phase() -> None:
    assert problems_of(PhaseDraft({"name": "a", "counts": "false"})) == [
        (PHASES, "No phase is compared: set counts = true for at least one.")
    ]


def test_root_action_without_disks_at_field() -> None:
    found = problems_of(PhaseDraft({"name": "a", "maintenance": "checkpoint, fstrim"}))
    assert {path for path, _ in found} == {"workload.phase[1].maintenance[2]"}
    assert {message.partition(":")[0] for _, message in found} == {"“folder”", "“memory”"}
    assert all("needs root and spare disks" in message for _, message in found)


def test_cold_caches_with_phases_at_caches() -> None:
    parts = first_parts()
    parts.configurations[1].chosen = False
    parts.phases = [PhaseDraft({"name": "a"})]
    parts.values |= {"workload.caches": "cold", "workload.warmup": "0"}
    assert [each.path for each in build(parts, {}).problems] == ["workload.caches"]


@pytest.mark.parametrize(
    ("values", "path", "says"),
    [
        ({"design": "fixed", "precision": "2"}, "precision", "can only be used with design = “sequential”"),
        ({"design": "sequential", "repeats": "3"}, "repeats", "at least 4"),
        (
            {"design": "sequential", "workload.rate": "100"},
            "design",
            ("which needs two or more configurations with the same workload and memory limit, and no rate"),
        ),
        ({"design": "sequential", "precision": "0"}, "precision", "Found 0"),
    ],
)
def test_design_conflict_at_field(values: dict[str, str], path: str, says: str) -> None:
    parts = first_parts()
    parts.values |= values
    found = build(parts, {}).problems
    assert [each.path for each in found] == [path]
    assert step_of(path) is Step.WORKLOAD
    assert says in found[0].message


def test_sequential_design_with_precision() -> None:
    parts: DraftParts = first_parts()
    parts.values |= {"design": "sequential", "precision": "2.5"}
    made = build(parts, {}).campaign
    assert made is not None
    assert (made.design.value, made.precision, made.repeats) == ("sequential", 2.5, 10)
    assert build(parts_of(made), {}).campaign == made


def test_new_phases_have_names_of_their_own() -> None:
    phases: list[PhaseDraft] = []
    for _ in range(3):
        phases.insert(0, new_phase(phases))
    phases[1].texts["name"] = "phase 1"
    assert [each.texts["name"] for each in phases] == ["phase 3", "phase 1", "phase 1"]
    assert new_phase(phases).texts["name"] == "phase 2"


def rows_of(*texts: dict[str, str], scripts: list[ScriptDraft] | None = None) -> list[dict[str, str]]:
    parts = first_parts()
    parts.phases = [PhaseDraft(each) for each in texts]
    if scripts:
        parts.values["workload.script"], parts.scripts = OWN_SCRIPTS, scripts
        put(parts.values, "workload.transactions", "10000")
    rows = phase_rows(parts)
    return [{column.id: column.cell(row) for column in shown_columns(rows)} for row in rows]


def test_phase_table_without_empty_columns() -> None:
    usual = {"times": "1", "script": "tpcb-like", "clients": "4", "length": "30s", "counts": "yes"}
    assert rows_of({"name": "a"}) == [{"name": "a", **usual}]
    said = {"protocol": "simple", "maintenance": "vacuum", "clients": "7", "transactions": "9"}
    first, second = rows_of({"name": "a"}, {"name": "b", **said})
    assert first == {"name": "a", **usual, "maintenance": "", "else": ""}
    assert second["else"] == "protocol simple"
    assert [second[each] for each in ("clients", "length")] == ["7", "9 transactions per client"]
    (own,) = rows_of({"name": "a"}, scripts=[ScriptDraft("", "/srv/orders.sql")])
    assert (own["script"], own["length"]) == ("orders.sql", "10000 transactions per client")


def test_scripts_by_name_with_weights() -> None:
    assert scripts_words([ScriptDraft("select-only")]) == "select-only"
    mixed = [ScriptDraft("tpcb-like", weight="3"), ScriptDraft("", "/srv/orders.sql"), ScriptDraft("")]
    assert scripts_words(mixed) == "tpcb-like @3, orders.sql @1, a file @1"

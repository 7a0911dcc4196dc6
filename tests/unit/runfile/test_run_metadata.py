"""What a run file says of its run: each declared field is written, read, compared, searched and shown.

The cases come from the declarations: a field or option that is added has one without anybody remembering it.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from rich.console import Console

from app.analysis.facts import read_run_facts
from app.analysis.properties import properties_of
from app.campaign_file.writer import format_campaign
from app.cli.commands.runs.compare import _print_differences
from app.comparison.comparison import compare_runs
from app.comparison.differences import compare_properties, describe_sameness, what_differs
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DiskTarget,
    GroupChoice,
    PostgresChoice,
    Workload,
)
from app.domain.errors import StorageError
from app.domain.json_value import Json
from app.domain.messages.message import Message
from app.domain.messages.message import say as say_code
from app.domain.options.raid import Level
from app.domain.text import MIB
from app.draft.draft import configuration_differences
from app.export.comparison import comparison_as_json
from app.library.entries import LibraryEntry, option_words, read_entry, workload_words
from app.library.query import haystack, matches, parse_query
from app.report.blocks import ReportTable, Text
from app.report.findings import find
from app.report.pages.comparison_pages import difference_pages
from app.report.report_data import RunSeries
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import (
    ErrorMetadata,
    RunMetadata,
    TargetMetadata,
    completed,
    read_metadata,
)
from app.runfile.metadata.typed_json import NOT_KNOWN, NotKnown, read_values, values_of
from app.runfile.reader import RunFile
from app.runfile.writer import SCHEMA
from tests.cases import each_case
from tests.known_runs import FACTS, PLAN, WHOLE, Change, all_changes, write_known

ENVIRONMENT = read_environment_facts(FACTS)
CHANGES = all_changes()
NOT_SEARCHED = re.compile(r"plan\.|target\.(kind|path|raid|size_bytes)|installation\.|a setting|data_bytes")
"""What has a field of its own, is a sum of others, or where the programs lay."""


def test_what_is_written_is_read_again() -> None:
    for each in [WHOLE, *(change.run for change in CHANGES)]:
        assert read_metadata(json.loads(json.dumps(values_of(each)))) == each


def test_errors_keep_code_and_values() -> None:
    error = StorageError(say_code("not-as-shown", disk="sdb"), hint="Look.")
    result = ErrorMetadata.of(error)
    stored = json.loads(json.dumps(values_of(result)))
    assert stored["said"] == {"message": {"code": "not-as-shown", "values": {"disk": "sdb"}}}
    found = read_values(ErrorMetadata, stored)
    message, hint = found.sentences
    assert isinstance(message, Message)
    assert (message, hint) == (error.message, "Look.")
    unreadable: tuple[Json, ...] = (
        {"code": 1},
        {"code": "not-as-shown", "values": {"disk": None}},
        {"code": "x", "values": {}},
    )
    for strange in unreadable:
        assert replace(found, said={"message": strange}).sentences == (error.message, "Look.")


def test_schema_documents_every_key() -> None:
    text = re.search(
        r"-- What the run is: key and JSON value\. Keys: (.*?)\nCREATE", SCHEMA.read_text(), re.DOTALL
    )
    assert text is not None
    words = set(re.findall(r"[a-z_]+", text[1]))
    assert {each.name for each in fields(RunMetadata)} <= words


def test_empty_and_invalid_values_not_known() -> None:
    assert read_metadata({}) == RunMetadata()
    strange = {each.name: [{"a": [1]}] for each in fields(RunMetadata)}
    found = read_metadata(strange)
    assert isinstance(found.name, NotKnown)
    assert found.target == TargetMetadata()
    assert read_metadata({"scale": True, "started_epoch_s": float("nan"), "tags": "abc"}) == RunMetadata()


@each_case("change", CHANGES)
def test_changed_field_differs(change: Change) -> None:
    runs = [tuple(properties_of(each, ENVIRONMENT)) for each in (change.before, change.run)]
    found = compare_properties(runs)
    assert found.differences
    assert not found.not_known
    assert all("not known" not in variant.value for each in found.differences for variant in each.variants)


@each_case("change", [each for each in CHANGES if not NOT_SEARCHED.match(each.name)])
def test_changed_field_searchable(change: Change) -> None:
    before = {*option_words(change.before, ENVIRONMENT), *workload_words(change.before)}
    after = {*option_words(change.run, ENVIRONMENT), *workload_words(change.run)}
    entry = LibraryEntry(
        "ab",
        "/a.footing",
        "a",
        "done",
        options=option_words(change.run, ENVIRONMENT),
        keys=workload_words(change.run),
    )
    words = haystack(entry)
    assert before != after
    for word in after - before:
        assert word.casefold() in words
        name, _, value = word.partition("=")
        field = "workload" if word in entry.keys else "option"
        assert matches(parse_query(f'{field}:"{name}={value}"'), entry, words)
        assert matches(parse_query(f"{field}:{name}"), entry, words)


def test_library_words_of_run(tmp_path: Path) -> None:
    entry = read_entry(write_known(tmp_path / "a.footing", WHOLE))
    assert entry.options == option_words(WHOLE, ENVIRONMENT)
    assert entry.keys == workload_words(WHOLE)
    assert {"chunk_size=64KiB", "block_size=4096", "wal.level=mirror", "memory_limit=4GiB"} <= set(
        entry.options
    )
    assert {"clients=4", "protocol=prepared", "rate=100.0", "script=tpcb-like"} <= set(entry.keys)


def test_differences_in_terminal_report_json(tmp_path: Path) -> None:
    paths = [
        write_known(
            tmp_path / f"{number}.footing", replace(each.run, id=f"{number:016x}", name=f"run {number}")
        )
        for number, each in enumerate([Change("", WHOLE), *CHANGES])
        if number == 0 or number % 9 == 1 or not each.name.count(".") or "data." in each.name
    ]
    facts = [read_run_facts(path) for path in paths]
    wanted = {(each.topic, each.name) for each in what_differs(facts).differences}
    assert len(wanted) > 25
    comparison = compare_runs(facts)
    console = Console(file=io.StringIO(), width=5000)
    _print_differences(comparison, console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(f"{topic}, {name}: " in printed for topic, name in wanted)
    blocks = list(difference_pages(find(facts, list(map(RunSeries, paths)))))
    cells = {
        cell
        for block in blocks
        if isinstance(block, ReportTable)
        for row in block.rows
        for cell in row.cells.values()
    }
    assert {f"{topic}: {name}" for topic, name in wanted} <= cells
    document = json.loads(json.dumps(comparison_as_json(comparison)))["differences"]
    assert {(each["topic"], each["name"]) for each in document} == wanted


def test_repeats_only_if_known_and_equal(tmp_path: Path) -> None:
    paths = [write_known(tmp_path / f"{number}.footing", WHOLE) for number in range(2)]
    whole = what_differs([read_run_facts(path) for path in paths])
    assert whole.are_repeats
    assert describe_sameness(whole).endswith("these are repeats.")
    blocks = list(
        difference_pages(find([read_run_facts(path) for path in paths], list(map(RunSeries, paths))))
    )
    assert any(isinstance(each, Text) and "these are repeats" in each.text for each in blocks)


@pytest.mark.parametrize("name", ["target", "workload", "installation", "postgresql", "settings", "scale"])
def test_unknown_field_claims_nothing(name: str) -> None:
    nothing = getattr(RunMetadata(), name)
    known, unknown = (
        tuple(properties_of(each, ENVIRONMENT)) for each in (WHOLE, replace(WHOLE, **{name: nothing}))
    )
    for runs in ([known, unknown], [unknown, known], [unknown, unknown]):
        found = compare_properties(runs)
        assert not found.differences
        assert not found.are_repeats
        assert describe_sameness(found).startswith("No known difference, but unknown values: ")


def test_imported_plan_and_kernel_unknown() -> None:
    foreign = read_metadata({"target": {"kind": "imported", "path": "", "raid": None}})
    found = compare_properties([tuple(properties_of(foreign, read_environment_facts({})))] * 2)
    names = {f"{each.topic}: {each.name}" for each in found.not_known}
    assert {"Target: storage layout", "Machine: kernel", "Workload: clients"} <= names


def test_missing_wal_disks_one_difference() -> None:
    apart = tuple(properties_of(WHOLE, ENVIRONMENT))
    target = replace(WHOLE.target, plan=replace(PLAN, wal=None), wal_preset=None)
    among = tuple(properties_of(replace(WHOLE, target=target), ENVIRONMENT))
    (found,) = compare_properties([apart, among]).differences
    assert found.name == "WAL: disks"
    assert [variant.value for variant in found.variants][1] == "none"


def test_known_values_differ_beside_unknown() -> None:
    runs = [WHOLE, replace(WHOLE, scale=99), replace(WHOLE, scale=NOT_KNOWN)]
    (found,) = compare_properties([tuple(properties_of(each, ENVIRONMENT)) for each in runs]).differences
    assert [variant.value for variant in found.variants] == ["10", "99", "not known"]


def test_explicit_default_no_difference() -> None:
    group = replace(PLAN.data, chunk_bytes=None, bitmap=None, initial_sync=None)
    explicit = replace(PLAN.data, chunk_bytes=512 * 1024)
    runs = [
        replace(WHOLE, target=replace(WHOLE.target, plan=replace(PLAN, data=each)))
        for each in (group, explicit)
    ]
    assert not compare_properties([tuple(properties_of(each, ENVIRONMENT)) for each in runs]).differences


def test_older_preset_and_memory_from_campaign(
    tmp_path: Path,
) -> None:
    group = GroupChoice(("SERIAL0",), Level.SINGLE, "zfs", preset="recommended")
    wal = GroupChoice(("SERIAL1",), Level.SINGLE, "ext4")
    asked = Configuration("on zfs", DiskTarget(group, wal, memory_limit_bytes=512 * MIB))
    old = replace(
        WHOLE,
        configuration="on zfs",
        campaign_file=format_campaign(Campaign("x", (asked,))),
        target=replace(WHOLE.target, preset=NOT_KNOWN, wal_preset=NOT_KNOWN, memory_limit_bytes=NOT_KNOWN),
    )
    with RunFile(write_known(tmp_path / "a.footing", old)) as run:
        found = completed(run.metadata).target
    assert (found.preset, found.wal_preset, found.memory_limit_bytes) == (
        "recommended",
        "defaults",
        512 * MIB,
    )


@pytest.mark.parametrize("text", ["", "[", "name = 1", "a" * 10_000, "[[configuration]]\nworkload = 3\n"])
def test_invalid_campaign_text_not_known(text: str) -> None:
    old = replace(WHOLE, campaign_file=text, target=replace(WHOLE.target, preset=NOT_KNOWN))
    assert isinstance(completed(old).target.preset, NotKnown)


@pytest.mark.parametrize("form", ['"{}"', '{{file = "{}"}}', '[{{file = "{}", weight = 2}}, "tpcb-like"]'])
def test_stored_scripts_never_opened(tmp_path: Path, form: str) -> None:
    trap = tmp_path / "trap.sql"
    asked = Configuration("a", DiskTarget(GroupChoice(("S1",), Level.SINGLE, "ext4", preset="defaults")))
    text = format_campaign(Campaign("x", (asked,)))
    assert "[workload]" in text
    text = text.replace("[workload]", f"[workload]\nscript = {form.format(trap)}", 1)
    text = re.sub(r'\nscript = "tpcb-like"', "", text)
    old = replace(
        WHOLE, configuration="a", campaign_file=text, target=replace(WHOLE.target, preset=NOT_KNOWN)
    )
    assert completed(old).target.preset == "defaults"


def test_configuration_differences_match_runs() -> None:
    plain = GroupChoice(("S1", "S2"), Level.MIRROR, "btrfs")
    two = {
        0: Configuration("plain", DiskTarget(plain)),
        1: Configuration("nocow", DiskTarget(replace(plain, options=(("datacow", False),)))),
    }
    found = configuration_differences(two)
    assert "WAL" not in f"{found[0]}{found[1]}"
    assert found[0].count(",") == found[1].count(",") == 0
    assert found[0].endswith("default (yes)")
    assert found[1].endswith("no")
    assert configuration_differences({0: two[0], 1: replace(two[0], name="other")}) == {0: "", 1: ""}


def test_configuration_differences_settings_and_keys() -> None:
    base = Configuration("a", DiskTarget(GroupChoice(("S1",), Level.SINGLE, "ext4")))
    other = replace(
        base, postgresql=PostgresChoice(settings=(("fsync", "off"),)), workload=Workload(clients=9)
    )
    found = configuration_differences({0: base, 1: other})
    assert found[0] == "clients 4, fsync not set"
    assert found[1] == "clients 9, fsync off"


@pytest.mark.parametrize(
    ("key", "usual", "other"),
    [("compressibility", None, 2.0), ("data_set", "loaded", "copied"), ("caches", "warm", "cold")],
)
def test_later_keys_in_older_runs(key: str, usual: object, other: Json) -> None:
    values: dict[str, Json] = {"target": {"kind": "folder"}, "workload": {"label": "tpcb-like"}}
    assert getattr(read_metadata(values).workload, key) == usual
    assert getattr(read_metadata(values | {"workload": {key: other}}).workload, key) == other
    for target in ({"kind": "imported"}, {}):
        assert getattr(read_metadata(values | {"target": target}).workload, key) is NOT_KNOWN

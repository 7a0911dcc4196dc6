"""The wizard's flow without its window: fields, problems, the way to a campaign and back."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.campaign_file.fields import ALIKE, PHASE_FIELDS
from app.campaign_file.kinds import (
    BoolKind,
    CampaignField,
    EnumKind,
    FloatKind,
    IntKind,
    Milliseconds,
    Name,
    SizeKind,
    ValueKind,
    WholeSeconds,
)
from app.campaign_file.paths import InstallationName, Scripts
from app.campaign_file.phases import RateKind, WorkNames
from app.campaign_file.reader import load_campaign, parse_campaign
from app.campaign_file.recipes.head import Recipe, list_recipes
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import (
    BuiltinScript,
    Campaign,
    Configuration,
    DataSize,
    FolderTarget,
    MemoryTarget,
    PostgresChoice,
    Script,
    Workload,
)
from app.domain.campaign.matrix import RunOrder
from app.domain.errors import CampaignError
from app.draft.builder import build
from app.draft.draft import CampaignDraft
from app.draft.fields.state import (
    CHANGEABLE,
    FIELDS,
    OF_PAGES,
    OWN_SCRIPTS,
    PHASES,
    ConfigurationDraft,
    DraftEnvironment,
    DraftParts,
    PhaseDraft,
    Place,
    ScriptDraft,
    Step,
    automatic_name,
    put,
    step_of,
)
from app.draft.from_campaign import first_parts, parts_of
from app.draft.machine_answers import CampaignQuestion, MachineAnswer, ScriptsQuestion, answer
from app.postgres.settings import Machine


def again(campaign: Campaign) -> Campaign:
    return parse_campaign(format_campaign(campaign), base_directory="/", source_name="again")


def campaign_of(parts: DraftParts) -> Campaign:
    built = build(parts, {})
    assert built.problems == ()
    assert built.campaign is not None
    return built.campaign


def problems_of(parts: DraftParts) -> list[tuple[Step, str, str]]:
    return [(step_of(each.path), each.path, each.message) for each in build(parts, {}).problems]


def test_first_look_defaults() -> None:
    campaign = campaign_of(first_parts())
    assert campaign.name == "Folder vs memory"
    assert [each.target for each in campaign.configurations] == [FolderTarget(), MemoryTarget()]
    assert [each.name for each in campaign.configurations] == ["folder", "memory"]
    assert {each.workload for each in campaign.configurations} == {Workload(duration_s=30, warmup_s=5)}
    assert {each.postgresql for each in campaign.configurations} == {PostgresChoice()}
    assert campaign.repeats >= 3  # below there is no verdict


@pytest.mark.parametrize(
    ("key", "text", "step", "field", "says"),
    [
        ("workload.clients", "many", Step.WORKLOAD, "workload.clients", "whole number from 1 to 10000"),
        ("workload.clients", "0", Step.WORKLOAD, "workload.clients", "Found 0"),
        ("workload.clients", "", Step.WORKLOAD, "workload.clients", "an empty text"),
        ("workload.threads", "9", Step.WORKLOAD, "workload.threads", "clients … 4"),
        ("workload.duration", "1.5s", Step.WORKLOAD, "workload.duration", "whole seconds"),
        ("workload.warmup", "-3s", Step.WORKLOAD, "workload.warmup", "whole seconds from 0"),
        ("workload.rate", "fast", Step.WORKLOAD, "workload.rate", "a number from 0.01"),
        ("workload.compressibility", "1", Step.WORKLOAD, "workload.compressibility", "from 1.4 to 10"),
        ("workload.latency_limit", "50", Step.WORKLOAD, "workload.latency_limit", "with its unit"),
        ("workload.caches", "colt", Step.WORKLOAD, "workload.caches", "Did you mean “cold”?"),
        ("workload.data_set", "copie", Step.WORKLOAD, "workload.data_set", "Did you mean “copied”?"),
        ("workload.protocol", "prepard", Step.WORKLOAD, "workload.protocol", "Did you mean “prepared”?"),
        ("repeats", "0", Step.WORKLOAD, "repeats", "from 1 to 1000"),
        ("name", "x" * 81, Step.MORE, "name", "1 to 80"),
        ("target.folder.path", "here/there", Step.WHERE, "target.folder.path", "absolute folder"),
        ("target.memory.size", "12", Step.WHERE, "target.memory.size", "with its unit"),
        ("postgresql.installation", "12", Step.POSTGRESQL, "postgresql.installation", "from 13 on"),
        ("postgresql.preset", "machin", Step.POSTGRESQL, "postgresql.preset", "Did you mean “machine”?"),
        ("postgresql.settings", "work_mem", Step.POSTGRESQL, "postgresql.settings", "Line 1 is not"),
        ("postgresql.settings", "a = 1\n\nA = 2", Step.POSTGRESQL, "postgresql.settings", "3: A … line 1"),
        ("postgresql.settings", "a-b = 1", Step.POSTGRESQL, "postgresql.settings", "a-b: … name"),
        (
            "postgresql.settings",
            "max_connections = 3",
            Step.POSTGRESQL,
            "postgresql.settings.max_connections",
            "clients … 4",
        ),
    ],
)
def test_field_error_with_allowed_values(key: str, text: str, step: Step, field: str, says: str) -> None:
    parts = first_parts()
    parts.values[key] = text
    found = problems_of(parts)
    assert [(where, which) for where, which, _ in found] == [(step, field)]
    assert re.search(".*".join(map(re.escape, says.split(" … "))), found[0][2]), found[0][2]
    assert found[0][2][0].isupper() or found[0][2].startswith("a-b")
    assert build(parts, {}).campaign is None


def test_nothing_selected_on_first_page() -> None:
    parts = first_parts()
    for each in parts.configurations:
        each.chosen = False
    assert [(step, field) for step, field, _ in problems_of(parts)] == [(Step.WHERE, "target")]


def test_unselected_fields_not_validated() -> None:
    draft = CampaignDraft()
    draft.configuration_of(Place.MEMORY).chosen = False
    draft.parts.values["target.memory.size"] = "nonsense"
    assert campaign_of(draft.parts).configurations[0].target == FolderTarget()
    draft.configuration_of(Place.MEMORY).chosen = True
    assert problems_of(draft.parts)[0][:2] == (Step.WHERE, "target.memory.size")


def test_copy_changes_only_named_fields() -> None:
    draft = CampaignDraft()
    original = draft.configuration_of(Place.FOLDER)
    copy = draft.copy_configuration(original)
    assert copy.name == "folder 2"
    copy.texts["postgresql.settings"] = "synchronous_commit = off"
    copy.texts["workload.clients"] = "16"
    draft.parts.values["postgresql.settings"] = "work_mem = 64MB"
    made = {each.name: each for each in campaign_of(draft.parts).configurations}
    assert made["folder 2"].postgresql.settings == (("synchronous_commit", "off"), ("work_mem", "64MB"))
    assert made["folder 2"].workload == replace(made["folder"].workload, clients=16)
    assert made["folder"].postgresql.settings == (("work_mem", "64MB"),)
    draft.parts.values["target.folder.path"] = "/srv/other"  # a copy of the folder follows the folder
    assert campaign_of(draft.parts).configurations[1].target == FolderTarget("/srv/other")
    draft.remove_configuration(copy)
    assert len(campaign_of(draft.parts).configurations) == 2
    draft.remove_configuration(original)
    assert [each.name for each in campaign_of(draft.parts).configurations] == ["memory"]


def test_copies_of_copies_have_unique_names() -> None:
    draft = CampaignDraft()
    original = draft.configuration_of(Place.FOLDER)
    original.name = "x" * 80
    for _ in range(5):
        draft.copy_configuration(original)
    assert len({each.name for each in campaign_of(draft.parts).configurations}) == 7


def test_duplicate_name_at_second_configuration() -> None:
    draft = CampaignDraft()
    draft.copy_configuration(draft.configuration_of(Place.FOLDER)).name = " folder "
    found = problems_of(draft.parts)
    assert [(step, field) for step, field, _ in found] == [(Step.MORE, "configuration[2].name")]
    assert "“folder”" in found[0][2]


def test_change_error_at_its_configuration() -> None:
    draft = CampaignDraft()
    draft.parts.values["workload.threads"] = "3"
    copy = draft.copy_configuration(draft.configuration_of(Place.MEMORY))
    copy.texts["workload.clients"] = "2"
    found = problems_of(draft.parts)
    assert [(step, field) for step, field, _ in found] == [(Step.MORE, "configuration[3]")]
    assert found[0][2].startswith("pgbench threads: found 3")
    copy.texts["workload.threads"] = ""  # left out: pgFooting chooses
    assert campaign_of(draft.parts).configurations[2].workload.threads is None


def test_configuration_reason_names_field_not_key() -> None:
    draft = CampaignDraft()
    draft.parts.values["postgresql.settings"] = "max_connections = 9"
    copy = draft.copy_configuration(draft.configuration_of(Place.MEMORY))
    copy.texts["workload.clients"] = "12"
    ((_, place, message),) = problems_of(draft.parts)
    assert place == "configuration[3]"
    assert message.startswith("max_connections: found 9")
    assert all(FIELDS[key].shown_name for key in CHANGEABLE)


def test_size_change_replaces_scale() -> None:
    draft = CampaignDraft()
    put(draft.parts.values, "workload.scale", "100")
    copy = draft.copy_configuration(draft.configuration_of(Place.FOLDER))
    copy.texts["workload.size"] = "medium"
    workload = campaign_of(draft.parts).configurations[1].workload
    assert (workload.size, workload.scale) == (DataSize.MEDIUM, None)


def test_too_many_runs_with_count() -> None:
    draft = CampaignDraft()
    draft.parts.values["repeats"] = "1000"
    for _ in range(9):
        draft.copy_configuration(draft.configuration_of(Place.FOLDER))
    assert [(step, field) for step, field, _ in problems_of(draft.parts)] == [(Step.WORKLOAD, "repeats")]
    assert "11000 runs" in problems_of(draft.parts)[0][2]


def test_too_many_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.draft.builder.MOST_CONFIGURATIONS", 100)
    draft = CampaignDraft()
    for _ in range(99):
        draft.copy_configuration(draft.configuration_of(Place.FOLDER))
    assert [(step, field) for step, field, _ in problems_of(draft.parts)] == [(Step.MORE, "configuration")]


def test_script_file_answer_becomes_script(tmp_path: Path) -> None:
    path = tmp_path / "own, with comma.sql"
    path.write_text("SELECT 1;\n")
    draft = CampaignDraft()
    draft.parts.values["workload.script"] = OWN_SCRIPTS
    draft.parts.scripts = [ScriptDraft(path=str(path), weight="2"), ScriptDraft("select-only")]
    built = draft.built
    assert built.campaign is None
    (question,) = built.questions
    assert isinstance(question, ScriptsQuestion)
    scripts = (Script(None, str(path), "SELECT 1;\n", 2), Script(BuiltinScript.SELECT_ONLY))
    draft.take(MachineAnswer(question, scripts))
    assert draft.to_campaign().configurations[0].workload.scripts == scripts
    assert again(draft.to_campaign()) == draft.to_campaign()
    draft.forget_refusals()  # files change: they are read again
    assert draft.built.questions == (question,)
    draft.take(MachineAnswer(question, error=CampaignError("own.sql does not exist.")))
    assert [each.message for each in draft.built.problems] == ["Own.sql does not exist."]


@pytest.mark.parametrize(("builtin", "weight"), [("", "x"), ("", "1"), ("tpcb-like", "0")])
def test_script_without_name_or_valid_weight(builtin: str, weight: str) -> None:
    parts = first_parts()
    parts.values["workload.script"] = OWN_SCRIPTS
    parts.scripts = [ScriptDraft(builtin, weight=weight)]
    built = build(parts, {})
    if not built.questions:
        assert [each.path for each in built.problems] == ["workload.script"]
        assert built.problems[0].message.startswith("Entry 1: found ")
    assert built.campaign is None


def test_no_script_at_all_is_refused() -> None:
    parts = first_parts()
    parts.values["workload.script"] = OWN_SCRIPTS
    assert [each.path for each in build(parts, {}).problems] == ["workload.script"]


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ([], "Benchmark"),
        (["folder"], "Folder"),
        (["a", "b", "c"], "A vs b vs c"),
        (["ext4", "x" * 80], "Ext4 and 1 others"),
        (["x" * 80, "y"], "Comparison of 2 configurations"),
    ],
)
def test_unnamed_campaign_named_after_comparison(names: list[str], name: str) -> None:
    assert automatic_name(names) == name


def test_draft_with_problem_gives_no_campaign() -> None:
    draft = CampaignDraft()
    draft.parts.values["workload.clients"] = "many"
    with pytest.raises(CampaignError, match="Found “many”") as caught:
        draft.to_campaign()
    assert caught.value.field == "workload.clients"


ANY_MACHINE = Machine(8 << 30, None, 4)


@pytest.mark.parametrize(
    "recipe",
    list_recipes(),
    ids=lambda recipe: recipe.name,
)
def test_every_recipe_goes_through_the_fields_unchanged(recipe: Recipe) -> None:
    campaign = load_campaign(recipe.path)
    draft = CampaignDraft.of(campaign)
    for question in draft.built.questions:
        draft.take(answer(question, DraftEnvironment(machine=ANY_MACHINE)))
    assert replace(draft.to_campaign(), matrix=None) == replace(campaign, matrix=None)


def test_baseline_wanted_with_disks() -> None:
    draft = CampaignDraft()
    draft.parts.values["io_baseline"] = ""
    found = [draft.wants_baseline]
    draft.parts.configurations.append(ConfigurationDraft("disks", Place.DISKS))
    assert [*found, draft.wants_baseline] == [False, True]


@pytest.mark.parametrize(
    ("on_disks", "wanted", "said"),
    [(False, True, "true"), (False, False, ""), (True, False, "false"), (True, True, "")],
)
def test_what_is_ticked_is_so(*, on_disks: bool, wanted: bool, said: str) -> None:
    draft = CampaignDraft()
    if on_disks:
        draft.parts.configurations.append(ConfigurationDraft("disks", Place.DISKS))
    draft.ask_for_baseline(wanted=not wanted)
    draft.ask_for_baseline(wanted=wanted)
    assert draft.parts.values["io_baseline"] == said
    assert draft.wants_baseline == wanted


# --- every draft without problems is a campaign file

NAMES = st.one_of(
    st.sampled_from(["", "folder", "memory", " xfs ", 'a "quoted" \\ name', "Größe #1", "x" * 81, "a\nb"]),
    st.text(max_size=12),
)
SIZES = st.sampled_from(["", "2 GiB", "64 MiB", "1.5 GB", "12", "small", "16 TiB", "1e3 GiB", "100 TiB"])
WHOLES = st.sampled_from(["", "1", "2", "4", "16", " 8 ", "0", "-1", "10000", "10001", "1e2", "٣", "9" * 30])
TIMES = st.sampled_from(["", "1", "30s", "5 min", "1h", "1.5s", "0", "7d", "250ms"])
REALS = st.sampled_from(
    ["", "2", "1.4", "100", "0.01", "1e3", "0.001", "12345.678", "nan", "inf", "10000000"]
)
LIMITS = st.sampled_from(["", "50ms", "1.5s", "50", "0.0001ms"])
PATHS = st.sampled_from(["", "/srv/bench", "~/bench", "relative", "/a\x00b", "/with space/ünï", "~nobody0/x"])
SETTINGS = st.lists(
    st.sampled_from(
        [
            "work_mem = 64MB",
            "Work_Mem '64MB'",
            "fsync = off",
            "max_connections = 2",
            "max_connections = 50",
            "search_path = '\"$user\", public' # the usual",
            "auto_explain.log_nested_statements on",
            "archive_command = 'it''s'",
            "application_name = ''",
            "# nothing",
            "broken",
            "x = 'open",
            "",
        ]
    ),
    max_size=4,
).map("\n".join)
OF_KINDS: dict[type[ValueKind], st.SearchStrategy[str]] = {
    InstallationName: st.sampled_from(["newest", "15", "12", "/usr/lib/postgresql/15/bin", "x"]),
    BoolKind: st.sampled_from(["", "true", "false", "off", "maybe"]),
    Scripts: st.sampled_from(["tpcb-like", "select-only@3, simple-update", "tpcb", "", "/x.sql"]),
    SizeKind: SIZES,
    IntKind: WHOLES,
    WholeSeconds: TIMES,
    FloatKind: REALS,
    Milliseconds: LIMITS,
    Name: st.sampled_from(["reads", "writes", "", "a, b", "70 % of x", "ü" * 80]),
    RateKind: st.sampled_from(["", "100", "0.5", "70 % of reads", "7 of reads", "x", "nan"]),
    WorkNames: st.sampled_from(["", "checkpoint", "vacuum, checkpoint", "checkpoint,", "rm -rf /"]),
}


def texts_of(key: CampaignField) -> st.SearchStrategy[str]:
    if isinstance(key.kind, EnumKind):
        return st.sampled_from([*key.kind.words, "", "other"])
    return OF_KINDS[type(key.kind)]


TEXTS = {key.split(".")[1]: texts_of(FIELDS[key]) for key in OF_PAGES}
PHASE_TEXTS = {key.name: texts_of(key) for key in PHASE_FIELDS if key.name != "script"}


@st.composite
def some_phases(draw: st.DrawFn) -> list[PhaseDraft]:
    """Phases as people leave them, most of them right: with values of every key that there is."""
    phases = []
    for name in draw(st.lists(st.sampled_from(["reads", "writes", "c"]), max_size=3)):
        keys = draw(st.sets(st.sampled_from(list(PHASE_TEXTS)), max_size=2))
        texts = {"name": name} | {key: draw(PHASE_TEXTS[key]) for key in keys}
        scripts = st.builds(ScriptDraft, st.sampled_from(["tpcb-like", "select-only"]), weight=WHOLES)
        phases.append(PhaseDraft(texts, draw(st.lists(scripts, max_size=2))))
    return phases


@st.composite
def some_parts(draw: st.DrawFn) -> DraftParts:
    """Fields as people leave them; most of them right, so that a good part makes a campaign."""
    parts = first_parts()
    keys = draw(st.sets(st.sampled_from(list(TEXTS)), max_size=4))
    for key in OF_PAGES:
        if (name := key.split(".")[1]) in keys - {"checksums", "script"}:
            put(parts.values, key, draw(TEXTS[name]))
    if "script" in keys:
        parts.values["workload.script"] = draw(st.sampled_from(["select-only", OWN_SCRIPTS, "tpcb"]))
        names = st.sampled_from(["tpcb-like", "simple-update", "x"])
        parts.scripts = draw(st.lists(st.builds(ScriptDraft, names, weight=WHOLES), max_size=3))
    parts.phases = draw(some_phases())
    parts.values["postgresql.checksums"] = draw(st.sampled_from(["true", "false"]))
    parts.values["postgresql.settings"] = draw(SETTINGS)
    parts.values["name"] = draw(st.one_of(st.just(""), NAMES))
    parts.values["repeats"] = draw(st.sampled_from(["3", "1", "1000", "x"]))
    parts.values["target.folder.path"] = draw(PATHS)
    parts.values["target.memory.size"] = draw(SIZES)
    for each in parts.configurations:
        each.chosen = draw(st.booleans())
    texts = {"target.folder.path": PATHS, "target.memory.size": SIZES, "postgresql.settings": SETTINGS}
    texts |= {key: TEXTS[key.split(".")[1]] for key in CHANGEABLE}
    pairs = st.sampled_from(list(texts)).flatmap(lambda key: st.tuples(st.just(key), texts[key]))
    others = st.builds(
        ConfigurationDraft,
        name=NAMES,
        place=st.sampled_from(Place),
        texts=st.lists(pairs, max_size=6).map(dict),
    )
    parts.configurations += draw(st.lists(others, max_size=3))
    return parts


@settings(max_examples=60, deadline=None)
@given(some_parts())
def test_valid_draft_round_trips(parts: DraftParts) -> None:
    built = build(parts, {})
    if built.campaign is None:
        assert built.problems or built.questions
        assert all(each.message and isinstance(step_of(each.path), Step) for each in built.problems)
        return
    assert built.problems == ()
    assert again(built.campaign) == built.campaign
    assert build(parts_of(built.campaign), {}).campaign == built.campaign


def test_changeable_fields_are_of_pages() -> None:
    assert set(CHANGEABLE) < set(OF_PAGES) < set(FIELDS)


def test_common_fields_not_offered_as_changes() -> None:
    assert {*OF_PAGES, PHASES} - set(CHANGEABLE) == ALIKE
    assert {"workload.compressibility", "workload.data_set", "workload.phase"} == ALIKE


def test_all_different_configurations_round_trip() -> None:
    campaign = Campaign(
        "All of it",
        (
            Configuration(
                "a",
                FolderTarget("/a"),
                PostgresChoice("15", "defaults", (("fsync", "off"), ("work_mem", "1MB")), checksums=False),
                Workload(scale=7, size=None, threads=2, latency_limit_ms=1.5),
            ),
            Configuration("b", FolderTarget("/b"), PostgresChoice(settings=(("fsync", "off"),))),
            Configuration(
                "c",
                MemoryTarget(1 << 30),
                workload=Workload(duration_s=None, transactions=9, size=3 << 30, rate_tps=12.5),
            ),
            Configuration("d", MemoryTarget()),
        ),
        repeats=5,
        seeds=(1, 2),
    )
    assert build(parts_of(campaign), {}).campaign == campaign


def test_default_repeats_follow_configuration_count() -> None:
    draft = CampaignDraft()
    assert campaign_of(draft.parts).repeats == 3
    draft.copy_configuration(draft.configuration_of(Place.FOLDER))
    assert campaign_of(draft.parts).repeats == 5
    draft.parts.values["repeats"] = "3"
    assert campaign_of(draft.parts).repeats == 3


def test_order_and_seed() -> None:
    drawn = replace(campaign_of(first_parts()), order_seed=7)
    parts = parts_of(drawn)
    assert campaign_of(parts) == again(campaign_of(parts)) == drawn
    parts.values["order"] = RunOrder.ALTERNATING.value
    chosen = campaign_of(parts)
    assert (chosen.order, chosen.order_seed) == (RunOrder.ALTERNATING, None)
    assert campaign_of(parts_of(chosen)) == again(chosen) == chosen
    parts.values["order"] = "backwards"
    assert problems_of(parts)[0][:2] == (Step.WORKLOAD, "order")


def test_changed_script_stops_the_start(tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text("SELECT 1;\n")
    text = 'name = "x"\n[target.folder]\n[workload]\nscript = {file = "own.sql", weight = 2}\n'
    campaign = parse_campaign(text, base_directory=tmp_path, source_name="x")
    script.write_text("SELECT 2;\n")
    with pytest.raises(CampaignError) as changed:
        CampaignQuestion(campaign).find_out(DraftEnvironment(machine=ANY_MACHINE))
    script.unlink()
    with pytest.raises(CampaignError) as gone:
        CampaignQuestion(campaign).find_out(DraftEnvironment(machine=ANY_MACHINE))
    assert {changed.value.field, gone.value.field} == {"workload.script"}
    assert changed.value.hint
    assert not gone.value.hint

"""What becomes of a recipe: quick variants keep limits, disks take their places, the rest is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.campaign_file.reader import CampaignFile, parse_campaign, read_campaign_file
from app.campaign_file.recipes.adapt import (
    Adapted,
    LeftOut,
    fill_disks,
    keep,
    left_out_sentences,
    placeholders,
    quick_variant,
    too_old,
    unsupported,
    with_remarks,
)
from app.campaign_file.recipes.head import (
    MOST_QUICK_CONFIGURATIONS,
    MOST_QUICK_SCALE,
    MOST_QUICK_SECONDS,
    QuickVariant,
    Recipe,
    RecipeHead,
    find_recipe,
    list_recipes,
    parse_head,
)
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import Caches, Campaign, DiskTarget
from app.domain.errors import CampaignError, UsageError
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.option_spec import KERNEL
from app.domain.text import GIB
from app.draft.commands import making_lines
from app.postgres.installations.installation import Installation
from app.published.figures import REFERENCE
from app.storage.layout.disk_target import Support, needed_programs, storage_plan
from tests.made_disks import spare_disk

EVERY = [pytest.param(recipe, id=recipe.name) for recipe in list_recipes()]
QUICK = [pytest.param(each, id=each.name) for each in list_recipes() if each.head.quick is not None]
ON_DISKS = [pytest.param(each, id=each.name) for each in list_recipes() if each.head.disks]
RUN_S = 35
"""What a quick run takes at most on the virtual machine, with everything before and after it."""
HEAD = 'name = "x"\n[recipe]\nquestion = "Why?"\n'
MEMORY = "[target.memory]\n"


def of(recipe: Recipe) -> CampaignFile:
    return read_campaign_file(recipe.path)


def serials(count: int) -> list[str]:
    return [f"DISK{number}" for number in range(count)]


@pytest.mark.parametrize("recipe", EVERY)
def test_recipes_have_question_and_requirements(recipe: Recipe) -> None:
    campaign = of(recipe).campaign
    assert recipe.head.question.endswith("?")
    assert (recipe.head.disks > 0) == (placeholders(campaign) > 0)
    assert recipe.head.disks <= placeholders(campaign)
    assert recipe.head.quick is not None or recipe.name == "quick"


def test_published_comparisons_have_sourced_recipes() -> None:
    texts = [path.stem for path in REFERENCE.glob("*.toml") if int(path.stem[-4:]) < 2023]
    assert len(texts) == 5
    for name in texts:
        head = find_recipe(name).head
        assert name[-4:] in head.source
        assert head.changed
        assert head.missing


@pytest.mark.parametrize("recipe", QUICK)
def test_quick_variant_within_quarter_hour(recipe: Recipe) -> None:
    campaign = quick_variant(of(recipe).campaign, recipe.head)
    assert len(campaign.configurations) <= MOST_QUICK_CONFIGURATIONS
    assert campaign.total_runs * RUN_S <= 15 * 60
    assert campaign.name.endswith("(quick)")
    assert not any(campaign.wants_baseline(item.target) for item in campaign.configurations)
    for item in campaign.configurations:
        assert item.workload.scale is not None
        assert item.workload.scale <= MOST_QUICK_SCALE
        assert (item.workload.size, item.workload.transactions) == (None, None)
        assert item.workload.duration_s is not None
        assert item.workload.duration_s + item.workload.warmup_s <= 2 * MOST_QUICK_SECONDS
        assert item.workload.caches is Caches.WARM or item.workload.warmup_s == 0
        phases = item.workload.phases
        assert all((each.times, each.duration_s, each.transactions) == (1, None, None) for each in phases)
        assert len(phases) * item.workload.duration_s * campaign.total_runs <= 3 * 60


@pytest.mark.parametrize("recipe", QUICK)
def test_quick_variant_written_and_compares_differences(recipe: Recipe) -> None:
    campaign = quick_variant(of(recipe).campaign, recipe.head)
    again = parse_campaign(format_campaign(campaign), base_directory="/", source_name="again")
    assert again == campaign
    assert len({replace(item, name="") for item in campaign.configurations}) == len(campaign.configurations)


@pytest.mark.parametrize("recipe", ON_DISKS)
def test_disks_take_every_place_of_a_recipe(recipe: Recipe) -> None:
    campaign = of(recipe).campaign
    most = placeholders(campaign)
    for count in {recipe.head.disks, most}:
        adapted = fill_disks(campaign, recipe.head, serials(count))
        assert placeholders(adapted.campaign) == 0
        targets = [each.target for each in adapted.campaign.configurations]
        used = {name for target in targets if isinstance(target, DiskTarget) for name in target.names}
        assert used == set(serials(count))
        assert adapted.left_out == () or count < most
    quick = quick_variant(campaign, recipe.head)
    assert fill_disks(quick, recipe.head, serials(min(recipe.head.disks, placeholders(quick)))).left_out == ()


@pytest.mark.parametrize("recipe", ON_DISKS)
def test_recipe_storages_planned_to_commands(recipe: Recipe) -> None:
    disks = tuple(spare_disk(number) for number in range(1, 10))
    names = [disk.identity.serial for disk in disks][: placeholders(of(recipe).campaign)]
    for item in fill_disks(of(recipe).campaign, recipe.head, names).campaign.configurations:
        if isinstance(item.target, DiskTarget):
            lines = making_lines(storage_plan(item.target, disks, 32 * GIB), disks)
            assert any(line.startswith(("mkfs", "zpool", "mkreiserfs", "mke2fs")) for line in lines), lines


@pytest.mark.parametrize("recipe", ON_DISKS)
def test_wrong_disks_for_recipe(recipe: Recipe) -> None:
    campaign = of(recipe).campaign
    wrong = (0, recipe.head.disks - 1, placeholders(campaign) + 1)
    for given in (*map(serials, wrong), ["DISK1"] * max(2, recipe.head.disks)):
        with pytest.raises(UsageError, match="different spare disks are needed"):
            fill_disks(campaign, recipe.head, given)


def test_disks_without_place() -> None:
    recipe = find_recipe("durability")
    with pytest.raises(UsageError, match="This campaign uses no disks"):
        fill_disks(of(recipe).campaign, recipe.head, ["DISK1"])


def test_level_needing_more_disks_left_out() -> None:
    recipe = find_recipe("vondra-2022")
    adapted = fill_disks(of(recipe).campaign, recipe.head, serials(4))
    assert {each.name for each in adapted.left_out} == {
        "ZFS, raidz3",
        "ZFS no-fpw, raidz3",
        "ZFS tuned, raidz3",
    }
    assert all("at least 5 disks; 4 are selected" in each.reason for each in adapted.left_out)
    assert len(of(recipe).campaign.configurations) == 33


def test_named_disks_stay_wal_left_out() -> None:
    text = (
        'name = "x"\n[target.disks]\ndata = ["MINE", "SERIAL-OF-DISK-1"]\n'
        'level = "stripe"\nfilesystem = "xfs"\n'
        '[[configuration]]\nname = "one"\n[[configuration]]\nname = "two"\n[configuration.target.disks]\n'
        'data = ["SERIAL-OF-DISK-1"]\nfilesystem = "xfs"\n[configuration.target.disks.wal]\n'
        'data = ["SERIAL-OF-DISK-2"]\nfilesystem = "xfs"\n'
    )
    campaign = parse_campaign(text, base_directory="/", source_name="x")
    adapted = fill_disks(campaign, RecipeHead(question="Why?", disks=1), ["A"])
    (one,) = adapted.campaign.configurations
    assert isinstance(one.target, DiskTarget)
    assert one.target.names == ("MINE", "A")
    assert [(each.name, each.reason) for each in adapted.left_out] == [
        ("two", "It needs more disks than were given.")
    ]


def test_empty_campaign_lists_reasons_once() -> None:
    campaign = of(find_recipe("durability")).campaign
    with pytest.raises(CampaignError, match=r"No configuration of “Durability” can be measured here\. No\.$"):
        keep(campaign, lambda _item: "No.")


def test_unknown_recipe_suggests_nearest() -> None:
    with pytest.raises(UsageError, match="no recipe “vondra-2202”.*vondra-2022") as caught:
        find_recipe("vondra-2202")
    assert "pgfooting recipes" in caught.value.hint


@pytest.mark.parametrize("name", ["", "..", "../recipes/quick", "quick.toml", "\x1b[31m", "x" * 10_000])
def test_only_names_of_the_list_are_recipes(name: str) -> None:
    with pytest.raises(UsageError, match="There is no recipe") as caught:
        find_recipe(name)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


def test_no_quick_variant() -> None:
    campaign = of(find_recipe("quick")).campaign
    for head in (None, RecipeHead(question="Why?")):
        with pytest.raises(UsageError, match="no quick variant"):
            quick_variant(campaign, head)


def test_quick_variant_unknown_configurations() -> None:
    campaign = of(find_recipe("durability")).campaign
    quick = QuickVariant(cannot_show="much", configurations=("durabel",))
    with pytest.raises(CampaignError, match="no configuration “durabel”.*durable"):
        quick_variant(campaign, RecipeHead(question="Why?", quick=quick))


def test_quick_variant_too_many_configurations() -> None:
    campaign = of(find_recipe("mount-options-2011")).campaign
    head = RecipeHead(question="Why?", quick=QuickVariant(cannot_show="much"))
    with pytest.raises(CampaignError, match=r"recipe\.quick .*15 .*at most 8 "):
        quick_variant(campaign, head)


def test_recipe_2009_phases_once_in_quick() -> None:
    recipe = find_recipe("lentfer-2009")
    campaign = of(recipe).campaign
    (phases,) = {item.workload.phases for item in campaign.configurations}
    found = [(each.name, each.times, each.counts) for each in phases]
    assert found == [
        ("filling the caches", 3, False),
        ("selects", 1, True),
        ("TPC-B", 3, True),
        ("selects again", 1, True),
    ]
    (quick,) = {item.workload.phases for item in quick_variant(campaign, recipe.head).configurations}
    assert [(each.name, each.times) for each in quick] == [(each.name, 1) for each in phases]


def test_quick_clients_apply_to_all_phases() -> None:
    text = (
        f'{HEAD}quick = {{ cannot_show = "x", clients = 3 }}\n[workload]\nthreads = 1\n[[workload.phase]]\n'
    )
    text += f'name = "one"\nclients = 9\nthreads = 4\n{MEMORY}'
    campaign = parse_campaign(text, base_directory="/", source_name="x")
    (item,) = quick_variant(campaign, parse_head(text)).configurations
    (phase,) = item.workload.phases
    assert (item.workload.clients, phase.clients, phase.threads) == (3, None, None)


def test_long_name_keeps_quick_suffix() -> None:
    campaign = replace(of(find_recipe("durability")).campaign, name="n" * 80)
    head = RecipeHead(question="Why?", quick=QuickVariant(cannot_show="much"))
    assert quick_variant(campaign, head).name == "n" * 72 + " (quick)"


# --- the head


def test_campaign_without_head() -> None:
    assert parse_head(f'name = "x"\n{MEMORY}') is None


def test_head_does_not_affect_measurement() -> None:
    def read(text: str) -> Campaign:
        return parse_campaign(text, base_directory="/", source_name="x")

    assert read(HEAD + MEMORY) == read(f'name = "x"\n{MEMORY}')


# --- what a machine cannot measure


def machine(kernel: tuple[int, ...] = (6, 18), *, without: str = "") -> Support:
    """A machine that has every program and filesystem but one."""
    modules = {name for spec in FILESYSTEMS for name in spec.kernel_modules} - {without}
    levels = {"md_mod", "raid0", "raid1", "raid10", "raid456"}
    programs = {program.name: f"/sbin/{program.name}" for program in needed_programs()}
    return Support(
        "6.18", frozenset(modules), frozenset(levels), programs=programs, versions={KERNEL: kernel}
    )


def left_out(name: str, support: Support) -> dict[str, str]:
    campaign = of(find_recipe(name)).campaign
    reasons = {item.name: unsupported(item, support) for item in campaign.configurations}
    return {name: reason for name, reason in reasons.items() if reason}


def test_removed_kernel_option_left_out() -> None:
    found = left_out("mount-options-2011", machine())
    assert list(found) == ["XFS noatime,noquota,nobarrier"]
    assert "nobarrier” was removed in Linux 4.19" in found["XFS noatime,noquota,nobarrier"]
    assert left_out("mount-options-2011", machine((4, 18))) == {}


def test_missing_kernel_filesystem_left_out() -> None:
    found = left_out("vondra-2016", machine(without="reiserfs"))
    assert list(found) == ["ReiserFS (nobarrier)", "XFS (noatime, nobarrier)"]
    assert "has no reiserfs" in found["ReiserFS (nobarrier)"]
    assert all("ZFS" in name for name in left_out("vondra-2022", machine(without="zfs")))
    assert len(left_out("vondra-2022", machine(without="zfs"))) == 18


def test_recipe_with_older_server() -> None:
    head = find_recipe("postgresql-18-io").head
    assert "needs PostgreSQL 18 or newer; found" in too_old(head, Installation("/b", "15.18", 15))
    assert too_old(head, Installation("/b", "18.1", 18)) == ""
    assert too_old(head, Installation("/b", "19.0", 19)) == ""


def test_left_out_grouped_by_reason() -> None:
    names = ("stripe", "mirror", "raid10", "raid5", "raid6", "raidz3")
    sentences = left_out_sentences([*(LeftOut(name, "No md.") for name in names), LeftOut("XFS", "Lost it.")])
    assert sentences == (
        ("6 configurations are skipped (“stripe”, “mirror”, “raid10”, “raid5” and 2 more). No md."),
        "“XFS” is skipped. Lost it.",
    )


def test_quick_limits_and_omissions_are_remarks() -> None:
    file = of(find_recipe("mount-options-2011"))
    assert file.head is not None
    assert file.head.quick is not None
    reason = "No such\x07 option,\nhere. " + "x" * 500
    adapted = Adapted(quick_variant(file.campaign, file.head), (LeftOut("XFS", reason),))
    campaign = with_remarks(adapted, file.head, quick=True)
    cannot, left_out = campaign.remarks
    assert cannot == f"The quick variant cannot show: {file.head.quick.cannot_show}"
    assert left_out.startswith("“XFS” is skipped. No such option, here. xxx")
    assert (len(left_out), left_out[-1]) == (400, "…")
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="again") == campaign
    assert with_remarks(adapted, file.head, quick=False).remarks == (left_out,)


def test_resume_ignores_remarks() -> None:
    campaign = parse_campaign('name = "x"\n' + MEMORY, base_directory="/", source_name="x")
    remarked = replace(campaign, remarks=("Another kernel lacks it.",))
    assert changed_scripts(state_campaign(remarked), campaign) == ()
    assert changed_scripts(state_campaign(campaign), remarked) == ()

"""Recipes on servers that already run: the workload is left, and what their owner prepares is told."""

from __future__ import annotations

import pytest

from app.campaign_file.reader import parse_campaign, read_campaign_file
from app.campaign_file.recipes.adapt import (
    MOST_SERVERS,
    named_servers,
    on_servers,
    quick_variant,
    server_steps,
)
from app.campaign_file.recipes.head import (
    EXAMPLE,
    Recipe,
    RecipeHead,
    ServerVariant,
    find_recipe,
    list_recipes,
)
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign, DataSet, PostgresChoice, ServerTarget
from app.domain.errors import UsageError
from app.domain.text import GIB
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE

FOR_SERVERS = [
    pytest.param(each, id=each.name)
    for each in list_recipes()
    if each.head.server is not None and not each.name.startswith(EXAMPLE)
]
HERE = "host=db.example user=bench"
THERE = "host=db.example port=5433 user=bench"


def campaign_of(recipe: Recipe) -> Campaign:
    return read_campaign_file(recipe.path).campaign


def test_recipes_2008_2009_on_running_servers() -> None:
    assert {each.id for each in FOR_SERVERS} >= {"ufs-zfs-2008", "lentfer-2009"}


def test_each_workload_on_each_server() -> None:
    campaign = campaign_of(find_recipe("clients"))
    head = RecipeHead(question="Why?", server=ServerVariant(prepare=("Nothing.",)))
    found = on_servers(campaign, head, named_servers([HERE, THERE], ["a", "b"]))
    assert [each.name for each in found.configurations][:3] == ["a, 1 client", "b, 1 client", "a, 4 clients"]
    assert len(found.configurations) == 2 * len(campaign.configurations)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("recipe", FOR_SERVERS)
def test_server_campaign_keeps_workload_round_trip(recipe: Recipe, *, quick: bool) -> None:
    whole = campaign_of(recipe)
    campaign = quick_variant(whole, recipe.head) if quick else whole
    found = on_servers(campaign, recipe.head, named_servers([HERE, THERE], ["UFS"], ["db"], "20GiB"))
    again = parse_campaign(format_campaign(found), base_directory="/", source_name="again")
    assert again == found
    assert found.name == f"{campaign.name}, UFS, server 2"
    beside = named_servers([HERE, THERE], ["UFS", "reference"])
    assert on_servers(campaign, recipe.head, beside).name == f"{campaign.name}, UFS"
    assert on_servers(campaign, recipe.head, named_servers([HERE])).name == campaign.name
    assert on_servers(campaign, recipe.head, named_servers([HERE], ["x" * 80])).name == campaign.name
    assert [each.name for each in found.configurations] == ["UFS", "server 2"]
    assert found.repeats >= RUNS_FOR_A_REFERENCE
    for each, connection in zip(found.configurations, (HERE, THERE), strict=True):
        assert each.target == ServerTarget(connection, 20 * GIB, "db")
        assert each.postgresql == PostgresChoice()
        assert each.workload.scale is not None
        assert each.workload.data_set is DataSet.LOADED
        wanted = campaign.configurations[0].workload
        assert (each.workload.phases, each.workload.clients) == (wanted.phases, wanted.clients)


def test_recipe_settings_shown_for_owner() -> None:
    recipe = find_recipe("lentfer-2009")
    found = on_servers(campaign_of(recipe), recipe.head, named_servers([HERE]))
    (remark,) = found.remarks
    assert "pgFooting does not change the server's settings" in remark
    assert "shared_buffers = 512MB" in remark
    assert [each.name for each in found.configurations] == ["server"]


@pytest.mark.parametrize("recipe", FOR_SERVERS)
def test_steps_filesystem_role_reference(recipe: Recipe) -> None:
    steps = server_steps(recipe.name, campaign_of(recipe), recipe.head)
    text = "\n".join(steps)
    for words in (
        "initdb -D /pg/data",
        "CREATE ROLE pgfooting LOGIN CREATEDB",
        "pg_hba.conf",
        "~/.pgpass",
        f"run {recipe.name} --server",
        "Between campaigns",
        "--as reference",
        "from manuals, not tried on",
    ):
        assert words in text
    assert ("shared_buffers = 512MB" in text) == (recipe.name == "lentfer-2009")


def test_steps_2009_2008_make_filesystems() -> None:
    for name, words in {
        "lentfer-2009": ("newfs_hammer ", "newfs_hammer2 ", "newfs -b 8192", "nohistory,noatime"),
        "ufs-zfs-2008": ("newfs /dev/rdsk", "zfs create -o recordsize=8k", "--waldir=", "forcedirectio"),
    }.items():
        recipe = find_recipe(name)
        text = "\n".join(server_steps(name, campaign_of(recipe), recipe.head))
        assert all(each in text for each in words)


def test_recipe_without_server_support_refused() -> None:
    recipe = find_recipe("durability")
    with pytest.raises(UsageError, match="has no variant for an existing server") as caught:
        on_servers(campaign_of(recipe), recipe.head, named_servers([HERE]))
    assert "[target.server]" in caught.value.hint
    assert server_steps("durability", campaign_of(recipe), RecipeHead(question="Why?")) == ()


@pytest.mark.parametrize(
    ("connections", "names", "ssh", "room", "words"),
    [
        ([HERE, HERE], [], [], "", "\\(--as\\).*\\(--server\\)"),
        ([HERE, THERE], ["a", "a"], [], "", "\\(--as\\).*\\(--server\\)"),
        ([HERE, THERE], ["server 2"], [], "", "\\(--as\\).*\\(--server\\)"),
        ([HERE], ["a", "b"], [], "", "--as .*--server; .*--ssh"),
        ([], ["a"], [], "", "--as, --ssh .* --room .*--server"),
        ([HERE], [], ["x", "y"], "", "--as .*--server; .*--ssh"),
        ([HERE], [], ["-oProxyCommand=x"], "", "^--ssh: "),
        ([HERE], ["a\nb"], [], "", "^--as: "),
        ([HERE], [], [], "much", "^--room: "),
        (["host=db password=sesame"], [], [], "", "^--server: contains a secret"),
        ([f"host=db{at}" for at in range(MOST_SERVERS + 1)], [], [], "", " 8 .* 9"),
    ],
)
def test_mistyped_server_names_option(
    connections: list[str], names: list[str], ssh: list[str], room: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        named_servers(connections, names, ssh, room)
    assert "sesame" not in caught.value.message


def test_ssh_and_room_need_server() -> None:
    for ssh, room in ((["db"], ""), ([], "1GiB")):
        with pytest.raises(UsageError, match="--as, --ssh .* --room .*--server"):
            named_servers([], [], ssh, room)

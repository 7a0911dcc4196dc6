"""What a campaign file may do beyond measuring is found, and what a person agreed to is known by content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import CampaignFile, parse_campaign, read_campaign_file
from app.campaign_file.recipes.head import RECIPES
from app.campaign_file.trust import (
    Concern,
    campaign_digest,
    check_trust,
    find_concerns,
)
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import ServerTarget
from app.domain.errors import RefusedError, refuse

HARMLESS = 'name = "Mine"\ntarget.memory = {}\n[postgresql.settings]\nwork_mem = "5MB"\nfsync = false\n'
COMMAND = HARMLESS + 'archive_command = "touch /tmp/x"\n'


def read(tmp_path: Path, text: str, **scripts: str) -> CampaignFile:
    for name, script in scripts.items():
        (tmp_path / f"{name}.sql").write_text(script)
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    return read_campaign_file(path)


def concerns(tmp_path: Path, text: str, **scripts: str) -> tuple[Concern, ...]:
    return find_concerns(read(tmp_path, text, **scripts).campaign)


def test_measuring_only_is_harmless(tmp_path: Path) -> None:
    own = '[workload]\nscript = ["tpcb-like", {file = "one.sql"}]\n'
    assert concerns(tmp_path, HARMLESS + own, one="SELECT 1; -- CHECKPOINT") == ()


@pytest.mark.parametrize(
    ("name", "is_outside"),
    [
        ("one.sql", False),
        ("inner/one.sql", False),
        ("../campaign/one.sql", False),
        ("link-inside.sql", False),
        ("../secret/pgpass", True),
        ("link.sql", True),
        ("folder-link/pgpass", True),
        ("{secret}/pgpass", True),
        ("~/pgpass", True),
    ],
)
def test_script_outside_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_outside: bool
) -> None:
    folder, secret = tmp_path / "campaign", tmp_path / "secret"
    for each in (folder / "inner", secret):
        each.mkdir(parents=True)
    for each in (folder / "one.sql", folder / "inner" / "one.sql", secret / "pgpass"):
        each.write_text("db.example:5432:prod:dba:S3CRET\n")
    (folder / "link.sql").symlink_to(secret / "pgpass")
    (folder / "link-inside.sql").symlink_to(folder / "one.sql")
    (folder / "folder-link").symlink_to(secret)
    monkeypatch.setenv("HOME", str(secret))
    text = f'{HARMLESS}[workload]\nscript = {{file = "{name.format(secret=secret)}"}}\n'
    file = read(folder, text)
    found = find_concerns(file.campaign)
    assert [concern.text for concern in found] == ([str(secret / "pgpass")] if is_outside else [])
    if is_outside:
        assert "is outside the campaign's folder" in found[0].what
        with pytest.raises(RefusedError) as caught:
            check_trust(file, refuse, is_trusted=lambda _: False)
        assert "S3CRET" not in f"{found}{caught.value}"


def test_settings_shown_as_written(tmp_path: Path) -> None:
    (found,) = concerns(tmp_path, COMMAND)
    assert found.text == "archive_command = 'touch /tmp/x'"
    assert "archive_command" in found.what
    assert found.configurations == ("Mine",)


def test_scripts_shown_whole_with_relevant_lines(tmp_path: Path) -> None:
    text = HARMLESS + '[workload]\nscript = [{file = "one.sql"}, {file = "two.sql"}]\n'
    one, two = "SELECT 1;\n\\shell x\n", "SELECT 1;\n\nCHECKPOINT;\n"
    programs, superuser = concerns(tmp_path, text, one=one, two=two)
    assert (programs.text, superuser.text) == (one, two)
    assert str(tmp_path / "one.sql") in programs.what
    assert "line 2" in programs.what
    assert str(tmp_path / "two.sql") in superuser.what
    assert "line 3" in superuser.what


def test_shared_concern_reported_once_with_names(tmp_path: Path) -> None:
    text = COMMAND + '[[configuration]]\nname = "a"\n[[configuration]]\nname = "b"\n'
    text += '[configuration.postgresql.settings]\nrestore_command = "x"\n'
    first, second = concerns(tmp_path, text)
    assert (first.configurations, second.configurations) == (("a", "b"), ("b",))


def test_programs_writable_by_others(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    text = f'name = "x"\ntarget.memory = {{}}\npostgresql.installation = "{folder}"\n'
    assert concerns(tmp_path, text) == ()  # there is none
    (folder / "pgbench").write_text("#!/bin/sh\ntouch x\n")
    folder.chmod(0o777)  # not of root alone, whoever runs this
    (found,) = concerns(tmp_path, text)
    assert found.text == str(folder)
    (folder / "pgbench").unlink()
    (folder / "pgbench").symlink_to("/bin/true")
    (folder / "bin").mkdir()
    (folder / "bin" / "initdb").write_text("")
    assert concerns(tmp_path, text)


def test_link_to_system_programs_writable_by_others(tmp_path: Path) -> None:
    (tmp_path / "postgres").symlink_to("/bin/true")
    tmp_path.chmod(0o777)  # not of root alone, whoever runs this
    text = f'name = "x"\ntarget.memory = {{}}\npostgresql.installation = "{tmp_path}"\n'
    assert concerns(tmp_path, text)


def test_unreadable_folder_holds_no_programs(tmp_path: Path) -> None:
    for folder in (f"/{'a' * 300}", "/" + "a/" * 2040, f"{tmp_path}/campaign.toml"):
        text = f'name = "x"\ntarget.memory = {{}}\npostgresql.installation = "{folder}"\n'
        assert concerns(tmp_path, text) == ()


def test_system_programs_are_harmless(tmp_path: Path) -> None:
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if path.stat().st_uid == 0]
    if not found:
        pytest.skip("a packaged PostgreSQL is needed")
    text = f'name = "x"\ntarget.memory = {{}}\npostgresql.installation = "{found[0]}"\n'
    assert concerns(tmp_path, text) == ()


def test_dimension_value_asks_like_configuration(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    head = 'name = "x"\n[target.folder]\n[[dimension]]\n'
    path.write_text(head + 'key = "postgresql.settings.archive_command"\nvalues = ["", "rm x"]\n')
    concerns = find_concerns(read_campaign_file(path).campaign)
    assert [each.text for each in concerns] == ["archive_command = ''", "archive_command = 'rm x'"]
    assert concerns[1].configurations == ("archive_command rm x",)


def test_no_recipe_that_ships_asks() -> None:
    for path in RECIPES.glob("*.toml"):
        campaign = read_campaign_file(path).campaign
        asked = {name for concern in find_concerns(campaign) for name in concern.configurations}
        servers = {each.name for each in campaign.configurations if isinstance(each.target, ServerTarget)}
        assert asked <= servers, "of a host that does not exist"
        assert not asked or path.stem == "example"


def test_digest_covers_file_and_scripts(tmp_path: Path) -> None:
    text = COMMAND + '[workload]\nscript = [{file = "one.sql"}, {file = "two.sql"}]\n'
    scripts = {"one": "SELECT 1;", "two": "SELECT 2;"}

    def digest(text: str, **scripts: str) -> str:
        file = read(tmp_path, text, **scripts)
        return campaign_digest(file.text, file.campaign)

    known = digest(text, **scripts)
    assert digest(text, **scripts) == known
    others = {
        digest(text + "# \n", **scripts),
        digest(text.replace("touch", "rm -f"), **scripts),
        digest(text, one="SELECT 1; ", two="SELECT 2;"),
        digest(text, one="SELECT 1;S", two="ELECT 2;"),
        digest(text, one="SELECT 2;", two="SELECT 1;"),
    }
    assert len(others) == 5
    assert known not in others


def test_digest_of_read_bytes_not_current_file(tmp_path: Path) -> None:
    text = COMMAND + '[workload]\nscript = {file = "one.sql"}\n'
    file = read(tmp_path, text, one="SELECT 1;")
    before = campaign_digest(file.text, file.campaign)
    (tmp_path / "one.sql").write_text("\\shell x")
    assert campaign_digest(file.text, file.campaign) == before
    again = read_campaign_file(tmp_path / "campaign.toml")
    assert campaign_digest(again.text, again.campaign) != before


def test_wizard_shown_written_started_same_digest(tmp_path: Path) -> None:
    file = read(tmp_path, COMMAND + '[workload]\nscript = {file = "one.sql"}\n', one="CHECKPOINT;")
    written = format_campaign(file.campaign)
    again = parse_campaign(written, base_directory="/", source_name="again")
    assert campaign_digest(written, file.campaign) == campaign_digest(written, again)


def test_no_question_when_harmless_or_agreed(tmp_path: Path) -> None:
    asked: list[tuple[Concern, ...]] = []
    check_trust(read(tmp_path, HARMLESS), asked.append, is_trusted=lambda _: False)
    file = read(tmp_path, COMMAND)
    check_trust(
        file, asked.append, is_trusted=lambda digest: digest == campaign_digest(file.text, file.campaign)
    )
    assert asked == []
    check_trust(
        replace(file, text=file.text + "#"),
        asked.append,
        is_trusted=campaign_digest(file.text, file.campaign).__eq__,
    )
    assert len(asked) == 1


def test_who_has_no_way_to_ask_refuses(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="Nothing was done"):
        check_trust(read(tmp_path, COMMAND), refuse, is_trusted=lambda _: False)
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.toml"]


def test_foreign_server_scripts_and_settings_asked(tmp_path: Path) -> None:
    text = (
        'name = "There"\ntarget.server.connection = "host=db user=bench"\n'
        '[postgresql.settings]\nwork_mem = "5MB"\n[workload]\nscript = ["tpcb-like", {file = "one.sql"}]\n'
    )
    script, setting = concerns(tmp_path, text, one="SELECT 1;")
    assert "with your role's rights there" in script.what
    assert script.text == "SELECT 1;"
    assert "set for pgFooting's database" in setting.what
    assert setting.text == "work_mem = '5MB'"

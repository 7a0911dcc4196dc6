"""`pgfooting recipes`, and what `run` takes for a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.campaign_file.recipes.head import list_recipes
from app.cli.commands.recipes import campaign_to_run
from app.cli.main import main
from app.domain.campaign.configuration import FolderTarget
from app.domain.errors import ExitStatus, UsageError

CAMPAIGN = 'name = "mine"\n[target.memory]\n'


def test_list_recipes_with_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes"]) == ExitStatus.DONE
    output = capsys.readouterr().out
    for recipe in list_recipes():
        assert recipe.name in output
        assert recipe.head.question in output


def test_one_recipe_is_told_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "vondra-2022"]) == ExitStatus.DONE
    output = capsys.readouterr().out
    for words in (
        "EDB blog, 2022-10-10",
        "which are erased: 4 to 6",
        "ZFS tuned, raidz3",
        "--quick",
        "Deviations",
    ):
        assert words in output


def test_server_preparation_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "lentfer-2009"]) == ExitStatus.DONE
    output = " ".join(capsys.readouterr().out.split())
    assert "On an existing server (--server), step by step 1. Use a separate disk" in output
    assert "10. To rank campaigns, measure a second, unchanged server" in output
    assert main(["recipes", "durability"]) == ExitStatus.DONE
    assert "--server" not in capsys.readouterr().out


def test_recipes_are_objects_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipes", "--json"]) == ExitStatus.DONE
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == [recipe.name for recipe in list_recipes()]
    assert main(["recipes", "barriers", "--json"]) == ExitStatus.DONE
    one = json.loads(capsys.readouterr().out)
    assert (one["question"], one["disks"]) == ("What do barriers cost?", 1)
    assert "ext4, no barrier" in one["configurations"]
    assert (one["server"], one["server_steps"]) == (None, [])
    assert main(["recipes", "ufs-zfs-2008", "--json"]) == ExitStatus.DONE
    one = json.loads(capsys.readouterr().out)
    assert one["server"]["scale"] == 1600
    assert "zpool create" in one["server_steps"][1]


@pytest.mark.parametrize("command", [["recipes", "durabilty"], ["run", "durabilty"]])
def test_unknown_recipe_suggests_nearest(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == ExitStatus.USAGE
    assert "“durability”" in capsys.readouterr().err


def test_campaign_file_runs_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "durability"
    path.write_text(CAMPAIGN)
    assert campaign_to_run(str(path), "", quick=False) is None
    assert campaign_to_run("durability.toml", "", quick=False) is None


def test_local_file_precedes_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clients").write_text(CAMPAIGN)
    assert campaign_to_run("clients", "", quick=False) is None


@pytest.mark.parametrize(("disks", "quick"), [("A,B", False), ("", True)])
def test_plain_file_rejects_disks_and_quick(tmp_path: Path, disks: str, *, quick: bool) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CAMPAIGN)
    with pytest.raises(UsageError, match=r"no \[recipe\] table"):
        campaign_to_run(str(path), disks, quick=quick)


def test_disk_recipe_without_disks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "vondra-2022", "--quick"]) == ExitStatus.USAGE
    errors = capsys.readouterr().err
    assert "4 to 6 different spare disks are needed, but 0 were given" in errors
    assert "--disks SERIAL,SERIAL" in errors


def test_disks_and_a_server_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "lentfer-2009", "--disks", "A", "--server", "host=db user=x"]
    assert main(command) == ExitStatus.USAGE
    assert "--disks and --server cannot be used together" in capsys.readouterr().err


def test_server_target_unsupported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "checksums", "--server", "host=db user=x"]) == ExitStatus.USAGE
    assert "has no variant for an existing server" in capsys.readouterr().err
    path = tmp_path / "mine.toml"
    path.write_text(CAMPAIGN)
    assert main(["run", str(path), "--server", "host=db user=x"]) == ExitStatus.USAGE
    assert "has no [recipe] table" in capsys.readouterr().err


def test_server_recipe_preview(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psycopg")
    command = ["run", "lentfer-2009", "--dry-run", "--server", "host=db user=x", "--as", "HAMMER2"]
    assert main(command) == ExitStatus.DONE
    output = capsys.readouterr().out
    assert "HAMMER2" in output
    assert "5 runs" in output
    assert "copied" not in output, "nothing is copied to a server of others"


def test_folder_recipe_rejects_disks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "durability", "--disks", "A"]) == ExitStatus.USAGE
    assert "This campaign uses no disks" in capsys.readouterr().err


def test_quick_variant_of_copy(tmp_path: Path) -> None:
    path = tmp_path / "copy.toml"
    path.write_text(
        'name = "copy"\n[recipe]\nquestion = "Why?"\nquick = { cannot_show = "much", scale = 1 }\n'
        "[target.folder]\n"
    )
    pytest.importorskip("psycopg")
    file = campaign_to_run(str(path), "", quick=True)
    assert file is not None
    (one,) = file.campaign.configurations
    assert (file.campaign.name, one.workload.scale, one.target) == ("copy (quick)", 1, FolderTarget())
    assert 'name = "copy (quick)"' in file.text

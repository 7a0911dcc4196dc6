"""The same again at 70 % of the slowest: the campaign that a comparison makes of its own runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import read_run_facts
from app.analysis.stability import CLOSED_LOOP_NOTE
from app.campaign_file.reader import load_campaign, parse_campaign
from app.campaign_file.writer import format_campaign
from app.cli import main as command
from app.comparison.again_at_rate import campaign_again, common_rate
from app.comparison.comparison import RunComparison, compare_runs
from app.domain.campaign.configuration import Campaign
from app.domain.errors import CampaignError, UsageError
from app.domain.json_value import Json
from app.domain.run import RunState
from app.draft.draft import CampaignDraft
from app.report.blocks import Text
from app.report.report import read_report
from app.runfile.finalize import finish_run_file
from tests.fix_runs import change_run
from tests.fix_window import Trial, begin_trial, write_trial

pytestmark = pytest.mark.usefixtures("own_folders")

Capture = pytest.CaptureFixture[str]

TOML = """
name = "Filesystems"
repeats = 4
seeds = [3, 4]
[target.folder]
path = "/srv/bench"
[workload]
clients = 8
duration = "90s"
[[configuration]]
name = "plain"
[[configuration]]
name = "async"
[configuration.postgresql.settings]
synchronous_commit = "local"
"""


def campaign() -> Campaign:
    return parse_campaign(TOML, base_directory="/", source_name="")


def write(
    folder: Path, tps: Sequence[float] = (1234.0, 900.0), text: str | None = None, **workload: Json
) -> list[Path]:
    text = format_campaign(campaign()) if text is None else text
    paths: list[Path] = []
    for repeat in range(2):
        for name, each in zip(("plain", "async"), tps, strict=False):
            more: dict[str, Json] = {"campaign_file": text} if text else {}
            values: dict[str, Json] = {"label": "tpcb-like", "clients": 8, "rate_tps": None, **workload}
            trial = Trial(f"{name} #{repeat}", name, repeat, each, more={**more, "workload": values})
            paths.append(write_trial(folder / f"{len(paths):02}.footing", trial))
    return paths


def compared(paths: Sequence[Path]) -> RunComparison:
    return compare_runs([read_run_facts(path) for path in paths], cut_s=0.0)


def test_campaign_changes_rate_and_name_only(tmp_path: Path) -> None:
    file = campaign_again(compared(write(tmp_path)))
    before = campaign()
    assert file.campaign.name == "Filesystems at 630 per second"  # 70 % of 900
    assert file.campaign == replace(
        before,
        name=file.campaign.name,
        configurations=tuple(
            replace(each, workload=replace(each.workload, rate_tps=630.0)) for each in before.configurations
        ),
    )
    assert parse_campaign(file.text, base_directory="/", source_name="") == file.campaign


def test_the_wizard_takes_it(tmp_path: Path) -> None:
    made = campaign_again(compared(write(tmp_path))).campaign
    draft = CampaignDraft.of(made)
    assert draft.parts.values["workload.rate"] == "630"
    assert draft.parts.values["name"] == made.name


@pytest.mark.parametrize(
    ("slowest", "rate"), [(900, 630), (1234, 860), (100000, 70000), (17, 11), (0.5, 0.35), (0.001, 0.01)]
)
def test_rate_seventy_percent_of_slowest(tmp_path: Path, slowest: float, rate: float) -> None:
    assert common_rate(compared(write(tmp_path, (2 * slowest, slowest)))) == rate


def test_refuses_runs_at_rate(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="had a target rate"):
        common_rate(compared(write(tmp_path, rate_tps=900.0)))


def test_refuses_imported_or_unknown_campaign(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pgFooting did not run plain"):
        campaign_again(compared(write(tmp_path / "a", text="")))
    with pytest.raises(UsageError, match="does not record how this configuration was run"):
        campaign_again(compared(write(tmp_path / "b", text=TOML.replace('"plain"', '"other"'))))
    with pytest.raises(CampaignError):
        campaign_again(compared(write(tmp_path / "c", text="name = ")))


def test_refuses_changed_script(tmp_path: Path) -> None:
    script = tmp_path / "own.sql"
    script.write_text("SELECT 1;\n")
    text = TOML.replace("[workload]", f'[workload]\nscript = {{file = "{script}"}}')
    found: list[Json] = [{"label": "own.sql", "weight": 1, "path": str(script), "text": "SELECT 1;\n"}]
    paths = write(tmp_path / "runs", text=text, scripts=found)
    assert campaign_again(compared(paths)).campaign.configurations[0].workload.scripts[0].path == str(script)
    script.write_text("SELECT 2;\n")
    with pytest.raises(UsageError, match="has changed since the run"):
        campaign_again(compared(paths))
    script.unlink()
    with pytest.raises(CampaignError):
        campaign_again(compared(paths))


def test_two_campaigns_unique_names(tmp_path: Path) -> None:
    paths = [*write(tmp_path / "a"), *write(tmp_path / "b", (800.0, 700.0))]
    found = compared(paths)
    assert len(found.groups) == 4
    made = campaign_again(found).campaign
    assert [each.name for each in made.configurations] == ["plain", "async", "plain 2", "async 2"]
    assert {each.workload.rate_tps for each in made.configurations} == {490.0}
    assert parse_campaign(format_campaign(made), base_directory="/", source_name="") == made


def test_long_names_fit_campaign_file(tmp_path: Path) -> None:
    paths = write(tmp_path, (1e7, 1e7), text=TOML.replace("Filesystems", "F" * 80))
    made = campaign_again(compared(paths))
    assert len(made.campaign.name) <= 80
    assert parse_campaign(made.text, base_directory="/", source_name="") == made.campaign


def test_command_writes_file_once(tmp_path: Path, capsys: Capture) -> None:
    paths = list(map(str, write(tmp_path / "runs")))
    again = tmp_path / "again.toml"
    assert command.main(["compare", *paths, "--again", str(again)]) == 0
    output = capsys.readouterr().out
    assert "“Filesystems at 630 per second” (8 runs) to " in output
    assert f"run {again}" in output.replace("\n", " ")
    assert load_campaign(again).configurations[1].workload.rate_tps == 630.0
    before = again.read_text()
    assert command.main(["compare", *paths, "--again", str(again)]) != 0
    assert "already" in capsys.readouterr().err
    assert again.read_text() == before


def test_again_and_json_exclusive(tmp_path: Path, capsys: Capture) -> None:
    paths = list(map(str, write(tmp_path / "runs")))
    assert command.main(["compare", *paths, "--json", "--again", str(tmp_path / "again.toml")]) == 2
    assert "--again and --json cannot be used together" in capsys.readouterr().err
    assert not (tmp_path / "again.toml").exists()


def test_runs_without_a_speed_write_no_file(tmp_path: Path, capsys: Capture) -> None:
    paths = list(map(str, write(tmp_path / "runs", rate_tps=900.0)))
    assert command.main(["compare", *paths, "--again", str(tmp_path / "again.toml")]) != 0
    assert "had a target rate" in capsys.readouterr().err
    assert not (tmp_path / "again.toml").exists()


def printed_by(capsys: Capture, *arguments: object) -> str:
    assert command.main(list(map(str, arguments))) == 0
    return " ".join(capsys.readouterr().out.split())


def test_closed_loop_mentioned_once(tmp_path: Path, capsys: Capture) -> None:
    closed, rate = write(tmp_path / "closed"), write(tmp_path / "rate", rate_tps=900.0)
    closed_loops = [write_trial(tmp_path / f"{number}.footing", Trial(f"x{number}")) for number in range(2)]
    for paths, is_reported in ((closed, True), (rate, False), (closed_loops, False)):
        for shown in (printed_by(capsys, "compare", *paths), printed_by(capsys, "show", paths[0])):
            assert shown.lower().count("closed loop") == is_reported
        blocks = read_report(paths).blocks
        first = next(number for number, block in enumerate(blocks) if getattr(block, "new_page", False))
        texts = [block.text for block in blocks if isinstance(block, Text)]
        paper = " ".join(block.text for block in blocks[:first] if isinstance(block, Text))
        assert paper.lower().count("closed loop") == is_reported
        assert any(CLOSED_LOOP_NOTE in text for text in texts) is is_reported  # beside the tables


def test_single_run_kept_rate(tmp_path: Path, capsys: Capture) -> None:
    sentences = {
        900.0: " one kept up with its target rate (900 per second); p99 4.25 ms over all offered "
        "transactions. ",
        2000.0: " one did not keep up with its target rate (2,000 per second): its capacity is 900 TPS; p99 "
        "4.25 ms over all",
        None: "(a closed loop does not count queueing time before a transaction starts)",
    }
    for number, rate_tps in enumerate(sentences):
        path = tmp_path / f"{number}.footing"
        workload: dict[str, Json] = {"label": "tpcb-like", "clients": 8, "rate_tps": rate_tps}
        begin_trial(path, Trial("one", tps=900.0, more={"workload": workload})).close()
        figures = {"tps": 900.0, "transactions": 4500.0, "latency_p99_ms": 4.25}
        finish_run_file(path, RunState.DONE, figures, is_durable=False)
        found = printed_by(capsys, "show", path)
        assert [sentence in found for sentence in sentences.values()] == [
            other == rate_tps for other in sentences
        ]


def test_missing_campaign_file_refused(tmp_path: Path) -> None:
    paths = write(tmp_path)
    found = compared(paths)
    change_run(paths[0], "DELETE FROM run WHERE key = 'campaign_file'")
    with pytest.raises(UsageError, match="pgFooting did not run"):
        campaign_again(found)

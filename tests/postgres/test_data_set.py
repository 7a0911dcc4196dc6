"""Data sets that are made once and copied for each run, with real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.runfile.metadata.run_metadata import DataSetMetadata
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from app.runfile.summary import figures_of
from tests.fix_campaign import CampaignBench, campaign_text, kill

pytestmark = pytest.mark.long

COPIED = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "2s"\ndata_set = "copied"'


def templates(bench: CampaignBench) -> list[Path]:
    """Everything in the folder of templates."""
    return sorted(Path(bench.environment["PGFOOTING_TEMPLATES"]).glob("*"))


def data_set_of(path: Path) -> DataSetMetadata:
    with RunFile(path) as run:
        run.check()
        data_set = or_none(run.metadata.data_set)
    assert data_set is not None
    return data_set


def commands_of(path: Path) -> list[str]:
    """Names of the programs of a run, in order."""
    with RunFile(path) as run:
        return [Path(command.argv[0]).name for command in run.commands()]


def test_template_made_copied_and_replaced(campaign_bench: CampaignBench) -> None:
    campaign_bench.run(campaign_text(memory=True, repeats=2, workload=COPIED), status=0)
    first, second = campaign_bench.run_files()
    (template,) = templates(campaign_bench)
    for path in (first, second):
        found = data_set_of(path)
        assert (found.state, found.caches, found.reason) == ("copied", "filled", "")
        assert template.name == f"data-{found.template}"
        assert found.files is not None
        assert found.files > 900
        assert found.size_bytes is not None
        assert found.size_bytes > 30 * 2**20
        assert found.copy_s is not None
        assert found.tables_bytes is not None
        assert found.tables_bytes > 10 * 2**20
        assert (found.extents, found.tables_encoded_bytes) == (None, None), "tmpfs tells no extents"
        with RunFile(path) as run:
            assert figures_of(run)["load_rows_s"] is None
            assert figures_of(run)["tps"]
            assert run.metadata.workload.data_set == "copied"
            assert "not properly shut down" not in (run.output("server.log") or "")
    assert data_set_of(first).sha256 == data_set_of(second).sha256
    assert "initdb" in commands_of(first)
    assert "initdb" not in commands_of(second), "it copies what the first one made"
    shown = campaign_bench.command("show", str(second)).stdout
    assert "copied to the target" in shown
    assert "caches unchanged after copying" in shown

    (accounts,) = [path for path in template.glob("data/base/*/PG_VERSION") if path.parent.name != "1"][:1]
    accounts.write_bytes(b"14\n")
    campaign_bench.run(campaign_text(memory=True, workload=COPIED), status=0)
    third = campaign_bench.run_files()[-1]
    with RunFile(third) as run:
        (note,) = [event.message for event in run.events() if "damaged" in event.message]
    assert "It is removed and created again" in note
    assert data_set_of(third).state == "copied"
    assert [path.name for path in templates(campaign_bench)] == [template.name]
    assert "initdb" in commands_of(third)


@pytest.mark.longest
def test_no_template_on_storage_under_test(campaign_bench: CampaignBench) -> None:
    text = campaign_text(folder=campaign_bench.target, memory=True, workload=COPIED)
    ended = campaign_bench.run(text, status=0)
    assert "The data is loaded for every run" in ended.stdout + ended.stderr
    for path in campaign_bench.run_files():
        found = data_set_of(path)
        assert found.state == "loaded"
        assert "is on the storage under test" in found.reason
        assert found.tables_bytes is not None
        with RunFile(path) as run:
            assert figures_of(run)["load_rows_s"] is not None
    assert templates(campaign_bench) == []


def test_runner_killed_while_making_template(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(memory=True, workload=COPIED))
    running.until_phase("initdb")
    folder = Path(campaign_bench.environment["PGFOOTING_TEMPLATES"])
    while not any(folder.glob("pgfooting-*/data/PG_VERSION")):
        assert running.process.poll() is None
    kill(running.process)
    assert not any(folder.glob("data-*"))
    campaign_bench.listed()  # which sweeps
    assert list(folder.iterdir()) == []
    campaign_bench.run(campaign_text(memory=True, workload=COPIED), status=0)
    assert len(templates(campaign_bench)) == 1

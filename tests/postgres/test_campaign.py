"""Campaigns from the command line to the run files, with a real server and pgbench."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path

import pytest

from app.domain.run import Phase
from app.execution.control import Request, send_request
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text, check_ticks, kill

pytestmark = pytest.mark.postgres


@pytest.mark.long
def test_campaign_over_folder_and_memory(campaign_bench: CampaignBench) -> None:
    ended = campaign_bench.run(campaign_text(folder=campaign_bench.target, memory=True, repeats=2), status=0)
    assert "ndicative only" in ended.stdout
    files = campaign_bench.run_files()
    assert [path.name for path in files] == [
        "01-folder-r1.footing",
        "02-memory-r1.footing",
        "03-memory-r2.footing",
        "04-folder-r2.footing",
    ]
    assert all(str(path) in ended.stdout for path in files)
    listed = campaign_bench.listed()
    assert {run["state"] for run in listed} == {"done"}
    assert {run["target"] for run in listed} == {"folder", "memory"}
    assert {run["filesystem"] for run in listed if run["target"] == "memory"} == {"tmpfs"}
    assert all(run["tps"] > 0 and run["scale"] == 1 and run["clients"] == 2 for run in listed)
    assert len({run["id"] for run in listed}) == 4
    for path in files:
        check_finished(path)
    seeds: dict[object, set[object]] = {}
    for path in files:
        with RunFile(path) as run:
            seeds.setdefault(run.values["repeat"], set()).add(run.values["seed"])
            assert run.metadata.place == {"folder": 1, "memory": 2}[str(run.metadata.configuration)]
    assert all(len(of_repeat) == 1 for of_repeat in seeds.values())
    assert seeds[0] != seeds[1]


def check_finished(path: Path) -> None:
    """What is true of every run that ended by itself."""
    with RunFile(path) as run:
        run.check()
        assert [times.phase for times in run.phases()] == [
            each for each in Phase if each not in {Phase.BASELINE, Phase.MAINTENANCE, Phase.PART}
        ]
        assert all(times.ended_ms is not None for times in run.phases())
        measured = run.phase(Phase.MEASURE)
        assert measured is not None
        assert measured.ended_ms is not None
        printed = run.values["pgbench"]
        assert isinstance(printed, dict)
        seconds = list(run.latency_seconds())
        logged = sum(second.transactions for second in seconds)
        one_in = int(str(run.values["transaction_log_one_in"]))
        if one_in == 1:  # full log: the seconds add up to pgbench's final count, exactly
            assert logged == printed["transactions"]
        else:
            assert logged * one_in == pytest.approx(int(str(printed["transactions"])), rel=0.2)
        assert not any(second.partial for second in seconds)
        summary = run.summary()
        assert summary["tps"] == printed["tps"]
        latency_ms = sum(second.latency_sum_us for second in seconds) / 1000
        mean_ms = latency_ms / sum(second.transactions for second in seconds)
        close = 0.01 if one_in == 1 else 0.5
        assert abs(mean_ms - float(str(printed["latency_ms"]))) < 0.002 + close * mean_ms
        check_ticks(run.ticks())
        assert any(command.argv[0].endswith("initdb") for command in run.commands())
        assert all(command.exit_code == 0 for command in run.commands())
        assert run.facts("before")["server"]
        assert run.facts("after")
        assert "database system is ready" in (run.output("server.log") or "")
        assert "progress: " in (run.output("measure.stderr") or "")
        assert "tps = " in (run.output("measure.stdout") or "")
        assert run.samples("cpu.user")[1].size
        assert run.samples("process.cpu_user", "postgres")[1].size
        assert run.samples("wal.bytes")[1].size
    assert path.stat().st_mode & 0o777 == 0o600
    assert [other.suffix for other in path.parent.glob(f"{path.name}-*")] == []


@pytest.mark.long
def test_full_log_seconds_add_up(campaign_bench: CampaignBench) -> None:
    workload = 'scale = 1\nclients = 2\nwarmup = "1s"\nduration = "4s"\nrate = 700'
    assert campaign_bench.run(campaign_text(memory=True, workload=workload)).returncode == 0
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.values["transaction_log_one_in"] == 1
    check_finished(path)


@pytest.mark.long
def test_show_and_export(campaign_bench: CampaignBench) -> None:
    assert campaign_bench.run(campaign_text(memory=True)).returncode == 0
    (listed,) = campaign_bench.listed()
    shown = campaign_bench.command(
        "show", listed["id"][:6], "--library", str(campaign_bench.library), status=0
    )
    assert "transactions per second" in shown.stdout
    assert "initdb" in shown.stdout
    as_json = json.loads(campaign_bench.command("show", "--json", listed["path"]).stdout)
    assert as_json["state"] == "done"
    csv_path, json_path = campaign_bench.folder / "out.csv", campaign_bench.folder / "out.json"
    for path in (csv_path, json_path):
        campaign_bench.command("export", listed["path"], "-o", str(path), "--anonymous", status=0)
    rows = csv_path.read_text().splitlines()
    tps = [row.split(",") for row in rows if ",pgbench.tps," in row and ",measure," in row]
    assert len(tps) >= 2
    assert all("e+" not in row for row in rows)
    exported_text = json_path.read_text()
    assert str(campaign_bench.folder) not in exported_text
    assert json.loads(exported_text)["runs"][0]["summary"]["tps"] == listed["tps"]


LONG = 'scale = 1\nclients = 2\nwarmup = "0s"\nduration = "600s"'


@pytest.mark.long
def test_the_control_socket_discards_or_lets_finish(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(memory=True, workload=LONG))
    running.until_second(1)
    (folder,) = campaign_bench.library.iterdir()
    send_request(folder, Request.DISCARD)
    assert running.end() == 130
    assert campaign_bench.run_files() == []
    running = campaign_bench.start(campaign_text(memory=True, repeats=3))
    running.until_second(1)
    (folder,) = (path for path in campaign_bench.library.iterdir() if path != folder)
    send_request(folder, Request.FINISH)
    assert running.end() == 130
    assert [run["state"] for run in campaign_bench.listed()] == ["done"]


@pytest.mark.long
def test_resume_measures_only_what_is_missing(campaign_bench: CampaignBench) -> None:
    text = campaign_text(memory=True, repeats=2)
    running = campaign_bench.start(text)
    running.until(lambda event: event["event"] == "run" and event["number"] == 2)
    running.until_second(1)
    kill(running.process)
    campaign_bench.run(text, "--resume", status=0)
    states = sorted((Path(run["path"]).name, run["state"]) for run in campaign_bench.listed())
    assert states == [
        ("01-memory-r1.footing", "done"),
        ("02-memory-r2-2.footing", "done"),
        ("02-memory-r2.footing", "incomplete"),
    ]
    again = campaign_bench.run(text, "--resume", status=2)
    assert "no unfinished campaign" in again.stderr


def test_live_run_listed_and_readable(campaign_bench: CampaignBench) -> None:
    running = campaign_bench.start(campaign_text(folder=campaign_bench.target, workload=LONG))
    running.until_second(2)
    (listed,) = campaign_bench.listed()
    assert listed["state"] == "running"
    connection = sqlite3.connect(f"file:{listed['path']}?mode=ro", uri=True)
    query = "SELECT count(*) FROM samples WHERE metric = 'pgbench.tps'"
    assert connection.execute(query).fetchone()[0] >= 2
    connection.close()
    kill(running.process, signal.SIGHUP)
    assert running.end() == 130

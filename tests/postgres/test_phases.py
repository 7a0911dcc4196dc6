"""Several phases in one run, with a real server: each has its own times, output, log and figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

from app.analysis.facts import read_phase_figures
from app.domain.run import Phase
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text

pytestmark = pytest.mark.long

WORKLOAD = """scale = 1
clients = 2
warmup = "1s"
duration = "2s"
[[workload.phase]]
name = "reads"
script = "select-only"
counts = false
[[workload.phase]]
name = "writes"
times = 2
duration = "1s"
maintenance = ["checkpoint", "vacuum"]
[[workload.phase]]
name = "half"
rate = "50 % of writes"
"""


def test_each_phase_has_own_results(campaign_bench: CampaignBench, tmp_path: Path) -> None:
    campaign_bench.run(campaign_text(memory=True, workload=WORKLOAD), status=0)
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        names = [times.name.text for times in run.phases()]
        assert names[-8:] == [
            "warm-up",
            "phase:1",
            "maintenance:2",
            "phase:2",
            "phase:3",
            "measure",
            "collect",
            "teardown",
        ]
        reads, first, second, half = known(run.metadata.phases, ())
        assert [each.label for each in (reads, first, second, half)] == [
            "reads",
            "writes (1 of 2)",
            "writes (2 of 2)",
            "half",
        ]
        assert [each.name for each in first.maintenance] == ["checkpoint", "vacuum"]
        assert second.maintenance == ()
        stems = ("phase1", "phase2", "phase3", "measure")
        figures = read_phase_figures(run)
        for stem, each in zip(stems, figures, strict=True):  # each pgbench wrote files of its own
            printed = known(each.metadata.pgbench, {})
            assert f"\ntps = {printed['tps']:f} " in (run.output(f"{stem}.stdout") or "")
            assert each.figures["tps"] == printed["tps"]
            assert each.figures["transactions"] == printed["transactions"]
            assert len(re.findall("^progress: ", run.output(f"{stem}.stderr") or "", re.MULTILINE)) >= 1
            assert (each.figures["latency_p99_ms"] or 0) > 0
        assert run.summary()["tps"] == figures[-1].figures["tps"]
        assert "select only" in (run.output("phase1.stdout") or "")
        assert "select only" in (run.output("warm-up.stdout") or "")  # as the first phase
        mean = fmean(each.figures["tps"] or 0 for each in figures if each.metadata.name == "writes")
        assert half.workload.rate_tps == pytest.approx(mean / 2)
        assert run.metadata.workload.rate_tps == half.workload.rate_tps
        assert (figures[-1].figures["tps"] or 0) < 0.8 * mean
        logged = sum(second.transactions for second in run.latency_seconds())
        full = [each for each in figures if each.metadata.transaction_log_one_in == 1]
        assert logged >= sum(each.figures["transactions"] or 0 for each in full)
        assert not run.partial_latency_seconds()
        events = [event.message for event in run.events() if event.kind == "maintenance"]
        assert len(events) == 2
    shown = campaign_bench.command("show", str(path)).stdout
    assert re.search(r"writes \(1 of 2\) +tpcb-like .* after checkpoint", shown)
    assert re.search(r"half +tpcb-like .* 50 % of writes", shown)
    output = tmp_path / "run.json"
    campaign_bench.command("export", str(path), "-o", str(output))
    (exported,) = json.loads(output.read_text())["runs"]
    assert [each["label"] for each in exported["workload_phases"]][1] == "writes (1 of 2)"
    assert exported["workload_phases"][0]["summary"]["tps"] == figures[0].figures["tps"]


def test_measurements_before_failing_phase_kept(campaign_bench: CampaignBench) -> None:
    (campaign_bench.folder / "bad.sql").write_text("SELECT no_such_column FROM pgbench_branches;\n")
    workload = (
        'scale = 1\nclients = 2\nwarmup = 0\nduration = "1s"\n'
        '[[workload.phase]]\nname = "good"\n'
        '[[workload.phase]]\nname = "bad"\nscript = {file = "bad.sql"}\n'
        '[[workload.phase]]\nname = "after"\n'
    )
    ended = campaign_bench.run(campaign_text(memory=True, workload=workload), status=1)
    assert "no_such_column" in ended.stdout + ended.stderr
    assert "In the phase “bad”: " in " ".join((ended.stdout + ended.stderr).split())
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        assert run.state == "failed"
        assert run.phase(Phase.MEASURE) is None
        assert run.summary() == {}
        good, bad = read_phase_figures(run)
        assert (good.figures["tps"] or 0) > 0
        assert bad.metadata.name == "bad"
        assert not bad.figures.get("tps")

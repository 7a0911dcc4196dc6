"""Base backups beside a phase, with a real server: again and again, as fast as said, stored and told."""

from __future__ import annotations

import pytest

from app.analysis.phase_figures import phase_note
from app.runfile.disturbance import read_disturbances
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench, campaign_text

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

WORKLOAD = """scale = 2
clients = 2
warmup = 0
duration = "4s"
[[workload.phase]]
name = "alone"
script = "select-only"
duration = "1s"
[[workload.phase]]
name = "beside"
background = "pg_basebackup"
[[workload.phase]]
name = "slowly"
background = "pg_basebackup"
max_rate = "256 KiB"
duration = "3s"
"""


def test_base_backups_are_made_beside_a_phase_as_long_as_it_lasts(campaign_bench: CampaignBench) -> None:
    ended = campaign_bench.run(campaign_text(memory=True, workload=WORKLOAD))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = campaign_bench.run_files()
    with RunFile(path) as run:
        run.check()
        alone, beside, slowly = known(run.metadata.phases, ())
        assert alone.background.name == ""
        assert beside.background.done >= 1
        (cut,) = slowly.background.turns
        assert (cut.how, slowly.background.max_rate_bytes) == ("ended", 256 * 1024)
        for told, name in ((beside, "phase:2"), (slowly, "measure")):
            (times,) = (each for each in run.phases() if each.name.text == name)
            first, last = told.background.turns[0], told.background.turns[-1]
            assert first.started_ms <= times.started_ms + 1000
            assert last.ended_ms >= (times.ended_ms or 0) - 2000
        argvs = [each.argv for each in run.commands() if each.argv[0].endswith("pg_basebackup")]
        assert len(argvs) == len(beside.background.turns) + 1
        assert "--max-rate=256k" in argvs[-1]
        settings = {each.name: each for each in known(run.metadata.settings, ())}
        assert (settings["wal_level"].value, settings["wal_level"].origin) == ("replica", "pgfooting")
        assert [event.kind for event in run.events()].count("background") == len(argvs)
        judged = read_disturbances(run)
        assert "the run itself did this beside it: pg_basebackup" in dict(judged.unknown).values() or (
            len(judged.measured) == 0
        )
        assert phase_note(slowly) == (
            "beside pg_basebackup at most 256 KiB a second (one cut off by its end)"
        )
    shown = " ".join(campaign_bench.command("show", str(path)).stdout.split())
    assert "beside pg_basebackup (" in shown

"""Real campaigns started as the window starts them, and watched as the window watches them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.domain.errors import ExitStatus
from app.domain.run import Phase, RunState
from app.draft.servers import agreement_of, keep_agreement
from app.execution.control import Request, send_request
from app.execution.launch import LaunchError, live_campaigns, start_campaign
from app.library.entries import is_live
from app.live.campaign_follower import CampaignFollower, LiveState
from app.runfile.reader import RunFile
from tests.fix_campaign import PATIENCE_S, TOP, CampaignBench, campaign_text
from tests.launched import wait_for_end, wait_for_folder

pytestmark = pytest.mark.long

LONG = 'scale = 1\nclients = 2\nwarmup = "1s"\nduration = "600s"'


@pytest.fixture
def bench(campaign_bench: CampaignBench, monkeypatch: pytest.MonkeyPatch) -> CampaignBench:
    """The bench, with its environment as this process's: what is launched inherits it."""
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, campaign_bench.environment[name])
    return campaign_bench


def looks(folder: Path, pid: int) -> Iterator[LiveState]:
    """Look at a campaign five times a second until its runner has ended, and once more."""
    follower = CampaignFollower(folder, ["pgbench.tps"])
    descriptor = os.pidfd_open(pid)
    try:
        while not select.select([descriptor], [], [], 0.2)[0]:
            yield follower.poll()
    finally:
        os.close(descriptor)
    yield follower.poll()


def test_launched_campaign_followed_to_end(bench: CampaignBench) -> None:
    launched = start_campaign(campaign_text(folder=bench.target, memory=True), bench.library)
    folder = wait_for_folder(launched, PATIENCE_S)
    assert [campaign.folder for campaign in live_campaigns()] == [folder]
    seen = list(looks(folder, launched.pid))
    assert wait_for_end(launched, PATIENCE_S) == 0
    # A look five times a second can miss a phase that is shorter, such as loading where the machine is fast.
    assert Phase.MEASURE in {watched.run.phase for watched in seen if watched.run is not None}
    numbers = [w.run.numbers for w in seen if w.run is not None and w.run.phase is Phase.MEASURE]
    assert any(number.tps and number.cpu_server for number in numbers)
    assert {w.run.state for w in seen[:-1] if w.run} <= {RunState.RUNNING, RunState.DONE}
    last = seen[-1]
    assert last.ended
    assert last.status is not None
    assert [run.state for run in last.status.runs] == [RunState.DONE, RunState.DONE]
    assert last.run is not None
    assert last.run.data.name == "memory"
    assert [each.data.name for each in last.earlier] == ["folder"]
    assert len(last.earlier[0].data.series("pgbench.tps")[0]) >= 3
    assert live_campaigns() == ()


def test_launch_needs_matching_agreement(bench: CampaignBench) -> None:
    witness, script = bench.folder / "witness", bench.folder / "own.sql"
    bench.folder.chmod(0o777)
    script.write_text(f"\\shell touch {witness}\nSELECT 1;\n")
    workload = f'script = {{file = "{script}"}}\nscale = 1\nclients = 1\nwarmup = "0s"\ntransactions = 3'
    campaign = parse_campaign(
        campaign_text(folder=bench.target, workload=workload), base_directory="/", source_name="shown"
    )

    def refused() -> bool:
        with pytest.raises(LaunchError, match="can do more than measure") as caught:
            wait_for_folder(start_campaign(campaign, bench.library), PATIENCE_S)
        return caught.value.status == ExitStatus.REFUSED and not witness.exists()

    assert refused()
    agreement = agreement_of(campaign)
    assert agreement.is_open
    keep_agreement(agreement.digest)
    shown = script.read_text()
    script.write_text(shown.replace("SELECT 1", "SELECT 2"))  # after the review, before the start
    assert refused()
    script.write_text(shown)
    launched = start_campaign(campaign, bench.library)
    assert wait_for_end(launched, PATIENCE_S) == ExitStatus.DONE
    assert witness.exists()


WINDOW = """
import signal, sys
from pathlib import Path
from app.execution.launch import start_campaign
from tests.launched import wait_for_folder
launched = start_campaign(Path(sys.argv[1]).read_text(), Path(sys.argv[2]))
print(launched.pid, flush=True)
print(wait_for_folder(launched, 120), flush=True)
signal.pause()
"""


def test_campaign_outlives_its_window(bench: CampaignBench) -> None:
    file = bench.write(campaign_text(folder=bench.target))
    window = subprocess.Popen(
        [sys.executable, "-c", WINDOW, file, str(bench.library)],
        cwd=TOP,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with window:
        assert window.stdout is not None
        pid = int(window.stdout.readline())
        folder = Path(window.stdout.readline().strip())
        os.killpg(window.pid, signal.SIGKILL)
        window.wait(PATIENCE_S)
    assert is_live(folder)
    assert [campaign.folder for campaign in live_campaigns()] == [folder]
    last = list(looks(folder, pid))[-1]
    assert last.run is not None
    assert (last.ended, last.run.state) == (True, RunState.DONE)
    (path,) = bench.run_files()
    with RunFile(path) as run:
        assert run.summary()["tps"]


@pytest.mark.parametrize(("request_", "state"), [(Request.STOP, RunState.STOPPED), (Request.DISCARD, None)])
def test_stop_while_watching(bench: CampaignBench, request_: Request, state: RunState | None) -> None:
    launched = start_campaign(campaign_text(folder=bench.target, workload=LONG), bench.library)
    folder = wait_for_folder(launched, PATIENCE_S)
    asked = False
    last = LiveState()
    for watched in looks(folder, launched.pid):
        last = watched
        run = watched.run
        if not asked and run is not None and run.phase is Phase.MEASURE and run.numbers.tps:
            send_request(folder, request_)
            asked = True
    assert asked
    assert wait_for_end(launched, PATIENCE_S) == 130
    assert last.ended
    if state is None:
        assert bench.run_files() == []
    else:
        assert last.run is not None
        assert last.run.state is state

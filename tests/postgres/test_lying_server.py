"""A server that sends pgbench what does not end is not waited for until a person stops."""

from __future__ import annotations

import pytest

from app.domain.run import RunState
from app.runfile.metadata.typed_json import or_none
from app.runfile.reader import RunFile
from tests.delaying_proxy import delaying_proxy
from tests.false_server import endless_notices, endless_rows
from tests.fix_campaign import CampaignBench
from tests.fix_existing import Elsewhere
from tests.postgres.test_existing_server import campaign

# They keep a processor busy for as long as they last, and what runs beside waits.
pytestmark = [pytest.mark.postgres, pytest.mark.longest]


def why(bench: CampaignBench) -> str:
    """Return why the only run failed."""
    (path,) = bench.run_files()
    with RunFile(path) as run:
        assert run.state is RunState.FAILED
        error = or_none(run.metadata.error)
        assert error is not None
        assert error.code == "server"
        return error.message


def test_endless_messages_while_measuring(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port) as proxy:
        text = campaign(f"host=127.0.0.1 port={proxy.port} user=bench").replace('"3s"', '"1h"')
        running = campaign_bench.start(text, "--load", f"127.0.0.1:{proxy.port}")
        running.until_second(1)
        proxy.lie(endless_notices)
        assert running.end() == 1
    assert why(campaign_bench).startswith("The server sends messages without an end: ")
    assert not elsewhere.has_ours()


def test_endless_rows_while_loading(elsewhere: Elsewhere, campaign_bench: CampaignBench) -> None:
    elsewhere.role("bench")
    with delaying_proxy(elsewhere.port) as proxy:
        proxy.lie(endless_rows)
        text = campaign(f"host=127.0.0.1 port={proxy.port} user=bench")
        ended = campaign_bench.run(text, "--load", f"127.0.0.1:{proxy.port}")
    assert ended.returncode == 1
    assert why(campaign_bench).startswith("The server sends answers without an end: ")
    assert not elsewhere.has_ours()

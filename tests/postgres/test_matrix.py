"""A campaign of dimensions with a real server: told before the start, measured cell by cell, gone on with."""

from __future__ import annotations

import pytest

from app.domain.errors import ExitStatus
from tests.fix_campaign import CampaignBench

pytestmark = pytest.mark.long


def matrix(bench: CampaignBench) -> str:
    return (
        f'name = "Cells"\nrepeats = 1\n[target.folder]\npath = "{bench.target}"\n'
        '[postgresql]\npreset = "defaults"\n[postgresql.settings]\nshared_buffers = "32MB"\n'
        "[workload]\nscale = 1\nwarmup = 0\ntransactions = 3\n"
        '[[dimension]]\nkey = "workload.clients"\nvalues = [1, 2]\n'
        '[[dimension]]\nname = "durable"\n[[dimension.value]]\nname = "safe"\n'
        '[[dimension.value]]\nname = "fast"\npostgresql.settings.synchronous_commit = "off"\n'
        '[[exclude]]\nclients = 2\ndurable = "fast"\n'
    )


def test_dry_run_starts_nothing(campaign_bench: CampaignBench) -> None:
    found = campaign_bench.run(matrix(campaign_bench), "--dry-run", status=ExitStatus.DONE)
    words = " ".join(found.stdout.split())
    assert "clients 1, safe" in words
    assert "clients 2, fast" not in words
    assert "4 combinations give 3 configurations" in words
    assert "[[exclude]] removes 1 of them" in words
    assert "3 runs; the time depends on TPS" in words
    assert "Loading writes about" in words
    assert not campaign_bench.library.exists()
    assert list(campaign_bench.target.iterdir()) == []

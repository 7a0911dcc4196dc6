"""The wizard's drafts on a real machine: what it says before the start is what happens after it."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.campaign_file.writer import format_campaign
from app.draft.commands import LineAction
from app.draft.draft import CampaignDraft
from app.draft.fields.state import DraftEnvironment, Place, Step, read_environment
from app.draft.machine_answers import answer
from app.draft.review import make_review
from app.hosts.folders.targets import CheckedTarget
from app.runfile.reader import RunFile
from tests.fix_campaign import CampaignBench

pytestmark = pytest.mark.long

RANDOM = re.compile(r"pgfooting-(?:[0-9a-f]{16}|[X-Z]{8})")
SHARE = re.compile(r" --sampling-rate=\S+")


@pytest.fixture(scope="module")
def environment() -> DraftEnvironment:
    return read_environment()


def find_out(draft: CampaignDraft, step: Step = Step.REVIEW) -> None:
    """Let the machine answer everything."""
    assert draft.environment is not None
    while questions := draft.questions_for(step):
        for question in questions:
            draft.take(answer(question, draft.environment))


def small_draft(environment: DraftEnvironment, bench: CampaignBench) -> CampaignDraft:
    draft = CampaignDraft(environment=environment)
    draft.parts.values["target.folder.path"] = str(bench.target)
    draft.parts.values["postgresql.preset"] = "defaults"
    draft.parts.values["postgresql.settings"] = "shared_buffers = 32MB"
    draft.parts.values |= {"workload.scale": "1", "workload.clients": "2", "repeats": "1"}
    draft.parts.values |= {"workload.duration": "3s", "workload.warmup": "1s"}
    draft.configuration_of(Place.MEMORY).chosen = False
    return draft


def test_machine_read_for_draft(environment: DraftEnvironment) -> None:
    assert environment.newest is not None
    assert environment.newest.major >= 13
    assert isinstance(environment.folder, CheckedTarget)
    assert environment.folder.path == environment.folder_path
    assert {"quick", "durability"} <= {recipe.name for recipe in environment.recipes}
    assert environment.account_sentence


@pytest.mark.parametrize(
    ("caches", "ratio", "count"), [("warm", "", 6), ("cold", "", 7), ("warm", "2", 8), ("cold", "4", 9)]
)
def test_reviewed_commands_are_executed(
    campaign_bench: CampaignBench, environment: DraftEnvironment, caches: str, ratio: str, count: int
) -> None:
    draft = small_draft(environment, campaign_bench)
    draft.parts.values["workload.caches"] = caches
    draft.parts.values["workload.compressibility"] = ratio
    if caches == "cold":
        draft.parts.values["workload.warmup"] = "0"
    find_out(draft)
    assert draft.blockers(Step.REVIEW) == {}
    resolved = draft.resolved()
    assert resolved is not None
    assert environment.account is not None
    (row,) = make_review(resolved).rows
    found = [RANDOM.sub("*", line.text) for line in row.commands if line.action is LineAction.PROGRAM]
    written = [line.text for line in row.commands if line.file.endswith("/load.sql")]

    done = campaign_bench.run(format_campaign(draft.to_campaign()))
    assert done.returncode == 0, done.stderr
    (path,) = campaign_bench.run_files()
    # A machine that does more in the warm-up than is logged in full gets the share that the review announces.
    executed = [SHARE.sub("", RANDOM.sub("*", line)) for line in commands_of(path)]
    assert found == [line for line in executed if line in found]
    assert len(found) == count
    with RunFile(path) as run:
        assert written == ([run.output("load.sql")] if ratio else [])


def commands_of(path: Path) -> list[str]:
    """Return the commands of a run file in the order in which they were started."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT argv FROM command ORDER BY started_ms").fetchall()
    return [shlex.join(json.loads(row[0])) for row in rows]


def test_unsafe_settings_are_known_before_the_start(environment: DraftEnvironment) -> None:
    draft = CampaignDraft(environment=environment)
    draft.parts.values["postgresql.settings"] = "fsync = off"
    find_out(draft, Step.POSTGRESQL)
    known = draft.postgres_answer()
    assert known is not None
    assert [name for name, _, _ in known.unsafe] == ["fsync"]

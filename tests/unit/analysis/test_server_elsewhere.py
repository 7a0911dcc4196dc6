"""Of a server elsewhere, what is known of this machine is told as pgbench's, and never as the server's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.analysis.properties import MACHINE, PGBENCH_MACHINE, properties_of
from app.domain.json_value import Json
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata, ServerMetadata
from tests.known_runs import FACTS, WHOLE

ELSEWHERE = replace(WHOLE, target=replace(WHOLE.target, server=ServerMetadata(host_name="db:5432")))


@pytest.mark.parametrize(
    ("run", "reached", "topic"),
    [
        (WHOLE, {}, MACHINE),
        (ELSEWHERE, {}, PGBENCH_MACHINE),
        (ELSEWHERE, {"over": "ssh db", "unreadable": "there is no route to db"}, PGBENCH_MACHINE),
        (ELSEWHERE, {"over": "ssh db", "system": "Linux"}, MACHINE),
    ],
    ids=["here", "elsewhere", "ssh in vain", "over ssh"],
)
def test_machine_topic_by_owner(run: RunMetadata, reached: Mapping[str, Json], topic: str) -> None:
    facts = {**FACTS, "reached": dict(reached)} if reached else FACTS
    environment = [
        each for each in properties_of(run, read_environment_facts(facts)) if each.name == "processor"
    ]
    assert [(each.topic, bool(each.value)) for each in environment] == [(topic, True)]

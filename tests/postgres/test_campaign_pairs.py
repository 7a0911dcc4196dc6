"""Keys of campaign files in pairs, with a real server: what was chosen is read back from each run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.postgres.installations.installation import Installation
from app.runfile.reader import RunFile
from tests.campaign_keys import (
    CAMPAIGNS_OWN,
    OWN_SCRIPT,
    Back,
    Places,
    Values,
    campaign_of,
    cost_of,
    declared,
    may_be,
)
from tests.fix_campaign import ORDINARY_EVENTS, CampaignBench
from tests.machine.batches import smallest_cover
from tests.pairs import Row, every_pair, pairs_of, pairwise

pytestmark = pytest.mark.long

ANYWHERE = Places(Path("/home/x"), Path("/home"), Installation("/bin", "15.1", 15))
NAMES = {key: tuple(values) for key, values in declared(ANYWHERE).items()}
ROWS, IMPOSSIBLE = pairwise(NAMES, allowed=may_be, cost=cost_of)
RUNS_AT_ONCE = 4
"""Of one campaign: what its runs share is done once, and a test takes less than a minute."""


def shared_out() -> list[dict[str, Row]]:
    """Return the rows, by name, of each campaign: they agree in what is said once for all of its runs."""
    campaigns: list[dict[str, Row]] = []
    for number, row in enumerate(ROWS, start=1):
        fitting = (
            each
            for each in campaigns
            if (len(each) + 1) * int(row["repeats"]) <= RUNS_AT_ONCE
            and all(other[key] == row[key] for other in each.values() for key in CAMPAIGNS_OWN)
        )
        campaign = next(fitting, None)
        if campaign is None:
            campaigns.append(campaign := {})
        campaign[f"row{number:02}"] = row
    return campaigns


def test_the_list_holds_every_pair() -> None:
    cold = ("caches", "cold")
    assert {
        (cold, ("target", "memory")),
        (cold, ("target", "memory with size")),
        (cold, ("warmup", "1s")),
        (cold, ("phases", "two")),
    } == IMPOSSIBLE
    assert {pair for row in ROWS for pair in pairs_of(row)} == every_pair(NAMES) - IMPOSSIBLE
    assert sum(int(row["repeats"]) for row in ROWS) <= 45, "each takes some seconds"


def always_run() -> set[str]:
    """Return campaigns that together hold each value of each key, and cost little."""
    values, costs = {}, {}
    for rows in shared_out():
        name = "-".join(rows)
        values[name] = [choice for row in rows.values() for choice in row.items()]
        costs[name] = sum(cost_of(row) * int(row["repeats"]) for row in rows.values())
    return smallest_cover(values, costs)


ALWAYS = always_run()
CAMPAIGNS = [
    pytest.param(rows, marks=() if "-".join(rows) in ALWAYS else pytest.mark.longest, id="-".join(rows))
    for rows in shared_out()
]


def test_pair_campaigns_cover_each_value() -> None:
    always = [rows for rows in shared_out() if "-".join(rows) in ALWAYS]
    held = {choice for rows in always for row in rows.values() for choice in row.items()}
    assert held == {(key, name) for key, names in NAMES.items() for name in names}
    assert len(always) < len(CAMPAIGNS) / 2
    assert sum(not param.marks for param in CAMPAIGNS) == len(always)


@pytest.mark.parametrize("rows", CAMPAIGNS)
def test_every_pair_measured_as_chosen(
    campaign_bench: CampaignBench,
    installation: Installation,
    record_property: Callable[[str, object], None],
    rows: dict[str, Row],
) -> None:
    places = Places(campaign_bench.target, campaign_bench.folder, installation)
    bench = replace(campaign_bench, environment={**campaign_bench.environment, "HOME": str(places.home)})
    (bench.folder / "own.sql").write_text(OWN_SCRIPT)
    values, started_s = declared(places), time.monotonic()
    running = bench.start(campaign_of(rows, values))
    running.end()
    wanted = {
        f"{name}-r{repeat + 1}.footing": (name, repeat)
        for name, row in rows.items()
        for repeat in range(int(row["repeats"]))
    }
    took = f"{len(wanted)} runs in {time.monotonic() - started_s:.0f} s"
    record_property("pairs", took)
    print(took)  # noqa: T201 - shown with -s
    files = {path.name.partition("-")[2]: path for path in bench.run_files()}
    assert running.errors is not None
    assert files.keys() == wanted.keys(), running.errors.read_text()
    red = {
        file: wrong
        for file, (name, repeat) in wanted.items()
        if (wrong := what_is_wrong(files[file], rows[name], repeat, places, values))
    }
    assert not red, "\n".join(
        f"{file}: {rows[wanted[file][0]]}: {mistakes}" for file, mistakes in red.items()
    )


def what_is_wrong(path: Path, row: Row, repeat: int, places: Places, values: dict[str, Values]) -> str:
    """Return what a run did not do as chosen, by key; empty where all is as it should be."""
    with RunFile(path) as run:
        run.check()
        if run.values["state"] != "done":
            return f"{run.values['state']}: {run.values.get('error')}"
        events = [(each.kind, each.message) for each in run.events() if each.kind not in ORDINARY_EVENTS]
        wrong = [f"events {events}"] if events else []
        if not all(command.exit_code == 0 for command in run.commands()):
            wrong.append("a command failed")
        for key, name in row.items():
            try:
                values[key][name].check(Back(run, row, repeat, places))
            except AssertionError as error:
                wrong.append(f"{key} = {name}: {str(error).splitlines()[:4]}")
        return "; ".join(wrong)

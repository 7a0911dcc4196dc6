"""Keys of campaign files in pairs, with a real server: what was chosen is read back from each run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.postgres.installations import Installation
from app.runs.runfile_reader import RunFile
from tests.campaign_keys import OWN_SCRIPT, Back, Places, Values, campaign_of, cost_of, declared
from tests.fix_campaign import CampaignBench
from tests.pairs import Row, every_pair, pairs_of, pairwise

pytestmark = pytest.mark.postgres

ANYWHERE = Places(Path("/home/x"), Path("/home"), Installation("/bin", "15.1", 15))
NAMES = {key: tuple(values) for key, values in declared(ANYWHERE).items()}
ROWS, IMPOSSIBLE = pairwise(NAMES, cost=cost_of)
GROUPS = sorted({(row["repeats"], row["seeds"]) for row in ROWS})
EXPECTED_EVENTS = frozenset({"checkpoint-start", "checkpoint-complete", "autovacuum", "autoanalyze"})


def test_the_list_holds_every_pair() -> None:
    assert not IMPOSSIBLE
    assert {pair for row in ROWS for pair in pairs_of(row)} == every_pair(NAMES)
    assert sum(int(row["repeats"]) for row in ROWS) <= 32, "each takes some seconds"


@pytest.mark.parametrize(("repeats", "seeds"), GROUPS)
def test_every_pair_of_keys_is_measured_as_it_was_chosen(
    campaign_bench: CampaignBench,
    installation: Installation,
    record_property: Callable[[str, object], None],
    repeats: str,
    seeds: str,
) -> None:
    places = Places(campaign_bench.target, campaign_bench.folder, installation)
    campaign_bench.environment["HOME"] = str(places.home)  # type: ignore[index]
    (campaign_bench.folder / "own.sql").write_text(OWN_SCRIPT)
    rows = {
        f"row{number}": row
        for number, row in enumerate(ROWS, start=1)
        if (row["repeats"], row["seeds"]) == (repeats, seeds)
    }
    values, started_s = declared(places), time.monotonic()
    running = campaign_bench.start(campaign_of(rows, values))
    running.end()
    took = f"{len(rows) * int(repeats)} runs in {time.monotonic() - started_s:.0f} s"
    record_property("pairs", took)
    print(took)  # noqa: T201 - shown with -s
    files = {path.name.partition("-")[2]: path for path in campaign_bench.run_files()}
    wanted = {
        f"{name}-r{repeat + 1}.footing": (name, repeat) for name in rows for repeat in range(int(repeats))
    }
    assert running.errors is not None
    assert files.keys() == wanted.keys(), running.errors.read_text()
    red = {
        file: told
        for file, (name, repeat) in wanted.items()
        if (told := what_is_wrong(files[file], rows[name], repeat, places, values))
    }
    assert not red, "\n".join(f"{file}: {dict(rows[wanted[file][0]])}: {told}" for file, told in red.items())


def what_is_wrong(path: Path, row: Row, repeat: int, places: Places, values: dict[str, Values]) -> str:
    """Return what a run did not do as chosen, by key; empty where all is as it should be."""
    with RunFile(path) as run:
        run.check()
        if run.values["state"] != "done":
            return f"{run.values['state']}: {run.values.get('error')}"
        events = [(each.kind, each.message) for each in run.events() if each.kind not in EXPECTED_EVENTS]
        wrong = [f"events {events}"] if events else []
        if not all(command.exit_code == 0 for command in run.commands()):
            wrong.append("a command failed")
        for key, name in row.items():
            try:
                values[key][name].check(Back(run, row, repeat, places))
            except AssertionError as error:
                wrong.append(f"{key} = {name}: {str(error).splitlines()[:4]}")
        return "; ".join(wrong)

"""Footings of runs as servers tell them: what differs in each run by itself is no footing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.facts import RunFacts, read_run_facts
from app.analysis.properties import SETTING
from app.comparison.comparison import compare_runs
from app.comparison.overall.conditions import PropertyRole, asked_by, chosen_settings, footing_of
from app.domain.json_value import Json
from app.postgres.settings import Setting
from app.runfile.writer import SERVER_DEFAULTS
from tests.known_runs import FACTS, WHOLE, write_known

RECREATED = ("data_directory", "config_file", "hba_file", "ident_file", "unix_socket_directories")
"""Paths that a server tells and that are others for each run."""


def run(folder: Path, number: int, clients: int = 4, origin: str = "preset", work_mem: str = "") -> RunFacts:
    """Return a run with all that its server told of itself."""
    value = work_mem or f"{64 // clients}MB"
    settings = (Setting(name="work_mem", value=value, origin=origin),)
    values: dict[str, Json] = {name: f"/run/pgfooting-{number}/{name}" for name in RECREATED}
    server: Json = {"settings": {"work_mem": {"value": value, "source": "configuration file"}}}
    path = folder / f"{number:016}.footing"
    written = replace(
        WHOLE,
        id=f"{number:016}",
        repeat=number,
        configuration=f"{clients} clients",
        settings=settings,
        workload=replace(WHOLE.workload, clients=clients),
    )
    write_known(path, written, FACTS | {"server": server, SERVER_DEFAULTS: values})
    return read_run_facts(path)


def test_paths_of_servers_are_no_footing(tmp_path: Path) -> None:
    runs = [run(tmp_path, number) for number in range(3)]
    assert len({each.unchosen["data_directory"] for each in runs}) == 3
    assert len(set(map(footing_of, runs))) == 1


def test_campaign_over_clients_is_compared(tmp_path: Path) -> None:
    """Its preset gives each level a work_mem of its own."""
    runs = [run(tmp_path, number, clients) for number, clients in enumerate((1, 4, 16))]
    assert asked_by(runs) is PropertyRole.CLIENTS
    assert len(compare_runs(runs).parts) == 1


@pytest.mark.parametrize(("origin", "footings"), [("preset", 1), ("user", 2)])
def test_chosen_setting_is_footing(tmp_path: Path, origin: str, footings: int) -> None:
    runs = [run(tmp_path, number, 4, origin, f"{4 + number}MB") for number in range(2)]
    assert len(set(map(footing_of, runs))) == footings


def test_chosen_default_is_unchosen(tmp_path: Path) -> None:
    """The server tells its default where nobody chose the setting."""
    chosen = run(tmp_path, 0, 4, "user", "4MB")
    rest = tuple(item for item in chosen.properties if item.topic != SETTING)
    unchosen = replace(chosen, properties=rest, unchosen={**chosen.unchosen, "work_mem": "4MB"})
    other = replace(unchosen, unchosen={**chosen.unchosen, "work_mem": "8MB"})
    runs = [chosen, unchosen, other]
    found = [footing_of(each, chosen_settings(runs)) for each in runs]
    assert found[0] == found[1] != found[2]

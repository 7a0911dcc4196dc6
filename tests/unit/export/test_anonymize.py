from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.domain.json_value import Json
from app.export.anonymize import Anonymizer
from app.export.runs import export_runs
from tests.made_runs import finished_run

FACTS: Json = {
    "serial": "S5GXNX0T123456",
    "path": "/srv/acme corp/bench",
    "model": "Samsung SSD 980",
    "mount": {"source": "tank/acme", "mount_point": "/srv/acme corp", "filesystem": "zfs"},
    "text": "smartctl says S5GXNX0T123456; /srv/acme corp/bench/x is on tank/acme at nas7:/vol/acme",
    "device": "/dev/mapper/acme-root on /dev/nvme0n1, /dev/disk/by-id/nvme-Samsung_S5GXNX0T123456",
    "uuid_text": "",
    "options": ["rw", "subvol=/home/jo", "UUID=0b6a7d6e-1f4c-4d9a-9a54-6a8f0c1f2d3e"],
    "program": "/usr/lib/postgresql/15/bin/postgres",
    "host": "db7 runs for jo",
}


def disguised(value: Json) -> str:
    disguise = Anonymizer(active=True, names=("db7", "jo"))
    disguise.learn(value)
    return json.dumps(disguise.json(value))


@pytest.mark.parametrize(
    "name", ["S5GXNX0T123456", "acme", "/srv", "nas7", "db7", "/home/jo", " jo", "0b6a7d6e"]
)
def test_nothing_that_names_somebody_is_left(name: str) -> None:
    assert name in json.dumps(FACTS)
    assert name not in disguised(FACTS)


@pytest.mark.parametrize(
    "word", ["Samsung SSD 980", "/usr/lib/postgresql/15/bin", "/dev/nvme0n1", "zfs", "rw"]
)
def test_comparison_values_kept(word: str) -> None:
    assert word in disguised(FACTS)


def test_same_name_same_pseudonym() -> None:
    disguise = Anonymizer(active=True)
    first, second = disguise.text("a /mnt/x b"), disguise.text("c /mnt/x d /mnt/y")
    word = first.split()[1]
    assert second.split()[1] == word
    assert second.split()[3] != word


def test_no_disguise_changes_nothing() -> None:
    assert Anonymizer.none().json(FACTS) == FACTS


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_anonymous_export_hides_folder_and_account(tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"out.{ending}"
    export_runs([finished_run(tmp_path / "a.footing")], output, anonymous=True)
    text = output.read_text()
    for name in ("big data", "acme", "nas7", str(tmp_path), '"jo"'):
        assert name not in text
    assert "pgbench.tps" in text

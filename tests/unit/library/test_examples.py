"""The example that ships: figures by the second, and nothing else."""

from __future__ import annotations

import re

import pytest

from app.library.entries import find_examples
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data

LIMIT_BYTES = 700_000


def test_example_is_four_filesystems_with_author() -> None:
    found = [load_run_data(path) for path in find_examples()]
    assert [known(data.metadata.configuration, "").split()[0] for data in found] == [
        "ext4",
        "xfs",
        "btrfs",
        "zfs",
    ]
    for data in found:
        t_s, tps = data.series("pgbench.tps")
        assert len(t_s) >= 3_590
        mean = data.summary["tps"]
        assert mean is not None
        assert tps.mean() == pytest.approx(mean, rel=0.02)
        assert len(data.percentile(99.0)[0]) > 3_400
        note = known(data.metadata.note, "")
        assert "Tomas Vondra" in note
        assert "https://github.com/tvondra/pg-fs-benchmark" in note
        assert "No licence given: these are figures computed from his files, not the files." in note
    stalled = {data.name.split()[0]: len(data.stalls()) for data in found}
    assert stalled["btrfs"] > 100
    assert stalled["ext4"] == stalled["xfs"] == stalled["zfs"] == 0


def test_example_holds_no_file_of_its_author() -> None:
    paths = find_examples()
    assert sum(path.stat().st_size for path in paths) < LIMIT_BYTES
    for path in paths:
        assert not re.search(rb"/(?:home|root|tmp|srv|w[a-z]+)/", path.read_bytes())
        with RunFile(path) as run:
            assert not run.commands()
            assert {event.kind.partition("-")[0] for event in run.events()} == {"checkpoint"}

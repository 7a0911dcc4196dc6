from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from app.library.entries import find_examples
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from app.runfile.series import load_run_data
from tests.fix_runs import Shape, write_run

TOP = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def making() -> ModuleType:
    spec = importlib.util.spec_from_file_location("public_example", TOP / "packaging" / "public_example.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_is_four_filesystems_by_the_second_with_author_and_address(making: ModuleType) -> None:
    found = [load_run_data(path) for path in find_examples()]
    assert [known(data.metadata.configuration, "").split()[0] for data in found] == list(making.FILESYSTEMS)
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


def test_the_example_is_small_and_holds_no_file_of_the_author_and_no_folder_of_ours(
    making: ModuleType,
) -> None:
    paths = find_examples()
    assert sum(path.stat().st_size for path in paths) < making.LIMIT_BYTES
    for path in paths:
        assert not re.search(rb"/(?:home|root|tmp|srv|w[a-z]+)/", path.read_bytes())
        with RunFile(path) as run:
            assert not run.commands()
            assert {event.kind.partition("-")[0] for event in run.events()} == {"checkpoint"}


def test_of_an_imported_run_figures_are_kept_and_the_folder_is_called_by_its_address(
    making: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "published"
    path = write_run(tmp_path / "a.footing", Shape(seconds=30, checkpoint_every_s=10), f"run of {folder} #1")
    before = load_run_data(path).series("pgbench.tps")
    making.shrink(path, folder)
    after = load_run_data(path)
    assert (after.series("pgbench.tps")[1] == before[1]).all()
    assert after.name == f"run of {making.ADDRESS} #1"
    assert {metric for metric, _ in after.series_keys()} == set(making.KEPT)
    assert after.checkpoints()


def test_a_folder_without_these_runs_is_refused_by_name(making: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="has no ext4 stripe scale 1000 simple-update"):
        making.import_runs(tmp_path / "empty", tmp_path / "library")

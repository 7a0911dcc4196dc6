"""What the review says of data sets: loaded or copied, what each costs, and where copies come from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DataSet,
    FolderTarget,
    MemoryTarget,
    Target,
    Workload,
)
from app.domain.campaign.matrix import Design
from app.domain.text import GIB, TIB
from app.draft.commands import PlannedFolders, run_commands
from app.draft.planning import (
    COPY_BYTES_PER_S,
    LOAD_BYTES_PER_S,
    TemplatesFound,
    data_seconds,
    data_sentences,
    look_for_templates,
)
from app.draft.review import make_review, written_sentences
from app.execution.data_set import order_of
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.folders.own_folders import TEMPLATES_VARIABLE
from app.hosts.folders.targets import CheckedTarget
from app.postgres.installations.installation import Installation
from app.postgres.pgbench.scale import ScaleChoice
from app.postgres.settings import Machine
from app.process.starter import current_account

MACHINE = Machine(8 << 30, None, 2)
RUNS = 10


def resolved(
    data_set: DataSet,
    *,
    data_bytes: int = 6 * GIB,
    scales: tuple[int, ...] = (400, 400),
    target: Target | None = None,
    programs: str = "/opt/bin",
    path: str = "/srv",
) -> ResolvedCampaign:
    configurations = tuple(
        Configuration(f"c{number}", target or FolderTarget(path), workload=Workload(data_set=data_set))
        for number in range(len(scales))
    )
    return ResolvedCampaign(
        Campaign("Data", configurations, RUNS // len(scales)),
        MACHINE,
        {
            each.name: ResolvedConfiguration(
                each,
                CheckedTarget(path, "", 64 * GIB),
                Installation(programs, "17.2", 17, origin="package"),
                (),
                ScaleChoice(scale, data_bytes, "stated", is_contended=False),
                2,
                8 * GIB,
                (),
            )
            for each, scale in zip(configurations, scales, strict=True)
        },
    )


def data_set_text(campaign: ResolvedCampaign, found: TemplatesFound | None = None) -> str:
    return " ".join(data_sentences(campaign, found))


def test_loading_time_and_copy_alternative() -> None:
    words = data_set_text(resolved(DataSet.LOADED))
    assert words == (
        "Loading takes about 11 min in total, for 10 runs. Loading once "
        "and copying (page “Workload”) would take about 4 min."
    )
    assert data_set_text(resolved(DataSet.LOADED, data_bytes=GIB // 4)) == (
        "Loading takes about 30 s in total, for 10 runs."
    )


def test_copying_cost_against_loading() -> None:
    campaign = resolved(DataSet.COPIED)
    assert data_set_text(campaign) == (
        "Copying takes about 3 min in total, for 10 runs; loading would take about "
        "11 min. The template (about 6 GiB) is created once, in about 70 s, and kept. "
        "Later campaigns reuse templates; `pgfooting templates` lists and removes them."
    )
    two = data_set_text(
        resolved(DataSet.COPIED, scales=(400, 800)), TemplatesFound("/srv/t", "", frozenset())
    )
    assert ("2 templates (about 12 GiB) are created once, in about 2 min, and kept in /srv/t.") in two


def test_total_estimate_includes_copies_and_templates() -> None:
    size = 6 * GIB
    assert data_seconds(resolved(DataSet.LOADED)) == pytest.approx(RUNS * size / LOAD_BYTES_PER_S)
    assert data_seconds(resolved(DataSet.COPIED)) == pytest.approx(
        RUNS * size / COPY_BYTES_PER_S + size / LOAD_BYTES_PER_S
    )
    reviews = [make_review(resolved(each)) for each in (DataSet.COPIED, DataSet.LOADED)]
    assert [each.about_s is not None for each in reviews] == [True, True]
    assert (reviews[0].about_s or 0) < (reviews[1].about_s or 0)
    assert reviews[0].data == data_sentences(resolved(DataSet.COPIED))


def test_no_template_estimates_loading() -> None:
    copied, loaded = resolved(DataSet.COPIED), resolved(DataSet.LOADED)
    full = TemplatesFound("/srv/t", "/srv/t has too little room.", frozenset())
    review = make_review(copied, templates=full)
    meant = make_review(loaded)
    assert (review.about_s, review.time, review.written) == (meant.about_s, meant.time, meant.written)
    assert "/srv/t has too little room." in review.data[0]
    room = TemplatesFound("/srv/t", "", frozenset())
    usual = make_review(copied, templates=room)
    assert usual.about_s == make_review(copied).about_s
    assert "kept in /srv/t" in " ".join(usual.data)


def test_early_end_figures_are_for_all_rounds() -> None:
    once = "Figures cover all 5 rounds; dropped configurations or an early end reduce them."
    for data_set in DataSet:
        whole = resolved(data_set)
        early = replace(whole, campaign=replace(whole.campaign, design=Design.SEQUENTIAL))
        for sentences in (data_sentences, written_sentences):
            assert once in sentences(early)
            assert once not in sentences(whole)


def test_copy_written_once_loading_twice() -> None:
    assert written_sentences(resolved(DataSet.LOADED))[0] == (
        "Loading writes about 120 GiB to disk (data and WAL)."
    )
    assert written_sentences(resolved(DataSet.COPIED))[0] == "Copying the data writes about 60 GiB to disk."
    in_memory = resolved(DataSet.COPIED, target=MemoryTarget())
    assert written_sentences(in_memory)[0].startswith(
        "Only the run files are written to disk, usually less than 10 MB an hour"
    )


def test_existing_templates_reused_obstacle_loads() -> None:
    campaign = resolved(DataSet.COPIED)
    order = order_of(campaign.configurations["c0"])
    there = data_set_text(campaign, TemplatesFound("/srv/t", "", frozenset({order})))
    assert there.endswith("The template already exists in /srv/t.")
    assert "created once" not in there
    refused = data_set_text(campaign, TemplatesFound("/srv/t", "No room.", frozenset()))
    assert refused == (
        "The data will still be loaded for every run, which takes about 11 min and "
        "writes twice as much as copying: No room."
    )


@pytest.fixture
def programs(tmp_path: Path) -> str:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("postgres", "initdb", "pgbench"):
        (folder / name).write_text(name)
    return str(folder)


def test_folder_on_storage_under_test(tmp_path: Path, programs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "not" / "there"
    monkeypatch.setenv(TEMPLATES_VARIABLE, str(folder))
    beside = resolved(DataSet.COPIED, programs=programs, path=str(tmp_path))
    found = look_for_templates(beside, current_account())
    assert found is not None
    assert found.folder == os.path.realpath(folder)
    assert "is on the storage under test" in found.obstacle
    assert not folder.exists()  # looking makes nothing
    assert look_for_templates(resolved(DataSet.LOADED), current_account()) is None


def test_looking_tells_that_there_is_no_room(
    tmp_path: Path, programs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TEMPLATES_VARIABLE, str(tmp_path))
    monkeypatch.setattr("app.draft.planning.why_not_beside", lambda *_each: "")
    large = resolved(DataSet.COPIED, programs=programs, data_bytes=900 * TIB)
    found = look_for_templates(large, current_account())
    assert found is not None
    assert "a template needs" in found.obstacle
    fits = look_for_templates(resolved(DataSet.COPIED, programs=programs, data_bytes=1), current_account())
    assert fits == replace(found, obstacle="")


@pytest.mark.parametrize("data_set", DataSet)
def test_commands_say_load_or_copy(data_set: DataSet) -> None:
    found = resolved(data_set)
    (one, *_) = found.configurations.values()
    folders = PlannedFolders("/srv/root", "/run/socket", "/run/private")
    lines = run_commands(found.campaign, one, folders)
    comments = [line.comment for line in lines]
    loading = [line.comment for line in lines if "--initialize" in line.text or "initdb" in line.text]
    assert len(loading) == 2
    is_copied = data_set is DataSet.COPIED
    assert [each.endswith("(once, in the template's folder, if none exists)") for each in loading] == [
        is_copied
    ] * 2
    assert ("Copy the data set" in comments) == is_copied
    if is_copied:
        copying = comments.index("Copy the data set")
        assert lines[copying].file == folders.data
        assert max(map(comments.index, loading)) < copying < comments.index("Start the server")

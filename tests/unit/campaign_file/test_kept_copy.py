"""`--resume` goes on with the same campaign, and a script with another text makes another one of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.campaign_file.reader import load_campaign, parse_campaign
from app.campaign_file.writer import changed_scripts, format_campaign, state_campaign
from app.domain.campaign.configuration import Campaign, interleaved_order, with_drawn_order
from app.domain.campaign.matrix import RunOrder
from app.domain.errors import UsageError
from app.execution.resume.begun import begun_campaign, new_folder, unfinished_folder
from app.library.entries import CAMPAIGN_NAME

SCRIPTS = '[{file = "one.sql"}, {file = "two.sql"}, "tpcb-like"]'
FILE = f'name = "x"\n[target.folder]\n[workload]\nscript = {SCRIPTS}\n'


@dataclass(frozen=True, slots=True)
class Bench:
    folder: Path

    @property
    def campaign(self) -> Campaign:
        return parse_campaign(FILE, base_directory=str(self.folder), source_name="x")

    def folder_of(self, *, resume: bool) -> Path:
        library = self.folder / "library"
        if resume:
            return unfinished_folder(library, self.campaign)
        return new_folder(library, with_drawn_order(self.campaign))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name in ("one.sql", "two.sql"):
        (tmp_path / name).write_text("SELECT 1;\n")
    return Bench(tmp_path)


def test_kept_copy_round_trip(bench: Bench) -> None:
    folder = bench.folder_of(resume=False)
    kept = load_campaign(folder / CAMPAIGN_NAME)
    assert replace(kept, order_seed=None) == bench.campaign
    assert interleaved_order(kept) == interleaved_order(begun_campaign(folder))
    assert changed_scripts(state_campaign(bench.campaign), bench.campaign) == ()


def test_resume_with_original_scripts(bench: Bench) -> None:
    assert bench.folder_of(resume=False) == bench.folder_of(resume=True)


def test_resume_refused_after_script_change(bench: Bench) -> None:
    bench.folder_of(resume=False)
    (bench.folder / "two.sql").write_text("SELECT 2;\n")
    with pytest.raises(UsageError) as refused:
        bench.folder_of(resume=True)
    assert str(bench.folder / "two.sql") in refused.value.message
    assert "one.sql" not in refused.value.message
    (bench.folder / "two.sql").write_text("SELECT 1;\n")
    assert bench.folder_of(resume=True).is_dir()


def test_resume_older_folder_with_same_scripts(bench: Bench) -> None:
    older = bench.folder_of(resume=False)
    (bench.folder / "one.sql").write_text("SELECT 2;\n")
    assert bench.folder_of(resume=False) != older
    (bench.folder / "one.sql").write_text("SELECT 1;\n")
    assert bench.folder_of(resume=True) == older


def test_resume_without_recorded_scripts(bench: Bench) -> None:
    paths = tuple(str(bench.folder / name) for name in ("one.sql", "two.sql"))
    assert changed_scripts(format_campaign(bench.campaign), bench.campaign) == paths


def test_other_campaign_is_not_changed_scripts(bench: Bench) -> None:
    other = FILE.replace('"x"', '"y"')
    campaign = parse_campaign(other, base_directory=str(bench.folder), source_name="x")
    assert changed_scripts(state_campaign(bench.campaign), campaign) is None


def test_resume_keeps_drawn_order(bench: Bench) -> None:
    drawn = replace(bench.campaign, order_seed=5)
    folder = new_folder(bench.folder / "library", drawn)
    assert unfinished_folder(bench.folder / "library", bench.campaign) == folder
    assert begun_campaign(folder) == drawn
    assert changed_scripts(state_campaign(drawn), replace(bench.campaign, order_seed=5)) == ()


@pytest.mark.parametrize(
    ("begun", "asked"),
    [
        ({"order_seed": 5}, {"order_seed": 6}),
        ({"order_seed": 5}, {"order": RunOrder.ALTERNATING}),
        ({"order": RunOrder.ALTERNATING}, {}),
        ({"order": RunOrder.ALTERNATING}, {"order_seed": 5}),
    ],
)
def test_another_order_is_another_campaign(
    bench: Bench, begun: dict[str, RunOrder | int], asked: dict[str, RunOrder | int]
) -> None:
    stated = state_campaign(replace(bench.campaign, **begun))  # type: ignore[arg-type]
    assert changed_scripts(stated, replace(bench.campaign, **asked)) is None  # type: ignore[arg-type]


def test_resume_campaign_older_than_orders(bench: Bench) -> None:
    folder = bench.folder_of(resume=False)
    stated = folder / CAMPAIGN_NAME
    lines = stated.read_text().splitlines(keepends=True)
    stated.write_text("".join(line for line in lines if not line.startswith("order")))
    assert bench.folder_of(resume=True) == folder
    assert begun_campaign(folder).order is RunOrder.ALTERNATING


def test_resume_campaign_older_than_cold_caches(bench: Bench) -> None:
    folder = bench.folder_of(resume=False)
    stated = folder / CAMPAIGN_NAME
    lines = stated.read_text().splitlines(keepends=True)
    assert 'caches = "warm"\n' in lines
    stated.write_text("".join(line for line in lines if not line.startswith("caches")))
    assert bench.folder_of(resume=True) == folder


def test_settings_key_named_order(bench: Bench) -> None:
    text = FILE.replace("[workload]", '[postgresql.settings]\norder = "random"\n[workload]')
    campaign = parse_campaign(text, base_directory=str(bench.folder), source_name="x")
    other = parse_campaign(text.replace("random", "x"), base_directory=str(bench.folder), source_name="x")
    assert changed_scripts(state_campaign(with_drawn_order(campaign)), campaign) == ()
    assert changed_scripts(state_campaign(with_drawn_order(campaign)), other) is None

"""Recipes on spare disks, from their name to comparison and PDF: quick variants, run as a user would.

They run in the guest; comparison and PDF of what they left are made here, where Qt is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pypdf import PdfReader

from app import TOP
from app.campaign_file.reader import load_campaign
from app.campaign_file.recipes.adapt import placeholders, quick_variant
from app.campaign_file.recipes.head import (
    MOST_QUICK_CONFIGURATIONS,
    MOST_QUICK_SECONDS,
    find_recipe,
    list_recipes,
)
from app.domain.campaign.configuration import interleaved_order
from app.domain.errors import ExitStatus
from app.domain.run import RunState
from app.runfile.reader import RunFile
from tests.machine.rig import Guest, built_guest

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, pytest.mark.timeout(3600)]

PATIENCE_S = 3000
SENTINEL = "/dev/disk/by-id/virtio-RIGVIRTIO7"


@dataclass(frozen=True, slots=True)
class Here:
    """What a recipe comes to on the guest.

    Attributes:
        disks: that are put in.
        left_out: configurations of its quick variant that cannot be measured there.
        said: words of why.
    """

    disks: int
    left_out: tuple[str, ...] = ()
    said: str = ""


RECIPES = {
    "vondra-2016": Here(1),
    "zfs-record-sizes": Here(1),
    "ufs-zfs-2008": Here(4),
    "mount-options-2011": Here(3, ("XFS noatime,noquota,nobarrier",), "nobarrier"),
    "filesystems-two-disks": Here(2),
    "filesystems-four-disks": Here(4),
    "vondra-2022": Here(4),
    "btrfs-copy-on-write": Here(1),
    "lentfer-2009": Here(1),
    "vondra-2023-rate": Here(2),
    "vondra-2022-rate": Here(2),
    "vondra-2023-snapshots": Here(2),
    "barriers": Here(1),
    "wal-compression-filesystems": Here(1),
    "example-matrix": Here(4),
}
"""Recipes that want spare disks, those first that exercise most that others do not."""

REFUSED = {"postgresql-direct-io": (1, "This recipe needs PostgreSQL 16 or newer")}
"""Recipes of which nothing can be measured in the guest: its PostgreSQL is Debian 12's, which is 15."""


def in_guest(guest: Guest, function: str, *arguments: str) -> str:
    """Call a function of outside_recipe in the guest and return what is printed."""
    code = f"from tests.machine.outside_recipe import {function}; {function}(*{arguments!r})"
    return guest.output_of("env", "PYTHONPATH=.", "python3", "-P", "-c", code, limit_s=PATIENCE_S)


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    with Guest(["virtio:2G"] * 6 + ["virtio:16M"], folder=built_guest()) as booted:
        booted.output_of("dd", "if=/dev/urandom", f"of={SENTINEL}", "bs=1M", "count=16", "conv=fsync")
        in_guest(booted, "install")
        yield booted


def run(guest: Guest, name: str, disks: int) -> dict[str, object]:
    """Run the quick variant of a recipe in the guest; no other disk is touched, and nothing is left."""
    before = guest.output_of("sha256sum", SENTINEL)
    serials = [f"RIGVIRTIO{number}" for number in range(1, disks + 1)]
    document: dict[str, object] = json.loads(in_guest(guest, "run_recipe", name, *serials).splitlines()[-1])
    assert guest.output_of("sha256sum", SENTINEL) == before
    assert document["left"] == [], document
    return document


def pgfooting(*arguments: str) -> str:
    """Return what the command prints here."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        cwd=TOP,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitStatus.DONE, done.stdout + done.stderr
    return done.stdout


def test_every_recipe_on_spare_disks_is_here() -> None:
    wanting = [each for each in list_recipes() if each.head.disks and each.head.quick is not None]
    quick = {each.name: quick_variant(load_campaign(each.path), each.head) for each in wanting}
    assert {name for name, campaign in quick.items() if placeholders(campaign)} == {*RECIPES, *REFUSED}


@pytest.mark.parametrize("name", RECIPES)
def test_quick_recipe_comparison_and_pdf(
    guest: Guest, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = RECIPES[name]
    found = run(guest, name, here.disks)
    assert found["status"] == ExitStatus.DONE, f"{found['out']}{found['said']}"
    folder = guest.share / name
    campaign = load_campaign(folder / "campaign.toml")
    names = [each.name for each in campaign.configurations]
    quick = find_recipe(name).head.quick
    assert quick is not None
    wanted = quick.configurations or names
    assert [each for each in wanted if each not in names] == list(here.left_out)
    assert len(names) <= MOST_QUICK_CONFIGURATIONS
    planned = interleaved_order(campaign)
    runs = [RunFile(path) for path in sorted(folder.glob("*.footing"))]
    assert [each.values["state"] for each in runs] == [RunState.DONE] * len(planned)
    for each in runs:
        each.check()
        each.close()
    assert all((each.workload.duration_s or 0) <= MOST_QUICK_SECONDS for each in campaign.configurations)
    assert str(found["said"]).count(" skipped") == (1 if here.left_out else 0)
    assert here.said in str(found["said"])
    library = ("--library", str(tmp_path))
    table = pgfooting("compare", str(folder), *library)
    compared = json.loads(pgfooting("compare", "--json", str(folder), *library))
    assert len(compared["configurations"]) == len(names)  # names are shortened there
    assert compared["notes"][: len(campaign.remarks)] == list(campaign.remarks)
    pdf = tmp_path / f"{name}.pdf"
    pgfooting("report", str(folder), "-o", str(pdf), *library)
    pages = len(PdfReader(pdf).pages)
    assert pages > 1
    (tmp_path / "told.txt").write_text(f"{found['out']}\n{found['said']}\n{table}")
    came_to = f"{len(names)} cells, {len(planned)} runs, {found['seconds']:.0f} s, {pages} pages"
    with capsys.disabled():
        print(f"\n{name}: {came_to}, {pdf}")  # noqa: T201 - the table of recipes


@pytest.mark.parametrize("name", REFUSED)
def test_unmeasurable_recipe_refused_with_reason(guest: Guest, name: str) -> None:
    disks, reason = REFUSED[name]
    found = run(guest, name, disks)
    assert found["status"] != ExitStatus.DONE
    assert reason in str(found["said"])
    assert not (guest.share / name).exists()

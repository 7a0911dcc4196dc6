"""Presets of filesystems that this kernel has, with the real server: what is measured is what was chosen.

Those of the other filesystems are measured on the virtual machine (`tests/machine/test_campaign_presets.py`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.text import GIB
from app.runfile.reader import RunFile
from tests.disks.option_facts import is_refused_here
from tests.disks.preset_proof import prove_mounted, prove_recorded
from tests.disks.test_campaign import campaign, disks_table, erase, nothing_left
from tests.fix_campaign import CampaignBench
from tests.fix_helper import Running

pytestmark = [
    pytest.mark.disks,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start the helper"),
]

KNOWN = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}


def presets() -> Iterator[object]:
    for spec in FILESYSTEMS:
        if spec.levels and spec.id in KNOWN and shutil.which(f"mkfs.{spec.id}"):
            for preset in spec.presets:
                yield pytest.param(spec.id, preset.id, id=f"{spec.id}-{preset.id}")


@pytest.mark.parametrize(("name", "chosen"), list(presets()))
def test_preset_applied_as_chosen(
    helper: Running, make_loop: Callable[..., str], campaign_bench: CampaignBench, name: str, chosen: str
) -> None:
    spec = filesystem(name)
    preset = spec.preset(chosen)
    if is_refused_here(spec, preset):
        pytest.skip("this kernel has an option of it no more")
    disk = make_loop(GIB, partscan=True)
    text = campaign((chosen, disks_table(disk, filesystem=name, extra=f'preset = "{chosen}"')))
    running = campaign_bench.start(text, *erase(disk))
    running.until_phase("measure")
    prove_mounted(spec, preset)
    assert running.end() == 0, running.errors and running.errors.read_text()
    (path,) = campaign_bench.run_files()
    with RunFile(path) as file:
        stored = prove_recorded(file, spec, preset)
    options = preset.options
    compresses = {options.get("compress", "off"), options.get("compress_force", "off")} != {"off"}
    assert (stored is not None) == (name == "btrfs" and compresses)
    assert nothing_left(disk)

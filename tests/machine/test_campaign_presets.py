"""Every preset of every filesystem with the real server: what is measured is what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.text import KIB
from tests.disks.layout_proof import digest, fill
from tests.disks.option_facts import is_refused_here
from tests.disks.preset_proof import prove_mounted, prove_recorded
from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_campaigns import (
    SENTINEL,
    VIRTIO,
    Campaign,
    campaign,
    campaigns,
    erase,
    inside,
    install,
    nothing_left,
    start_service,
    target,
    zfs_properties,
)

MEASURED = "60s"
"""Long enough, on an emulated machine, to read back everything several times."""

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]


@pytest.fixture
def start() -> Iterator[Callable[..., Campaign]]:
    install()
    start_service()
    yield from campaigns()


def presets() -> Iterator[object]:
    for spec in FILESYSTEMS:
        for preset in spec.presets if spec.levels else ():
            covered = pytest.mark.covers(f"campaign {spec.id} {preset.id}")
            yield pytest.param(spec.id, preset.id, id=f"{spec.id}-{preset.id}", marks=covered)


@pytest.mark.parametrize(("name", "chosen"), list(presets()))
def test_every_preset_applied_as_chosen(
    rig_disks: list[RigBlockDevice],
    start: Callable[..., Campaign],
    name: str,
    chosen: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec, disks = filesystem(name), rig_disks[VIRTIO]
    preset = spec.preset(chosen)
    if is_refused_here(spec, preset):
        pytest.skip("this kernel has an option of it no more")
    before = fill(rig_disks[SENTINEL].path)
    table = target(disks[:1], name, extra=f'preset = "{chosen}"')
    running = start(campaign((chosen, table), duration=MEASURED), *erase(disks[:1]))
    running.until_phase("measure")
    prove_mounted(spec, preset)
    ratio = float(zfs_properties()["compressratio"].rstrip("x")) if name == "zfs" else None
    assert running.end() == 0, running.said
    (file,) = running.run_files()
    with file:
        stored = prove_recorded(file, spec, preset)
        notes = [each.message for each in file.events() if each.kind == "note"]
    with capsys.disabled():
        print(f"\n{name} {chosen}: {preset.options} {stored} {ratio or ''}")  # noqa: T201
    if ratio is not None:
        compresses = preset.options.get("compression", "off") != "off"
        assert (stored is not None) == compresses, notes
        if stored is not None:
            assert stored.encoded_bytes is None
            # Blanks compress well, but whole sectors are saved only: of a record of 8 KiB one of two.
            least = 1.5 if preset.options.get("recordsize") == 8 * KIB else 2
            assert stored.logical_bytes > least * stored.disk_bytes
            assert ratio > least - 0.5
    assert nothing_left(disks) == []
    assert digest(rig_disks[SENTINEL].path) == before

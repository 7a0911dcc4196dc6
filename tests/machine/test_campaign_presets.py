"""Every preset of every filesystem with the real server: what is measured is what was chosen, as read back.

While pgbench runs, the same read back is made once more with another value of each option: it has to find
every one, else that an option was as chosen proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from app.domain.campaign.disk_target import NOT_READ_BACK
from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.creation import Creation
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import OptionValue
from app.domain.options.option import OptionSpec, Stage
from app.domain.options.raid import Level, layout
from app.domain.options.tokens import ExpectedToken
from app.hosts.host import ROOT_STEP
from app.runfile.metadata.typed_json import known
from app.storage.checks.readback import ReadBackError, read_back
from app.storage.layout.steps import ReadBack
from app.storage.system.programs import CompletedProgram
from tests.disks.layout_proof import digest, fill, output
from tests.disks.option_facts import is_refused_here, run, tried_values
from tests.fix_campaign import server_settings_of
from tests.machine.conftest import RigBlockDevice
from tests.machine.rig_campaigns import (
    RUN,
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

pytestmark = [pytest.mark.machine, pytest.mark.campaigns, inside]

AT_ONCE = 1
"""Presets of one campaign: it has to end within the time of a test, on an emulated machine."""

AS_ASKED = "everything is as it was asked for"


@pytest.fixture
def start() -> Iterator[Callable[..., Campaign]]:
    install()
    start_service()
    yield from campaigns()


def parts() -> Iterator[object]:
    for spec in FILESYSTEMS:
        presets = spec.presets if spec.levels else ()
        for first in range(0, len(presets), AT_ONCE):
            some = presets[first : first + AT_ONCE]
            names = tuple(preset.id for preset in some)
            covered = pytest.mark.covers(*(f"campaign {spec.id} {name}" for name in names))
            yield pytest.param(spec.id, names, id=f"{spec.id}-{'-'.join(names)}", marks=covered)


def by_root(spec: FilesystemSpec, options: Mapping[str, OptionValue]) -> ReadBack:
    """Return what root reads back of the storage that is mounted now, for these options."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        place = head.split()[4]
        if place.startswith(f"{RUN}/") and place.endswith("/storage"):
            expected: tuple[ExpectedToken, ...] = ()
            if spec.expected:
                made = layout(Level.SINGLE, spec.assembler(Level.SINGLE))
                expected = spec.expected(Creation(options, (), "", made))
            return ReadBack(spec.id, place, tail.split()[1], tuple(options.items()), "again", expected)
    raise AssertionError("nothing is mounted")


@cache
def probe(argv: tuple[str, ...]) -> CompletedProgram:
    return run(*argv)


def found_out(spec: FilesystemSpec, options: Mapping[str, OptionValue]) -> bool:
    """Whether a read back says that what is mounted has not these options."""

    def once(argv: Sequence[str]) -> CompletedProgram:
        return probe(tuple(argv))

    try:
        read_back(by_root(spec, options), once)
    except ReadBackError:
        return True
    return False


def others(option: OptionSpec, value: OptionValue) -> list[OptionValue]:
    return [other for other in tried_values(option) if (type(other), other) != (type(value), value)]


def overlooked(spec: FilesystemSpec, preset: FilesystemPreset) -> list[str]:
    """Return the options of which a read back does not tell another value from what is mounted."""
    shown = [
        (option, value)
        for name, value in preset.options.items()
        if (option := spec.option(name)).stage is not Stage.SERVER and not option.unseen
    ]
    return [
        f"{option.id}={value}: {other}"
        for option, value in shown
        for other in others(option, value)[:2]
        if not found_out(spec, preset.options | {option.id: other})
    ]


@pytest.mark.parametrize(("name", "presets"), list(parts()))
def test_every_preset_is_measured_as_it_was_chosen_and_another_value_would_have_been_found_out(
    rig_disks: list[RigBlockDevice],
    start: Callable[..., Campaign],
    name: str,
    presets: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec, disks = filesystem(name), rig_disks[VIRTIO]
    before = fill(rig_disks[SENTINEL].path)
    presets = tuple(each for each in presets if not is_refused_here(spec, spec.preset(each)))
    tables = [(preset, target(disks[:1], name, extra=f'preset = "{preset}"')) for preset in presets]
    running = start(campaign(*tables, duration="10s"), *erase(disks[:1]))
    ratios: dict[str, float] = {}
    for preset in presets:
        running.until_phase("measure")
        probe.cache_clear()
        assert not found_out(spec, spec.preset(preset).options), preset
        assert overlooked(spec, spec.preset(preset)) == []
        if name == "zfs":
            ratios[preset] = float(zfs_properties()["compressratio"].rstrip("x"))
        in_place = {spec.preset(preset).options.get("datacow"), False} == {False}
        files = [str(path) for path in RUN.glob("*/storage/data/base/*/1259")]
        assert files
        if name == "btrfs":
            letters = {line.split()[0] for line in output("lsattr", *files).splitlines()}
            assert {"C" in each for each in letters} == {in_place}, (preset, letters)
        with capsys.disabled():
            print(f"\n{name} {preset}: {spec.preset(preset).options} {ratios.get(preset, '')}")  # noqa: T201
    assert running.end() == 0, running.said
    for preset, file in zip(presets, running.run_files(), strict=True):
        with file:
            file.check()
            assert file.values["state"] == "done", preset
            told = [event.message for event in file.events() if event.kind == ROOT_STEP]
            assert told.count(AS_ASKED) == 1, (preset, told)
            unseen = {each for each in spec.preset(preset).options if spec.option(each).unseen}
            marked = [reason for kind, reason in file.marks() if kind == NOT_READ_BACK]
            assert {reason.partition(" = ")[0] for reason in marked} == unseen, preset
            chosen, in_effect = server_settings_of(file, "filesystem")
            assert in_effect == chosen, preset
            stored = known(file.metadata.stored, None)
            if name == "zfs":
                with capsys.disabled():
                    print(f"\n{preset}: {stored}, compressratio {ratios[preset]}")  # noqa: T201
                compresses = spec.preset(preset).options.get("compression", "off") != "off"
                assert (stored is not None) == compresses, preset
                if stored is not None:
                    assert stored.encoded_bytes is None
                    assert stored.logical_bytes > 2 * stored.disk_bytes, "blanks compress well"
                    assert ratios[preset] > 1.5
    assert nothing_left(disks) == []
    assert digest(rig_disks[SENTINEL].path) == before

"""Whether a campaign measured a preset as it was chosen, by what is mounted and what was recorded.

While pgbench runs, the same read back is made once more with another value of each option: it has to find
every one, else that an option was as chosen proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from app.domain.campaign.disk_target import NOT_READ_BACK
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.format_spec import Creation
from app.domain.options.kinds import ExpectedToken, OptionValue, Stage
from app.domain.options.option_spec import OptionSpec
from app.domain.options.raid import Level, layout
from app.domain.step_progress import ROOT_STEP
from app.probes.facts.files import StoredBytes
from app.runfile.metadata.typed_json import known
from app.runfile.reader import RunFile
from app.storage.checks.readback import ReadBackError, read_back
from app.storage.layout.steps import ReadBack
from app.storage.system.programs import CompletedProgram
from tests.disks.layout_proof import output
from tests.disks.option_facts import run, tried_values
from tests.fix_campaign import server_settings_of

RUN = Path("/run/pgfooting")
AS_ASKED = "everything is as it was asked for"


def _by_root(spec: FilesystemSpec, options: Mapping[str, OptionValue]) -> ReadBack:
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
def _probe(argv: tuple[str, ...]) -> CompletedProgram:
    return run(*argv)


def _found_out(spec: FilesystemSpec, options: Mapping[str, OptionValue]) -> bool:
    """Whether a read back says that what is mounted has not these options."""

    def once(argv: Sequence[str]) -> CompletedProgram:
        return _probe(tuple(argv))

    try:
        read_back(_by_root(spec, options), once)
    except ReadBackError:
        return True
    return False


def _others(option: OptionSpec, value: OptionValue) -> list[OptionValue]:
    return [other for other in tried_values(option) if (type(other), other) != (type(value), value)]


def _overlooked(spec: FilesystemSpec, preset: FilesystemPreset) -> list[str]:
    """Return the options of which a read back does not tell another value from what is mounted."""
    shown = [
        (option, value)
        for name, value in preset.options.items()
        if (option := spec.option(name)).stage is not Stage.SERVER and not option.unseen
    ]
    return [
        f"{option.id}={value}: {other}"
        for option, value in shown
        for other in _others(option, value)[:2]
        if not _found_out(spec, preset.options | {option.id: other})
    ]


def prove_mounted(spec: FilesystemSpec, preset: FilesystemPreset) -> None:
    """Assert, while pgbench runs, that everything is as chosen and another value would be found out."""
    files = [str(path) for path in RUN.glob("*/storage/data/base/*/1259")]
    assert files
    if spec.id == "btrfs":
        in_place = preset.options.get("datacow") is False
        letters = {line.split()[0] for line in output("lsattr", *files).splitlines()}
        assert {"C" in each for each in letters} == {in_place}, (preset.id, letters)
    _probe.cache_clear()
    assert not _found_out(spec, preset.options), preset.id
    overlooked = _overlooked(spec, preset)
    assert not overlooked, overlooked


def prove_recorded(file: RunFile, spec: FilesystemSpec, preset: FilesystemPreset) -> StoredBytes | None:
    """Assert that a run file says so; return what the loaded tables take, where that was read back."""
    file.check()
    assert file.values["state"] == "done", preset.id
    sentences = [event.message for event in file.events() if event.kind == ROOT_STEP]
    assert sentences.count(AS_ASKED) == 1, (preset.id, sentences)
    unseen = {each for each in preset.options if spec.option(each).unseen}
    marked = [reason for kind, reason in file.marks() if kind == NOT_READ_BACK]
    assert {reason.partition(" = ")[0] for reason in marked} == unseen, preset.id
    chosen, in_effect = server_settings_of(file, "filesystem")
    assert in_effect == chosen, preset.id
    return known(file.metadata.stored, None)

"""Tries every option and value on a real kernel: what the declarations say of it has to be what happens.

Each function returns what differs, so that one filesystem is made once for all its mount options.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.domain.formats.zfs import parse_properties
from app.domain.options.checks import unavailable, validate_options
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.format_spec import joined
from app.domain.options.kinds import Choice, Integer, OptionValue, ShownBy, Stage, Toggle
from app.domain.options.option_spec import KERNEL, OptionSpec, Versions, parse_version
from app.storage.system.programs import CompletedProgram, run_program
from app.storage.system.state import mounts_on

TIMEOUT_S = 120.0

COMPANIONS: dict[str, dict[str, OptionValue]] = {
    "journal_async_commit": {"data": "writeback"},
    "cluster_bytes": {"bigalloc": True},
    "su": {"sw": 4},
    "sw": {"su": 65536},
    "min_batch_time": {"max_batch_time": 1_000_000},
}
"""Options that another one has to stand beside."""

DROPPED: set[tuple[str, str, OptionValue]] = {("f2fs", "alloc_mode", "default")}
"""What Linux 6.1 accepts and does not do on a device below 16 GiB, as the option itself says."""

REFUSED_HERE: set[tuple[str, str, OptionValue]] = {("ext4", "dax", True)}
"""What needs hardware that tests have not."""

_LONG_CHOICES = {
    "compress": ("off", "lzo", "zlib:1", "zlib:9", "zstd:1", "zstd:15", "zstd:-1", "zstd:-15"),
    "compress_force": ("lzo", "zstd:3", "zstd:-3"),
    "compression": ("off", "lz4", "zstd-1", "zstd-3", "zstd-19", "zstd-fast-1", "zstd-fast-1000", "gzip-6"),
}


def tried_values(option: OptionSpec) -> tuple[OptionValue, ...]:
    """Return all values of toggles and short choices, the ends of long ones, a few legal numbers."""
    if isinstance(option.kind, Toggle):
        return (True, False)
    if isinstance(option.kind, Choice):
        return _LONG_CHOICES.get(option.id, option.kind.ids)
    kind = option.kind
    assert isinstance(kind, Integer)
    low = kind.minimum
    numbers = (low, 2 * low, 8 * low, low + 1, option.default, *kind.also)
    return tuple(number for number in dict.fromkeys(numbers) if kind.accepts(number) and number is not None)


def is_refused_here(spec: FilesystemSpec, preset: FilesystemPreset) -> bool:
    """Return whether the running kernel has an option of the preset no more: XFS without barriers."""
    running = {KERNEL: parse_version(os.uname().release) or ()}
    removed = [item for choice in preset.choices for item in spec.option(choice.option).removed]
    return any(item.is_reached(running) for item in removed)


def run(*argv: str) -> CompletedProgram:
    """Run a program of the system to its end."""
    return run_program(argv, timeout_s=TIMEOUT_S)


def must(*argv: str) -> str:
    """Run a program that has to succeed."""
    ended = run(*argv)
    assert ended.exit_code == 0, (argv, ended.complaint())
    return ended.stdout


@contextmanager
def mounted(
    spec: FilesystemSpec, source: str, folder: Path, items: Iterable[str]
) -> Iterator[CompletedProgram]:
    """Mount for a while; gives how mount(8) ended."""
    options = ",".join(items) or "rw"
    ended = run("mount", "--types", spec.id, "--options", options, source, str(folder))
    try:
        yield ended
    finally:
        if ended.exit_code == 0:
            _unmount(folder)


def _unmount(folder: Path) -> None:
    """Unmount, again and again for a while: UDisks2 asks a mounted XFS for its size and is in the way."""
    deadline = time.monotonic() + TIMEOUT_S
    while (ended := run("umount", str(folder))).exit_code != 0:
        assert "target is busy" in ended.complaint(), ended.complaint()
        assert time.monotonic() < deadline, ended.complaint()
        time.sleep(0.1)


def mount_differences(
    spec: FilesystemSpec, source: str, folder: Path, versions: Versions
) -> list[tuple[str, OptionValue, str]]:
    """Return what differs from the declarations when every mount option is tried."""
    return [
        (option.id, value, difference)
        for option in spec.options
        if option.stage is Stage.MOUNT
        for value in tried_values(option)
        if (difference := _mount_difference(spec, source, folder, (option, value), versions))
    ]


def _mount_difference(
    spec: FilesystemSpec, source: str, folder: Path, tried: tuple[OptionSpec, OptionValue], versions: Versions
) -> str:
    option, value = tried
    chosen = {**COMPANIONS.get(option.id, {}), option.id: value}
    absent = unavailable(option, versions, value)
    if not absent and validate_options(spec, chosen):
        return ""
    items = [item for _, item in spec.arguments(Stage.MOUNT, chosen)]
    with mounted(spec, source, folder, items) as ended:
        if ended.exit_code != 0:
            expected = absent or (spec.id, option.id, value) in REFUSED_HERE
            return "" if expected else f"refused: {ended.complaint()}"
        tokens = mounts_on(str(folder))[-1].options
    for item in spec.always:
        if item.stage is Stage.MOUNT and item.seen and item.seen.contradictions(tokens):
            return f"{item.item} is not among {tokens}"
    seen = option.seen(value)
    wrong = seen.contradictions(tokens) if seen else ()
    if absent or (spec.id, option.id, value) in DROPPED:
        return "" if wrong else f"taken, though {absent or 'declared as dropped'}: {tokens}"
    return f"{wrong} in {tokens}" if wrong else ""


def mkfs_differences(
    spec: FilesystemSpec, node: str, folder: Path, versions: Versions, page_bytes: int
) -> list[tuple[str, OptionValue, str]]:
    """Return what differs from the declarations when every option of the mkfs program is tried."""
    return [
        (option.id, value, difference)
        for option in spec.options
        if option.stage is Stage.MKFS and option.flag
        for value in tried_values(option)
        if not (option.id == "block_size" and isinstance(value, int) and value > page_bytes)
        if (difference := _mkfs_difference(spec, node, folder, (option, value), versions))
    ]


def _mkfs_difference(
    spec: FilesystemSpec, node: str, folder: Path, tried: tuple[OptionSpec, OptionValue], versions: Versions
) -> str:
    option, value = tried
    chosen = {**COMPANIONS.get(option.id, {}), option.id: value}
    if unavailable(option, versions, value) or validate_options(spec, chosen):
        return ""
    assert spec.mkfs
    must("wipefs", "--all", "--quiet", node)
    ended = run(spec.mkfs, "-q", *joined(spec.arguments(Stage.MKFS, chosen)), node)
    if ended.exit_code != 0:
        return f"refused: {ended.complaint()}"
    seen = option.seen(value)
    tokens = superblock_tokens(spec, node)
    wrong = seen.contradictions(tokens) if seen else ()
    if wrong:
        return f"{wrong} in {sorted(tokens)}"
    with mounted(spec, node, folder, ()) as ended:
        return "" if ended.exit_code == 0 else f"not mounted: {ended.complaint()}"


def superblock_tokens(spec: FilesystemSpec, node: str) -> frozenset[str]:
    """Return the tokens of a superblock, as the filesystem's own readers tell them of what is not mounted."""
    readers = [reader for reader in spec.readers if reader.shown_by is ShownBy.SUPERBLOCK]
    return frozenset(token for reader in readers for token in reader.parse(must(*reader.argv, node)))


def dataset_differences(
    spec: FilesystemSpec, pool: str, versions: Versions
) -> list[tuple[str, OptionValue, str]]:
    """Return what differs from the declarations when a dataset is made with every property."""
    found = []
    dataset = f"{pool}/facts"
    for option in spec.options:
        for value in tried_values(option) if option.stage is Stage.DATASET else ():
            written, seen = option.written(value), option.seen(value)
            assert written
            assert seen
            absent = unavailable(option, versions, value)
            ended = run("zfs", "create", "-o", written.item, dataset)
            if ended.exit_code != 0:
                if not absent:
                    found.append((option.id, value, f"refused: {ended.complaint()}"))
                continue
            text = must("zfs", "get", "-H", "-p", "-o", "property,value", "all", dataset)
            wrong = seen.contradictions(list(parse_properties(text)))
            if bool(wrong) is not bool(absent):
                found.append((option.id, value, f"{wrong or 'taken, though ' + absent}"))
            must("zfs", "destroy", dataset)
    return found

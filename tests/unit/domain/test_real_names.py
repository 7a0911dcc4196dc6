"""Options under the names that mount, mkfs, zpool and zfs know."""

from __future__ import annotations

import pytest

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.options.filesystem_spec import real_name, real_words, shown_name, spelled_as
from app.domain.options.kinds import Choice, OptionValue, Toggle


@pytest.mark.parametrize(
    ("filesystem_id", "option", "name"),
    [
        ("ext4", "barrier", "off: nobarrier"),
        ("xfs", "barrier", "off: nobarrier"),
        ("f2fs", "barrier", "off: nobarrier"),
        ("ext4", "atime", "noatime"),
        ("ext4", "data", "data"),
        ("ext4", "commit", "commit"),
        ("ext4", "journal", "off: -O ^has_journal"),
        ("ext4", "stripe_width", "-E stripe_width"),
        ("ext4", "block_size", "-b"),
        ("xfs", "mkfs_discard", "off: -K"),
        ("xfs", "reflink", "-m reflink"),
        ("xfs", "logbsize", "logbsize"),
        ("btrfs", "datacow", "off: nodatacow"),
        ("btrfs", "datasum", "off: nodatasum"),
        ("btrfs", "nocow_attribute", "chattr +C"),
        ("btrfs", "flushoncommit", "flushoncommit"),
        ("btrfs", "treelog", "off: notreelog"),
        ("btrfs", "compress_force", "compress-force"),
        ("btrfs", "max_inline", "max_inline"),
        ("btrfs", "metadata_profile", "-m"),
        ("btrfs", "full_page_writes", "full_page_writes"),
        ("zfs", "recordsize", "recordsize"),
        ("zfs", "ashift", "ashift"),
        ("zfs", "redundant_metadata", "redundant_metadata"),
        ("zfs", "primarycache", "primarycache"),
        ("zfs", "logbias", "logbias"),
        ("zfs", "autotrim", "autotrim"),
    ],
)
def test_shown_name_of_option(filesystem_id: str, option: str, name: str) -> None:
    assert shown_name(filesystem(filesystem_id).option(option)) == name


def test_real_names_found_by_words() -> None:
    for spec in FILESYSTEMS:
        for option in spec.options:
            assert real_name(option).strip(), (spec.id, option.id)
            kind, found = option.kind, real_words(option)
            values = (
                (True, False) if isinstance(kind, Toggle) else kind.ids if isinstance(kind, Choice) else ()
            )
            tokens = {token for value in values if (token := option.spelling.token(value))}
            assert tokens <= set(found), (spec.id, option.id)


@pytest.mark.parametrize(
    ("filesystem_id", "option", "value", "expected"),
    [
        ("ext4", "barrier", False, "mount -o nobarrier"),
        ("ext4", "journal", False, "mkfs.ext4 -O ^has_journal"),
        ("ext4", "journal_bytes", 64 << 20, "mkfs.ext4 -J size=64"),
        ("btrfs", "nocow_attribute", True, "chattr +C"),
        ("btrfs", "nocow_attribute", False, ""),
        ("zfs", "recordsize", 8192, "zfs create -o recordsize=8192"),
        ("zfs", "ashift", 12, "zpool create -o ashift=12"),
        ("zfs", "full_page_writes", False, "postgresql.conf: full_page_writes=off"),
    ],
)
def test_value_as_typed(filesystem_id: str, option: str, value: OptionValue, expected: str) -> None:
    spec = filesystem(filesystem_id)
    assert spelled_as(spec, spec.option(option), value) == expected

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.comparison.label_shortening import short_names, telling_names

DISKS = "{} on four disks, chunk 64 KiB, {} clients"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["ext4 stripe scale 1000 #1", "xfs stripe scale 1000 #1"], ("ext4", "xfs")),
        (["ext4 stripe scale 1000 #1", "ext4 stripe scale 1000 #2"], ("#1", "#2")),
        ([DISKS.format("ext4", 64), DISKS.format("xfs", 128)], ("ext4 64", "xfs 128")),
        (["ext4 stripe scale 1000", "zfs tuned stripe scale 1000"], ("ext4", "zfs tuned")),
        (["the same ext4 scale 1000 as before", "the same zfs as before"], ("ext4 scale 1000", "zfs")),
        (["ext4 #1", "xfs #1"], ("ext4 #1", "xfs #1")),
        (
            ["scale 100 (20220909-zfs raidz2) #1", "scale 100 (20220910-zfs raidz2) #1"],
            ("20220909-zfs", "20220910-zfs"),
        ),
        (["scale 100 (zfs) run", "scale 100 (ext4 [md]) run"], ("(zfs)", "(ext4 [md])")),
        (["a long name that is the same"] * 2, ("a long name that is the same",) * 2),
        (["a long name that goes on", "a long name that goes on and on"], None),
        (["only one name, however long it may be"], None),
        ([], None),
    ],
)
def test_common_words_dropped(names: list[str], short: tuple[str, ...] | None) -> None:
    assert short_names(names) == (tuple(names) if short is None else short)


@given(st.lists(st.text(), max_size=6))
def test_short_names_unique_and_not_empty(names: list[str]) -> None:
    for short in (short_names(names), telling_names(names)):
        assert len(set(short)) == len(set(names))
        assert all(short) or not all(names)


def test_number_alone_not_telling_name() -> None:
    names = ["ext4 scale 100 clients 4", "ext4 scale 100 clients 16"]
    assert short_names(names) == ("4", "16")
    assert telling_names(names) == tuple(names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ("wal_compression off, fpw on, clients 2", "wal_compression lz4, fpw on, clients 2"),
            ("wal_compression off", "wal_compression lz4"),
        ),
        (("with checksums and more", "without checksums and more"), None),
        (("shared_buffers 32MB here", "shared_buffers 512MB here"), None),
        (("ext4 stripe scale 1000", "xfs stripe scale 1000"), ("ext4", "xfs")),
    ],
)
def test_values_keep_their_key(names: tuple[str, ...], expected: tuple[str, ...] | None) -> None:
    assert telling_names(names) == (expected or names)

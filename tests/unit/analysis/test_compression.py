"""What is said of a filesystem that compresses."""

from __future__ import annotations

import pytest

from app.analysis.compression import compressed_share, compression_in_effect, did_nothing
from app.analysis.labels import mark_words
from app.runfile.metadata.environment import read_environment_facts
from app.runfile.metadata.run_metadata import StoredMetadata


def in_effect(*options: str, compression: str | None = None) -> str:
    mount = {"filesystem": "btrfs", "super_options": list(options), "options": ["rw"]}
    dataset = {"compression": compression} if compression is not None else {}
    facts = {"storage": {"mount": mount, "pool": {"dataset": dataset}, "filesystem": {"dataset": dataset}}}
    return compression_in_effect(read_environment_facts(facts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "found"),
    [
        ("compress=zstd:3", "compress=zstd:3"),
        ("compress-force=lzo", "compress-force=lzo"),
        ("compress=none", ""),
        ("compress=no", ""),
        ("compress_algorithm=lz4", ""),
        ("noatime", ""),
    ],
)
def test_a_mount_tells_whether_btrfs_compresses(option: str, found: str) -> None:
    assert in_effect("rw", option) == found


def test_a_share_is_that_of_encoded_extents_or_what_the_disk_saved() -> None:
    assert compressed_share(StoredMetadata(logical_bytes=100, disk_bytes=100, encoded_bytes=97)) == 0.97
    assert compressed_share(StoredMetadata(logical_bytes=100, disk_bytes=40)) == 0.6
    assert compressed_share(StoredMetadata(logical_bytes=100, disk_bytes=130)) == pytest.approx(-0.3)
    assert compressed_share(StoredMetadata()) is None


def test_only_a_compression_that_was_chosen_and_did_nothing_is_told() -> None:
    nothing = StoredMetadata(logical_bytes=10_000, disk_bytes=10_000, encoded_bytes=100)
    assert "compress=zstd:3 compressed 1 %" in did_nothing("compress=zstd:3", nothing)
    assert "file_extend_method" in did_nothing("compress=zstd:3", nothing)
    assert did_nothing("", nothing) == ""
    assert did_nothing("compress=lzo", StoredMetadata()) == ""
    assert did_nothing("compress=lzo", StoredMetadata(logical_bytes=100, encoded_bytes=6)) == ""
    assert "0 %" in did_nothing("compression=lz4", StoredMetadata(logical_bytes=100, disk_bytes=120))
    assert mark_words("compressed-nothing") == "compressed nothing"

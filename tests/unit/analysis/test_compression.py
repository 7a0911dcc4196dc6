"""What is said of a filesystem that compresses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.analysis.data_set import (
    OTHER_COMPRESSIBILITY,
    compressed_share,
    compression_in_effect,
    did_nothing,
    differs_from_stated,
)
from app.analysis.labels import mark_words
from app.postgres.pgbench.scale import ratio_words
from app.probes.facts.files import SampledCompression, StoredBytes
from app.runfile.metadata.environment import read_environment_facts


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


def test_share_by_extents_or_disk_bytes() -> None:
    assert compressed_share(StoredBytes(logical_bytes=100, disk_bytes=100, encoded_bytes=97)) == 0.97
    assert compressed_share(StoredBytes(logical_bytes=100, disk_bytes=40)) == 0.6
    assert compressed_share(StoredBytes(logical_bytes=100, disk_bytes=130)) == pytest.approx(-0.3)
    assert compressed_share(StoredBytes()) is None


def test_chosen_compression_did_nothing() -> None:
    nothing = StoredBytes(logical_bytes=10_000, disk_bytes=10_000, encoded_bytes=100)
    assert "compress=zstd:3 compressed 1 %" in did_nothing("compress=zstd:3", nothing)
    assert "file_extend_method" in did_nothing("compress=zstd:3", nothing)
    assert did_nothing("", nothing) == ""
    assert did_nothing("compress=lzo", StoredBytes()) == ""
    assert did_nothing("compress=lzo", StoredBytes(logical_bytes=100, encoded_bytes=6)) == ""
    assert "0 %" in did_nothing("compression=lz4", StoredBytes(logical_bytes=100, disk_bytes=120))
    assert mark_words("compressed-nothing") == "compressed nothing"


def test_incompressible_rows_as_reason() -> None:
    nothing = StoredBytes(logical_bytes=10_000, disk_bytes=10_000)
    found = did_nothing("compression=lz4", nothing, 1.402)
    assert (
        found
        == "compression=lz4 compressed 0 % of the loaded tables: their rows hardly compress (1.40:1, zstd "
        "-3)."
    )
    assert "file_extend_method" in did_nothing("compress=zstd:3", nothing, 2.0)


def test_only_possible_reasons_named() -> None:
    nothing = StoredBytes(logical_bytes=10_000, disk_bytes=10_000, encoded_bytes=400)
    guessed = did_nothing("compress=lzo", nothing, 2.0, 15)
    assert "compress-force" in guessed
    assert "posix_fallocate" not in guessed, "files grew by writing until PostgreSQL 15"
    assert "posix_fallocate" in did_nothing("compress-force=lzo", nothing, 2.0, 16)
    assert "sample" not in did_nothing("compress-force=lzo", nothing, 2.0, 16)
    assert did_nothing("compress-force=lzo", nothing, 2.0, 15).endswith("4 % of the loaded tables.")
    on_zfs = did_nothing("compression=lz4", replace(nothing, encoded_bytes=None), 2.0, 18)
    assert on_zfs == "compression=lz4 compressed 0 % of the loaded tables."


def test_ratios_are_told_as_people_write_them() -> None:
    assert [ratio_words(each) for each in (1.4, 2.0, 2.75, 9.96, 10.0)] == [
        "1.4:1",
        "2:1",
        "2.8:1",
        "10:1",
        "10:1",
    ]
    assert ratio_words(2.0) == "2:1"
    assert ratio_words(None) == "pgbench's own, mostly blanks"


def test_compressibility_differs_from_stated() -> None:
    def sentence_for(stated: float | None, ratio: float) -> str:
        return differs_from_stated(
            stated, SampledCompression(sampled_bytes=round(1000 * ratio), compressed_bytes=1000)
        )

    assert sentence_for(2.0, 2.19) == sentence_for(2.0, 1.81) == ""
    assert sentence_for(2.0, 2.21).startswith("the loaded tables compress 2.21:1 (zstd -3")
    assert sentence_for(2.0, 1.79).endswith("2:1 was specified")
    assert sentence_for(None, 30.0) == ""
    assert differs_from_stated(2.0, SampledCompression()) == ""
    assert mark_words(OTHER_COMPRESSIBILITY) == "rows not as specified"

"""Published figures: what ships is whole and quoted, and a slip in a file is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import ReferenceDataError
from app.published.reading import REFERENCE, WrittenNumber, published_figures, read_number, read_reference

SMALL = """
id = "small"
short = "Small 2020"
title = "A text"
author = "Jo Writer"
publisher = "a blog"
published = "2020-01"
year = 2020
conditions = ["one run each"]
[machine.m]
processor = "one core"
conditions = ["fsync on"]
[column.zfs]
filesystem = "zfs"
conditions = ["ashift 12"]
[level.raidz1]
zfs = "raidz1"
other = "raid5"
[[table]]
title = "Results"
machine = "m"
measure = "tps"
unit = "1/s"
workload = "simple-update"
scale = 100
filesystem = "xfs"
rows_are = "raid"
columns = ["zfs", "score"]
rows = [["raidz1", "14,8 tps", "57 / 69"]]
[[statement]]
quotation = "It drops to ~6k tps."
figures = [{ written = "~6k", measure = "tps", unit = "1/s" }]
"""


def test_every_text_is_there_with_its_tables() -> None:
    figures = published_figures()
    counts = {
        text: sum(figure.publication.id == text for figure in figures)
        for text in {figure.publication.id for figure in figures}
    }
    assert counts == {
        "lentfer-2009": 17,
        "mount-options-2011": 19,
        "ufs-zfs-2008": 12,
        "vondra-2016": 14,
        "vondra-2022": 151,
        "vondra-2023": 57,
        "dbi-services-2024": 1,
        "davis-2025": 1,
        "phoronix-2025": 1,
        "classmethod-2026": 2,
    }


def test_figures_quoted_with_source() -> None:
    for figure in published_figures():
        assert figure.written in figure.quotation
        assert figure.publication.author
        assert 2000 < figure.publication.year < 2030
        assert figure.label.startswith(figure.publication.short)
        if figure.is_tps:
            assert figure.machine is not None
            assert figure.machine.processor
            assert figure.machine.storage
            assert figure.filesystem
            assert figure.workload
            assert figure.scale


def test_raid_level_named_by_filesystem() -> None:
    by_id = {figure.id: figure for figure in published_figures()}
    table = "vondra-2022/results-for-i5-scale-250-read-write/raidz1"
    assert [by_id[f"{table}/{column}"].raid for column in ("zfs-tuned", "btrfs", "xfs")] == [
        "raidz1",
        "raid5",
        "raid5",
    ]
    tuned = by_id[f"{table}/zfs-tuned"]
    assert (tuned.value, tuned.settings) == (
        11088.0,
        "full_page_writes=off, wal_init_zero = off, wal_recycle = off",
    )
    assert tuned.label == "Vondra 2022: zfs tuned, raidz1"


def test_table_figures_with_context() -> None:
    comma, first, second, sentence = read_reference(SMALL, "small")
    assert (comma.value, comma.filesystem, comma.raid, comma.scale) == (14.8, "zfs", "raidz1", 100)
    assert comma.conditions == ("ashift 12",)
    assert (first.value, second.value, first.raid, first.filesystem) == (57.0, 69.0, "raid5", "xfs")
    assert second.conditions == ("run 2 of 2",)
    assert (sentence.value, sentence.is_rough, sentence.machine) == (6000.0, True, None)
    assert comma.all_conditions() == ("processor: one core", "fsync on", "one run each", "ashift 12")


@pytest.mark.parametrize(
    ("written", "unit", "expected"),
    [
        ("~7.5k", "1/s", WrittenNumber(7500.0, None, is_rough=True)),
        ("between 5k and 9k", "1/s", WrittenNumber(5000.0, 9000.0, is_rough=False)),
        ("2-3x", "x", WrittenNumber(2.0, 3.0, is_rough=False)),
        ("1/2 hour", "h", WrittenNumber(0.5, None, is_rough=False)),
        ("less than 40 KB/sec", "kB/s", WrittenNumber(40.0, None, is_rough=True)),
        ("five times", "x", WrittenNumber(5.0, None, is_rough=False)),
        ("14,8 tps", "1/s", WrittenNumber(14.8, None, is_rough=False)),
    ],
)
def test_numbers_are_read_as_texts_write_them(written: str, unit: str, expected: WrittenNumber) -> None:
    assert read_number(written, unit) == expected


@pytest.mark.parametrize(
    ("written", "unit"),
    [("65,000", "1/s"), ("18MB/sec", "kB/s"), ("fast", "x"), ("9-5", "1/s"), ("20%", "x")],
)
def test_ambiguous_number_refused(written: str, unit: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_number(written, unit)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('unit = "1/s"', 'unit = "1/h"', "unit “1/h”"),
        ('measure = "tps"\nunit', 'mesure = "tps"\nunit', "Did you mean “measure”"),
        ('machine = "m"\nmeasure', 'machine = "n"\nmeasure', "no machine “n”"),
        ('["raidz1", "14,8 tps", "57 / 69"]', '["raidz1", "14,8 tps"]', "as many cells as columns"),
        ('written = "~6k"', 'written = "~7k"', "does not stand in the quotation"),
        ('"14,8 tps"', '"fast"', "neither one number nor a range"),
        ("year = 2020", "year = 1900", "the year is none"),
        ('id = "small"', 'id = "other"', "not the name of the file"),
        ("scale = 100", 'scale = "100"', "wrong kind"),
        ('author = "Jo Writer"', 'author = ""', "lacks author"),
        ('rows = [["raidz1"', 'rows = [["raidz1", "1", "2"], ["raidz1"', "stands twice"),
        ("[machine.m]", "[machine.m", "small.toml"),
    ],
)
def test_reference_mistakes_refused_with_place(old: str, new: str, told: str) -> None:
    assert old in SMALL
    with pytest.raises(ReferenceDataError, match="small.toml") as caught:
        read_reference(SMALL.replace(old, new, 1), "small")
    assert told in caught.value.message


def test_binary_file_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReferenceDataError, match=r"bad\.toml"):
        published_figures(tmp_path)


def test_figures_from_shipped_folder() -> None:
    assert REFERENCE.is_dir()
    assert published_figures() is published_figures()

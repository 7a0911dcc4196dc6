"""Published figures: what ships is whole, quoted, and agrees with an independent second transcription."""

from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import ReferenceDataError
from app.published.figures import REFERENCE, published_figures, read_reference

SECOND = Path(__file__).resolve().parents[2] / "data" / "reference-second"
TEXTS = sorted(path.stem for path in REFERENCE.glob("*.toml"))
_NUMBER = re.compile(r"\d+(?:/\d+|(?:[.,]\d+)?k?\b)?|\b(?:two|three|four|five)\b")
_NOT_WORDS = re.compile(r"[^a-z0-9.%~]+")

SMALL = """
short = "Small 2020"
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
workload = "simple-update"
scale = 100
filesystem = "xfs"
rows_are = "raid"
columns = ["zfs", "score"]
rows = [["raidz1", "14,8 tps", "57 / 69"]]
[[statement]]
quotation = "It drops to ~6k tps, by 40 %."
figures = [{ written = "~6k", measure = "tps" }, { written = "40 %", measure = "difference" }]
"""


def content_of(text: str, folder: Path = REFERENCE) -> dict[str, Any]:
    return tomllib.loads((folder / f"{text}.toml").read_text())


def numbers_in(text: str) -> tuple[str, ...]:
    """The numbers of a text, decimal points whatever it writes."""
    return tuple(match[0].replace(",", ".") for match in _NUMBER.finditer(text))


def plain(text: str) -> str:
    """A text without what two people copy differently: blanks, quotes, dashes, case."""
    return _NOT_WORDS.sub(" ", text.lower()).strip()


def cells(content: dict[str, Any]) -> set[tuple[str, ...]]:
    """Table, row, column and numbers of every cell."""
    return {
        (plain(table["title"]), plain(heading), plain(column), *numbers_in(cell))
        for table in content.get("table", ())
        for heading, *row in table["rows"]
        for column, cell in zip(table["columns"], row, strict=True)
        if numbers_in(cell)
    }


def statements(content: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """Quotation and numbers of every figure of a sentence."""
    return [
        (plain(statement["quotation"]), numbers_in(figure if isinstance(figure, str) else figure["written"]))
        for statement in content["statement"]
        for figure in statement.get("figures", statement.get("numbers", ()))
    ]


def differences(content: dict[str, Any], second: dict[str, Any]) -> list[object]:
    """What the second transcription of a text has otherwise, or one of the two alone."""
    wrong: list[object] = [*sorted(cells(content) ^ cells(second))]
    left = statements(content)
    for theirs, numbers in statements(second):
        alike = (each for each in left if each[1] == numbers and (theirs in each[0] or each[0] in theirs))
        if (match := next(alike, None)) is None:
            wrong.append((theirs, numbers))
        else:
            left.remove(match)
    return [*wrong, *left]


@pytest.mark.parametrize("text", TEXTS)
def test_transcriptions_agree(text: str) -> None:
    second = content_of(text, SECOND)
    assert second["source"] == content_of(text)["id"] == text
    assert differences(content_of(text), second) == []


def test_table_and_statement_differences_found() -> None:
    text = content_of("vondra-2022")
    digit, row, fewer = copy.deepcopy(text), copy.deepcopy(text), copy.deepcopy(text)
    digit["table"][0]["rows"][0][3] = "101082"
    del row["table"][3]["rows"][0]
    fewer["statement"][1]["figures"].pop()
    assert [len(differences(text, each)) for each in (digit, row, fewer)] == [2, 3, 1]


@pytest.mark.parametrize("text", TEXTS)
def test_machines_and_quotations_exist(text: str) -> None:
    content = content_of(text)
    tables, spoken = content.get("table", []), content["statement"]
    machines = {each["machine"] for each in (*tables, *spoken) if "machine" in each}
    assert machines <= content.get("machine", {}).keys()
    for statement in spoken:
        assert all(each["written"] in statement["quotation"] for each in statement["figures"])


def test_every_text_is_there_with_its_tables() -> None:
    sources = [figure.source for figure in published_figures()]
    assert {each: sources.count(each) for each in sources} == {
        "Lentfer 2009": 15,
        "mount options 2011": 14,
        "Vondra 2022": 142,
        "Vondra 2023": 56,
    }


def test_figures_have_hardware_and_workload() -> None:
    for figure in published_figures():
        assert {"processor", "storage"} <= {each.partition(":")[0] for each in figure.conditions}
        assert figure.filesystem
        assert figure.workload
        assert figure.scale


def test_raid_level_named_by_filesystem() -> None:
    read_write = [each for each in published_figures() if "i5/scale 250/read-write" in each.quotation]
    raidz1 = {each.filesystem: each for each in read_write if "|| raidz1 " in each.quotation}
    assert {name: each.raid for name, each in raidz1.items()} == {
        "zfs": "raidz1",
        "btrfs": "raid5",
        "ext4": "raid5",
        "xfs": "raid5",
    }
    assert (raidz1["zfs"].value, raidz1["zfs"].label) == (11088.0, "Vondra 2022: zfs tuned, raidz1")


def test_table_figures_with_context() -> None:
    comma, first, second, sentence = read_reference(tomllib.loads(SMALL))
    assert (comma.value, comma.filesystem, comma.raid, comma.scale) == (14.8, "zfs", "raidz1", 100)
    assert comma.conditions == ("processor: one core", "fsync on", "one run each", "ashift 12")
    assert (first.value, second.value, first.raid, first.filesystem) == (57.0, 69.0, "raid5", "xfs")
    assert second.conditions[-1] == "run 2 of 2"
    assert (sentence.value, sentence.conditions) == (6000.0, ("one run each",))


@pytest.mark.parametrize("written", ["fast", "between 5k and 9k"])
def test_ambiguous_number_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list(read_reference(tomllib.loads(SMALL.replace('"14,8 tps"', f'"{written}"'))))


def test_binary_file_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReferenceDataError, match=r"bad\.toml"):
        published_figures(tmp_path)

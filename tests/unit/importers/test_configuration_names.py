"""Which runs of others are repeats, which are configurations, and what pgbench's TPS of them include."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.facts import read_run_facts
from app.comparison.overall.conditions import condition_of
from app.importers.formats.storage_texts import numbered, read_place
from app.importers.importing import ImportReport
from app.runfile.metadata.typed_json import NotKnown
from app.runfile.reader import RunFile
from tests.unit.importers.imports import DATA, bring_in, only
from tests.unit.importers.made_logs import summary_text

FOREIGN = DATA / "import" / "foreign"
TEXT = summary_text(600, 10.0, seconds=60)


def groups(report: ImportReport) -> list[list[float | None]]:
    """TPS by configuration, each sorted; every repeat has a number of its own."""
    found: dict[str, dict[int, float | None]] = {}
    for each in report.imported:
        with RunFile(each.path) as run:
            metadata = run.metadata
        assert metadata.repeat not in found.setdefault(str(metadata.configuration), {})
        found[str(metadata.configuration)][int(str(metadata.repeat))] = each.tps
    return sorted(sorted(tps.values(), key=float) for tps in found.values())  # type: ignore[arg-type]


def are_apart(report: ImportReport) -> bool:
    """Whether no figure of one run is divided by the other's."""
    one, other = (condition_of(read_run_facts(each.path)) for each in report.imported)
    return one != other


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("F01-merged", [[1991.0, 2000.0, 2012.0], [2591.0, 2600.0, 2612.0]]),
        ("F01b-sweep", [[900.0], [2600.0], [4100.0]]),
        ("F01c-protocols", [[50.0], [4200.0]]),
        ("F03-server-version", [[3100.0], [3280.0], [3300.0]]),
        ("F11-reconnect", [[182.5], [215.0]]),
    ],
)
def test_f01(tmp_path: Path, name: str, expected: list[list[float]]) -> None:
    assert groups(bring_in(tmp_path, FOREIGN / name)) == expected


CHANGES = {
    "clients": ("number of clients: 4", "number of clients: 8"),
    "threads": ("number of threads: 2", "number of threads: 4"),
    "protocol": ("query mode: prepared", "query mode: simple"),
    "script": ("<builtin: simple update>", "a/x.sql"),
    "same script name": ("<builtin: simple update>", "b/x.sql"),
    "duration": ("duration: 60 s", "duration: 600 s"),
    "scale": ("scaling factor: 10", "scaling factor: 20"),
    "client version": ("pgbench (15.4)", "pgbench (16.1)"),
    "server version": ("pgbench (15.4)", "pgbench (15.4, server 13.2)"),
    "tries": ("tries: 1", "tries: 10"),
    "connecting": ("(without initial connection time)", "(including reconnection times)"),
    "partitions": ("scaling factor: 10", "scaling factor: 10\npartition method: hash\npartitions: 8"),
    "rate": ("latency average", "rate limit schedule lag: avg 1.000 (max 2.000) ms\nlatency average"),
}


@pytest.mark.parametrize("where", ["one.txt", "deep/1/2/3/pgbench.log", "deep/i5/default/out.txt"])
def test_every_condition(tmp_path: Path, where: str) -> None:
    texts = [TEXT, *(TEXT.replace(*change) for change in CHANGES.values())]
    lines = [each.replace("tps = 10.0", f"tps = {10 + at}.0") for at, each in enumerate(texts)]
    path = tmp_path / "tree" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    report = bring_in(tmp_path / "library", tmp_path / "tree")
    assert groups(report) == [[10.0 + at] for at in range(len(texts))]


@pytest.mark.parametrize("change", CHANGES)
def test_one_condition_is_named(tmp_path: Path, change: str) -> None:
    (tmp_path / "a.txt").write_text(TEXT + TEXT.replace(*CHANGES[change]).replace("= 10.0", "= 11.0"))
    report = bring_in(tmp_path / "library", tmp_path)
    assert groups(report) == [[10.0], [11.0]]
    assert "[2]" not in " ".join(each.name for each in report.imported)
    assert are_apart(report) is (not change.endswith("version"))


def test_same_scripts_elsewhere(tmp_path: Path) -> None:
    texts = [TEXT.replace("<builtin: simple update>", f"{place}/x.sql") for place in "ab"]
    (tmp_path / "a.txt").write_text(texts[0] + texts[1].replace("= 10.0", "= 11.0"))
    report = bring_in(tmp_path / "library", tmp_path)
    names = {each.name for each in report.imported}
    assert names == {"a scale 10 x.sql script=a/x.sql #1", "a scale 10 x.sql script=b/x.sql #1"}
    assert are_apart(report)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["xfs-1.txt", "xfs-2.txt", "xfs-3.txt"], [3]),
        (["xfs_0.txt", "xfs_1.txt", "xfs_2.txt"], [3]),
        (["xfs (1).txt", "xfs (2).txt"], [2]),
        (["xfs.run1.txt", "xfs.run7.txt"], [2]),
        (["x/ext4-1/pgbench.log", "x/ext4-2/pgbench.log", "x/zfs/pgbench.log"], [1, 2]),
        (["run-1/pgbench.log", "run-2/pgbench.log"], [2]),
        (["wal-1.txt", "wal-16.txt"], [1, 1]),
        (["jit-0.txt", "jit-1.txt"], [1, 1]),
        (["raid-1.txt", "raid-2.txt"], [1, 1]),
        (["pg-1/out.txt", "pg-2/out.txt"], [1, 1]),
        (["c16.txt", "c64.txt"], [1, 1]),
        (["ext4.txt", "ext3.txt"], [1, 1]),
        (["out.txt", "results.txt"], [1, 1]),
        (["i5/xfs/out.txt", "xeon/xfs/out.txt"], [1, 1]),
        (["10/out.txt", "x/out.txt"], [1, 1]),
    ],
)
def test_file_names(tmp_path: Path, files: list[str], expected: list[int]) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "README.md").write_text("# i5\n* CPU: i5\n# xeon\n* CPU: xeon\n")
    for number, file in enumerate(files):
        path = tmp_path / "tree" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT.replace("tps = 10.0", f"tps = {10 + number}.0"))
    found = groups(bring_in(tmp_path / "library", tmp_path / "tree"))
    assert sorted(map(len, found)) == expected


@given(st.sets(st.integers(0, 40), min_size=1, max_size=8), st.sampled_from(["xfs", "zfs-8k", "a b"]))
def test_numbers_without_a_gap(numbers: set[int], base: str) -> None:
    found = numbered({f"{base}-{number}" for number in numbers})
    ordered = sorted(numbers)
    whole = ordered in (list(range(1, len(ordered) + 1)), list(range(len(ordered))))
    is_repeats = whole and len(ordered) > (1 if ordered[0] else 2)
    assert len(found) == (len(numbers) if is_repeats else 0)
    assert {each for each, _ in found.values()} <= {base}


@given(st.lists(st.text("abcxyz019 -_.()", min_size=1, max_size=12), max_size=6))
def test_any_names(names: list[str]) -> None:
    found = numbered(names)
    assert len(set(found.values())) == len(dict.fromkeys(found) | {}) or len(set(names)) < len(names)


@pytest.mark.parametrize(
    ("campaign", "filesystem"),
    [
        ("20220903-zfs", "zfs"),
        ("20220909-zfs-large", "zfs"),
        ("test_ext4_ssd", "ext4"),
        ("F05-name-is-zfs", ""),
        ("not-on-xfs", ""),
        ("zfs-to-ext4", ""),
        ("my zfs notes", ""),
    ],
)
def test_name_of_campaign(campaign: str, filesystem: str) -> None:
    assert read_place([campaign], [], machines=(), scale=None).filesystem == filesystem


@pytest.mark.parametrize(("name", "server"), [("a", "13.22"), ("b", "18beta3"), ("c", "16.3")])
def test_f03(tmp_path: Path, name: str, server: str) -> None:
    imported = only(bring_in(tmp_path, FOREIGN / "F03-server-version" / f"{name}.txt"))
    with RunFile(imported.path) as run:
        assert run.metadata.installation.version == server
    assert "server version" not in dict(imported.missing)


def test_f11(tmp_path: Path) -> None:
    found = {}
    report = bring_in(tmp_path, FOREIGN / "F11-reconnect")
    assert are_apart(report)
    for each in report.imported:
        with RunFile(each.path) as run:
            (found[each.name[:3]],) = [reason for kind, reason in run.marks() if kind == "connecting"]
            assert run.summary()["duration_s"] == pytest.approx(60, abs=0.1)
            assert isinstance(run.metadata.installation.version, NotKnown) is each.name.startswith("v13")
    assert "exclude" in found["v13"]
    assert "182.5" in found["v13"]
    assert "its TPS include connection time, unlike those of other runs" in found["v15"]


def test_f16(tmp_path: Path) -> None:
    imported = only(bring_in(tmp_path / "library", FOREIGN / "F16-joined-logs"))
    assert imported.tps_source == "pgbench --log"
    assert "partial-latencies" not in imported.marks
    folder = tmp_path / "half"
    folder.mkdir()
    for file in (FOREIGN / "F16-joined-logs").iterdir():
        lines = file.read_text().splitlines(keepends=True)
        (folder / file.name).write_text("".join(lines[: len(lines) // 2] if len(lines) > 99 else lines))
    assert "partial-latencies" in only(bring_in(tmp_path / "other", folder)).marks

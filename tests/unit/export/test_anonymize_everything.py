"""A secret in any text of a run is in no anonymous export: each text of the schema, and of a whole run."""

from __future__ import annotations

import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pytest
from pypdf import PdfReader

from app.domain.json_value import Json
from app.export.anonymize import KEPT, Anonymizer, is_known, known_words
from app.export.runs import export_runs
from app.report.options import ReportOptions, Section
from app.report.report import read_picture, read_report
from app.runfile.metadata.run_metadata import ServerMetadata
from app.runfile.writer import FORMAT, schema_script

EXAMPLES: Final = Path(__file__).resolve().parents[3] / "resources" / "examples"
PHASES: Final = Path(__file__).resolve().parents[2] / "data" / "runfile" / "format-2-of-ce3bb2d.footing"
"""A run with several phases."""

WORD: Final = "Zanzarella"
"""No word of the program's."""

STRUCTURE: Final = {
    ("series", "metric"): "planted in one series: a report needs the others to draw anything",
    ("phase", "name"): "an enumeration: another name is damage",
    ("summary", "name"): "a figure of ours: what is unknown is not read by name",
    ("phase_figure", "name"): "likewise",
    ("output", "name"): "not exported",
    ("output", "text"): "not exported",
    ("command", "stdout"): "not exported",
    ("command", "stderr"): "not exported",
    ("fact", "moment"): "before or after: anything else is not read",
    ("fact", "name"): "a key of ours",
    ("fact", "value"): "planted by its values, below",
    ("run", "key"): "a key of ours",
    ("run", "value"): "planted by its values, below",
    ("event", "data"): "planted by its values, below",
    ("command", "argv"): "planted by its values, below",
    ("tick", "live"): "numbers only: a text is damage",
}
"""Columns of texts that are looked at in another way, and why."""


def text_columns() -> Iterator[tuple[str, str]]:
    """Yield table and column of every text that the schema declares."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema_script(FORMAT))
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f"PRAGMA table_info({table})"):
                if row[2] == "TEXT":
                    yield table, row[1]


def paths_of(value: Json, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to each text inside a JSON value."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from paths_of(item, (*at, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from paths_of(item, (*at, number))
    elif isinstance(value, str):
        yield at


def planted(value: Json, at: tuple[str | int, ...], texts: Mapping[tuple[str | int, ...], str]) -> Json:
    """Return a JSON value with other texts."""
    if isinstance(value, Mapping):
        return {name: planted(item, (*at, name), texts) for name, item in value.items()}
    if isinstance(value, list):
        return [planted(item, (*at, number), texts) for number, item in enumerate(value)]
    return texts.get(at, value) if isinstance(value, str) else value


def is_kept(at: tuple[str | int, ...]) -> bool:
    return any(part in KEPT for part in at)


def whole_run(folder: Path) -> Path:
    """A real run with something in every table, and what no recorded example has."""
    path = folder / "run.footing"
    shutil.copyfile(min(EXAMPLES.rglob("*.footing")), path)
    with closing(sqlite3.connect(path)) as connection:
        kernel = json.loads(connection.execute("SELECT value FROM fact WHERE name = 'kernel'").fetchone()[0])
    kernel["command_line"] = "BOOT_IMAGE=/vmlinuz root=ZFS=tank/acme ro quiet ip=10.9.8.7 mitigations=off"
    with closing(sqlite3.connect(path)) as connection:
        target = json.loads(connection.execute("SELECT value FROM run WHERE key = 'target'").fetchone()[0])
    server = ServerMetadata(
        host_name="db.acme.example:5432",
        user_name="acme_bench",
        version="18.1",
        cluster_name="acme production",
        system_identifier="7438912345678901234",
        tls="TLSv1.3, TLS_AES_256_GCM_SHA384",
    )
    with closing(sqlite3.connect(PHASES)) as connection:
        (phases,) = connection.execute("SELECT value FROM run WHERE key = 'phases'").fetchone()
    more = {
        "phases": json.loads(phases),
        "target": {**target, "server": asdict(server)},
        "data_set": {
            "state": "loaded",
            "reason": "templates would lie in /srv/acme/templates, on the disks that are measured",
            "template": "0123456789abcdef",
        },
        "note": "a note",
        "tags": ["a tag"],
        "error": {"code": "failed", "message": "it failed", "hint": "none"},
        "measured_name": "before",
        "imported": {"path": "/x", "files": ["a.log"], "row": "a.csv, line 2"},
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE fact SET value = ? WHERE name = 'kernel'", (json.dumps(kernel),))
        rows = [(name, json.dumps(value)) for name, value in more.items()]
        connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)
        connection.execute("INSERT OR REPLACE INTO mark VALUES ('unsafe', 'fsync = off')")
        connection.execute("INSERT INTO unavailable (t_ms, source, reason) VALUES (1, 'smart', 'no right')")
    return path


def plant(path: Path) -> set[str]:
    """Put a secret of its own into every text of a run; return those that must not be told."""
    hidden: set[str] = set()
    number = 0

    def secret(*, kept: bool = False) -> str:
        nonlocal number
        number += 1
        word = f"{WORD}{number:05}q"
        if not kept:
            hidden.add(word)
        return word

    with closing(sqlite3.connect(path)) as connection, connection:
        for table, column in text_columns():
            if (table, column) not in STRUCTURE:
                key = "rowid" if table in {"event", "command", "series", "unavailable"} else column
                for (row,) in connection.execute(f"SELECT {key} FROM {table}").fetchall():
                    statement = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
                    word = f"pgbench.{secret()}" if (table, column) == ("series", "metric") else secret()
                    if (table, column) == ("series", "metric"):
                        word = connection.execute(
                            "SELECT metric FROM series WHERE id = ?", (row,)
                        ).fetchone()[0]
                    connection.execute(statement, (word, row))
        connection.execute("UPDATE series SET metric = ? WHERE metric = 'memory.dirty'", (secret(),))
        for table, key, column in (
            ("run", "key", "value"),
            ("fact", "name", "value"),
            ("event", "id", "data"),
            ("command", "id", "argv"),
        ):
            for name, text in connection.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
                value = json.loads(text)
                at = (name,) if table != "command" else ()
                if name == "state":
                    continue
                texts = {way: secret(kept=is_kept(way)) for way in paths_of(value, at)}
                found = json.dumps(planted(value, at, texts))
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (found, name))
    return hidden


def leaks(text: str, hidden: set[str]) -> set[str]:
    return set(re.findall(rf"{WORD}\d{{5}}q", text, re.IGNORECASE)) & hidden


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    path = whole_run(tmp_path_factory.mktemp("whole"))
    return path, plant(path)


def test_text_columns_planted_or_exempt() -> None:
    columns = set(text_columns())
    assert set(STRUCTURE) <= columns
    assert len(columns - set(STRUCTURE)) >= 11
    assert not is_known(WORD)


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_no_secret_is_in_an_anonymous_table(run: tuple[Path, set[str]], tmp_path: Path, ending: str) -> None:
    path, hidden = run
    assert len(hidden) > 300
    output = tmp_path / f"out.{ending}"
    export_runs([path], output, anonymous=False)
    assert leaks(output.read_text(), hidden)  # they are there to be found
    export_runs([path], output, anonymous=True, replace=True)
    assert leaks(output.read_text(), hidden) == set()
    assert "acme" not in output.read_text()


def test_no_secret_in_report_or_picture_source(run: tuple[Path, set[str]]) -> None:
    path, hidden = run
    for anonymous in (False, True):
        options = ReportOptions(sections=tuple(Section), anonymous=anonymous)
        for report in (read_report([path], options), read_picture([path], anonymous=anonymous)):
            text = f"{report.title} {[asdict_of(block) for block in report.blocks]}"
            assert bool(leaks(text, hidden)) is not anonymous
            assert bool(leaks(repr(report.attachments), hidden)) is bool(report.attachments and not anonymous)


def asdict_of(block: object) -> str:
    return re.sub(r"path=PosixPath\('[^']*'\)", "", repr(block))


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_no_secret_in_picture_or_report(run: tuple[Path, set[str]], tmp_path: Path, ending: str) -> None:
    path, hidden = run
    output = tmp_path / f"out.{ending}"
    argv = [sys.executable, "-P", "-m", "ui.report", "--output", str(output), "--anonymous", "--", str(path)]
    subprocess.run(argv, check=True)
    content = output.read_bytes()
    text = content.decode("latin-1")
    if ending == "pdf":
        reader = PdfReader(io.BytesIO(content))
        text = (
            "\n".join(page.extract_text() for page in reader.pages)
            + str(reader.metadata)
            + str(reader.outline)
            + "".join(part.decode() for parts in reader.attachments.values() for part in parts)
        )
        assert set(reader.attachments) == {"commands.txt", "facts.json"}
        assert "TPS" in text
    assert leaks(re.sub(r"\s", "", text), hidden) == set()


def test_kernel_command_line_keeps_common_words() -> None:
    disguise = Anonymizer(active=True)
    found = disguise.json({"command_line": whole_command_line()})
    words = str(found["command_line"]).split() if isinstance(found, dict) else []
    assert [word for word in words if "hidden" not in word] == [
        *("ro", "quiet", "mitigations=off", "isolcpus=2-5,7", "hugepagesz=1G", "transparent_hugepage=never"),
        *("console=ttyS0,115200n8", "nosmt"),
    ]
    assert len(words) == len(whole_command_line().split())
    for name in ("acme", "10.9.8.7", "tank", "LABEL", "0b6a7d6e", "db7", "vg", "jo", "secret", "PARTUUID"):
        assert name not in " ".join(words)


def whole_command_line() -> str:
    return (
        "BOOT_IMAGE=/vmlinuz-6.1 root=ZFS=tank/acme ro quiet ip=10.9.8.7::10.9.8.1:255.255.255.0:db7:eth0:off"
        " root=LABEL=acme-root resume=UUID=0b6a7d6e-1f4c-4d9a-9a54-6a8f0c1f2d3e rd.lvm.lv=vg0/root"
        " mitigations=off isolcpus=2-5,7 hugepagesz=1G transparent_hugepage=never"
        " console=ttyS0,115200n8 console=jo"
        " systemd.hostname=db7 rd.luks.key=/secret nosmt root=PARTUUID=abc"
    )


def test_unknown_words_replaced_consistently() -> None:
    disguise = Anonymizer(active=True)
    assert (
        disguise.sentence("ext4 on RAID10, chunk 64 KiB, noatime #3")
        == "ext4 on RAID10, chunk 64 KiB, noatime #3"
    )
    first, second = disguise.sentence(f"ext4 of {WORD} on nvme0n1"), disguise.sentence(f"{WORD}: xfs")
    assert first == "ext4 of name-1 on nvme0n1"
    assert second == "name-1: xfs"
    assert disguise.sentence("from 192.168.1.77 and fe80::1:2ff:3") == "from address-2 and address-3"


def test_disk_model_kept_folders_hidden() -> None:
    disguise = Anonymizer(active=True)
    disguise.learn({"model": "Zantrox PX-5", "version": f"17.2 from /opt/{WORD}/bin"})
    sentence = disguise.sentence(f"disk, Zantrox PX-5, of {WORD}")
    assert sentence.startswith("disk, Zantrox PX-5, of name-")


def test_known_words_come_from_source_only() -> None:
    assert {"ext4", "raid10", "checkpoint", "autovacuum"} <= known_words()
    assert not {"acme", "zanzarella"} & known_words()

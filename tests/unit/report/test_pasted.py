"""What can be taken along and pasted, of runs that somebody made to be obeyed."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from app.domain.json_value import Json
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Group, StoragePlan
from app.postgres.settings import quote_value
from app.report.report import read_findings, read_report
from app.report.take_with_you import storage_commands, taken_text
from tests import fix_report
from tests.fix_report import Case, write_cases
from tests.fix_runs import Shape
from tests.pasted import PAYLOADS, paste
from tests.unit.importers.imports import bring_in
from tests.unit.importers.made_logs import summary_text
from tests.unit.report.test_take_with_you import part, taken, three_times
from tests.unit.storage.plans import disks


def hostile(payload: str) -> list[Case]:
    """Return runs with a payload in every text that a run file has."""

    def settings(value: str) -> Json:
        names = ("work_mem", "archive_command", payload, f"{payload}.{payload}")
        return [{"name": name, "value": value, "origin": "user"} for name in names]

    target: Json = {"kind": payload, "path": payload, "raid": None}
    common: dict[str, Json] = {
        "target": target,
        "name": payload,
        "installation": {"version": payload, "folder": payload, "sha256": payload},
        "postgresql": {"preset": payload, "checksums": True},
    }
    one = Case(
        payload,
        shape=Shape(20, 6000),
        filesystem=payload,
        campaign=payload,
        marks=(("unsafe", payload), (payload, payload)),
        values=(*common.items(), ("settings", settings(payload))),
    )
    other = dataclasses.replace(
        one,
        configuration=f"{payload} 2",
        shape=Shape(20, 5000),
        values=(*common.items(), ("settings", settings("1MB"))),
    )
    return three_times(one, other)


@pytest.mark.parametrize(
    "payload", [*PAYLOADS[:9], *(pytest.param(each, marks=pytest.mark.long) for each in PAYLOADS[9:])]
)
def test_run_values_inert_when_pasted(payload: str, tmp_path: Path) -> None:
    paths = write_cases(tmp_path / "runs", hostile(payload))
    text = taken(read_findings(paths)).as_text()
    assert paste(text.splitlines(), tmp_path) == []
    report = read_report(paths)
    commands = [each.text for each in report.attachments if each.name == "commands.txt"]
    assert commands
    assert paste("\n".join(commands).splitlines(), tmp_path) == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_disk_values_inert_when_pasted(payload: str, tmp_path: Path) -> None:
    known = tuple(dataclasses.replace(each, model=payload, serial=payload) for each in disks(2))
    made = storage_commands(StoragePlan(Group(known, Level.MIRROR, "ext4")))
    assert all(line.isprintable() for line in (*made.commands, *made.fstab))
    assert paste([*made.commands, *made.fstab], tmp_path) == []


def settings(**values: str) -> tuple[str, Json]:
    return "settings", [{"name": name, "value": value, "origin": "user"} for name, value in values.items()]


def asked(name: str, conf: str, folder: Path) -> str:
    """Return what the real server reads for a setting."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        pytest.skip("no PostgreSQL is installed")
    folder.mkdir(exist_ok=True)
    (folder / "postgresql.conf").write_text(conf)
    argv = [str(found[-1]), "-C", name, "-D", str(folder)]  # in this order root may ask, too
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def conf_of(folder: Path, values: dict[str, str]) -> str:
    case = Case(shape=Shape(12, 5000), values=(settings(**values),))
    return part(taken(read_findings(write_cases(folder / "runs", [case]))), "postgresql.conf")


def test_postgres_reads_only_settings_that_are_harmless(tmp_path: Path) -> None:
    evil = tmp_path / "evil.conf"
    evil.write_text("log_min_messages = debug1\n")
    conf = conf_of(
        tmp_path,
        {
            f"include '{evil}' #": "on",
            "include": str(evil),
            f"work_mem = 1MB\ninclude '{evil}'\nx": "1",
            "archive_command": "touch /tmp/x",
            "Shared_Preload_Libraries": "evil",
            "evil.library": "x",
            "work_mem": "8MB",
            "random_page_cost": "1.1",
            "effective_cache_size": "a\\' #",
        }
        | {f"{payload}{number}": payload for number, payload in enumerate(PAYLOADS)},
    ).replace("effective_cache_size", "cluster_name")
    kept = [line for line in conf.splitlines() if not line.startswith("#")]
    assert kept == ["work_mem = 8MB", "random_page_cost = 1.1", "cluster_name = 'a\\\\'' #'"]
    assert sum("list of harmless settings" in line for line in conf.splitlines()) == 6 + len(PAYLOADS)
    read = {name: asked(name, conf, tmp_path / "data") for name in ("log_min_messages", "archive_command")}
    assert read == {"log_min_messages": "warning", "archive_command": ""}
    assert asked("cluster_name", conf, tmp_path / "data") == "a\\' #"


@pytest.mark.parametrize("payload", [each for each in PAYLOADS if each.isprintable()])
def test_postgres_reads_a_quoted_value_back(payload: str, tmp_path: Path) -> None:
    assert asked("cluster_name", f"cluster_name = {quote_value(payload)}\n", tmp_path / "data") == payload


@pytest.mark.parametrize("value", ["1.2.3", "1-2", "-5", "8GB", "1.5GB", "a.b-c", ".5", "0x1F", "+3", "on"])
def test_postgres_reads_what_needs_no_quotes(value: str, tmp_path: Path) -> None:
    conf = conf_of(tmp_path, {"work_mem": value}).splitlines()[-1].replace("work_mem", "cluster_name")
    assert asked("cluster_name", f"{conf}\n", tmp_path / "data") == value


@pytest.mark.parametrize(
    ("filesystem", "options", "line"),
    [
        (
            "ext4",
            ["noatime", "data=writeback", "commit=30", "barrier", "resuid=65534"],
            "UUID=FILL-IN  /srv/pgdata  ext4  noatime,data=writeback,commit=30  0 2",
        ),
        (
            "f2fs",
            ["rw", "relatime", "lazytime", "resgid=65534", "resv_strict", "extent_cache"],
            "UUID=FILL-IN  /srv/pgdata  f2fs  defaults  0 2",
        ),
        ("ext4", ["data=ordered", "rw"], "UUID=FILL-IN  /srv/pgdata  ext4  defaults  0 2"),
        (
            "xfs",
            ["users", "x-mount.mkdir", "uhelper=../evil", "nodev"],
            "UUID=FILL-IN  /srv/pgdata  xfs  defaults  0 0",
        ),
        ("ext4", ["a b", "c\nd", "e#f", "noatime"], "UUID=FILL-IN  /srv/pgdata  ext4  noatime  0 2"),
        ("ext4 x", ["noatime"], ""),
        ("fuse.evil", ["noatime"], ""),
    ],
)
def test_libmount_reads_one_line_of_known_words(
    filesystem: str, options: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount: Json = {"filesystem": filesystem, "options": [], "super_options": list(options)}
    monkeypatch.setattr(fix_report, "_facts", lambda _case: {"storage": {"mount": mount}})
    one = taken(read_findings(write_cases(tmp_path, [Case(shape=Shape(12, 5000))])))
    found = [each.lines for each in one.parts if each.heading == "/etc/fstab"]
    assert [lines[-1] for lines in found] == ([line] if line else [])
    program = shutil.which("findmnt")
    if program and found:
        table = tmp_path / "fstab"
        table.write_text("\n".join(found[0]) + "\n")
        argv = [
            program,
            "--tab-file",
            str(table),
            "--noheadings",
            "--raw",
            "--output",
            "FSTYPE,OPTIONS,TARGET",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.stdout.split() == [line.split()[2], line.split()[3], "/srv/pgdata"]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_imported_values_inert_when_pasted(payload: str, tmp_path: Path) -> None:
    folder = tmp_path / "results" / payload.replace("/", "_")
    folder.mkdir(parents=True)
    (folder / f"{payload.replace('/', '_')}.out").write_text(summary_text(60_000, 1000.0, seconds=60))
    (folder / "postgresql.conf").write_text(
        f"work_mem = '8MB'\n{payload} = on\narchive_command = {payload}\n"
    )
    report = bring_in(tmp_path / "library", tmp_path / "results")
    assert report.imported
    text = taken_text(read_findings([run.path for run in report.imported]))
    assert paste(text.splitlines(), tmp_path) == []

"""Reading campaign files: what they mean, and what is said when they are wrong."""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.campaign_file.reader import FILE_LIMIT_BYTES, load_campaign, parse_campaign
from app.domain.campaign.configuration import (
    DEFAULT_SEEDS,
    BuiltinScript,
    Caches,
    Campaign,
    DataSet,
    DataSize,
    DiskTarget,
    FolderTarget,
    GroupChoice,
    MemoryTarget,
    Protocol,
    Script,
    Workload,
)
from app.domain.campaign.matrix import RunOrder
from app.domain.errors import CampaignError, ExitStatus
from app.domain.options.raid import Level
from app.domain.storage_plan.plan import Bitmap, InitialSync, Scheduler
from tests.cases import each_case
from tests.unit.campaign_file import test_matrix

REFUSED = Path(__file__).resolve().parents[2] / "data" / "campaigns" / "refused.tsv"
HEAD = 'name = "trial"\n'
BASE = HEAD + "[target.folder]\n"
MEMORY = HEAD + "[target.memory]\n"
SERVER = HEAD + '[target.server]\nconnection = "host=db user=bench"\n'
DISKS = HEAD + '[target.disks]\ndata = ["S1"]\n'


def parse(text: str, folder: Path | str = "/nowhere") -> Campaign:
    return parse_campaign(text, base_directory=folder, source_name="trial.toml")


def refusal(text: str, folder: Path | str = "/nowhere") -> CampaignError:
    with pytest.raises(CampaignError) as caught:
        parse(text, folder)
    return caught.value


# --- meaning -------------------------------------------------------------------------------------


def test_minimal_file_has_one_configuration() -> None:
    campaign = parse(BASE)
    (configuration,) = campaign.configurations
    assert (campaign.name, configuration.name) == ("trial", "trial")
    assert (campaign.repeats, campaign.seeds) == (3, DEFAULT_SEEDS)
    assert configuration.target == FolderTarget()
    assert configuration.workload == Workload()


def test_every_key_reaches_its_attribute() -> None:
    campaign = parse(
        """
        name = "all"
        repeats = 7
        seeds = [0, 4294967295]
        [target.memory]
        size = "3 GiB"
        [postgresql]
        installation = 15
        preset = "defaults"
        checksums = false
        [postgresql.settings]
        work_mem = "64MB"
        Fsync = false
        random_page_cost = 1.1
        max_connections = 50
        auto_explain.log_timing = true
        [workload]
        script = ["select-only", {builtin = "tpcb-like", weight = 3}]
        scale = 10
        compressibility = 2
        data_set = "copied"
        clients = 8
        threads = 2
        transactions = 1000
        warmup = "1 min"
        caches = "warm"
        protocol = "simple"
        rate = 500
        latency_limit = "1.5s"
        """
    )
    (configuration,) = campaign.configurations
    assert (campaign.repeats, campaign.seeds) == (7, (0, 4294967295))
    assert configuration.target == MemoryTarget(3 * 1024**3)
    assert configuration.postgresql.installation == "15"
    assert configuration.postgresql.preset == "defaults"
    assert configuration.postgresql.checksums is False
    assert configuration.postgresql.settings == (
        ("auto_explain.log_timing", "on"),
        ("fsync", "off"),
        ("max_connections", "50"),
        ("random_page_cost", "1.1"),
        ("work_mem", "64MB"),
    )
    assert configuration.workload == Workload(
        scripts=(Script(BuiltinScript.SELECT_ONLY), Script(BuiltinScript.TPCB_LIKE, weight=3)),
        scale=10,
        size=None,
        clients=8,
        threads=2,
        duration_s=None,
        transactions=1000,
        warmup_s=60,
        protocol=Protocol.SIMPLE,
        rate_tps=500.0,
        latency_limit_ms=1500.0,
        compressibility=2.0,
        data_set=DataSet.COPIED,
    )


def test_cold_caches_default_to_no_warm_up() -> None:
    text = """
        name = "cold"
        [target.folder]
        [[configuration]]
        name = "warm"
        [[configuration]]
        name = "cold"
        workload.caches = "cold"
        """
    warm, cold = parse(text).configurations
    assert (warm.workload.caches, warm.workload.warmup_s) == (Caches.WARM, Workload().warmup_s)
    assert (cold.workload.caches, cold.workload.warmup_s) == (Caches.COLD, 0)
    assert warm.workload == replace(cold.workload, caches=Caches.WARM, warmup_s=Workload().warmup_s)
    for both in (
        text.replace("[target", "workload.warmup = 5\n        [target"),
        text + "workload.warmup = 5",
    ):
        with pytest.raises(CampaignError, match="a warm-up of 5 s would warm the cold caches"):
            parse(both)


def test_every_key_of_disks_reaches_its_attribute() -> None:
    campaign = parse(
        """
        name = "disks"
        [target.disks]
        data = ["S1", "wwn-0x5000c500a1b2c3d4", "S3", "S4"]
        level = "raid10"
        filesystem = "xfs"
        preset = "recommended"
        options = { atime = "noatime", agcount = 8 }
        partition_size = "20 GB"
        chunk_size = "64 KiB"
        bitmap = "none"
        initial_sync = "assume-clean"
        scheduler = "kyber"
        read_ahead = "0 B"
        memory_limit = "4 GiB"
        [target.disks.wal]
        data = ["S5"]
        filesystem = "ext4"
        partition_size = "whole"
        """
    )
    assert campaign.configurations[0].target == DiskTarget(
        GroupChoice(
            ("S1", "wwn-0x5000c500a1b2c3d4", "S3", "S4"),
            Level.RAID10,
            "xfs",
            (("atime", "noatime"), ("agcount", 8)),
            preset="recommended",
            partition_bytes=20_000_000_000 // 1024**2 * 1024**2,  # partitions are whole MiB
            chunk_bytes=64 * 1024,
            bitmap=Bitmap.NONE,
            initial_sync=InitialSync.ASSUME_CLEAN,
            scheduler=Scheduler.KYBER,
            read_ahead_bytes=0,
        ),
        GroupChoice(("S5",), Level.SINGLE, "ext4", whole_disk=True),
        memory_limit_bytes=4 * 1024**3,
    )


def test_all_disk_errors_reported_together() -> None:
    error = refusal(
        DISKS
        + 'filesystem = "ext4"\nlevel = "mirror"\nchunk_size = "64 KiB"\noptions = {journl = 1, data = 2}'
    )
    for words in ("disks.data:", "disks.chunk_size:", "disks.options.journl:", "disks.options.data:"):
        assert words in error.message


def test_configuration_overrides_top_key_by_key() -> None:
    campaign = parse(
        BASE
        + """
        path = "/srv/bench"
        [postgresql.settings]
        fsync = "on"
        work_mem = "4MB"
        [workload]
        scale = 5
        duration = 30
        clients = 2
        [[configuration]]
        name = "as it is"
        [[configuration]]
        name = "other"
        [configuration.target.memory]
        [configuration.postgresql.settings]
        fsync = "off"
        [configuration.workload]
        size = "medium"
        transactions = 10
        """
    )
    plain, other = campaign.configurations
    assert plain.target == FolderTarget("/srv/bench")
    assert plain.workload == Workload(scale=5, size=None, duration_s=30, clients=2)
    assert other.target == MemoryTarget()
    assert other.postgresql.settings == (("fsync", "off"), ("work_mem", "4MB"))
    assert other.workload == Workload(
        scale=None, size=DataSize.MEDIUM, duration_s=None, transactions=10, clients=2
    )


def test_every_configuration_may_bring_its_own_target() -> None:
    campaign = parse(
        HEAD + '[[configuration]]\nname = "a"\ntarget.folder = {}\n'
        '[[configuration]]\nname = "b"\n[configuration.target.memory]\n'
    )
    assert [each.target for each in campaign.configurations] == [FolderTarget(), MemoryTarget()]


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ('"90"', 90), ('"90s"', 90), ('"1.5 min"', 90), ('"1h"', 3600)]
)
def test_durations_are_seconds_or_have_a_unit(written: str, seconds: int) -> None:
    assert parse(f"{BASE}[workload]\nduration = {written}").configurations[0].workload.duration_s == seconds


def test_latency_limit_without_rate() -> None:
    workload = parse(f'{BASE}[workload]\nlatency_limit = "50ms"').configurations[0].workload
    assert (workload.rate_tps, workload.latency_limit_ms) == (None, 50.0)


def test_tilde_is_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse(f'{BASE}path = "~/bench"').configurations[0].target == FolderTarget("/home/somebody/bench")


def test_script_path_relative_to_campaign_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.sql").write_text("SELECT 'ä';\n", encoding="utf-8")
    (tmp_path / "c.toml").write_text(BASE + '[workload]\nscript = {file = "sub/mine.sql", weight = 2}')
    (script,) = load_campaign(tmp_path / "c.toml").configurations[0].workload.scripts
    assert script == Script(None, f"{tmp_path}/sub/mine.sql", "SELECT 'ä';\n", 2)
    assert script.label == "mine.sql"


def test_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert load_campaign(tmp_path / "c.toml").name == "trial"


# --- refusals: the file --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("name = \n", "line 1, column 8", "Invalid value"),
        ("name trial\n", "line 1, column 6", "Expected '='"),
        (BASE + "x = [1,\n", "line 4, column 1", "Invalid value"),
        (HEAD + HEAD, "line 2, column 15", "Cannot overwrite a value"),
    ],
)
def test_invalid_toml_line_and_column(text: str, place: str, reason: str) -> None:
    error = refusal(text)
    assert place in error.message
    assert reason in error.message
    assert "Nothing was started" in error.message
    assert error.exit_status == ExitStatus.USAGE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 100_000, "nests brackets too deeply for a campaign file"),
        ("x = " + "{a=" * 100_000, "nests brackets too deeply for a campaign file"),
        ("a." * 400_000 + "a = 1", "line 1"),
        (("a." * 1000 + "a = 1\n") * 400, "line 1"),
        ("x = " + "9" * 100_000, "thousands of digits"),
        ("x = 0x" + "f" * 100_000, "x: is not a known key"),
    ],
)
def test_hostile_file_bounded_memory_no_traceback(text: str, words: str) -> None:
    tracemalloc.start()
    try:
        assert words in refusal(text).message
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_empty_file(text: str) -> None:
    assert "trial.toml is empty" in refusal(text).message


def test_comments_only_lacks_name_and_target() -> None:
    error = refusal("# nothing\n")
    assert error.field == "name"
    assert "target: is missing" in error.message


def file_refusal(path: Path) -> str:
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    assert path.name in caught.value.message
    return caught.value.message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "does not exist" in file_refusal(tmp_path / "none.toml")


def test_folder_instead_of_file(tmp_path: Path) -> None:
    assert "is a folder" in file_refusal(tmp_path)


def test_fifo_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "is not a regular file" in file_refusal(tmp_path / "fifo")


def test_oversized_file_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "big.toml").open("wb") as file:
        file.truncate(FILE_LIMIT_BYTES + 1)
    assert "larger than the allowed 1 MiB" in file_refusal(tmp_path / "big.toml")


def test_invalid_utf8_line(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes('name = "x"\n# gr\xf6\xdfer\n'.encode("latin-1"))
    assert "UTF-8 (line 2, byte 16" in file_refusal(tmp_path / "latin.toml")


def test_binary_file(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"name\n\0\1")
    assert "NUL byte in line 2" in file_refusal(tmp_path / "binary.toml")


def test_file_name_escapes_for_terminal(tmp_path: Path) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(tmp_path / "a\x1b[31mred")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(CampaignError) as caught:
        load_campaign(str(tmp_path) + "/nul\0")
    assert "cannot be read" in str(caught.value)


# --- refusals: keys and values -------------------------------------------------------------------

HEADS = {
    "<head>": HEAD,
    "<folder>": BASE,
    "<memory>": MEMORY,
    "<server>": SERVER,
    "<disks>": DISKS,
    "<four disks>": test_matrix.DISKS,
    "<filesystems>": test_matrix.FILESYSTEMS,
    "<clients>": test_matrix.CLIENTS,
    "<records>": test_matrix.RECORDS,
    "¶": "\n",
}
LONG = [
    (BASE + f'path = "/{"ä" * 2048}"', "target.folder.path", "an absolute folder"),
    (BASE + f'[postgresql.settings]\nx = "{"y" * 1001}"', "postgresql.settings.x", "text without"),
    (BASE + f"[postgresql.settings]\nx = 0x{'f' * 9000}", "postgresql.settings.x", "a very large number"),
    (BASE + "[[configuration]]\n" * 1001, "configuration", "a list of 1001"),
]


def refused() -> Iterator[tuple[str, str, str]]:
    """Yield text, field and words of the message of each line of the table that is no remark."""
    for line in REFUSED.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            text, field, words = line.split("\t")
            for short, whole in HEADS.items():
                text = text.replace(short, whole)
            yield text, field, words
    yield from LONG


@each_case("text field words", list(refused()))
def test_refusal_names_field_found_and_allowed(text: str, field: str, words: str) -> None:
    error = refusal(text)
    assert error.field == field
    assert re.search(".*".join(map(re.escape, words.split(" … "))), error.message), error.message
    assert all(c.isprintable() or c == "\n" for c in str(error))


def test_too_many_settings() -> None:
    error = refusal(BASE + "[postgresql.settings]\n" + "".join(f"x{n} = 1\n" for n in range(501)))
    assert (error.field, "at most 500" in error.message) == ("postgresql.settings", True)


def test_inherited_error_reported_once() -> None:
    text = BASE + "[workload]\nthreads = 9\n" + "".join(f'[[configuration]]\nname = "{n}"\n' for n in "abc")
    assert refusal(text).message.count("threads") == 1


def test_all_errors_with_their_lines() -> None:
    error = refusal(
        """
        name = "trial"
        repeats = 0
        [target.folder]
        [workload]
        clients = 0
        threads = 100
        colour = "red"
        [[configuration]]
        name = "first"
        [[configuration]]
        name = "xfs"
        [configuration.workload]
        duration = 0
        [configuration.target.server]
        connection = "host=a,b"
        """
    )
    head, *lines = error.message.splitlines()
    assert head == "trial.toml has 5 problems; nothing was started."
    assert [line.split(": ")[0].strip() for line in lines] == [
        "repeats",
        "workload.clients",
        "workload.colour",
        "configuration[2].target.server.connection (“xfs”)",
        "configuration[2].workload.duration (“xfs”)",
    ]
    assert error.field == "repeats"
    assert "example.toml" in error.hint


def test_garbage_reported_in_twenty_lines() -> None:
    error = refusal("".join(f"k{n} = {n}\n" for n in range(5000)))
    assert "5002 problems" in error.message
    assert error.message.splitlines()[-1] == "  … and 4982 more."
    assert len(error.message.splitlines()) == 22


def test_key_rule_names_configuration() -> None:
    error = refusal(
        BASE + '[workload]\nthreads = 4\nclients = 8\n[[configuration]]\nname = "few"\nworkload.clients = 2'
    )
    assert error.field == "workload.threads"
    assert "number of clients (2)" in error.message


def test_too_many_runs() -> None:
    many = "".join(f'[[configuration]]\nname = "{n}"\n' for n in range(11))
    error = refusal("repeats = 1000\n" + BASE + many)
    assert error.field == "repeats"
    assert "11000 runs" in error.message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"SELECT 1;\0", "NUL byte in line 1"),
        (b"SELECT '\xff';", "not text in UTF-8"),
        (b"-- " + b"x" * 1024**2, "larger than the allowed 1 MiB"),
    ],
)
def test_script_file_with_invalid_content(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "s.sql").write_bytes(content)
    error = refusal(BASE + '[workload]\nscript = {file = "s.sql"}', tmp_path)
    assert error.field == "workload.script.file"
    assert words in error.message
    assert str(tmp_path / "s.sql") in error.message


@pytest.mark.parametrize(("configurations", "repeats"), [(1, 3), (2, 3), (3, 5), (12, 5)])
def test_five_repeats_from_three_configurations(configurations: int, repeats: int) -> None:
    text = BASE + "".join(f'\n[[configuration]]\nname = "c{number}"' for number in range(configurations))
    assert parse(text).repeats == repeats
    assert parse("repeats = 3\n" + text).repeats == 3


def test_default_order_random_with_stated_seed() -> None:
    assert (parse(BASE).order, parse(BASE).order_seed) == (RunOrder.RANDOM, None)
    assert parse("order_seed = 0\n" + BASE).order_seed == 0
    assert parse('order = "AB BA"\n' + BASE).order is RunOrder.ALTERNATING

"""Writing campaign files: what is written reads back equal."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.campaign_file.kinds import toml
from app.campaign_file.phases import SettingsTable
from app.campaign_file.reader import parse_campaign
from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import (
    BuiltinScript,
    Caches,
    Campaign,
    Configuration,
    DataSet,
    DataSize,
    DiskTarget,
    FolderTarget,
    GroupChoice,
    MemoryTarget,
    PostgresChoice,
    Protocol,
    Script,
    Target,
    Workload,
)
from app.domain.campaign.disk_target import target_problems
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import validate_options
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.raid import Assembler, Level
from app.domain.storage_plan.plan import Bitmap, InitialSync, Scheduler
from app.postgres.pgbench.scale import LEAST_RATIO, MOST_RATIO

MIB = 1024**2

printable = st.text(
    st.characters(exclude_categories=("C", "Z"), include_characters=" \"'\\#=[]"), max_size=40
)
names = printable.map(str.strip).filter(lambda text: len(text) > 0)
DISKS = ("S4EWNX0N100001", "WD-WCC4N 5", "0x5000c500a1b2c3d4", 'a"b\\', "eui.0025385b71b0f3a1")
"""Serial numbers as makers write them, and worse."""


@st.composite
def disk_groups(draw: st.DrawFn, names: list[str]) -> GroupChoice:
    """Draw a group of one disk of `names`, or a mirror or stripe of two."""
    spec = draw(st.sampled_from([each for each in FILESYSTEMS if each.levels]))
    levels = [Level.SINGLE] if len(names) < 2 else [Level.SINGLE, Level.STRIPE, Level.MIRROR]
    level = draw(st.sampled_from([each for each in levels if each in spec.levels]))
    taken = tuple(names.pop() for _ in range(1 if level is Level.SINGLE else 2))
    preset = draw(st.sampled_from([each for each in spec.presets if not validate(spec, each, level)]))
    on_md = spec.assembler(level) is Assembler.MD
    sized = draw(st.sampled_from([None, 0]) | st.integers(400, 1 << 30).map(lambda number: number * MIB))
    return GroupChoice(
        taken,
        level,
        spec.id,
        draw(st.sampled_from([(), *((item,) for item in list(preset.options.items())[:3])])),
        preset=preset.id,
        partition_bytes=sized or None,
        whole_disk=sized == 0,
        chunk_bytes=draw(st.sampled_from([None, 65536])) if on_md and level is Level.STRIPE else None,
        bitmap=draw(st.none() | st.sampled_from(Bitmap)) if on_md and level is Level.MIRROR else None,
        initial_sync=draw(st.none() | st.sampled_from(InitialSync))
        if on_md and level is Level.MIRROR
        else None,
        scheduler=draw(st.none() | st.sampled_from(Scheduler)),
        read_ahead_bytes=draw(st.sampled_from([None, 0, 4096, 1 << 30])) if spec.id != "zfs" else None,
    )


def validate(spec: FilesystemSpec, preset: FilesystemPreset, level: Level) -> bool:
    return bool(validate_options(spec, preset.options, level=level))


@st.composite
def disk_targets(draw: st.DrawFn) -> DiskTarget:
    names = draw(st.permutations(DISKS))
    data = draw(disk_groups(names))
    wal = draw(st.none() | disk_groups(names))
    log = (names.pop(),) if data.filesystem == "zfs" and draw(st.booleans()) else ()
    return DiskTarget(data, wal, log, draw(st.none() | st.integers(64 * MIB, 16 * 1024**4)))


targets: st.SearchStrategy[Target] = st.one_of(
    disk_targets().filter(lambda target: not target_problems(target)),
    st.builds(FolderTarget, st.none() | printable.map(lambda text: f"/{text}")),
    st.builds(MemoryTarget, st.none() | st.integers(64 * MIB, 16 * 1024**4)),
)
setting_names = st.from_regex(r"[a-z_][a-z0-9_$]{0,12}(\.[a-z_][a-z0-9_$]{0,8})?", fullmatch=True)
server_settings = st.dictionaries(
    setting_names.filter(lambda name: name != "max_connections"), printable, max_size=5
).map(lambda pairs: tuple(sorted(pairs.items())))
choices = st.builds(
    PostgresChoice,
    installation=st.sampled_from(["newest", "13", "18", "/opt/pg/bin"]),
    preset=st.sampled_from(["defaults", "machine", "seeds"]),
    settings=server_settings,
    checksums=st.booleans(),
)


@st.composite
def workloads(draw: st.DrawFn, files: tuple[Path, ...]) -> Workload:
    builtin = st.builds(Script, st.sampled_from(BuiltinScript), weight=st.integers(1, 10_000))
    own = st.builds(
        lambda path, weight: Script(None, str(path), path.read_text(encoding="utf-8"), weight),
        st.sampled_from(files),
        st.integers(1, 3),
    )
    clients = draw(st.integers(1, 10_000))
    scale = draw(st.none() | st.integers(1, 1_000_000))
    duration = draw(st.none() | st.integers(1, 604_800))
    size = draw(st.sampled_from(DataSize) | st.integers(16 * MIB, 100 * 1024**4))
    return Workload(
        scripts=tuple(draw(st.lists(builtin | own, min_size=1, max_size=4))),
        scale=scale,
        size=size if scale is None else None,
        clients=clients,
        threads=draw(st.none() | st.integers(1, clients)),
        duration_s=duration,
        transactions=draw(st.integers(1, 2**31 - 1)) if duration is None else None,
        warmup_s=draw(st.integers(0, 86_400)),
        protocol=draw(st.sampled_from(Protocol)),
        rate_tps=draw(st.none() | st.floats(0.01, 1e7)),
        latency_limit_ms=draw(st.none() | st.integers(1, 3_600_000_000).map(lambda us: us / 1000)),
    )


@st.composite
def campaigns(draw: st.DrawFn, files: tuple[Path, ...]) -> Campaign:
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    ratio = draw(st.none() | st.floats(LEAST_RATIO, MOST_RATIO))
    data_set = draw(st.sampled_from(DataSet))
    parts = [
        Configuration(
            label,
            draw(targets),
            draw(choices),
            replace(draw(workloads(files)), compressibility=ratio, data_set=data_set),  # the same for all
        )
        for label in labels
    ]
    # configurations that share parts, as people write them
    shared = draw(st.lists(st.sampled_from(["target", "postgresql", "workload"]), unique=True))
    made = tuple(
        Configuration(
            part.name,
            *(
                getattr(parts[0] if kind in shared else part, kind)
                for kind in ("target", "postgresql", "workload")
            ),
        )
        for part in parts
    )
    cold = draw(st.sets(st.sampled_from(labels)))
    made = tuple(
        replace(part, workload=replace(part.workload, caches=Caches.COLD, warmup_s=0))
        if part.name in cold and not isinstance(part.target, MemoryTarget)
        else part
        for part in made
    )
    seeds = draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5))
    return Campaign(draw(names | st.just(labels[0])), made, draw(st.integers(1, 1000)), tuple(seeds))


@pytest.fixture(scope="module")
def script_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp('a "folder" with # marks')
    files = (folder / "plain.sql", folder / "it's ä.sql")
    for file in files:
        file.write_text(f"SELECT '{file.name}';\n", encoding="utf-8")
    return files


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_write_read_round_trip(data: st.DataObject, script_files: tuple[Path, ...]) -> None:
    campaign = data.draw(campaigns(script_files))
    text = format_campaign(campaign)
    assert parse_campaign(text, base_directory="/elsewhere", source_name="written") == campaign


def test_shared_values_written_once() -> None:
    workload = Workload(scale=7, size=None)
    campaign = Campaign(
        "pair",
        (
            Configuration(
                "disk", FolderTarget("/srv"), PostgresChoice(settings=(("fsync", "on"),)), workload
            ),
            Configuration("memory", MemoryTarget(), PostgresChoice(settings=(("fsync", "on"),)), workload),
        ),
    )
    text = format_campaign(campaign)
    assert text.count("scale = 7") == text.count("fsync") == text.count("clients") == 1
    written = tomllib.loads(text)
    assert written["configuration"] == [
        {"name": "disk", "target": {"folder": {"path": "/srv"}}},
        {"name": "memory", "target": {"memory": {}}},
    ]


def test_single_configuration_needs_no_list() -> None:
    text = format_campaign(Campaign("solo", (Configuration("solo", MemoryTarget(64 * MIB)),)))
    assert "configuration" not in text
    assert '[target.memory]\nsize = "64 MiB"' in text


@pytest.mark.parametrize("mark", ['"', "\\", "]", "#", "'''", '"""', "é", "𝄞"])
def test_marks_of_toml_in_names_stay_themselves(mark: str) -> None:
    campaign = Campaign(f"a{mark}b", (Configuration(f"c{mark}d", FolderTarget(f"/e{mark}f")),))
    assert parse_campaign(format_campaign(campaign), base_directory="/", source_name="x") == campaign


def test_sizes_use_largest_exact_unit() -> None:
    sizes = {3 * 1024**3: "3 GiB", 100 * MIB: "100 MiB", 64 * MIB + 1: "67108865 B", 1024**4: "1 TiB"}
    for (size, words), repeats in itertools.product(sizes.items(), (1, 2)):
        campaign = Campaign("x", (Configuration("x", MemoryTarget(size)),), repeats)
        assert f'size = "{words}"' in format_campaign(campaign)


@settings(deadline=None)
@given(server_settings)
def test_settings_on_one_line(pairs: tuple[tuple[str, str], ...]) -> None:
    written = tomllib.loads(f"settings = {toml(SettingsTable().plain(pairs))}")
    assert SettingsTable().read(written["settings"], Path("/")) == pairs


def test_empty_options_in_a_dimension_as_begun() -> None:
    """``--resume`` finds runs by the names of cells, and a campaign by its text."""
    one, other = (f'{{ data = ["C"], filesystem = "{name}", options = {{  }} }}' for name in ("xfs", "ext4"))
    text = (
        'name = "x"\n[target.disks]\ndata = ["A"]\nfilesystem = "xfs"\n'
        f'[[dimension]]\nkey = "target.disks.wal"\nvalues = [{one}, {other}]\n'
    )
    campaign = parse_campaign(text, base_directory="/", source_name="x")
    assert [each.name for each in campaign.configurations] == [f"wal {one}", f"wal {other}"]
    assert f"values = [{one}, {other}]" in format_campaign(campaign)

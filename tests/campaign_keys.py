"""The keys of a campaign file that combine, with values for each and where what was chosen is read back.

Every key of resources/recipes/example.toml is here or in `tests.machine.disk_keys`; a test looks whether.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.analysis.data_set import MOST_CACHED
from app.campaign_file.reader import parse_stored_campaign
from app.domain.campaign.configuration import DEFAULT_SEEDS, interleaved_order
from app.domain.campaign.matrix import Design
from app.domain.run import Phase
from app.domain.text import GIB, MIB
from app.postgres.installations.installation import Installation
from app.postgres.presets import PRESETS
from app.postgres.settings import parse_memory
from app.probes.facts.files import SampledCompression
from app.runfile.metadata.run_metadata import DataSetMetadata
from app.runfile.metadata.typed_json import NotKnown, known, or_none
from app.runfile.reader import CommandRecord, RunFile
from tests.fix_campaign import server_settings_of
from tests.pairs import Row

OWN_SCRIPT: Final = """\\sleep 10 ms
SELECT 1 / (CASE WHEN count(*) = :scale THEN 1 ELSE 0 END) FROM pgbench_branches;
"""
"""Takes at least 10 ms, and fails where :scale is not that of the tables."""
CAMPAIGNS_OWN: Final = (
    "repeats",
    "seeds",
    "order",
    "recorded",
    "compressibility",
    "phases",
)
"""Keys that are said once for all configurations of a campaign."""
_MEMORY_BYTES: Final = 3 * GIB
_OWN: Final = {
    "work_mem": ('"5MB"', "5MB"),
    "random_page_cost": ("1.25", "1.25"),
    "synchronous_commit": ("false", "off"),
    "shared_buffers": ('"32MB"', "32MB"),
}
"""Server settings: as a campaign file has them, and as SHOW prints them."""


@dataclass(frozen=True, slots=True)
class Places:
    """What values name of the machine.

    Attributes:
        target: an empty folder.
        home: the user's, in which it lies.
        installation: the newest one.
    """

    target: Path
    home: Path
    installation: Installation


@dataclass(frozen=True, slots=True)
class Back:
    """A finished run, to read back from it what acted.

    Attributes:
        run: its file.
        row: what was chosen, by key.
        repeat: 0-based.
        places: of the machine.
    """

    run: RunFile
    row: Row
    repeat: int
    places: Places

    def command(self, *words: str) -> CommandRecord:
        """Return the one command that was executed with all of these arguments."""
        (found,) = self.commands(*words)
        return found

    def commands(self, *words: str) -> list[CommandRecord]:
        return [each for each in self.run.commands() if set(words) <= set(each.argv)]

    @property
    def measured(self) -> tuple[str, ...]:
        """Arguments of the pgbench that measured."""
        return self.commands("--progress=1")[-1].argv

    @property
    def warmed(self) -> tuple[str, ...]:
        """Arguments of the pgbench that warmed up; none where there was none."""
        is_warmed = self.run.phase(Phase.WARM_UP) is not None
        return self.commands("--progress=1")[0].argv if is_warmed else ()

    @property
    def initdb(self) -> CommandRecord:
        (found,) = (each for each in self.run.commands() if each.argv[0].endswith("/initdb"))
        return found

    @property
    def data_directory(self) -> Path:
        return Path(self.initdb.argv[self.initdb.argv.index("--pgdata") + 1])

    def said(self, line: str) -> bool:
        """Whether pgbench printed a line after measuring."""
        return re.search(rf"^{line}", self.run.output("measure.stdout") or "", re.MULTILINE) is not None

    @property
    def server(self) -> dict[str, str]:
        """What the server showed of its settings."""
        facts: Any = self.run.facts("before")["server"]
        return {name: each["value"] for name, each in facts["settings"].items()}

    @property
    def filesystem(self) -> str:
        storage: Any = self.run.facts("before")["storage"]
        return str(storage["mount"]["filesystem"])


@dataclass(frozen=True, slots=True)
class Value:
    """One way to give a key.

    Attributes:
        check: raises AssertionError where what acted is something else.
        toml: what is written: dotted key and literal; nothing where it is left out.
    """

    check: Callable[[Back], None]
    toml: Mapping[str, str] = field(default_factory=dict)


Values = dict[str, Value]


def declared(places: Places) -> dict[str, Values]:
    """Return the values of every key that combines, by names; names do not depend on the machine."""
    return {
        "repeats": {str(count): Value(_nothing, {"repeats": str(count)}) for count in (1, 2)},
        "seeds": {
            "left out": _seeds(DEFAULT_SEEDS),
            "two": _seeds((11, 12), {"seeds": "[11, 12]"}),
        },
        "order": {
            "left out": Value(_random_order),
            "seed": Value(_stated_order, {"order": '"random"', "order_seed": "77"}),
            "AB BA": Value(_alternating_order, {"order": '"AB BA"'}),
        },
        "target": _targets(places),
        "installation": {
            "newest": _installation('"newest"'),
            "major": _installation(f'"{places.installation.major}"'),
            "folder": _installation(f'"{places.installation.bin_directory}"'),
        },
        "preset": {name: _preset(name) for name in PRESETS},
        "checksums": {name: _checksums(name) for name in ("true", "false")},
        "settings": {
            "left out": Value(_no_settings),
            "some": Value(
                _own_settings, {f"postgresql.settings.{name}": text for name, (text, _) in _OWN.items()}
            ),
        },
        "script": _scripts(),
        "data": {
            "scale": _data("workload.scale", "1", 1),
            "size": _data("workload.size", '"32 MiB"', 2),
        },
        "compressibility": {
            "left out": Value(_own_rows),
            "2": Value(_rows_of_two_to_one, {"workload.compressibility": "2"}),
        },
        "phases": {
            "left out": Value(_one_phase),
            "two": Value(
                _two_phases, {"workload.phase": '[{name = "first", counts = false}, {name = "own"}]'}
            ),
        },
        "clients": {str(count): _clients(count) for count in (2, 3)},
        "threads": {"left out": Value(_threads), **{name: _threads_of(name) for name in ("1", "2")}},
        "length": {
            "duration": _length({"workload.duration": '"1s"'}, "--time=1", "duration: 1 s"),
            "transactions": _length(
                {"workload.transactions": "150"},
                "--transactions=150",
                "number of transactions per client: 150",
            ),
        },
        "warmup": {
            "0": Value(_no_warm_up, {"workload.warmup": "0"}),
            "1s": Value(_warm_up, {"workload.warmup": '"1s"'}),
        },
        "caches": {
            "warm": Value(_warm, {"workload.caches": '"warm"'}),
            "cold": Value(_cold, {"workload.caches": '"cold"'}),
        },
        # What these do has tests of their own; here they are recorded, and change nothing else.
        "recorded": {
            "left out": Value(_recorded()),
            "said": Value(
                _recorded(("It rained.", "Twice."), "Which?", ("tps", "wal_bytes"), 3600, 4 * GIB),
                {
                    "remarks": '["It rained.", "Twice."]',
                    "question": '"Which?"',
                    "figures": '["tps", "wal_bytes"]',
                    "time_budget": '"1h"',
                    "zfs_arc_max": '"4 GiB"',
                    "design": '"fixed"',
                    "io_baseline": "false",
                    "repeat_disturbed": "0",
                    "workload.data_set": '"loaded"',
                },
            ),
        },
        "protocol": {
            "left out": _protocol("prepared"),
            **{name: _protocol(name, {"workload.protocol": f'"{name}"'}) for name in ("extended", "simple")},
        },
        "rate": {"left out": Value(_no_rate), "300": Value(_rate, {"workload.rate": "300"})},
        "latency_limit": {
            "left out": Value(_no_limit),
            "250ms": Value(_limit, {"workload.latency_limit": '"250ms"'}),
        },
    }


def may_be(row: Row) -> bool:
    """Whether a campaign file may say all of a row.

    Data in memory is never cold, nor after a warm-up, nor in the second of two phases.
    """
    if row["caches"] != "cold":
        return True
    return row["warmup"] == "0" and row["phases"] == "left out" and not row["target"].startswith("memory")


def cost_of(row: Row) -> float:
    """Return about how long a row takes, relative to the others."""
    return float(row["repeats"])


def campaign_of(rows: Mapping[str, Row], values: Mapping[str, Values]) -> str:
    """Return a campaign file with a configuration for each row, by name; they share what is said once."""
    lines = ['name = "Pairs"']
    first = next(iter(rows.values()))
    for key in CAMPAIGNS_OWN:
        assert {row[key] for row in rows.values()} == {first[key]}
        lines += [f"{name} = {text}" for name, text in values[key][first[key]].toml.items()]
    for name, row in rows.items():
        lines += ["[[configuration]]", f'name = "{name}"']
        for key in row.keys() - set(CAMPAIGNS_OWN):
            lines += [f"{dotted} = {text}" for dotted, text in values[key][row[key]].toml.items()]
    return "\n".join(lines) + "\n"


# --- campaign and target


def _nothing(_: Back) -> None:
    """Read nothing back from one run: the names of the run files tell the repeats."""


def _seeds(seeds: tuple[int, ...], toml: Mapping[str, str] | None = None) -> Value:
    def check(back: Back) -> None:
        seed = seeds[back.repeat % len(seeds)]
        assert f"--random-seed={seed}" in back.measured
        assert not back.warmed or f"--random-seed={seed + 1}" in back.warmed
        assert f"setting random seed to {seed}\n" in (back.run.output("measure.stderr") or "")

    return Value(check, toml or {})


def _taken_in_order(back: Back) -> None:
    """Read back that the run was taken when the order of its campaign says so."""
    stated: Any = back.run.values["campaign_file"]
    values = {name: back.run.values[name] for name in ("number", "configuration", "repeat")}
    planned = interleaved_order(parse_stored_campaign(stated))[int(str(values["number"])) - 1]
    assert (planned.configuration.name, planned.repeat) == (values["configuration"], values["repeat"])


def _recorded(
    remarks: tuple[str, ...] = (),
    question: str = "",
    figures: tuple[str, ...] = (),
    time_budget_s: int | None = None,
    zfs_arc_max_bytes: int | None = None,
) -> Callable[[Back], None]:
    def check(back: Back) -> None:
        metadata = back.run.metadata
        stated = parse_stored_campaign(known(metadata.campaign_file, ""))
        assert (metadata.remarks, metadata.question, metadata.figures) == (remarks, question, figures)
        assert (stated.time_budget_s, stated.zfs_arc_max_bytes) == (time_budget_s, zfs_arc_max_bytes)
        assert (stated.design, stated.precision, stated.repeat_disturbed) == (Design.FIXED, None, 0)
        assert (metadata.design, metadata.rivals, metadata.attempt) == (Design.FIXED, (), 1)
        assert (metadata.io_baseline, back.run.phase(Phase.BASELINE)) == (None, None)
        data_set = known(metadata.data_set, DataSetMetadata())
        assert (metadata.workload.data_set, data_set.state, data_set.template) == ("loaded", "loaded", "")
        assert back.commands("--initialize")

    return check


def _random_order(back: Back) -> None:
    _taken_in_order(back)
    assert back.run.values["order"] == "random"
    assert isinstance(back.run.values["order_seed"], int)


def _stated_order(back: Back) -> None:
    _random_order(back)
    assert back.run.values["order_seed"] == 77


def _alternating_order(back: Back) -> None:
    _taken_in_order(back)
    assert (back.run.values["order"], back.run.values["order_seed"]) == ("AB BA", None)


def _targets(places: Places) -> Values:
    def folder(back: Back) -> None:
        assert back.data_directory.parent.parent == back.places.target
        assert back.filesystem != "tmpfs"

    def memory(back: Back) -> None:
        assert back.data_directory.is_relative_to("/dev/shm")
        assert back.filesystem == "tmpfs"

    def limited(back: Back) -> None:
        memory(back)
        allowed_bytes = parse_memory(back.server["max_wal_size"], MIB)
        assert allowed_bytes is not None
        assert allowed_bytes < _MEMORY_BYTES

    near = places.target.relative_to(places.home)
    return {
        "folder": Value(folder, {"target.folder.path": f'"{places.target}"'}),
        "folder of home": Value(folder, {"target.folder.path": f'"~/{near}"'}),
        "memory": Value(memory, {"target.memory": "{}"}),
        "memory with size": Value(limited, {"target.memory.size": f'"{_MEMORY_BYTES // GIB} GiB"'}),
    }


# --- postgresql


def _installation(text: str) -> Value:
    def check(back: Back) -> None:
        installation, facts = back.places.installation, back.run.facts("before")["server"]
        assert back.initdb.argv[0] == installation.program("initdb")
        assert back.measured[0] == installation.program("pgbench")
        assert f"PostgreSQL {installation.version}" in str(facts)

    return Value(check, {"postgresql.installation": text})


def _preset(name: str) -> Value:
    def check(back: Back) -> None:
        chosen, shown = server_settings_of(back.run, "preset")
        rules = {rule.name for rule in PRESETS[name].rules}
        assert chosen.keys() == rules - (set(_OWN) if back.row["settings"] == "some" else set())
        for setting, text in chosen.items():
            sizes = parse_memory(text, MIB), parse_memory(shown[setting], MIB)
            assert shown[setting] == text or (sizes[0] == sizes[1] is not None), (setting, text, shown)
        assert back.server["full_page_writes"] == ("off" if name == "seeds-zfs" else "on")
        if name == "defaults":
            assert (back.server["checkpoint_timeout"], back.server["max_wal_size"]) == ("5min", "1GB")

    return Value(check, {"postgresql.preset": f'"{name}"'})


def _checksums(name: str) -> Value:
    def check(back: Back) -> None:
        assert back.server["data_checksums"] == ("on" if name == "true" else "off")

    return Value(check, {"postgresql.checksums": name})


def _no_settings(back: Back) -> None:
    assert server_settings_of(back.run, "user") == ({}, {})
    assert back.server["synchronous_commit"] == "on"


def _own_settings(back: Back) -> None:
    _, shown = server_settings_of(back.run, "user")
    assert shown == {name: value for name, (_, value) in _OWN.items()}
    assert any(kind == "unsafe" and "synchronous_commit" in reason for kind, reason in back.run.marks())


# --- workload


def _scripts() -> Values:
    def one(kind: str) -> Callable[[Back], None]:
        def check(back: Back) -> None:
            assert back.said(rf"transaction type: {kind}$")
            if kind.endswith("sql"):
                _own_script_slept(back)

        return check

    def mixed(back: Back) -> None:
        assert back.said(r"SQL script 1: <builtin: TPC-B \(sort of\)>$")
        assert back.said(r"SQL script 2: .*/script1\.sql$")
        assert back.said(r" - weight: 3 \(targets 75\.0% of total\)$")
        assert back.said(r" - weight: 1 \(targets 25\.0% of total\)$")

    return {
        "left out": Value(one(r"<builtin: TPC-B \(sort of\)>")),
        "built in": Value(one("<builtin: select only>"), {"workload.script": '"select-only"'}),
        "file": Value(one(r".*/script1\.sql"), {"workload.script": '{file = "own.sql"}'}),
        "both with weights": Value(
            mixed, {"workload.script": '[{builtin = "tpcb-like", weight = 3}, {file = "own.sql"}]'}
        ),
    }


def _own_script_slept(back: Back) -> None:
    printed: Any = back.run.values["pgbench"]
    assert printed["latency_ms"] >= 10


def _data(key: str, text: str, scale: int) -> Value:
    def check(back: Back) -> None:
        shares = back.row["script"] in {"left out", "both with weights"}  # TPC-B, which updates few branches
        raised = max(scale, int(back.row["clients"])) if key == "workload.size" and shares else scale
        assert all(f"--scale={raised}" in each.argv for each in back.commands("--initialize"))
        assert back.said(f"scaling factor: {raised}$")

    return Value(check, {key: text})


def _own_rows(back: Back) -> None:
    assert back.run.metadata.workload.compressibility is None
    assert "--init-steps=dtgvp" in back.command("--initialize").argv


def _rows_of_two_to_one(back: Back) -> None:
    assert back.run.metadata.workload.compressibility == 2
    sample = known(back.run.metadata.sampled, SampledCompression())
    assert sample.ratio is not None
    assert 1.9 < sample.ratio < 2.1
    assert [each.exit_code for each in back.commands("--initialize")] == [0, 0]


def _one_phase(back: Back) -> None:
    assert isinstance(back.run.metadata.phases, NotKnown)
    assert back.run.phase(Phase.PART, 1) is None


def _two_phases(back: Back) -> None:
    first, own = known(back.run.metadata.phases, ())
    assert (first.name, first.counts, own.name, own.is_own) == ("first", False, "own", True)
    assert set(back.run.phase_figures()) == {1}
    its_own = ("--random-seed", "--log-prefix", "--sampling-rate")
    said = [word for word in back.commands("--progress=1")[-2].argv if not word.startswith(its_own)]
    assert set(said) <= set(back.measured)


def _clients(count: int) -> Value:
    def check(back: Back) -> None:
        assert f"--client={count}" in back.measured
        assert back.said(f"number of clients: {count}$")

    return Value(check, {"workload.clients": str(count)})


def _threads(back: Back) -> None:
    workload: Any = back.run.values["workload"]
    assert workload["threads"] >= 1
    assert back.said(f"number of threads: {workload['threads']}$")


def _threads_of(text: str) -> Value:
    def check(back: Back) -> None:
        assert f"--jobs={text}" in back.measured
        assert back.said(f"number of threads: {text}$")

    return Value(check, {"workload.threads": text})


def _length(toml: Mapping[str, str], argument: str, line: str) -> Value:
    def check(back: Back) -> None:
        assert argument in back.measured
        assert back.said(f"{line}$")

    return Value(check, toml)


def _no_warm_up(back: Back) -> None:
    assert back.run.phase(Phase.WARM_UP) is None
    assert not back.warmed


def _warm_up(back: Back) -> None:
    assert back.run.phase(Phase.WARM_UP) is not None
    assert "--time=1" in back.warmed
    same = ("--client", "--jobs", "--protocol", "--builtin", "--file", "--rate", "--latency-limit", "--scale")
    assert [word for word in back.warmed if word.startswith(same)] == [
        word for word in back.measured if word.startswith(same)
    ]


def _warm(back: Back) -> None:
    assert back.run.metadata.workload.caches == "warm"
    assert isinstance(back.run.metadata.cached, NotKnown)


def _cold(back: Back) -> None:
    """Read back that the server was started twice, and what the kernel says of its files."""
    assert back.run.metadata.workload.caches == "cold"
    assert len(back.commands("-D", str(back.data_directory))) == 2
    cached = or_none(back.run.metadata.cached)
    assert cached is not None
    assert cached.data_bytes > 0
    assert cached.cached_bytes <= MOST_CACHED * cached.data_bytes


def _protocol(name: str, toml: Mapping[str, str] | None = None) -> Value:
    def check(back: Back) -> None:
        assert back.said(f"query mode: {name}$")

    return Value(check, toml or {})


def _no_rate(back: Back) -> None:
    assert not back.said("rate limit schedule lag")


def _rate(back: Back) -> None:
    assert "--rate=300" in back.measured
    assert back.said("rate limit schedule lag: avg")


def _no_limit(back: Back) -> None:
    assert not back.said("number of transactions above")


def _limit(back: Back) -> None:
    assert "--latency-limit=250" in back.measured
    assert back.said(r"number of transactions above the 250\.0 ms latency limit: ")
    assert back.said("number of transactions skipped: ") == (back.row["rate"] != "left out")

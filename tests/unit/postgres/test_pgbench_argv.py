"""Argument lists of pgbench."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from app.domain.campaign.configuration import PGBENCH_OPTION, BuiltinScript, Protocol, Script, Workload
from app.postgres.pgbench.argv import (
    BenchmarkRequest,
    Connection,
    PgbenchProgram,
    TransactionLog,
    benchmark_argv,
    initialise_argv,
    loading_argvs,
    log_format,
    resolve_threads,
    warmup_workload,
)

PROGRAM = PgbenchProgram("/usr/lib/postgresql/15/bin/pgbench", 15)
CONNECTION = Connection("/run/private/s")
REQUEST = BenchmarkRequest(seed=20030401, scale=14, threads=2)
TARGET = ("--host=/run/private/s", "--port=5432", "--username=pgfooting_bench", "pgbench")


LINES_STAY = {"--client", "--time", "--transactions", "--protocol", "--latency-limit"}
"""Options with which the lines of the log have the same fields (pgbench, "Per-Transaction Logging")."""


IN_EVERY_VERSION = LINES_STAY | {"--rate"}
"""Options of pgbench 13 and newer."""


SAID = [key for key in fields(Workload) if PGBENCH_OPTION in key.metadata]
OPTIONS = {key.name: key.metadata[PGBENCH_OPTION] for key in SAID}


@pytest.mark.parametrize("name", OPTIONS)
def test_log_format_of_each_option(name: str) -> None:
    option = OPTIONS[name].partition("=")[0]
    value: dict[str, Any] = {name: 2}
    chosen = log_format(replace(Workload(), **value))
    stays = chosen == log_format(Workload())
    assert stays == (option in LINES_STAY), f"say in log_format what {option} changes"


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_in_every_version(name: str) -> None:
    option = OPTIONS[name].partition("=")[0]
    assert option in IN_EVERY_VERSION, f"refuse {option} in app/execution/resolve.py, then except it here"


def test_plain_benchmark() -> None:
    assert benchmark_argv(PROGRAM, CONNECTION, Workload(), REQUEST) == (
        "/usr/lib/postgresql/15/bin/pgbench",
        "--no-vacuum",
        "--client=4",
        "--time=60",
        "--protocol=prepared",
        "--jobs=2",
        "--random-seed=20030401",
        "--progress=1",
        "--progress-timestamp",
        "--builtin=tpcb-like@1",
        *TARGET,
    )


def test_open_loop_with_everything() -> None:
    workload = Workload(
        scripts=(
            Script(path="/home/u/with@sign.sql", builtin=None, weight=3),
            Script(builtin=BuiltinScript.SELECT_ONLY, weight=7),
        ),
        clients=16,
        duration_s=None,
        transactions=1000,
        protocol=Protocol.SIMPLE,
        rate_tps=1234.5,
        latency_limit_ms=0.25,
    )
    request = replace(
        REQUEST,
        script_paths=("/run/private/with@sign",),
        log=TransactionLog("/run/private/log", sample_one_in=8),
    )
    assert benchmark_argv(PROGRAM, CONNECTION, workload, request)[1:] == (
        "--no-vacuum",
        "--client=16",
        "--transactions=1000",
        "--protocol=simple",
        "--rate=1234.5",
        "--latency-limit=0.25",
        "--jobs=2",
        "--random-seed=20030401",
        "--progress=1",
        "--progress-timestamp",
        "--file=/run/private/with@sign@3",
        "--builtin=select-only@7",
        "--log",
        "--log-prefix=/run/private/log",
        "--sampling-rate=0.125",
        *TARGET,
    )


def test_a_full_log_has_no_sampling_rate() -> None:
    request = replace(REQUEST, log=TransactionLog("/run/private/log"))
    argv = benchmark_argv(PROGRAM, CONNECTION, Workload(), request)
    assert "--log" in argv
    assert not [word for word in argv if word.startswith("--sampling-rate")]


def test_scale_only_for_own_scripts() -> None:
    own = Script(builtin=None, path="/home/u/own.sql")
    request = replace(REQUEST, script_paths=("/run/private/script1",))
    files_only = benchmark_argv(PROGRAM, CONNECTION, Workload(scripts=(own,)), request)
    mixed = benchmark_argv(PROGRAM, CONNECTION, Workload(scripts=(own, Script())), request)
    assert "--scale=14" in files_only
    assert "--scale=14" not in mixed


def test_rate_without_exponent() -> None:
    argv = benchmark_argv(PROGRAM, CONNECTION, Workload(rate_tps=1_000_000.0), REQUEST)
    assert "--rate=1000000" in argv


def test_client_failure_ends_run_since_17() -> None:
    for major, expected in ((13, False), (16, False), (17, True), (18, True)):
        argv = benchmark_argv(replace(PROGRAM, major=major), CONNECTION, Workload(), REQUEST)
        assert ("--exit-on-abort" in argv) is expected


def test_database_is_last_in_every_version() -> None:
    for major in range(13, 19):
        program = replace(PROGRAM, major=major)
        for argv in (
            benchmark_argv(program, CONNECTION, Workload(), REQUEST),
            initialise_argv(program, CONNECTION, 14),
        ):
            assert argv[-1] == "pgbench"
            assert "-d" not in argv


def test_loading_is_asked_for_like_this() -> None:
    assert initialise_argv(PROGRAM, CONNECTION, 14) == (
        "/usr/lib/postgresql/15/bin/pgbench",
        "--initialize",
        "--init-steps=dtgvp",
        "--scale=14",
        *TARGET,
    )


def test_loading_much_reports_every_five_seconds_only() -> None:
    assert "--quiet" not in initialise_argv(PROGRAM, CONNECTION, 499)
    assert "--quiet" in initialise_argv(PROGRAM, CONNECTION, 500)


def test_own_rows_loaded_between_pgbench_steps() -> None:
    assert loading_argvs(PROGRAM, CONNECTION, 14) == (initialise_argv(PROGRAM, CONNECTION, 14),)
    before, rows, after = loading_argvs(PROGRAM, CONNECTION, 14, "/private/load.sql")
    assert before == initialise_argv(PROGRAM, CONNECTION, 14, "dt")
    assert rows == (
        "/usr/lib/postgresql/15/bin/pgbench",
        "--no-vacuum",
        "--file=/private/load.sql",
        "--client=1",
        "--transactions=14",
        "--protocol=simple",
        *TARGET,
    )
    assert after == initialise_argv(PROGRAM, CONNECTION, 14, "vp")


def test_script_without_file() -> None:
    own = Workload(scripts=(Script(builtin=None, path="/home/u/own.sql"),))
    with pytest.raises(ValueError, match="1 script files, 0 paths"):
        benchmark_argv(PROGRAM, CONNECTION, own, REQUEST)


def test_workload_without_end() -> None:
    with pytest.raises(ValueError, match="neither duration nor transactions"):
        benchmark_argv(PROGRAM, CONNECTION, Workload(duration_s=None), REQUEST)


def test_threads_half_of_cpus_up_to_clients() -> None:
    assert resolve_threads(Workload(clients=32), cpus=8) == 4
    assert resolve_threads(Workload(clients=2), cpus=8) == 2
    assert resolve_threads(Workload(clients=4), cpus=1) == 1
    assert resolve_threads(Workload(clients=32, threads=7), cpus=2) == 7
    assert resolve_threads(Workload(clients=3, threads=7), cpus=2) == 3


def test_warm_up_is_same_workload() -> None:
    workload = Workload(duration_s=None, transactions=10, warmup_s=7, rate_tps=50.0)
    assert warmup_workload(workload) == replace(workload, duration_s=7, transactions=None)


def test_every_workload_field_reaches_pgbench() -> None:
    said_otherwise = {
        "scripts": "--builtin and --file",
        "scale": "of the tables, as loaded",
        "size": "made into a scale",
        "threads": "--jobs, as resolved on the machine",
        "phases": "a run of pgbench for each time of each",
        "warmup_s": "a run of its own",
        "compressibility": "another script that loads",
        "data_set": "copied, or loaded by pgbench --initialize",
        "caches": "emptied before pgbench starts",
    }
    for each in fields(Workload):
        option = each.metadata.get(PGBENCH_OPTION)
        assert (option is None) == (each.name in said_otherwise), each.name
        if option is None:
            continue
        word: Any = Protocol.EXTENDED if each.name == "protocol" else 7
        argv = benchmark_argv(PROGRAM, CONNECTION, replace(Workload(), **{each.name: word}), REQUEST)
        assert option.format(word) in argv
        assert sum(each.startswith(option.partition("{")[0]) for each in argv) == 1

"""Final summaries recorded from 13 to 19."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import PgbenchError
from app.postgres.pgbench.summary import (
    PgbenchSummary,
    error_messages,
    parse_summary,
)
from tests.cases import each_case
from tests.unit.postgres.recordings import MAJORS, Recording, recording, recordings

WITHOUT_SUMMARY = {"syntax_error", "unknown_option", "no_database", "exit_on_abort"}
FINISHED = tuple(
    run for run in recordings() if run.name not in WITHOUT_SUMMARY and not run.name.startswith("init")
)
BROKEN = tuple(run for run in recordings() if run.name in WITHOUT_SUMMARY)


def _summary(run: Recording) -> PgbenchSummary:
    return parse_summary(run.output, run.errors)


@each_case("run", FINISHED)
def test_recorded_summaries_have_no_unknown_lines(run: Recording) -> None:
    assert _summary(run).other_lines == ()


@each_case("run", FINISHED)
def test_summary_matches_arguments(run: Recording) -> None:
    summary = _summary(run)
    assert summary.clients == int(run.arguments[run.arguments.index("-c") + 1])
    assert summary.threads == 2
    assert summary.protocol == run.arguments[run.arguments.index("-M") + 1]
    assert summary.version.startswith(f"{run.major}" if run.major >= 14 else "")
    planned = "-t" in run.arguments
    assert (summary.transactions_planned is not None) == planned
    assert (summary.duration_s is not None) == (not planned)
    if summary.transactions:
        assert (summary.failed is not None) == (run.major >= 15)
        assert (summary.lag_ms is not None) == ("-R" in run.arguments)
        assert (summary.above_latency_limit is not None) == ("-L" in run.arguments)
        assert (summary.skipped is not None) == ("-L" in run.arguments and "-R" in run.arguments)


@each_case("run", recordings("one_client_aborted", "all_clients_aborted", "backend_killed"))
def test_an_aborted_run_says_so_and_why(run: Recording) -> None:
    summary = _summary(run)
    assert run.exit_code == 2
    assert summary.aborted
    assert any("aborted in command" in message for message in summary.messages)


@pytest.mark.parametrize("major", MAJORS)
def test_empty_run_has_zero_tps(major: int) -> None:
    summary = _summary(recording(major, "all_clients_aborted"))
    assert (summary.transactions, summary.tps) == (0, 0.0)


@each_case("run", [run for run in FINISHED if run.exit_code == 0])
def test_successful_run_is_not_aborted(run: Recording) -> None:
    summary = _summary(run)
    assert not summary.aborted
    assert summary.messages == ()
    assert summary.tps > 0
    assert summary.transactions > 0


@each_case("run", BROKEN)
def test_missing_summary_quotes_pgbench(run: Recording) -> None:
    with pytest.raises(PgbenchError) as caught:
        _summary(run)
    assert "does not contain number of transactions actually processed, tps" in caught.value.message
    reason = {
        "syntax_error": "invalid command in command",
        "unknown_option": "unrecognized option '--no-such-option'",
        "no_database": "No such file or directory",
        "exit_on_abort": "division by zero",
    }[run.name]
    assert reason in caught.value.message


def test_summary_cut_before_tps() -> None:
    output = recording(15, "plain").output
    with pytest.raises(PgbenchError, match=r"does not contain tps\."):
        parse_summary(output[: output.index("tps = ")])


def test_summary_cut_in_script_block() -> None:
    output = recording(18, "scripts").output
    with pytest.raises(PgbenchError, match=r"script1: transactions, script1: tps"):
        parse_summary(output[: output.index("transactions (47.5%")])


def test_every_figure_of_full_summary() -> None:
    assert _summary(recording(15, "everything")) == PgbenchSummary(
        version="15.18 (Debian 15.18-0+deb12u1)",
        transaction_type="conflict",
        scale=1,
        protocol="simple",
        clients=4,
        threads=2,
        max_tries=3,
        duration_s=3,
        transactions=703,
        failed=211,
        serialization_failures=211,
        deadlock_failures=0,
        retried=496,
        retries=805,
        skipped=0,
        above_latency_limit=0,
        latency_limit_ms=20.0,
        latency_ms=6.117,
        latency_stddev_ms=2.749,
        lag_ms=1.169,
        lag_max_ms=12.067,
        initial_connection_ms=4.680,
        tps=234.482386,
    )


def test_tps_without_connecting_in_13() -> None:
    summary = _summary(recording(13, "plain"))
    assert summary.version == ""
    assert summary.tps_with_connecting is not None
    assert summary.tps > summary.tps_with_connecting


@pytest.mark.parametrize("major", range(14, 19))
def test_tps_with_connection_per_transaction(major: int) -> None:
    summary = _summary(recording(major, "reconnect"))
    assert summary.tps == summary.tps_with_connecting
    assert summary.average_connection_ms is not None


@pytest.mark.parametrize("major", MAJORS)
def test_script_blocks_add_up(major: int) -> None:
    summary = _summary(recording(major, "scripts"))
    assert [script.title for script in summary.scripts] == [
        "<builtin: TPC-B (sort of)>",
        "<builtin: select only>",
        "script1",
    ]
    assert [script.weight for script in summary.scripts] == [1, 2, 3]
    assert sum(script.transactions for script in summary.scripts) == summary.transactions == 80
    assert sum(script.tps for script in summary.scripts) == pytest.approx(
        summary.tps if major >= 14 else summary.tps_with_connecting, rel=1e-4
    )


@pytest.mark.parametrize("major", [15, 16, 17, 18])
def test_failures_of_scripts_are_told_by_kind(major: int) -> None:
    summary = _summary(recording(major, "failures_detailed"))
    deadlock, conflict = summary.scripts
    assert deadlock.deadlock_failures == summary.deadlock_failures
    assert conflict.serialization_failures == summary.serialization_failures
    assert summary.failed == sum(script.failed or 0 for script in summary.scripts)


def test_script_never_chosen_in_18() -> None:
    output = recording(18, "scripts").output + (
        "SQL script 4: never\n - weight: 0 (targets 0.0% of total)\n - 0 transactions (0.0% of total)\n"
    )
    assert parse_summary(output).scripts[3].transactions == 0


@pytest.mark.parametrize("major", MAJORS)
def test_statement_latencies_skipped(major: int) -> None:
    for name in ("statements", "retries_statements") if major >= 15 else ("statements",):
        summary = _summary(recording(major, name))
        assert summary.other_lines == ()
        assert summary.transactions


def test_unknown_lines_kept() -> None:
    output = recording(18, "plain").output
    summary = parse_summary("server hops: 7\n" + output + "median latency = 3 ms\n")
    assert summary.other_lines == ("server hops: 7", "median latency = 3 ms")
    assert summary.tps == parse_summary(output).tps


def test_not_a_number() -> None:
    output = recording(15, "plain").output.replace("latency stddev = ", "latency stddev = -nan ms\nwas ")
    assert math.isnan(parse_summary(output).latency_stddev_ms or 0.0)


@pytest.mark.parametrize(
    ("line", "client", "server"),
    [
        ("pgbench (18.4)", "18.4", ""),
        ("pgbench (18beta3, server 13.22)", "18beta3", "13.22"),
        ("pgbench (18.4, server 15.18 (Debian))", "18.4", "15.18 (Debian)"),
        (
            "pgbench (15.7 (Debian 15.7-0+deb12u1), server 16.3 (Debian 16.3-1.pgdg120+1))",
            "15.7 (Debian 15.7-0+deb12u1)",
            "16.3 (Debian 16.3-1.pgdg120+1)",
        ),
        ("pgbench (17devel)", "17devel", ""),
    ],
)
def test_versions_apart(line: str, client: str, server: str) -> None:
    summary = parse_summary(recording(18, "plain").output.replace("pgbench (18.4)", line))
    assert (summary.version, summary.server_version) == (client, server)


OLD = """transaction type: TPC-B (sort of)
scaling factor: 50
query mode: simple
number of clients: 8
number of threads: 2
duration: 60 s
number of transactions actually processed: 60000
number of transactions above the 25.0 ms latency limit: 12 (0.020 %)
latency average: 8.000 ms
latency stddev: 3.500 ms
tps = 999.900000 (including connections establishing)
tps = 1000.000000 (excluding connections establishing)
"""


def test_wordings_before_10() -> None:
    summary = parse_summary(OLD)
    assert (summary.latency_ms, summary.latency_stddev_ms) == (8.0, 3.5)
    assert (summary.above_latency_limit, summary.latency_limit_ms) == (12, 25.0)
    assert (summary.tps, summary.tps_with_connecting) == (1000.0, 999.9)
    assert summary.other_lines == ()


def test_script_without_weight() -> None:
    text = f"{OLD}SQL script 1: a.sql\n - 60000 transactions (100.0% of total, tps = 999.9)\n"
    (script,) = parse_summary(f"{text} - latency average = 8.000 ms\n").scripts
    assert (script.title, script.weight, script.latency_ms) == ("a.sql", 1, 8.0)


@pytest.mark.parametrize("major", [13, 18])
@pytest.mark.parametrize("scenario", ["plain", "scripts", "limit"])
@pytest.mark.parametrize("remark", ["  ", "\t<-- this one", " # 16 GB", " (again)", " ok"])
def test_remark_behind_every_line(major: int, scenario: str, remark: str) -> None:
    output = recording(major, scenario).output
    lines = "\n".join(f"{line}{remark}" for line in output.splitlines())
    plain, remarked = parse_summary(output), parse_summary(lines, allow_remarks=True)
    same = ("tps", "transactions", "clients", "threads", "scale", "latency_ms", "protocol", "duration_s")
    assert [getattr(remarked, name) for name in same] == [getattr(plain, name) for name in same]
    assert [each.transactions for each in remarked.scripts] == [each.transactions for each in plain.scripts]


def test_digits_run_into_letters() -> None:
    for line in ("number of clients: 16x", "number of clients: 1e6", "tps = 5.0.1 (with"):
        summary = parse_summary(f"{OLD}{line}\n", allow_remarks=True)
        assert (summary.clients, summary.tps) == (8, 1000.0)


@pytest.mark.parametrize(
    "line",
    [
        "Client 5 aborted in state 7: ERROR:  could not extend file",
        "client 5 aborted in state 7; perhaps the backend died while processing",
        "client 5 aborted in command 4 of script 0; perhaps the backend died while processing",
        "pgbench: error: client 3 script 0 aborted in command 4 query 0: ERROR:  division by zero",
        "pgbench: error: client 3 aborted in command 4 (SQL) of script 0; perhaps",
        "pgbench: error: client 0 aborted while establishing connection",
        "pgbench: fatal: Run was aborted; the above results are incomplete.",
        "Run was aborted; the above results are incomplete.",
    ],
)
def test_aborted_in_every_wording(line: str) -> None:
    assert parse_summary(OLD, f"starting vacuum...end.\n{line}\n").aborted
    assert not parse_summary(OLD, "starting vacuum...end.\nclient 5 got an error\n").aborted


@pytest.mark.parametrize(
    ("failed", "not_done"), [("", 2790), ("number of failed transactions: 2790 (5%)", 0)]
)
def test_planned_and_not_done(failed: str, not_done: int) -> None:
    text = OLD.replace("processed: 60000", "processed: 5210/8000")
    assert parse_summary(text + failed.replace("(5%)", "(5.000%)") + "\n").not_done == not_done


def test_partitions_are_told_where_there_are_some() -> None:
    output = "partition method: hash\npartitions: 8\n" + recording(18, "plain").output
    summary = parse_summary(output)
    assert (summary.partition_method, summary.partitions) == ("hash", 8)


def test_interleaved_messages() -> None:
    errors = recording(13, "all_clients_aborted").errors
    assert "client 0 script 0 aborted in command 0 query 0: ERROR:  division by zero" in error_messages(
        errors
    )


@given(st.text())
def test_any_text_parses_or_raises(text: str) -> None:
    with pytest.raises(PgbenchError):
        parse_summary(text, text)

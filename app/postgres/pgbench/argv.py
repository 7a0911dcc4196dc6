"""Argument lists of pgbench: pure functions of a workload, a connection and the program's version.

The database is always the positional argument: ``-d`` meant "debug" until 16 and "dbname" since 17. Facts
from the manual pages of pgbench 13 to 18.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from app.domain.campaign.configuration import PGBENCH_OPTION, Script, Workload
from app.domain.storage_plan.plan import Role
from app.postgres.configuration_text import BENCH_DATABASE, BENCH_ROLE, tablespace_options
from app.postgres.pgbench.transaction_log import LogFormat

QUIET_SCALE: Final = 500
"""From this scale on loading reports every five seconds instead of every 100 000 rows."""

_DEFAULT_STEPS: Final = "dtgvp"
_STEPS_BEFORE_ROWS: Final = "dt"
_STEPS_AFTER_ROWS: Final = "vp"


@dataclass(frozen=True, slots=True)
class PgbenchProgram:
    """An installed pgbench.

    Attributes:
        path: absolute path.
        major: major version; decides which options exist.
    """

    path: str
    major: int


@dataclass(frozen=True, slots=True)
class Connection:
    """How pgbench reaches the server.

    Attributes:
        host: absolute folder of the server's Unix socket, or name or address of a machine.
        port: of that machine; number in the socket's name.
        user: role.
        database: name of the database; not a connection string.
        conninfo: libpq connection string that replaces the others, without a secret; empty if they suffice.
    """

    host: str
    port: int = 5432
    user: str = BENCH_ROLE
    database: str = BENCH_DATABASE
    conninfo: str = ""


@dataclass(frozen=True, slots=True)
class TransactionLog:
    """Where pgbench writes its transaction log.

    Attributes:
        prefix: absolute path; pgbench appends its process id and the thread's number.
        sample_one_in: 1 logs every transaction, n logs each with probability 1/n.
    """

    prefix: str
    sample_one_in: int = 1


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """Parameters of one pgbench run in addition to the workload.

    Attributes:
        seed: ``--random-seed``. The same seed gives different numbers before and since 15 (new generator).
        scale: scale factor of the loaded tables.
        threads: see `resolve_threads`.
        script_paths: the user's scripts as files that pgbench can read, in the order of the workload.
        log: None for no transaction log.
    """

    seed: int
    scale: int
    threads: int
    script_paths: tuple[str, ...] = ()
    log: TransactionLog | None = None


def resolve_threads(workload: Workload, cpus: int) -> int:
    """Return pgbench's worker threads: as requested, else half of the CPUs; at most one per client."""
    wanted = workload.threads if workload.threads is not None else max(1, cpus // 2)
    return min(wanted, workload.clients)


def warmup_workload(workload: Workload) -> Workload:
    """Return the workload of the warm-up: the same for `Workload.warmup_s` seconds."""
    return replace(workload, duration_s=workload.warmup_s, transactions=None)


def log_format(workload: Workload) -> LogFormat:
    """Return the fields of a workload's transaction log."""
    return LogFormat(has_lag=workload.rate_tps is not None)


def initialise_argv(
    program: PgbenchProgram,
    connection: Connection,
    scale: int,
    steps: str = _DEFAULT_STEPS,
    tablespaces: Iterable[Role] = (),
) -> tuple[str, ...]:
    """Return the arguments that create and load pgbench's tables.

    Loading is client-side (``g``): the server-side ``G`` was no faster (measured at scale 50) and reports no
    progress.

    Raises:
        PgbenchError: the program is older than 13.
    """
    quiet = ("--quiet",) if scale >= QUIET_SCALE else ()
    return (
        program.path,
        "--initialize",
        f"--init-steps={steps}",
        f"--scale={scale}",
        *quiet,
        *tablespace_options(tablespaces),
        *_connection_argv(connection),
    )


def loading_argvs(
    program: PgbenchProgram,
    connection: Connection,
    scale: int,
    script_path: str | None = None,
    tablespaces: Sequence[Role] = (),
) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of each pgbench that loads the data set, in order.

    Args:
        program: pgbench.
        connection: to the server.
        scale: scale factor.
        script_path: a file of `app.postgres.pgbench.scale.load_script`; None for pgbench's own rows.
        tablespaces: roles with their own tablespace.

    Raises:
        PgbenchError: the program is older than 13.
    """
    if script_path is None:
        return (initialise_argv(program, connection, scale, tablespaces=tablespaces),)
    return (
        initialise_argv(program, connection, scale, _STEPS_BEFORE_ROWS, tablespaces),
        (
            program.path,
            "--no-vacuum",
            f"--file={script_path}",
            "--client=1",
            f"--transactions={scale}",
            "--protocol=simple",
            *_connection_argv(connection),
        ),
        initialise_argv(program, connection, scale, _STEPS_AFTER_ROWS, tablespaces),
    )


def benchmark_argv(
    program: PgbenchProgram, connection: Connection, workload: Workload, request: BenchmarkRequest
) -> tuple[str, ...]:
    """Return the arguments of one benchmark.

    Progress is reported every second with the epoch time: late reports are merged, so the position of a line
    does not give its time. Vacuum is skipped (``--no-vacuum``): it belongs to the phase before.

    Raises:
        PgbenchError: the program is older than 13.
        ValueError: the number of script paths differs from the workload's files.
    """
    return (
        program.path,
        "--no-vacuum",
        *_workload_argv(workload),
        f"--jobs={request.threads}",
        f"--random-seed={request.seed}",
        "--progress=1",
        "--progress-timestamp",
        *_script_argv(workload.scripts, request),
        *_log_argv(request.log),
        *_version_argv(program),
        *_connection_argv(connection),
    )


def _connection_argv(connection: Connection) -> tuple[str, ...]:
    if connection.conninfo:  # the name of a database may be one (libpq's expand_dbname)
        return (connection.conninfo,)
    return (
        f"--host={connection.host}",
        f"--port={connection.port}",
        f"--username={connection.user}",
        connection.database,
    )


def _workload_argv(workload: Workload) -> Iterator[str]:
    if workload.transactions is None and workload.duration_s is None:
        raise ValueError("neither duration nor transactions")
    counted = workload.transactions is not None
    for each in fields(workload):
        if counted and each.name == "duration_s":
            continue
        option, value = each.metadata.get(PGBENCH_OPTION), getattr(workload, each.name)
        if option and value is not None:
            yield option.format(value)


def _script_argv(scripts: Sequence[Script], request: BenchmarkRequest) -> tuple[str, ...]:
    """Return scripts with their weights, always explicit: pgbench splits at the last at sign of a path.

    With a built-in script pgbench takes the scale from the tables and warns about ``--scale``; with files
    only its default is 1.
    """
    files = sum(script.builtin is None for script in scripts)
    if files != len(request.script_paths):
        raise ValueError(f"{files} script files, {len(request.script_paths)} paths")
    paths = iter(request.script_paths)
    argv = tuple(
        f"--builtin={script.builtin.value}@{script.weight}"
        if script.builtin is not None
        else f"--file={next(paths)}@{script.weight}"
        for script in scripts
    )
    return (*argv, f"--scale={request.scale}") if files == len(scripts) else argv


def _log_argv(log: TransactionLog | None) -> tuple[str, ...]:
    if log is None:
        return ()
    argv = ("--log", f"--log-prefix={log.prefix}")
    if log.sample_one_in == 1:
        return argv
    return (*argv, f"--sampling-rate={1 / log.sample_one_in:.12g}")


def _version_argv(program: PgbenchProgram) -> tuple[str, ...]:
    """Return the options that not every version has.

    Since 17 ``--exit-on-abort`` ends a run at once when a client fails; before, the other clients continue
    for nothing, because a run that lost clients does not count.
    """
    return ("--exit-on-abort",) if program.major >= 17 else ()

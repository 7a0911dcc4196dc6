"""Find what a campaign file may do beyond measuring - run programs, be a superuser - and require consent.

A campaign file may come from someone else. The concerns found here are shown before anything starts; the
runner asks at the moment of use, about the very texts that it has read and will execute. A campaign approved
in the wizard is known by its digest (`app.library.trusted_campaigns`).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.campaign_file.reader import CampaignFile
from app.domain.campaign.configuration import Campaign, Script, ServerTarget, Target
from app.domain.campaign.phases import all_scripts
from app.domain.text import tr, trn
from app.postgres.installations.installation import PROGRAMS
from app.postgres.pgbench.script_demands import ScriptDemand, find_programs, find_superuser
from app.postgres.settings import quote_value

_MEMORY: Final = """
    autovacuum_work_mem commit_timestamp_buffers dynamic_shared_memory_type hash_mem_multiplier
    huge_page_size huge_pages logical_decoding_work_mem maintenance_work_mem max_stack_depth
    min_dynamic_shared_memory multixact_member_buffers multixact_offset_buffers notify_buffers
    serializable_buffers shared_buffers shared_memory_type subtransaction_buffers temp_buffers
    transaction_buffers vacuum_buffer_usage_limit work_mem
"""
_WRITING: Final = """
    backend_flush_after bgwriter_delay bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier
    checkpoint_completion_target checkpoint_flush_after checkpoint_timeout checkpoint_warning commit_delay
    commit_siblings data_sync_retry debug_io_direct file_copy_method file_extend_method fsync
    full_page_writes ignore_checksum_failure io_direct max_wal_size min_wal_size synchronous_commit
    temp_file_limit wal_buffers wal_compression wal_init_zero wal_keep_size wal_level wal_log_hints
    wal_recycle wal_skip_threshold wal_sync_method wal_writer_delay wal_writer_flush_after
    zero_damaged_pages
"""
_READING: Final = """
    effective_io_concurrency io_combine_limit io_max_combine_limit io_max_concurrency io_max_workers io_method
    io_min_workers io_worker_idle_timeout io_worker_launch_interval io_workers maintenance_io_concurrency
    synchronize_seqscans
"""
_PLANNING: Final = """
    constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction
    default_statistics_target effective_cache_size enable_async_append enable_bitmapscan
    enable_distinct_reordering enable_eager_aggregate enable_gathermerge enable_group_by_reordering
    enable_hashagg enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan
    enable_material enable_memoize enable_mergejoin enable_nestloop enable_parallel_append
    enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join
    enable_presorted_aggregate enable_self_join_elimination enable_seqscan enable_sort enable_tidscan
    from_collapse_limit geqo geqo_effort geqo_generations geqo_pool_size geqo_seed geqo_selection_bias
    geqo_threshold gin_fuzzy_search_limit gin_pending_list_limit jit jit_above_cost jit_expressions
    jit_inline_above_cost jit_optimize_above_cost jit_tuple_deforming join_collapse_limit
    min_eager_agg_group_size min_parallel_index_scan_size min_parallel_table_scan_size
    parallel_leader_participation parallel_setup_cost parallel_tuple_cost plan_cache_mode random_page_cost
    recursive_worktable_factor seq_page_cost
"""
_PROCESSES: Final = """
    max_connections max_files_per_process max_locks_per_transaction max_notify_queue_pages
    max_parallel_maintenance_workers max_parallel_workers max_parallel_workers_per_gather
    max_pred_locks_per_page max_pred_locks_per_relation max_pred_locks_per_transaction
    max_prepared_transactions max_replication_slots max_wal_senders max_worker_processes
    old_snapshot_threshold remove_temp_files_after_crash reserved_connections superuser_reserved_connections
    update_process_title
"""
_VACUUM: Final = """
    autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_freeze_max_age
    autovacuum_max_parallel_workers autovacuum_max_workers autovacuum_multixact_freeze_max_age
    autovacuum_naptime autovacuum_vacuum_cost_delay autovacuum_vacuum_cost_limit
    autovacuum_vacuum_insert_scale_factor autovacuum_vacuum_insert_threshold autovacuum_vacuum_max_threshold
    autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold autovacuum_worker_slots
    vacuum_cleanup_index_scale_factor vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty
    vacuum_cost_page_hit vacuum_cost_page_miss vacuum_defer_cleanup_age vacuum_failsafe_age
    vacuum_freeze_min_age vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate
    vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
    vacuum_truncate
"""
_TIMES: Final = """
    authentication_timeout client_connection_check_interval deadlock_timeout
    idle_in_transaction_session_timeout idle_session_timeout lock_timeout statement_timeout
    transaction_timeout
"""
_REPORTING: Final = """
    client_min_messages compute_query_id log_autoanalyze_min_duration log_autovacuum_min_duration
    log_checkpoints log_connections log_disconnections log_duration log_executor_stats log_lock_failures
    log_lock_waits log_min_duration_sample log_min_duration_statement log_min_error_statement
    log_parameter_max_length log_parameter_max_length_on_error log_parser_stats log_planner_stats
    log_recovery_conflict_waits log_replication_commands log_startup_progress_interval log_statement
    log_statement_sample_rate log_statement_stats log_temp_files log_transaction_sample_rate
    stats_fetch_consistency track_activities track_activity_query_size track_commit_timestamp
    track_cost_delay_timing track_counts track_functions track_io_timing track_wal_io_timing
"""
_STATEMENTS: Final = """
    array_nulls backslash_quote bytea_output check_function_bodies datestyle default_toast_compression
    default_transaction_deferrable default_transaction_isolation default_transaction_read_only
    escape_string_warning extra_float_digits intervalstyle quote_all_identifiers timezone
    transform_null_equals xmlbinary xmloption
"""
HARMLESS: Final = frozenset(
    name
    for names in (
        *(_MEMORY, _WRITING, _READING, _PLANNING, _PROCESSES),
        *(_VACUUM, _TIMES, _REPORTING, _STATEMENTS),
    )
    for name in names.split()
)
"""Settings that, whatever their value, run no program and load no library.

All other settings of a campaign file are shown to the user before anything starts, including every setting
with a dot in its name, which belongs to a library, and every setting that a later version adds. Here are
switches, numbers and words that decide how the server plans, writes, caches, times or reports. Never here are
commands (archive_command, restore_command, ssl_passphrase_command), libraries and their search paths
(``*_preload_libraries``, jit_provider, dynamic_library_path, archive_library), files, folders and other
locations (``log_*`` destinations, data_directory, temp_tablespaces), addresses and authentication, recovery
and replication from elsewhere. Source: manual, chapter 19, of PostgreSQL 13 to 18.
"""


def is_harmless(name: str) -> bool:
    """Return whether a setting is harmless whatever its value."""
    return name.lower() in HARMLESS


_MOST_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Concern:
    """A part of a campaign that needs the user's consent.

    Attributes:
        what: a sentence.
        text: the setting as a line of postgresql.conf, the whole script, or the folder of programs.
        configurations: names of those that have it.
    """

    what: str
    text: str
    configurations: tuple[str, ...]


Ask = Callable[[tuple[Concern, ...]], None]
"""Returns if the user agreed; else raises a `RefusedError`."""


def check_trust(file: CampaignFile, ask: Ask, *, is_trusted: Callable[[str], bool]) -> None:
    """Check that the user agreed to everything that a campaign may do.

    Args:
        file: as read; exactly what will be executed.
        ask: asks the user.
        is_trusted: whether the user agreed earlier to the campaign with this digest.

    Raises:
        RefusedError: the user did not agree.
    """
    concerns = find_concerns(file.campaign)
    if concerns and not is_trusted(campaign_digest(file.text, file.campaign)):
        ask(concerns)


def campaign_digest(text: str, campaign: Campaign) -> str:
    """Return the SHA-256 of a campaign file and of the scripts that it names, in hexadecimal.

    Args:
        text: of the file.
        campaign: of the file, with the scripts as read.
    """
    digest = hashlib.sha256(b"pgFooting campaign and scripts, 1")
    scripts = (
        script.text for each in campaign.configurations for script in _files(all_scripts(each.workload))
    )
    for part in (text, *scripts):
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()


def find_concerns(campaign: Campaign) -> tuple[Concern, ...]:
    """Return everything that needs consent, each once; empty for a campaign that only measures."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in campaign.configurations:
        parts = (
            *_of_installation(each.postgresql.installation),
            *_of_settings(each.postgresql.settings),
            *(concern for script in _files(all_scripts(each.workload)) for concern in _of_script(script)),
            *_on_server(each.target, each.postgresql.settings, all_scripts(each.workload)),
        )
        for concern in dict.fromkeys(parts):
            found.setdefault(concern, []).append(each.name)
    return tuple(Concern(what, text, tuple(names)) for (what, text), names in found.items())


def _files(scripts: tuple[Script, ...]) -> Iterator[Script]:
    return (script for script in scripts if script.builtin is None)


def _of_settings(settings: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    sentence = tr(
        "The server setting {name} is not on the list of harmless ones. Such settings can make the server "
        "run programs, load libraries or write files elsewhere."
    )
    for name, value in settings:
        if not is_harmless(name):
            yield sentence.format(name=name), f"{name} = {quote_value(value)}"


def _on_server(
    target: Target, settings: tuple[tuple[str, str], ...], scripts: tuple[Script, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the actions of a campaign on a foreign server: its role is not restricted as ours is."""
    if not isinstance(target, ServerTarget):
        return
    for script in _files(scripts):
        sentence = tr("The script {path} runs on an existing server, with your role's rights there.")
        yield sentence.format(path=script.path), script.text
    for name, value in settings:
        if is_harmless(name):
            sentence = tr("The server setting {name} is set for pgFooting's database on an existing server.")
            yield sentence.format(name=name), f"{name} = {quote_value(value)}"


def has_own_scripts(campaign: Campaign) -> bool:
    """Return whether a campaign names script files."""
    return any(True for each in campaign.configurations for _ in _files(all_scripts(each.workload)))


def outside_scripts(campaign: Campaign) -> tuple[str, ...]:
    """Return the scripts of a campaign outside its file's folder: they may be any readable file."""
    scripts = (script for each in campaign.configurations for script in _files(all_scripts(each.workload)))
    return tuple(dict.fromkeys(script.path or "" for script in scripts if script.is_outside))


def _of_script(script: Script) -> Iterator[tuple[str, str]]:
    if script.is_outside:
        sentence = tr(
            "The script {path} is outside the campaign's folder. Its text is stored in the run files, which "
            "may be shared."
        )
        yield sentence.format(path=script.path), os.path.realpath(script.path or "")
    programs, superuser = find_programs(script.text), find_superuser(script.text)
    if programs:
        sentence = tr("The script {path} runs programs (\\shell, \\setshell), in {lines}.")
        yield sentence.format(path=script.path, lines=_lines(programs)), script.text
    if superuser:
        sentence = tr(
            "The script {path} needs superuser rights, in {lines}. pgbench would connect as a superuser, "
            "whose SQL can run programs as the server's user."
        )
        yield sentence.format(path=script.path, lines=_lines(superuser)), script.text


def _lines(demands: tuple[ScriptDemand, ...]) -> str:
    numbers = ", ".join(str(wish.line) for wish in demands[:_MOST_LINES])
    if (more := len(demands) - _MOST_LINES) > 0:
        numbers = tr("{names} and {count} more").format(names=numbers, count=more)
    return trn("line {numbers}", "lines {numbers}", len(demands)).format(numbers=numbers)


def foreign_programs(campaign: Campaign) -> tuple[str, ...]:
    """Return the folders of programs in a campaign that accounts other than root could have filled."""
    named = dict.fromkeys(each.postgresql.installation for each in campaign.configurations)
    return tuple(choice for choice in named if Path(choice).is_absolute() and not _is_systems(choice))


def _of_installation(choice: str) -> Iterator[tuple[str, str]]:
    if Path(choice).is_absolute() and not _is_systems(choice):
        sentence = tr(
            "pgFooting runs the PostgreSQL programs in this folder; users other than root could have put "
            "them there."
        )
        yield sentence, choice


def _is_systems(folder: str) -> bool:
    """Return whether only root can have put programs there, or there are none."""
    named = [f"{prefix}/{program}" for prefix in (folder, f"{folder}/bin") for program in PROGRAMS]
    # Both as named and as resolved: the owner of a link on the way decides which program runs.
    there = [path for path in named if os.path.exists(path)]  # noqa: PTH110 - Path.exists raises for long names
    found = [Path(path) for each in there for path in (each, os.path.realpath(each))]
    return all(_is_roots(part) for path in found for part in (path, *path.parents))


def _is_roots(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_uid == 0 and not stat.S_IMODE(found.st_mode) & 0o022

"""Which server settings are harmless: whatever their value, no program is run and no library loaded for it.

A setting of a campaign file that is not here is shown to a person before anything starts; so is every
setting with a dot in its name, which belongs to a library, and every setting that a later version brings.
Source:
manual, chapter 19, of PostgreSQL 13 to 18. Here are switches, numbers and words that decide how the server
plans, writes, caches, times or reports. Never here are commands
(archive_command, restore_command, ssl_passphrase_command), libraries and where they are looked for
(``*_preload_libraries``, jit_provider, dynamic_library_path, archive_library), files, folders and other
places (``log_*`` destinations, data_directory, temp_tablespaces), addresses and authentication, recovery
and replication from elsewhere.
"""

from __future__ import annotations

from typing import Final

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
"""Names in lower case."""


def is_harmless(name: str) -> bool:
    """Return whether a setting is harmless whatever its value."""
    return name.lower() in HARMLESS

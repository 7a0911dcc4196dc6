"""Find what a pgbench script needs beyond tables: programs of the client, a superuser's rights. Pure.

Programs are reported regardless of context: pgbench's own lexer (psqlscan.l, exprscan.l) accepts a
meta-command anywhere outside of quotes, in any case, with spaces and continued lines between backslash and
word, and its rules for quotes are too complex to repeat. Superuser statements are searched in the text
without comments, but also inside quotes, where they may become statements later. The server refuses what is
missed here: pgbench's role has no such rights. For PostgreSQL 13 to 19.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from app.domain.campaign.configuration import Script


@dataclass(frozen=True, slots=True)
class ScriptDemand:
    """A place in a script.

    Attributes:
        line: its number, from 1 on.
        text: that line, stripped.
    """

    line: int
    text: str


_PROGRAM: Final = re.compile(r"(?:set)?shell", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"""
      (?P<comment> --[^\n]* )
    | (?P<block> /\* )
    | (?<![\w$]) \$ (?P<tag> (?!\d) \w* ) \$
    | \b[eE]' (?: [^'\\] | '' | \\. )*+ (?: ' | \Z )
    | ' (?: [^'] | '' )*+ (?: ' | \Z )
    | " [^"]*+ (?: " | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")

_OBJECTS: Final = (
    "access method|cast|collation|conversion|database|event trigger|extension|foreign data wrapper|group"
    "|language|operator (?:class|family)|publication|role|schema|server|subscription|system|tablespace"
    "|text search (?:parser|template)|transform|user"
)
_FUNCTIONS: Final = (
    r"dblink\w*|lo_(?:im|ex)port|pg_authid|pg_backend_memory_contexts|pg_backup_st(?:art|op)|pg_buffercache\w*"
    r"|pg_config|pg_create_(?:logical|physical)_replication_slot|pg_create_restore_point|pg_current_logfile"
    r"|pg_drop_replication_slot|pg_file_\w+|pg_get_shmem_allocations\w*|pg_hba_file_rules|pg_ident_file_mappings"
    r"|pg_import_system_collations|pg_log_\w+|pg_logfile_rotate|pg_logical_slot_\w+|pg_ls_\w+|pg_prewarm|pg_promote"
    r"|pg_read_(?:binary_)?file\w*|pg_reload_conf|pg_replication_\w+|pg_rotate_logfile|pg_shadow"
    r"|pg_shmem_allocations\w*|pg_show_all_file_settings|pg_start_backup|pg_stat_file|pg_stat_reset\w*"
    r"|pg_stat_statements_reset|pg_stop_backup|pg_switch_wal|pg_user_mappings|pg_wal_replay_\w+|pgstattuple\w*"
)
_SUPERUSER_SETTINGS: Final = (
    "allow_in_place_tablespaces|allow_system_table_mods|backtrace_functions|commit_delay|compute_query_id"
    "|deadlock_timeout|dynamic_library_path|event_triggers|extension_control_path|extension_destdir"
    "|ignore_checksum_failure|ignore_system_indexes|jit_dump_bitcode|lc_messages|lo_compat_privileges"
    "|log_(?:connections|disconnections|duration|error_verbosity|executor_stats|lock_failures|lock_waits"
    "|min_duration_sample|min_duration_statement|min_error_statement|min_messages|parameter_max_length"
    "|parser_stats|planner_stats|replication_commands|statement|statement_sample_rate|statement_stats"
    "|temp_files|transaction_sample_rate)"
    "|max_stack_depth|session_preload_libraries|session_replication_role|temp_file_limit"
    "|track_(?:activities|cost_delay_timing|counts|functions|io_timing|wal_io_timing)|update_process_title"
    "|wal_compression|wal_consistency_checking|wal_init_zero|wal_recycle|zero_damaged_pages"
)
_SPACE: Final = r"\s+"
_SUPERUSER: Final = tuple(
    "(?i)" + pattern.replace(" ", _SPACE)  # compiled when needed: they are long
    for pattern in (
        r"\bcheckpoint\b",
        r"""\bcopy(?:\s*\(| ["\w:])""",  # pgbench takes no data of COPY: it is a file or a program
        rf"\b(?:create|alter|drop) (?:or replace )?(?:trusted )?(?:procedural )?(?:{_OBJECTS})\b",
        r"(?<!\\)\bset (?:session |local )?(?:role\b(?!\s*=)|session authorization\b)",
        rf"(?<!\\)\b(?:set|reset) (?:session |local )?(?:{_SUPERUSER_SETTINGS})\b",
        rf"\bset_config\s*\(\s*\w?'(?:{_SUPERUSER_SETTINGS}|role|session_authorization)'",
        r"(?<!')\bload\s*'",
        r"""\blanguage\s*['"]?(?:c|internal|\w+u)\b""",
        r"\bsecurity label\b",
        r"\bimport foreign schema\b",
        r"\breindex (?:\([^)]{0,200}\) )?(?:database|system|schema)\b",
        r"\bpg_(?:execute_server_program|read_server_files|write_server_files|maintain|checkpoint|signal_backend)\b",
        rf"\b(?:{_FUNCTIONS})\b",
    )
)


def find_programs(text: str) -> tuple[ScriptDemand, ...]:
    r"""Return every place where a script may run a program: ``\shell`` and ``\setshell``."""
    return _wishes(
        text, (match.start() for match in _PROGRAM.finditer(text) if _is_command(text, match.start()))
    )


def _is_command(text: str, word: int) -> bool:
    """Return whether a backslash precedes the word, with only space and backslashes between."""
    while word > 0 and (text[word - 1].isspace() or text[word - 1] == "\\"):
        word -= 1
        if text[word] == "\\":
            return True
    return False


def find_superuser(text: str) -> tuple[ScriptDemand, ...]:
    """Return every place where a script needs a superuser."""
    # Once with the bodies of functions as texts, and once as more SQL, which has comments of its own.
    texts = (without_comments(text), without_comments(text, in_bodies=True))
    found = (match.start() for bare in texts for each in _SUPERUSER for match in re.finditer(each, bare))
    return _wishes(text, found)


def wants_superuser(scripts: Iterable[Script]) -> bool:
    """Return whether one of these scripts needs pgbench to be a superuser."""
    return any(script.builtin is None and find_superuser(script.text) for script in scripts)


def without_comments(text: str, *, in_bodies: bool = False) -> str:
    """Replace comments by spaces of the same length; quoted text stays.

    Args:
        text: a script.
        in_bodies: whether comments between dollar quotes are comments too.
    """
    kept: list[str] = []
    place = 0
    while match := _TOKEN.search(text, place):
        end = match.end()
        if match["block"]:
            end = _end_of_block(text, end)
        elif match["tag"] is not None and not in_bodies:
            closing = text.find(match[0], end)
            end = len(text) if closing < 0 else closing + len(match[0])
        kept.append(text[place : match.start()])
        found = text[match.start() : end]
        is_comment = match["comment"] is not None or match["block"] is not None
        kept.append(re.sub(r"[^\n]", " ", found) if is_comment else found)
        place = end
    return "".join((*kept, text[place:]))


def _end_of_block(text: str, place: int) -> int:
    """Return the end of a comment that began before `place`: comments nest; the last may be open."""
    depth = 1
    for edge in _BLOCK_EDGE.finditer(text, place):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _wishes(text: str, places: Iterable[int]) -> tuple[ScriptDemand, ...]:
    lines = text.split("\n")
    numbers = _line_numbers(lines)
    found = sorted({numbers(place) for place in places})
    return tuple(ScriptDemand(number, lines[number - 1].strip()) for number in found)


def _line_numbers(lines: Sequence[str]) -> Callable[[int], int]:
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return lambda place: bisect_right(starts, place)

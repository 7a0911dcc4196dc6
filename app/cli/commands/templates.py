"""`pgfooting templates`: list the stored data sets, and remove them."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Final

from rich.console import Console

from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import print_line, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import BusyError, ExitStatus, UsageError
from app.domain.json_value import Json
from app.domain.text import CALLED, format_size, titled, tr
from app.execution.recovery import sweep_abandoned
from app.hosts.folders.own_folders import server_account, templates_folder
from app.hosts.templates.store import Template, TemplateStore, key_as_mapping
from app.postgres.pgbench.scale import ratio_words
from app.process.starter import unrecorded
from app.terminal.plain_text import plain

ALL: Final = "all"


def _made(epoch_s: float) -> str:
    try:
        return datetime.fromtimestamp(epoch_s).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # no date has such a year
        return ""


TEMPLATE_COLUMNS: Final[tuple[Column[Template], ...]] = (
    Column("id", tr("Id"), lambda each: each.key.id, CellKind.LABEL),
    Column("version", "PostgreSQL", lambda each: each.key.version, CellKind.LABEL),
    Column("scale", titled(tr("scale")), lambda each: str(each.key.scale)),
    Column("rows", tr("Rows"), lambda each: ratio_words(each.key.compressibility), CellKind.WORDS),
    Column("page", tr("Page"), lambda each: format_size(each.key.page_bytes)),
    Column("checksums", tr("Checksums"), lambda each: tr("on") if each.key.checksums else tr("off")),
    Column("size", tr("Size"), lambda each: format_size(each.content.size_bytes)),
    Column("made", tr("Created"), lambda each: _made(each.made_epoch_s), CellKind.LABEL),
)
"""Columns of the list of templates."""


def templates_command(arguments: argparse.Namespace) -> int:
    """List the templates, or remove some.

    Raises:
        UsageError: there is none with this id.
        BusyError: a campaign is using the folder.
    """
    sweep_abandoned()
    account = server_account(unrecorded)
    store = TemplateStore(templates_folder(account), account, unrecorded)
    if arguments.remove:
        _remove(store, arguments.remove)
        return ExitStatus.DONE
    found, unknown = store.all(), store.unknown()
    if arguments.json:
        entries: list[Json] = [_as_json(each) for each in found]
        print_json({"folder": store.folder, "templates": entries, "unknown": list(unknown)})
        return ExitStatus.DONE
    console = Console()
    if not found:
        print_line(console, tr("No data sets are kept in {folder}.").format(folder=store.folder))
    else:
        total = format_size(sum(each.content.size_bytes for each in found))
        print_line(console, f"{store.folder}: {total}")
        print_table(console, TEMPLATE_COLUMNS, found)
    for folder in unknown:
        print_line(console, tr("{folder} has no readable description.").format(folder=folder), style="yellow")
    return ExitStatus.DONE


def _as_json(each: Template) -> Json:
    return {
        "id": each.key.id,
        "folder": each.folder,
        "key": key_as_mapping(each.key),
        "sha256": each.content.sha256,
        "files": each.content.files,
        "size_bytes": each.content.size_bytes,
        "made_epoch_s": each.made_epoch_s,
        "seconds": each.seconds,
    }


def _remove(store: TemplateStore, wanted: str) -> None:
    folders = [*(each.folder for each in store.all()), *store.unknown()]
    chosen = [folder for folder in folders if wanted == ALL or folder.endswith(f"/data-{wanted}")]
    if not chosen and wanted != ALL:
        message = tr("There is no data set {id} in {folder}.").format(id=wanted, folder=store.folder)
        raise UsageError(message, hint=tr("`{command} templates` lists them.").format(command=CALLED))
    if not chosen:
        return
    with store.locked() as is_ours:
        if not is_ours:
            raise BusyError(tr("A campaign is using {folder}.").format(folder=store.folder))
        for folder in chosen:
            store.remove(folder)
            sys.stdout.write(plain(tr("{path} was removed.").format(path=folder)) + "\n")

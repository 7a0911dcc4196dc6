"""A copy of a template where it is measured, or why there is none."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from app.domain.errors import FootingError, ServerError, TargetError
from app.domain.text import tr
from app.hosts.templates.making import errand
from app.hosts.templates.store import Template
from app.hosts.templates.tree import TreeDigest
from app.process.starter import Account, Recorder


class DamagedTemplateError(Exception):
    """A template is not what it was when it was made; its message says how."""


@dataclass(frozen=True, slots=True)
class CopiedData:
    """A copy that is as its template.

    Attributes:
        template: of what.
        seconds: of reading, writing and comparing; without what forced it to disk.
    """

    template: Template
    seconds: float


def copy_template(
    template: Template, data_directory: str, wal_directory: str, account: Account, record: Recorder
) -> CopiedData:
    """Copy a template into an empty data directory; where that fails, it is empty again.

    Args:
        template: what is copied.
        data_directory: an empty folder of the account.
        wal_directory: a folder for the WAL that is made; empty for one in the data directory.
        account: whose all of it is.
        record: told of the commands.

    Raises:
        DamagedTemplateError: the template is damaged.
        TargetError: the copy cannot be written, such as where the disk is full.
        ServerError: what was written is not there.
        ProgramError: the program that copies failed.
    """
    where = {"target": data_directory, "wal_directory": wal_directory}
    try:
        values = errand(account, record, "copy", source=template.data_directory, **where)
    except OSError as err:
        _empty(account, record, where)
        message = tr("The data set could not be copied to {path}: {reason}.")
        hint = tr("Free some space there, or choose a smaller data size.")
        raise TargetError(message.format(path=data_directory, reason=err.strerror), hint=hint) from err
    if "wrong" in values:
        _empty(account, record, where)
        message = tr("The copy of the data set in {path} is not what was written: {reason}.")
        raise ServerError(message.format(path=data_directory, reason=values["wrong"]))
    seconds = float(values.pop("seconds", 0.0))
    damaged = values["damaged"] if "damaged" in values else _differs(template, TreeDigest(**values))
    if damaged:
        _empty(account, record, where)
        raise DamagedTemplateError(damaged)
    return CopiedData(template, seconds)


def _differs(template: Template, found: TreeDigest) -> str:
    if found == template.content:
        return ""
    sentence = tr("its content is not what it was ({files} files, {bytes} bytes; {all} and {size} when made)")
    made = template.content
    return sentence.format(files=found.files, bytes=found.size_bytes, all=made.files, size=made.size_bytes)


def _empty(account: Account, record: Recorder, where: dict[str, str]) -> None:
    with suppress(OSError, FootingError):  # it goes with its target, and nothing can be copied there before
        errand(account, record, "empty", **where)

"""Compare the limit of ZFS's cache that a campaign needs with the machine's: read, never set.

zfs_arc_max is a parameter of the whole machine: it applies to every pool, does not go back to 0 while the
module is loaded, and reducing it does not shrink the cache at once (OpenZFS, zfs(4), zfs_arc_max).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from app.domain.campaign.configuration import Campaign, DiskTarget
from app.domain.errors import CampaignError
from app.domain.filesystems import filesystem
from app.domain.text import tr
from app.domain.units import format_size
from app.probes.base.backing_devices import mount_of

_ZFS: Final = "zfs"


def is_on_zfs(campaign: Campaign, folders: Iterable[str] = ()) -> bool:
    """Return whether any part of a campaign is on ZFS: on disks that become a pool, or in a folder.

    Args:
        campaign: with filesystems that exist.
        folders: of its other targets.
    """
    groups = (
        group.filesystem
        for each in campaign.configurations
        if isinstance(each.target, DiskTarget)
        for _, group in each.target.groups
    )
    return _ZFS in groups or any(map(_is_folder_on_zfs, filter(None, folders)))


def _is_folder_on_zfs(path: str) -> bool:
    try:
        return mount_of(path).filesystem == _ZFS
    except LookupError:
        return False


def check_arc_max(campaign: Campaign, folders: Iterable[str], root: Path = Path("/")) -> None:
    """Refuse a campaign that needs another zfs_arc_max than this machine has; no check without ZFS.

    Args:
        campaign: with its `zfs_arc_max_bytes`.
        folders: of data that is not on spare disks.
        root: of the machine's files.

    Raises:
        CampaignError: the value differs, or cannot be read; the hint has an administrator's commands.
    """
    wanted = campaign.zfs_arc_max_bytes
    if wanted is None or not is_on_zfs(campaign, folders):
        return
    parameter = root / filesystem(_ZFS).cache_limit
    there = _read(parameter)
    if there == wanted:
        return
    if there is None:
        message = tr("The campaign needs zfs_arc_max = {wanted}, but {parameter} cannot be read.")
        loading = tr("Load ZFS with: modprobe zfs")
        words = message.format(wanted=_words(wanted), parameter=parameter)
        raise CampaignError(words, field="zfs_arc_max", hint=f"{loading}\n{_commands(wanted, parameter)}")
    message = tr(
        "The campaign needs zfs_arc_max = {wanted}; this machine has {there}. pgFooting never sets this "
        "parameter, because it affects the whole machine."
    )
    sentence = message.format(wanted=_words(wanted), there=_words(there))
    raise CampaignError(sentence, field="zfs_arc_max", hint=_commands(wanted, parameter))


def _read(parameter: Path) -> int | None:
    try:
        return int(parameter.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _words(size_bytes: int) -> str:
    if not size_bytes:
        return tr("0 (ZFS chooses)")
    return tr("{bytes} ({size})").format(bytes=size_bytes, size=format_size(size_bytes))


def _commands(wanted: int, parameter: Path) -> str:
    """Return root's commands, for now and for after the next start."""
    if not wanted:
        return tr(
            "It cannot return to 0 while ZFS is loaded: remove zfs_arc_max from /etc/modprobe.d and reboot."
        )
    return tr(
        "As root, for now:\n  echo {wanted} > {parameter}\nand, for after the next start, this line in "
        "/etc/modprobe.d/zfs.conf:\n  options zfs zfs_arc_max={wanted}\nA cache that is larger already "
        "shrinks only when memory is short: a restart makes it small at once."
    ).format(wanted=wanted, parameter=parameter)


def arc_max_sentence(campaign: Campaign, folders: Iterable[str]) -> str:
    """Return a sentence about a campaign's zfs_arc_max before its start; empty if it has none."""
    if campaign.zfs_arc_max_bytes is None:
        return ""
    if not is_on_zfs(campaign, folders):
        return tr("zfs_arc_max has no effect here: no configuration is on ZFS.")
    sentence = tr("zfs_arc_max of this machine is {wanted}, as the campaign needs it.")
    return sentence.format(wanted=_words(campaign.zfs_arc_max_bytes))

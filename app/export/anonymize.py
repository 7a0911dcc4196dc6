"""Remove names from exports: serial numbers, host, users, folders, identities of disks and filesystems.

Values under identifying keys (`serial`, `path` ...) are collected first and then replaced everywhere, also
inside sentences and command lines. Other texts by people or programs keep only words that pgFooting knows
(`known_words`). Descriptions of hardware and software are kept.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Self

from app import TOP
from app.domain.json_value import Json

# --- Known words: those of pgFooting's source, which are English or terms of Linux and PostgreSQL.
# A name chosen by people is either not among them, or too common to identify anything.


_SOURCE: Final = TOP / "app"
_ENDINGS: Final = frozenset({".py", ".sql"})
_NUMBER: Final = re.compile(
    r"[vr]?\d{1,12}(?:[kmgtp]?i?b|[kmgt]?hz|[kmgt]|[nmu\N{MICRO SIGN}]?s|min|h|d|x|st|nd|rd|th)?",
    re.IGNORECASE,
)
_DEVICE: Final = re.compile(
    r"(?:[shv]d[a-z]{1,3}|xvd[a-z]{1,2}|nvme\d+(?:c\d+)?(?:n\d+)?|md|dm|loop|zd|ram|zram|sr|mmcblk\d+|cpu|ttys?)\d{0,5}"
    r"(?:p\d{1,3})?",
    re.IGNORECASE,
)


@cache
def known_words() -> frozenset[str]:
    """Return the known words in lower case; empty, which hides all words, without the source."""
    found: set[str] = set()
    with suppress(OSError, UnicodeDecodeError):
        for path in _SOURCE.rglob("*"):
            if path.suffix in _ENDINGS:
                found.update(_WORD.findall(path.read_text(encoding="utf-8").casefold()))
    return frozenset(found)


def is_known(word: str) -> bool:
    """Return whether a word is known, a number with its unit, or a kernel device name."""
    return bool(word.casefold() in known_words() or _NUMBER.fullmatch(word) or _DEVICE.fullmatch(word))


# --- Removing names


_SECRET_KEYS: Final = re.compile(
    r"serial|wwn|wwid|uuid|guid|host_?name|machine_id|user|account|home", re.IGNORECASE
)
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_PATH_KEYS: Final = frozenset({"path", "given", "mount_point", "root"})
_MOUNT_KEYS: Final = frozenset({"source", "root", "mount_point"})
"""Keys of a mount whose values are names chosen by people: a volume, a dataset or a server's export."""
_HARMLESS: Final = frozenset({"", "/", "none", "root", "postgres", "pgfooting", "localhost", "tmpfs"})
_SHORTEST: Final = 4
"""Shorter words are hidden under their keys, but not searched for in sentences."""
_NAMED_DEVICE: Final = re.compile(r"/dev/(?!shm/)[\w.-]+/[^\s\"',;()]+")
"""/dev/disk/by-id/..., /dev/mapper/..., /dev/GROUP/VOLUME: named by their maker or owner."""
_EXPORT: Final = re.compile(r"(?<![\w/])[\w.\[\]:-]+:/[^\s\"',;()]+")
KEPT: Final = frozenset(
    {
        *("model", "model_name", "vendor", "vendor_id", "sys_vendor", "product_name", "bios_version"),
        *("microcode", "firmware", "revision", "architecture", "distribution", "release", "version"),
        *("vulnerabilities", "configure", "sha256"),
    }
)
"""Keys that describe hardware and software; collected names and folders are replaced in them as well."""

_LONGEST_KEPT: Final = 200
"""Longer texts do not count as names of hardware."""

_IDENTITY: Final = re.compile(r"[0-9a-f]{1,64}")
_COMMAND_LINE: Final = "command_line"
_WORD: Final = re.compile(r"[^\W_]+")
_ADDRESS: Final = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])|(?<![\w:])(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}(?![\w:])",
    re.IGNORECASE,
)
"""IPv4, IPv6 and MAC addresses."""

_PLAIN_OPTION: Final = frozenset(
    {
        *("ro", "rw", "quiet", "splash", "nosmt", "nokaslr", "noefi", "nomodeset", "debug"),
        *("nohlt", "mitigations", "isolcpus", "nohz", "nohz_full", "rcu_nocbs", "idle", "elevator"),
        *("transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz", "pcie_aspm"),
        *("iommu", "intel_iommu", "amd_iommu", "intel_pstate", "amd_pstate"),
        *("cpufreq.default_governor", "intel_idle.max_cstate", "processor.max_cstate"),
        *("nvme_core.io_timeout", "nvme.poll_queues", "scsi_mod.use_blk_mq"),
        *("systemd.unified_cgroup_hierarchy", "cgroup_enable", "cgroup_disable", "numa_balancing"),
        *("numa", "maxcpus", "nr_cpus", "mem", "tsc", "clocksource", "panic", "audit", "selinux"),
        *("apparmor", "security", "crashkernel", "preempt", "threadirqs", "skew_tick"),
        *("nowatchdog", "nmi_watchdog", "psi", "spectre_v2", "pti", "l1tf", "mds", "tsx"),
        *("retbleed", "zswap.enabled", "reboot", "rootfstype", "rootflags", "rootwait", "console"),
    }
)
_PLAIN_VALUE: Final = re.compile(
    r"on|off|auto|yes|no|y|n|always|madvise|never|full|none|nosmt|force|strict|soft|passive|active|disable|memory"
    r"|performance|powersave|schedutil|pt|tsc|hpet|voluntary|lazy|mq-deadline|bfq|kyber|noop|deadline|ext4|xfs"
    r"|btrfs|tty\w{0,4}(?:,\d{1,6}\w{0,3})?|\d[\d,.:-]{0,30}[kMGx]?"
)
"""Options of the kernel (Documentation/admin-guide/kernel-parameters.txt) and values without names."""

# System folders, the same on every machine, are kept.
_FOLDER: Final = re.compile(r"(?<![\w.:/])/(?!usr/|proc/|sys/|dev/|bin/|sbin/|lib)[^\s\"',:;()]+")


@dataclass(slots=True)
class Anonymizer:
    """Replaces names by neutral words, the same name always by the same word.

    Attributes:
        active: whether anything is replaced at all.
        names: words of this machine (host, user) that are replaced wherever they occur as a word.
    """

    active: bool
    names: tuple[str, ...] = ()
    _words: dict[str, str] = field(default_factory=dict)
    _learned: dict[str, str] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _sentences: dict[str, str] = field(default_factory=dict)

    @classmethod
    def none(cls) -> Self:
        """Return an anonymizer that changes nothing."""
        return cls(active=False)

    @classmethod
    def of_this_machine(cls) -> Self:
        """Return an anonymizer that knows this host's and user's names."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
        host = socket.gethostname()
        names = {host, host.partition(".")[0], user} - _HARMLESS
        return cls(active=True, names=tuple(sorted(names, key=len, reverse=True)))

    def learn(self, value: Json, key: str = "", *, kept: bool = False) -> None:
        """Collect the names in a JSON value, to replace them in this and other values."""
        kept = kept or key in KEPT
        if isinstance(value, Mapping):
            for name, item in value.items():
                self.learn(item, f"{key}.{name}" if key == "mount" else name, kept=kept)
        elif isinstance(value, list | tuple):
            for item in value:
                self.learn(item, key, kept=kept)
        elif isinstance(value, str):
            self._learn_text(value, key, kept=kept)

    def _learn_text(self, text: str, key: str, *, kept: bool) -> None:
        if kept and len(text) <= _LONGEST_KEPT:
            self._kept.update(_WORD.findall(_FOLDER.sub(" ", text).casefold()))
        if text not in _HARMLESS and len(text) >= _SHORTEST:
            kind = _kind_of(key)
            if kind and not (kind == "folder" and not _is_telling(text)):
                self._learned.setdefault(text, kind)
        self._sentences.clear()

    def _word(self, kind: str, value: str) -> str:
        return self._words.setdefault(value, f"{kind}-{len(self._words) + 1}")

    def text(self, text: str) -> str:
        """Replace folders, disk names, UUIDs and the names of host and user in a text."""
        if not self.active:
            return text
        for name in sorted(self._learned, key=len, reverse=True):
            if name in text:
                word = self._word(self._learned[name], name)
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", word, text)
        text = _NAMED_DEVICE.sub(lambda match: self._word("disk", match[0]), text)
        text = _EXPORT.sub(lambda match: self._word("export", match[0]), text)
        text = _FOLDER.sub(lambda match: self._word("folder", match[0]), text)
        text = _UUID.sub(lambda match: self._word("uuid", match[0]), text)
        for name in self.names:
            text = re.sub(rf"\b{re.escape(name)}\b", lambda match: self._word("name", match[0]), text)
        return text

    def sentence(self, text: str) -> str:
        """Anonymise a text: keep only known words and those of hardware and software."""
        if not self.active:
            return text
        replaced = self._sentences.get(text)
        if replaced is None:
            replaced = _ADDRESS.sub(lambda match: self._word("address", match[0]), self.text(text))
            replaced = self._sentences[text] = _WORD.sub(self._known_or_named, replaced)
        return replaced

    def _known_or_named(self, match: re.Match[str]) -> str:
        is_reported = match[0].casefold() in self._kept or is_known(match[0])
        return match[0] if is_reported else self._word("name", match[0])

    def identity(self, text: str) -> str:
        """Return a random number that identifies a run; treat any other text as a sentence."""
        return text if _IDENTITY.fullmatch(text) else self.sentence(text)

    def command_line(self, text: str) -> str:
        """Anonymise a kernel command line: keep common options with values that contain no names."""
        return " ".join(map(self._option, text.split())) if self.active else text

    def _option(self, word: str) -> str:
        name, _, value = word.partition("=")
        if name not in _PLAIN_OPTION:
            return self._word("hidden", word)
        if not value or _PLAIN_VALUE.fullmatch(value):
            return word
        return f"{name}={self._word('hidden', value)}"

    def json(self, value: Json, key: str = "", *, kept: bool = False) -> Json:
        """Return a JSON value of the same shape with anonymised texts; call `learn` with it before.

        Args:
            value: of any kind.
            key: its key.
            kept: it is part of the description of hardware or software.
        """
        if not self.active:
            return value
        kept = kept or key in KEPT
        if isinstance(value, Mapping):
            named = self.sentence if key == "dimensions" else self.text  # names of settings are foreign texts
            return {
                named(name): self.json(item, f"{key}.{name}" if key == "mount" else name, kept=kept)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.json(item, key, kept=kept) for item in value]
        return self._text_under(key, value, kept=kept) if isinstance(value, str) else value

    def _text_under(self, key: str, text: str, *, kept: bool) -> str:
        if text and _SECRET_KEYS.search(key):
            return self._word("hidden", text)
        if key == _COMMAND_LINE:
            return self.command_line(text)
        if key == "id":
            return self.identity(text)
        return self.text(text) if kept else self.sentence(text)


def _kind_of(key: str) -> str:
    """Return the kind of name under a key, empty for none."""
    mount, _, of_mount = key.partition(".")
    if mount == "mount" and of_mount:
        return "folder" if of_mount in _MOUNT_KEYS else ""
    if _SECRET_KEYS.search(key):
        return "hidden"
    return "folder" if key in _PATH_KEYS else ""


def _is_telling(path: str) -> bool:
    """Return whether a folder or device identifies the machine."""
    return (
        not path.startswith("/")
        or bool(_FOLDER.fullmatch(path) or _NAMED_DEVICE.fullmatch(path))
        or " " in path
    )

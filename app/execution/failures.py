"""What is told to people when a run fails."""

from __future__ import annotations

import logging
import re
from typing import Final

from app.domain.errors import FootingError, InternalError, PgbenchError, ServerError, TargetLostError
from app.domain.text import tr

KEPT: Final = tr("What was measured until then is kept.")

_RIGHTS: Final = re.compile(
    r"permission denied|must be (?:a )?superuser|must be owner|Only roles with", re.IGNORECASE
)
"""What the server says of a statement for which a role has no rights (13 to 18)."""

NO_ROOM: Final = (
    "No space left on device",
    "Na zařízení není volné místo",
    "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
    "No queda espacio en el dispositivo",
    "Aucun espace disponible sur le périphérique",
    "Tidak ruang lagi diperangkat",
    "Spazio esaurito sul device",
    "デバイスに空き領域がありません",
    "장치에 남은 공간이 없음",
    "Brak miejsca na urządzeniu",
    "Não há espaço disponível no dispositivo",
    "На устройстве не осталось свободного места",  # noqa: RUF001 - as glibc has it
    "Enheten är full",
    "Aygıt üzerinde boş yer yok",  # noqa: RUF001 - as glibc has it
    "Недостатньо місця на пристрої",
    "设备上没有空间",
    "裝置上已無多餘空間",
)
"""ENOSPC in words of glibc 2.36, in the languages that servers of 13 to 18 speak."""

SHORT_WRITE: Final = (
    "wrote only 0 of 0 bytes",
    "es wurden nur 0 von 0 Bytes bei Block 0 geschrieben",
    "sólo se escribieron 0 de 0 bytes en el bloque 0",
    "a écrit seulement 0 octets sur 0",
    "hanya menulis 0 dari 0 byte pada blok 0",
    "scritti soli 0 byte di 0 nel blocco 0",
    "0ブロックで0バイト中0バイト分のみを書き出しました",
    "0/0바이트만 0 블록에 썼음",
    "zapisano tylko 0 z 0 bajtów w bloku 0",
    "escritos somente 0 de 0 bytes no bloco 0",
    "(записано байт: 0 из 0) в блоке 0",
    "skrev bara 0 av 0 byte vid block 0",
    "записано лише 0 з 0 байт в блоку 0",
    "只能在块0上写0字节的0",
    "在块 0 处应写入 0 字节，实际仅写入 0 字节",  # noqa: RUF001 - as PostgreSQL has it
    "在區塊 0 處應寫入 0 位元組，實際僅寫入 0 位元組",  # noqa: RUF001 - as PostgreSQL has it
)
"""A block of which a part alone fits behind a relation (md.c, mdextend), each number as 0: so the catalogues
of 13, 15, 17 and 18 have it."""


def _whatever_the_encoding(words: str) -> str:
    """Return a pattern for words in which a server whose locale is C has a "?" for what is no ASCII."""
    if sum(map(str.isascii, words)) < len(words) / 2:
        return re.escape(words)
    return "".join(re.escape(letter) if letter.isascii() else ".{1,2}" for letter in words)


def _with_numbers(words: str) -> str:
    return r"\d+".join(map(_whatever_the_encoding, words.split("0")))


_WORDS: Final = "|".join([*map(_whatever_the_encoding, NO_ROOM), *map(_with_numbers, SHORT_WRITE)])
_FULL: Final = re.compile(
    rf"(?:\b(?:ERROR|FATAL|PANIC):\s+|(?:^|\s)[^\s:]+:  )"
    rf"(?P<text>.*(?:{_WORDS}).*)",
    re.MULTILINE,
)
"""ENOSPC, and what fits in before it, as the server tells its clients (md.c, fd.c, xlog.c of 13 to 18).
Behind its translated ERROR, FATAL or PANIC libpq puts two blanks (fe-protocol3.c, pqBuildErrorMessage3)."""

_log = logging.getLogger(__name__)


def footing_error(error: Exception) -> FootingError:
    """Return an error as one that is told to people."""
    if isinstance(error, FootingError):
        return error
    _log.debug("run failed", exc_info=error)
    return InternalError.of(error)


def failure_of_pgbench(code: int, reason: str, *, was_killed: bool) -> PgbenchError:
    """Return the error for a pgbench that did not end well.

    Args:
        code: its exit status, negative for a signal.
        reason: what it said, empty for nothing.
        was_killed: a signal came from somebody else.
    """
    if code < 0 and was_killed:
        message = tr("pgbench was ended by signal {number}, not by pgFooting.")
        return PgbenchError(message.format(number=-code), hint=KEPT)
    if not reason:
        reason = tr("it ended with status {code} and said nothing").format(code=code)
    return PgbenchError(tr("pgbench failed: {reason}").format(reason=reason), hint=_hint(reason))


def full_disk(stderr: str, told: str = "") -> TargetLostError | None:
    """Return the error for a server without room, where it said so to pgbench; None where it did not.

    Args:
        stderr: what pgbench printed. While loading the reason stands above its last line, which has none.
        told: why the server takes nothing more, as it was asked; empty where it was not, or takes more.
    """
    found = _FULL.search(stderr)
    reason = found["text"].strip() if found is not None else told
    if not reason:
        return None
    message = tr("The disk of the server is full: {reason}.")
    hint = tr("Make room there, or choose a smaller data set or a shorter run. {kept}")
    return TargetLostError(message.format(reason=reason), hint=hint.format(kept=KEPT))


def _hint(reason: str) -> str:
    if _RIGHTS.search(reason) is None:
        return KEPT
    sentence = tr(
        "pgbench's role is no superuser and owns only what it makes; a script gets a superuser where it says "
        "openly what needs one, and you agree. {kept}"
    )
    return sentence.format(kept=KEPT)


def crash_of_server(crash: str) -> ServerError:
    """Return the error for a server of which a process crashed; `crash` is its own line about that."""
    return ServerError(tr("A process of the server crashed: {crash}.").format(crash=crash), hint=KEPT)

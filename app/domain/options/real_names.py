"""What mount, mkfs, zpool and zfs call an option and its values: the words that a DBA knows. Pure.

Everything follows from how an option is spelled; only where a program is told of several options in one word,
the declaration says the name (`OptionSpec.word`).
"""

from __future__ import annotations

from typing import Final

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.option import OptionSpec, Stage
from app.domain.text import tr

_MOST_WORDS: Final = 3
"""Of the words of one option so many stand in its label; the others are in its list of values."""


def real_name(option: OptionSpec) -> str:
    """Return what the program that is told calls an option: ``recordsize``, ``nobarrier``, ``-E stride``.

    That of a switch is the word that does something: a mount that is told nothing has barriers, so it is
    ``nobarrier``.
    """
    if option.word:
        return option.word
    if isinstance(option.kind, Integer):
        return _with_flag(option, _name_of(option.spelling.template))
    usual = option.default
    values = [value for value in _values(option) if value != usual]
    if isinstance(option.kind, Toggle) and usual is None:
        values = [True]
    told = [token for value in values if (token := option.spelling.token(value)) is not None]
    if not told:  # the kernel knows a word only for what counts anyway
        told = list(filter(None, (option.spelling.token(value) for value in _values(option))))
    names = dict.fromkeys(map(_name_of, told))
    return _with_flag(option, ", ".join(list(names)[:_MOST_WORDS]))


def shown_name(option: OptionSpec) -> str:
    """Return the real name as it stands beside a tick: which of its two states the word means."""
    name = real_name(option)
    if isinstance(option.kind, Toggle) and option.default is True and option.stage is not Stage.SERVER:
        return tr("off: {word}").format(word=name) if _says_off(option) else name
    return name


def real_words(option: OptionSpec) -> tuple[str, ...]:
    """Return every word by which somebody may look for an option: its names, and all that it is told."""
    values = _values(option)
    tokens = (token for value in values if (token := option.spelling.token(value)))
    # Somebody who writes nodatacow in /etc/fstab looks for that, whatever the word beside the tick is.
    return tuple(dict.fromkeys((option.id, real_name(option), *tokens)))


def told_as(spec: FilesystemSpec, option: OptionSpec, value: OptionValue) -> str:
    """Return how the program is told a value: ``mount -o nobarrier``; empty where it is told nothing."""
    token = option.spelling.token(value)
    if token is None:
        return ""
    words = " ".join(filter(None, (option.flag, token)))
    if option.stage is Stage.ATTRIBUTE:
        return f"chattr {words}"
    before = {
        Stage.MKFS: spec.mkfs,
        Stage.MOUNT: "mount -o",
        Stage.POOL: "zpool create -o",
        Stage.DATASET: "zfs create -o",
        Stage.SERVER: "postgresql.conf:",
    }
    return f"{before[option.stage]} {words}"


def _values(option: OptionSpec) -> tuple[OptionValue, ...]:
    match option.kind:
        case Toggle():
            return (True, False)
        case Choice() as kind:
            return tuple(kind.ids)
        case Integer():
            return ()


def _says_off(option: OptionSpec) -> bool:
    """Whether the word means "off" by itself: ``nobarrier`` does, ``autotrim`` is a name."""
    off = option.spelling.token(False)  # noqa: FBT003 - the value of a switch
    return off is not None and "=" not in off


def _name_of(token: str) -> str:
    """Return the name of ``name=value``; of a value alone nothing, of a word the word."""
    name = token.partition("=")[0]
    return "" if name == "{value}" else name


def _with_flag(option: OptionSpec, name: str) -> str:
    if option.stage is Stage.ATTRIBUTE:
        return f"chattr {name}"
    return " ".join(filter(None, (option.flag, name)))

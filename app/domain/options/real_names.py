"""Names of options and values in mount, mkfs, zpool and zfs, which a DBA knows. Pure.

Derived from an option's spelling; the declaration only gives a name (`OptionSpec.word`) if one argument
contains several options.
"""

from __future__ import annotations

from typing import Final

from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.option import Stage
from app.domain.options.option_spec import OptionSpec
from app.domain.text import tr

_MOST_WORDS: Final = 3
"""Maximum number of an option's words in its label; the others are in its list of values."""


def real_name(option: OptionSpec) -> str:
    """Return the program's name for an option: ``recordsize``, ``nobarrier``, ``-E stride``.

    For a switch it is the word with an effect: a mount without arguments has barriers, so it is
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
    tokens = [token for value in values if (token := option.spelling.token(value)) is not None]
    if not tokens:  # the kernel only has a word for the default
        tokens = list(filter(None, (option.spelling.token(value) for value in _values(option))))
    names = dict.fromkeys(map(_name_of, tokens))
    return _with_flag(option, ", ".join(list(names)[:_MOST_WORDS]))


def shown_name(option: OptionSpec) -> str:
    """Return the real name for a check box: which of its two states the word means."""
    name = real_name(option)
    if isinstance(option.kind, Toggle) and option.default is True and option.stage is not Stage.SERVER:
        return tr("off: {word}").format(word=name) if _means_off(option) else name
    return name


def real_words(option: OptionSpec) -> tuple[str, ...]:
    """Return every word that users may search for an option: its names and arguments."""
    values = _values(option)
    tokens = (token for value in values if (token := option.spelling.token(value)))
    # A user who writes nodatacow in /etc/fstab searches for that, not for the word next to the check box.
    return tuple(dict.fromkeys((option.id, real_name(option), *tokens)))


def spelled_as(spec: FilesystemSpec, option: OptionSpec, value: OptionValue) -> str:
    """Return how a value is passed to the program: ``mount -o nobarrier``; empty without an argument."""
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


def _means_off(option: OptionSpec) -> bool:
    """Return whether the word means "off" by itself: ``nobarrier`` does, ``autotrim`` is a name."""
    off = option.spelling.token(False)  # noqa: FBT003 - the value of a switch
    return off is not None and "=" not in off


def _name_of(token: str) -> str:
    """Return the name in ``name=value``; empty for a value alone, the word itself for a word."""
    name = token.partition("=")[0]
    return "" if name == "{value}" else name


def _with_flag(option: OptionSpec, name: str) -> str:
    if option.stage is Stage.ATTRIBUTE:
        return f"chattr {name}"
    return " ".join(filter(None, (option.flag, name)))

"""Names of our commands for this installation: packaging/run, a package or a wheel.

Sentences name them as ``pgfooting COMMAND``, ``packaging/run`` and ``sudo packaging/helper``; `name_commands`
replaces these by commands that work here.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from app import COMMAND, TOP

CALLED_VARIABLE: Final = "PGFOOTING_COMMAND"
"""The command line name used for packaging/run or the installed command."""

PACKAGED: Final = Path("/usr/share/pgfooting")
"""Folder of the program in the package (packaging/deb)."""

SPOKEN: Final = re.compile(rf"(?<![\w./-]){COMMAND}(?= (?:--)?(?P<word>[a-z]+))")
"""The command in a sentence, with the command or option that follows it."""

PIPX_MARK: Final = "pipx_metadata.json"
"""File that pipx leaves in each of its environments."""

_INSTALL: Final = "sudo packaging/helper install"
_STATUS: Final = "sudo packaging/helper status"


def called(environment: Mapping[str, str]) -> str:
    """Return the command as the user has to type it in a shell."""
    name = environment.get(CALLED_VARIABLE, "")
    # Sentences get their values afterwards, so that braces would be taken for places of values.
    return shlex.quote(name) if name.isprintable() and not {"{", "}"} & set(name) and name else COMMAND


@cache
def wheel_installer(prefix: str = sys.prefix) -> str:
    """Return the command that installs the window's dependencies, with pip or pipx as for the program.

    Args:
        prefix: the environment that it runs in.
    """
    # Every start imports this module, and only a wheel without its window asks.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        required = distribution(COMMAND).requires or ()
    except PackageNotFoundError:
        required = ()
    wanted = [each.partition(";")[0].strip() for each in required if 'extra == "window"' in each]
    by_pipx = Path(prefix, PIPX_MARK).exists()
    # Sentences get their values afterwards, see `called`.
    python = "python3" if {"{", "}"} & set(sys.executable) else sys.executable
    command = ["pipx", "inject", COMMAND] if by_pipx else [python, "-m", "pip", "install"]
    return shlex.join([*command, *wanted])


def name_commands(environment: Mapping[str, str], top: Path = TOP) -> Callable[[str], str]:
    """Return a function that puts the commands of this installation into sentences.

    Args:
        environment: of this process.
        top: the folder of the program.
    """
    name = called(environment)
    helper = {
        _INSTALL: "sudo apt-get install pgfooting-helper",
        _STATUS: "systemctl status pgfooting-helper",
    }
    # A wheel has no root part and does not say how it was started: root's part comes as a package.
    is_wheel = not environment.get(CALLED_VARIABLE) and not (top / "packaging" / "helper").exists()
    if top == PACKAGED:
        helper["packaging/run"] = "apt-get install pgfooting"
    elif is_wheel:
        pass
    elif not environment.get(CALLED_VARIABLE) or {"{", "}"} & set(environment[CALLED_VARIABLE] + str(top)):
        return lambda sentence: sentence
    else:
        command = environment[CALLED_VARIABLE]
        folder = Path(command).parent if "/" in command else top / "packaging"
        script, run = shlex.quote(str(folder / "helper")), shlex.quote(str(folder / "run"))
        helper = {_INSTALL: f"sudo {script} install", _STATUS: f"sudo {script} status", "packaging/run": run}

    def with_names(sentence: str) -> str:
        if COMMAND not in sentence and "packaging/" not in sentence:
            return sentence
        for spoken, works in helper.items():
            sentence = sentence.replace(spoken, works)
        if is_wheel and "packaging/run" in sentence:
            sentence = sentence.replace("packaging/run", wheel_installer())
        return SPOKEN.sub(lambda _: name, sentence)

    return with_names

"""What commands are called where this program was started: by packaging/run, installed, as package or wheel.

Sentences name them as ``pgfooting COMMAND``, ``packaging/run`` and ``sudo packaging/helper``; `name_commands`
says instead what can be typed where they are read.
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
"""How packaging/run, or the command that it installed, was called."""

PACKAGED: Final = Path("/usr/share/pgfooting")
"""Where the package has the program (packaging/deb)."""

SPOKEN: Final = re.compile(rf"(?<![\w./-]){COMMAND}(?= (?:--)?(?P<word>[a-z]+))")
"""The command in a sentence, with the command or option that follows it."""

PIPX_MARK: Final = "pipx_metadata.json"
"""What pipx leaves in each environment that it made."""

_INSTALL: Final = "sudo packaging/helper install"
_STATUS: Final = "sudo packaging/helper status"


def called(environment: Mapping[str, str]) -> str:
    """Return what is to be typed for the command, as a shell takes it."""
    told = environment.get(CALLED_VARIABLE, "")
    # Sentences get their values afterwards, so that braces would be taken for places of values.
    return shlex.quote(told) if told.isprintable() and not {"{", "}"} & set(told) and told else COMMAND


@cache
def wheel_installer(prefix: str = sys.prefix) -> str:
    """Return the command that adds what the window needs to where pip or pipx put the program in place.

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
    """Return what makes sentences say the commands that work here.

    Args:
        environment: of this process.
        top: the folder that holds the program.
    """
    name = called(environment)
    helper = {
        _INSTALL: "sudo apt-get install pgfooting-helper",
        _STATUS: "systemctl status pgfooting-helper",
    }
    # A wheel has nothing for root, and nobody says how it was started: root's part comes as a package.
    is_wheel = not environment.get(CALLED_VARIABLE) and not (top / "packaging" / "helper").exists()
    if top == PACKAGED:
        helper["packaging/run"] = "apt-get install pgfooting"
    elif is_wheel:
        pass
    elif not environment.get(CALLED_VARIABLE) or {"{", "}"} & set(environment[CALLED_VARIABLE] + str(top)):
        return lambda sentence: sentence
    else:
        told = environment[CALLED_VARIABLE]
        folder = Path(told).parent if "/" in told else top / "packaging"
        script, run = shlex.quote(str(folder / "helper")), shlex.quote(str(folder / "run"))
        helper = {_INSTALL: f"sudo {script} install", _STATUS: f"sudo {script} status", "packaging/run": run}

    def say(sentence: str) -> str:
        if COMMAND not in sentence and "packaging/" not in sentence:
            return sentence
        for spoken, works in helper.items():
            sentence = sentence.replace(spoken, works)
        if is_wheel and "packaging/run" in sentence:
            sentence = sentence.replace("packaging/run", wheel_installer())
        return SPOKEN.sub(lambda _: name, sentence)

    return say

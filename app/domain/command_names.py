"""What commands are called where this program was started: by packaging/run, as installed, or as a package.

Sentences name them as ``pgfooting COMMAND``, ``packaging/run`` and ``sudo packaging/helper``; `name_commands`
says instead what can be typed where they are read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app import COMMAND, TOP

CALLED_VARIABLE: Final = "PGFOOTING_COMMAND"
"""How packaging/run, or the command that it installed, was called."""

PACKAGED: Final = Path("/usr/share/pgfooting")
"""Where the package has the program (packaging/deb)."""

SPOKEN: Final = re.compile(rf"(?<![\w./-]){COMMAND}(?= (?:--)?(?P<word>[a-z]+))")
"""The command in a sentence, with the command or option that follows it."""

_INSTALL: Final = "sudo packaging/helper install"
_STATUS: Final = "sudo packaging/helper status"


def called(environment: Mapping[str, str]) -> str:
    """Return what is to be typed for the command, as a shell takes it."""
    told = environment.get(CALLED_VARIABLE, "")
    # Sentences get their values afterwards, so that braces would be taken for places of values.
    return shlex.quote(told) if told.isprintable() and not {"{", "}"} & set(told) and told else COMMAND


def name_commands(environment: Mapping[str, str], top: Path = TOP) -> Callable[[str], str]:
    """Return what makes sentences say the commands that work here.

    Args:
        environment: of this process.
        top: the folder that holds the program.
    """
    name = called(environment)
    if top == PACKAGED:
        helper = {
            _INSTALL: "sudo apt-get install pgfooting-helper",
            _STATUS: "systemctl status pgfooting-helper",
        }
        helper["packaging/run"] = "apt-get install pgfooting"
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
        return SPOKEN.sub(lambda _: name, sentence)

    return say

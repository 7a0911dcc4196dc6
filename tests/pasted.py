"""What a person pastes, executed: in every shell there is, with programs out of reach.

Payloads use nothing but builtins: the only command that could do anything is one that a text smuggled in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

MARK: Final = "PWN"
_DO: Final = f"echo>{MARK}"
PAYLOADS: Final = (
    f"$({_DO})",
    f"`{_DO}`",
    f"; {_DO} ;#",
    f"&& {_DO}",
    f"| {_DO}",
    f"> {MARK}",
    f"<({_DO})",
    f"'; {_DO} ;'",
    f'"; {_DO} ;"$({_DO})',
    f"x\n{_DO}\n",
    f"x\r{_DO}\r",
    f"x\u2028{_DO}",
    f"x\\\n{_DO}",
    f"\\'; {_DO} ;'\\",
    f"x\x1b[2J'; {_DO} ;'",
    f"x\n'; {_DO} ;'\\",
    f"*(e:'{_DO}':)",
    f"${{x:=$({_DO})}}",
    f"$[$({_DO})]",
    f"~; {_DO}",
    f"!!; {_DO}",
    f"=x; {_DO}",
    f"--x=$({_DO})",
    "it's",
    'a "word',
    "tail\\",
)
SHELLS: Final = (
    ("sh",),
    ("bash",),
    ("bash", "--norc", "-i", "+O", "interactive_comments"),
    ("zsh", "-f"),
    ("zsh", "-f", "-i"),
)
"""The last bash and zsh on a terminal take no comments."""


def shells() -> Iterator[tuple[str, ...]]:
    """Yield the command of each shell that is installed."""
    for shell in SHELLS:
        found = shutil.which(shell[0])
        if found is not None:
            yield (found, *shell[1:])


def paste(lines: Sequence[str], folder: Path) -> list[str]:
    """Paste lines into each shell and return those of them that executed a payload."""
    empty = folder / "no-programs"
    empty.mkdir(exist_ok=True)
    guilty = []
    for shell in shells():
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        subprocess.run(
            shell,
            input=os.fsencode("\n".join(lines) + "\n"),
            cwd=work,
            env={"PATH": str(empty), "HOME": str(empty), "HISTFILE": "", "TERM": "dumb", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            timeout=60,
            check=False,
            start_new_session=True,
        )
        if (work / MARK).exists():
            guilty.append(" ".join(shell))
    return guilty

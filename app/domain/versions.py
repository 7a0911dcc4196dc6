"""Versions of the kernel and of programs, and requirements of options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NewType

Version = tuple[int, ...]
"""Numbers of a version, such as (6, 18, 44); compared number by number."""

_NUMBERS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,5}", re.ASCII)


Component = NewType("Component", str)
"""Name of a component with a version that options depend on, as upstream calls it. Those of a filesystem are
in its own file.
"""

KERNEL: Final = Component("Linux")
MDADM_VERSION: Final = Component("mdadm")

Versions = Mapping[Component, Version]
"""Installed versions; a missing component is unknown."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A version of a component that begins or ends something.

    Attributes:
        component: the component.
        version: the first one that has it (since), or no longer has it (removed).
    """

    component: Component
    version: Version

    def is_reached(self, versions: Versions) -> bool | None:
        """Return whether the installed version is this one or newer; None if unknown."""
        installed = versions.get(self.component)
        return None if installed is None else installed >= self.version

    @property
    def words(self) -> str:
        """Return it for people, such as ``Linux 5.6``."""
        return f"{self.component} {format_version(self.version)}"


def parse_version(text: str) -> Version | None:
    """Return the first dotted number of a text such as ``6.1.0-56-amd64`` or ``zfs-2.1.11-1``, or None."""
    match = _NUMBERS.search(text)
    return None if match is None else tuple(int(number) for number in match[0].split("."))


def format_version(version: Version) -> str:
    """Return ``6.18.44`` for (6, 18, 44)."""
    return ".".join(map(str, version))

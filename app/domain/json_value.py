"""The type of a value that JSON can express."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

"""Limit how much one user may ask for at a time, so that others still get answers."""

from __future__ import annotations

from collections.abc import Iterable

ROOT = 0


def has_room(taken: Iterable[int], user: int, *, each: int, together: int) -> bool:
    """Return whether a user may have one more place.

    Args:
        taken: the uid of each taken place.
        user: uid that asks for another place.
        each: places of a user other than root.
        together: places of all users except root; root has as many of its own.
    """
    users = list(taken)
    if user == ROOT:
        return users.count(ROOT) < together
    return users.count(user) < each and len(users) - users.count(ROOT) < together

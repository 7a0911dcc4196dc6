"""How much one user may ask for at a time, so that nobody's questions keep another from an answer."""

from __future__ import annotations

from collections.abc import Iterable

ROOT = 0


def has_room(taken: Iterable[int], user: int, *, each: int, together: int) -> bool:
    """Whether a user may have one more place.

    Args:
        taken: whose places are taken, a uid for each.
        user: uid of the one who wants another.
        each: places of a user who is not root.
        together: places of all users but root together; root has as many of its own, which nobody else takes.
    """
    users = list(taken)
    if user == ROOT:
        return users.count(ROOT) < together
    return users.count(user) < each and len(users) - users.count(ROOT) < together

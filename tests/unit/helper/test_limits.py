"""Places for questions, calls and plans: of each user, of all, and of root."""

from __future__ import annotations

import pytest

from app.dbus.service import has_room


@pytest.mark.parametrize(
    ("taken", "user", "room"),
    [
        ([], 7, True),
        ([7], 7, True),
        ([7, 7], 7, False),
        ([7, 7], 8, True),
        ([7, 7, 8], 8, True),
        ([7, 7, 8, 8], 9, False),
        ([7, 7, 8, 8], 0, True),
        ([0, 0, 0, 0], 0, False),
        ([0, 0, 0, 0], 7, True),
        ([0, 0, 0], 0, True),
    ],
)
def test_places_reserved_for_others_and_root(taken: list[int], user: int, room: bool) -> None:  # noqa: FBT001
    assert has_room(taken, user, each=2, together=4) is room

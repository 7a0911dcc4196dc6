"""The runner of tests/disks/matrix: what it chooses, counts and keeps; no disk is touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from tests.disks.matrix.__main__ import (
    Results,
    beside_daemons,
    combinations,
    covering,
    summary,
)
from tests.disks.matrix.kinds import kinds
from tests.disks.matrix.moments import ALIVE, Counts, moments
from tests.disks.matrix.stage import NO_NEED, Given
from tests.disks.matrix.trial import BTRFS, LAYOUTS, MIRROR, OF_ROLES, Layout, Outcome

EMPTY = Given.DEAD | Given.PLACE
LEFT = Given.MADE | Given.DEAD
WRITES = (*[EMPTY] * 5, *[EMPTY | Given.TABLE] * 3, *[LEFT] * 8, *[EMPTY] * 4)
MOMENTS = moments(Counts(making=12, writes=WRITES, steps=dict.fromkeys(range(1, 10), LEFT)))
TIMES = dict.fromkeys(LAYOUTS, MOMENTS)
ALL = combinations(TIMES)
COVERING = covering(TIMES)


def test_names_of_combinations_are_unique() -> None:
    assert len({each.name for each in ALL}) == len(ALL)


def test_matrix_covers_groups_and_size() -> None:
    groups = {each.group for each in kinds()}
    assert groups == {"nothing", "formats", "raw", "tables", "disks", "failing", "used", "processes"}
    assert len(kinds()) >= 25


def test_helper_killed_at_journal_and_steps() -> None:
    titles = [each.title for each in MOMENTS]
    assert sum(title.startswith("killed before write") for title in titles) == 20
    assert sum(title.startswith("killed after write") for title in titles) == 20
    assert sum(title.startswith("killed at step") for title in titles) == 9


def test_combinations_have_their_needs() -> None:
    assert all(each.can_happen for each in (*ALL, *COVERING))
    assert not any(each.kind.needs and each.moment.given == NO_NEED for each in ALL)
    assert any(each.kind.needs == Given.TABLE and each.moment.given == EMPTY | Given.TABLE for each in ALL)


def test_whole_of_the_first_layout() -> None:
    first = {(each.kind, each.moment) for each in ALL if each.layout is LAYOUTS[0]}
    wanted = {(kind, moment) for kind in kinds() for moment in MOMENTS if kind.needs in moment.given}
    assert first == wanted


@pytest.mark.parametrize("layout", LAYOUTS[1:], ids=lambda layout: layout.title)
def test_whole_of_a_further_layout(layout: Layout) -> None:
    found = [each for each in ALL if each.layout is layout]
    assert {each.moment for each in found} == set(MOMENTS)
    assert {each.kind for each in found} >= {each for each in kinds() if Given.NEIGHBOUR not in each.needs}
    assert len(found) < 2 * len(kinds())


def test_covering_part() -> None:
    assert {each.kind for each in COVERING} >= {each for each in kinds() if Given.NEIGHBOUR not in each.needs}
    assert {each.moment for each in COVERING if each.layout is LAYOUTS[0]} == set(MOMENTS)
    assert {each.layout for each in COVERING} == set(LAYOUTS)
    assert len(set(COVERING)) == len(COVERING) < 190
    assert covering(TIMES) == COVERING


def test_failing_kinds_unique() -> None:
    failing = [each.kind for each in COVERING if each.kind.group == "failing"]
    assert len(failing) == len(set(failing))


def test_part_beside_daemons() -> None:
    chosen = beside_daemons(LAYOUTS[0])
    others = [each for each in kinds() if each.group != "formats" and Given.NEIGHBOUR not in each.needs]
    assert {each.kind for each in chosen} == set(others)
    assert {each.moment for each in chosen} == set(ALIVE)
    assert set(chosen) <= set(COVERING)


def test_deaths_of_two_disks() -> None:
    two = [each.moment.title for each in COVERING if each.layout in {BTRFS, MIRROR}]
    assert len(set(two)) == len(two)
    writes = [word for title in two for word in re.findall(r"^killed \w+ write (\d+)", title)]
    assert sorted(writes, key=int) == [str(number) for number in range(1, len(WRITES) + 1)]
    assert {each.title for each in ALIVE} < set(two)


def test_matrix_covers_disk_roles() -> None:
    assert {each.role for each in LAYOUTS} == {Role.DATA, *FURTHER_ROLES}
    assert {each.role for each in OF_ROLES} == set(FURTHER_ROLES)


@pytest.mark.parametrize("layout", OF_ROLES, ids=lambda layout: layout.title)
def test_deaths_of_a_role(layout: Layout) -> None:
    times = {each.moment for each in COVERING if each.layout is layout}
    assert 2 < len(times & set(ALIVE)) < len(ALIVE)
    assert any("step" in each.title or "write" in each.title for each in times - set(ALIVE))
    assert len(times) <= 7


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "new" / "results")
    assert results.known() == {}
    outcome = Outcome(("it is not told",), seconds=1.5, said="words", cleaned=True)
    results.add("one", outcome)
    results.add("two", Outcome((), applies=False))
    assert Results(results.file).known() == {"one": outcome, "two": Outcome((), applies=False)}


def test_summary_names_failures_and_unreachable() -> None:
    played = {ALL[0]: Outcome(()), ALL[1]: Outcome(("it is not told",)), ALL[2]: Outcome((), applies=False)}
    text = summary(played, 4)
    assert f"RED  {ALL[1].name}\n     it is not told" in text
    assert "2 combinations ran" in text
    assert "1 green, 1 red; 1 cannot happen; 1 not played yet" in text

"""The runner of tests/disks/matrix: what it chooses, counts and keeps; no disk is touched."""

from __future__ import annotations

from pathlib import Path

from app.domain.storage_plan.plan import FURTHER_ROLES, Role
from tests.disks.matrix.__main__ import Combination, Results, beside_daemons, covering, summary
from tests.disks.matrix.kinds import kinds
from tests.disks.matrix.moments import ALIVE, Counts, moments
from tests.disks.matrix.trial import BTRFS, LAYOUTS, MIRROR, OF_ROLES, Outcome

MOMENTS = moments(Counts(making=12, writes=20, steps=tuple(range(1, 10))))
ALL = [Combination(layout, kind, moment) for layout in LAYOUTS for moment in MOMENTS for kind in kinds()]


def test_names_of_combinations_are_unique() -> None:
    assert len({each.name for each in ALL}) == len(ALL)


def test_there_are_kinds_of_every_group_and_at_least_twenty_five() -> None:
    groups = {each.group for each in kinds()}
    assert groups == {"nothing", "formats", "raw", "tables", "disks", "failing", "used", "processes"}
    assert len(kinds()) >= 25


def test_a_helper_is_killed_around_each_write_of_its_journal_and_at_each_step() -> None:
    titles = [each.title for each in MOMENTS]
    assert sum(title.startswith("killed before write") for title in titles) == 20
    assert sum(title.startswith("killed after write") for title in titles) == 20
    assert sum(title.startswith("killed at step") for title in titles) == 9


def test_the_covering_part_has_every_kind_and_every_moment_and_is_small() -> None:
    chosen = covering(ALL)
    assert {each.kind.title for each in chosen} == {each.title for each in kinds()}
    assert {each.moment.title for each in chosen} == {each.title for each in MOMENTS}
    assert {each.layout for each in chosen} == set(LAYOUTS)
    assert len(chosen) < len(ALL) / 10
    assert chosen == covering(ALL)


def test_part_beside_daemons() -> None:
    chosen = beside_daemons(covering(ALL))
    assert {each.kind for each in chosen} == {each for each in kinds() if each.group != "formats"}
    assert {each.moment for each in chosen} == set(ALIVE)


def test_moments_of_two_disks_once() -> None:
    two = [each for each in covering(ALL) if each.layout in {BTRFS, MIRROR}]
    assert len({each.moment.title for each in two}) == len(two) == len(MOMENTS)


def test_every_role_that_has_disks_of_its_own_is_in_the_matrix() -> None:
    assert {each.role for each in LAYOUTS} == {Role.DATA, *FURTHER_ROLES}
    assert {each.role for each in OF_ROLES} == set(FURTHER_ROLES)


def test_the_covering_part_has_deaths_and_other_kinds_for_each_role_and_few_of_them() -> None:
    chosen = [each for each in covering(ALL) if each.layout in OF_ROLES]
    for layout in OF_ROLES:
        times = {each.moment.title for each in chosen if each.layout == layout}
        assert times > {each.title for each in ALIVE}
        deaths = times - {each.title for each in ALIVE}
        assert any("step" in time or "write" in time for time in deaths)
    assert len({each.kind.title for each in chosen}) == len(chosen), "none twice while there are others"
    assert len(chosen) <= 13 * len(OF_ROLES)


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    results = Results(tmp_path / "new" / "results")
    assert results.known() == {}
    outcome = Outcome(("it is not told",), seconds=1.5, said="words", cleaned=True)
    results.add("one", outcome)
    results.add("two", Outcome((), applies=False))
    assert Results(results.file).known() == {"one": outcome, "two": Outcome((), applies=False)}


def test_a_summary_names_what_is_red_and_counts_what_cannot_happen_apart() -> None:
    played = {ALL[0]: Outcome(()), ALL[1]: Outcome(("it is not told",)), ALL[2]: Outcome((), applies=False)}
    text = summary(played, 4)
    assert f"RED  {ALL[1].name}\n     it is not told" in text
    assert "2 combinations ran" in text
    assert "1 green, 1 red; 1 cannot happen; 1 not played yet" in text

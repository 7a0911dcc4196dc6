"""How long a session lives, and how often something may be done."""

from __future__ import annotations

from app.helper.session.session import LIFETIME_S, WARNING_S, Lifetime, LifetimeAction, RateLimit


def test_owner_warned_one_hour_before_end() -> None:
    lifetime = Lifetime(100.0)
    assert (LIFETIME_S, WARNING_S) == (12 * 3600, 3600)
    assert lifetime.due(100.0) is LifetimeAction.NOTHING
    assert lifetime.due(100.0 + 11 * 3600 - 1) is LifetimeAction.NOTHING
    assert lifetime.due(100.0 + 11 * 3600) is LifetimeAction.WARN
    assert lifetime.left_s(100.0 + 11 * 3600) == 3600
    assert lifetime.due(100.0 + 11 * 3600 + 1) is LifetimeAction.NOTHING
    assert lifetime.due(100.0 + 12 * 3600) is LifetimeAction.END


def test_renewed_session_is_warned_again() -> None:
    lifetime = Lifetime(0.0)
    assert lifetime.due(11.5 * 3600) is LifetimeAction.WARN
    lifetime.renew(11.6 * 3600)
    assert lifetime.due(12.5 * 3600) is LifetimeAction.NOTHING
    assert lifetime.due(22.6 * 3600) is LifetimeAction.WARN
    assert lifetime.due(23.6 * 3600) is LifetimeAction.END


def test_paced_action_waits_its_interval() -> None:
    pace = RateLimit(10.0)
    assert pace.wait_s(5.0) == 0
    pace.done_s = 5.0
    assert pace.wait_s(6.0) == 9
    assert pace.wait_s(14.5) == 0.5
    assert pace.wait_s(15.0) == 0

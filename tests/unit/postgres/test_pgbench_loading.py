"""What loading took, as pgbench of 13 to 19 tells it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.pgbench.summary import LoadTimes, load_steps, load_times
from tests.unit.postgres.recordings import Recording, recordings

STEPS = ("drop tables", "create tables", "client-side generate", "vacuum", "primary keys")
DONE = "done in 1.62 s (drop tables 0.18 s, create tables 0.02 s, client-side generate 0.83 s, vacuum 0.31 s,"


@pytest.mark.parametrize("run", recordings("init", "init_quiet"), ids=str)
def test_every_version_reports_steps(run: Recording) -> None:
    found = load_steps(run.errors)
    assert tuple(found) == STEPS
    whole = float(run.errors.split("done in ")[1].split(" s")[0])
    assert sum(found.values()) == pytest.approx(whole, abs=0.005 * (len(STEPS) + 1))
    times = load_times([(run.errors, 99.0)])
    assert times == LoadTimes(found["client-side generate"], found["vacuum"], found["primary keys"])


def test_script_rows_last_as_long_as_run() -> None:
    programs = [
        ("dropping old tables...\ndone in 0.02 s (drop tables 0.01 s, create tables 0.01 s).\n", 0.1),
        ("", 7.25),
        ("vacuuming...\ndone in 0.60 s (vacuum 0.20 s, primary keys 0.40 s).\n", 0.7),
    ]
    assert load_times(programs) == LoadTimes(7.25, 0.2, 0.4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "creating tables...",
        "done.",
        DONE,
        f"NOTICE: {DONE} primary keys 0.29 s).",
        "done in 1 s (vacuum 1 s).",
        "done in 1.00 s (vacuum 1.0e9 s).",
        "done in 1.00 s (vacuum -1.00 s).",
    ],
)
def test_what_is_no_such_line_tells_nothing(text: str) -> None:
    assert load_steps(text) == {}


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    assert all(seconds >= 0 for seconds in load_steps(f"done in 1.00 s ({text}).").values())
    assert load_times([]) == LoadTimes()

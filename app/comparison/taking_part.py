"""Which runs take part in a comparison: complete ones with TPS, each once. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.analysis.facts import RunFacts
from app.analysis.labels import one_line, state_words
from app.domain.text import tr
from app.runfile.writer import RunState


def why_left_out(runs: Sequence[RunFacts]) -> list[str]:
    """Return of each run why it takes no part, a clause; empty where it does."""
    seen: dict[str, str] = {}
    reasons = []
    for run in runs:
        tps = run.summary.get("tps")
        if run.id and run.id in seen:
            reason = tr("it is the same run as {name}").format(name=seen[run.id])
        elif run.state != RunState.DONE:
            reason = tr("it is {state}").format(state=state_words(run.state))
        elif tps is None or not math.isfinite(tps) or tps < 0:
            reason = tr("it has no TPS")
        else:
            reason = ""
        if run.id:
            seen.setdefault(run.id, one_line(run.name))
        reasons.append(reason)
    return reasons

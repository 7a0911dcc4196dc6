"""What a gate found as plain JSON values, for scripts; the keys are promised and documented here.

``worse_by`` the limit, a share; ``verdict`` one of `GateVerdict`, of all; ``configurations`` each with
``name``, ``verdict``, ``ratio`` (new by base), ``low`` and ``high`` (one-sided 95 % bounds, null where
there are too few campaigns), ``campaigns`` and ``runs`` (of the base and of the new side), ``spreads``
(between campaigns, shares, null for one campaign), ``more`` (campaigns of each side that would tell, null for
more than a hundred), ``disturbed`` (how many runs others disturbed, or may have; empty for none), ``changed``
and ``varied`` (``topic``, ``name`` and ``values``); ``left_out`` sentences.
"""

from __future__ import annotations

from typing import Final

from app.comparison.differences import PropertyDifference
from app.comparison.overall.gate import GatedConfiguration, UpgradeGate
from app.runfile.writer import Json

VERSION: Final = 1


def gate_as_json(gate: UpgradeGate) -> dict[str, Json]:
    """Return everything that a gate found."""
    return {
        "version": VERSION,
        "worse_by": gate.worse_by,
        "verdict": gate.verdict.value,
        "configurations": [_configuration(each) for each in gate.configurations],
        "left_out": list(gate.left_out),
    }


def _configuration(each: GatedConfiguration) -> dict[str, Json]:
    estimate = each.estimate
    return {
        "name": each.name,
        "verdict": estimate.verdict.value,
        "ratio": estimate.ratio,
        "low": estimate.low,
        "high": estimate.high,
        "campaigns": list(estimate.campaigns),
        "runs": list(each.runs),
        "spreads": list(estimate.spreads),
        "more": estimate.more,
        "disturbed": each.weak,
        "changed": [_difference(item) for item in each.changed],
        "varied": [_difference(item) for item in each.varied],
    }


def _difference(item: PropertyDifference) -> dict[str, Json]:
    return {"topic": item.topic, "name": item.name, "values": [each.value for each in item.variants]}

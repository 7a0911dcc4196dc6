"""What Describe works out for whoever asks has an end, however much is wrong with what was sent."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.dbus.helper_client import _reasons
from app.dbus.helper_errors import PlanRefusedError
from app.dbus.service import MethodError
from app.domain.storage_plan.reader import MOST_OPTIONS, MOST_PLANS, PlanError, plan_from_wire
from app.helper import service
from app.storage.spare.spare import SpareDisks

DISK = ("S1", "", "M", 1 << 40, "8:0", 1)


def wire(options: int) -> tuple[Any, ...]:
    names = {f"no{number}": True for number in range(options)}
    return ([DISK], "single", "ext4", names, 0, 0, "", "", "", -1), [], []


def test_too_many_options_are_one_problem() -> None:
    with pytest.raises(PlanError) as refused:
        plan_from_wire(*wire(MOST_OPTIONS + 1))
    assert [problem.path for problem in refused.value.problems] == ["data.options"]
    with pytest.raises(PlanError) as refused:
        plan_from_wire(*wire(MOST_OPTIONS))
    assert len(refused.value.problems) == MOST_OPTIONS


def test_bad_plan_fields_and_their_reasons() -> None:
    broken = wire(3)
    call: Any = SimpleNamespace(arguments=([broken, broken],), sender=":1.7")
    with pytest.raises(MethodError) as refused:
        service.described(call, 1000, SpareDisks())
    lines = PlanRefusedError(refused.value.text.splitlines())
    assert len(lines.fields) == 6
    for line in lines.fields:
        assert re.fullmatch(r"plans\[[01]\]\.[a-z0-9_.\[\]]+", line), "root says no sentence"
    with pytest.raises(PlanError) as own:
        plan_from_wire(*broken)
    for each in own.value.problems:
        assert f"plans[1].{each.path}" in lines.fields
    plan = plan_from_wire(*wire(0))
    bad = replace(plan, data=replace(plan.data, options=(("no0", True), ("no1", True), ("no2", True))))
    answer = PlanRefusedError(lines.fields, _reasons([plan, bad])).message.splitlines()
    for line, field in zip(answer[4:7], lines.fields[3:], strict=True):
        assert line.startswith(f"  {field}: ")
        assert len(line) > len(field) + 10, "the sentence"


def test_no_plan_after_a_hundred_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(*values: Any) -> object:  # noqa: ANN401
        looked.append(1)
        return plan_from_wire(*values)

    monkeypatch.setattr(service, "plan_from_wire", counted)
    call: Any = SimpleNamespace(arguments=([wire(60)] * MOST_PLANS,), sender=":1.7")
    with pytest.raises(MethodError) as refused:
        service.described(call, 1000, SpareDisks())
    assert refused.value.code == "BadPlan"
    assert len(looked) == 2

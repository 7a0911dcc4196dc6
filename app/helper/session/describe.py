"""Answer Describe for any caller: the one question of a campaign is whether its disks may be erased.

SECURITY: the caller is not authorised. A disk's identity is read from sysfs and udev's database, which all
users may read; no disk is opened.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Final

from app.dbus.service import Call, MethodError
from app.domain.storage_plan.plan import StoragePlan
from app.domain.storage_plan.reader import PlanError
from app.domain.storage_plan.wire import MOST_PLANS, plan_from_wire
from app.helper.storage.devices import find_device
from app.helper.storage.pending_plans import DescribedPlans, describe_plans
from app.storage.spare.spare import SpareDisks

_MOST_TEXT: Final = 16_000
_MOST_PROBLEMS: Final = 100
"""Further plans are not checked then: a problem with an option costs a sixth of a millisecond."""


def described(call: Call, user: int, disks: SpareDisks) -> tuple[DescribedPlans, list[tuple[str, ...]]]:
    """Return the description for a caller, and the lines of each plan.

    Raises:
        MethodError: BadPlan, DiskRefused.
    """
    (wires,) = call.arguments
    if not 1 <= len(wires) <= MOST_PLANS:
        raise MethodError("BadPlan", f"plans: 1 to {MOST_PLANS}")
    plans: list[StoragePlan] = []
    problems: list[str] = []
    for number, wire in enumerate(wires):
        if len(problems) >= _MOST_PROBLEMS:
            break
        try:
            plans.append(plan_from_wire(*wire))
        except PlanError as err:
            problems += [f"plans[{number}].{each.path}" for each in err.problems]
    if problems:
        raise MethodError("BadPlan", "\n".join(problems)[:_MOST_TEXT])
    find = cache(partial(find_device, disks))  # plans share disks: each is inspected once
    found = [(plan, {disk.key(): find(disk) for _, disk in plan.members()}) for plan in plans]
    return describe_plans(call.sender, user, found)

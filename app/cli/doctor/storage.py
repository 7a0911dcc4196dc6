"""What the doctor says of filesystems and RAID levels: what works here, and why the rest does not."""

from __future__ import annotations

from collections.abc import Iterable

from app.cli.doctor.check import Check
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.filesystem_spec import FilesystemSpec
from app.domain.options.raid import LAYOUTS, Assembler, Level
from app.domain.text import tr
from app.probes.base.fact_tree import Fact
from app.storage.layout.availability import (
    Reason,
    Support,
    array_availability,
    describe_versions,
    filesystem_availability,
    level_availability,
)


def storage_checks(support: Support) -> list[Check]:
    """Return a line for each filesystem and for md, then one with what would install what is missing."""
    checks = [*(_filesystem_check(spec, support) for spec in FILESYSTEMS), _array_check(support)]
    checks.append(Check("tools", None, describe_versions(support.versions)))
    packages = sorted(
        {
            reason.package
            for spec in FILESYSTEMS
            for level in spec.levels
            for reason in level_availability(spec, level, support).reasons
            if reason.package
        }
    )
    if packages:
        message = tr("Missing programs and modules are in {packages} (Debian's names).")
        hint = tr("On Debian: sudo apt-get install {packages}")
        checks.append(
            Check(
                "packages",
                None,
                message.format(packages=", ".join(packages)),
                hint.format(packages=" ".join(packages)),
            )
        )
    return checks


def storage_as_json(support: Support) -> list[Fact]:
    """Return every filesystem with its levels and all reasons."""
    return [
        {
            "id": spec.id,
            "label": spec.label,
            "works": filesystem_availability(spec, support).works,
            "reasons": _reasons_as_json(filesystem_availability(spec, support).reasons),
            "levels": [
                {
                    "id": level.value,
                    "assembler": spec.assembler(level).value,
                    "works": level_availability(spec, level, support).works,
                    "reasons": _reasons_as_json(level_availability(spec, level, support).reasons),
                }
                for level in spec.levels
            ],
        }
        for spec in FILESYSTEMS
    ]


def versions_as_json(support: Support) -> dict[str, Fact]:
    """Return versions of kernel and tools by name."""
    return {component.value: ".".join(map(str, version)) for component, version in support.versions.items()}


def _reasons_as_json(reasons: Iterable[Reason]) -> list[Fact]:
    return [{"message": item.message, "remedy": item.remedy, "package": item.package} for item in reasons]


def _array_check(support: Support) -> Check:
    """Return the line of md, which makes the levels of every filesystem that has none of its own."""
    levels = [item.level for item in LAYOUTS if item.assembler is Assembler.MD]
    works = [level for level in levels if array_availability(level, support).works]
    reasons = [reason for level in levels for reason in array_availability(level, support).reasons]
    if not works:
        return Check("md", works=False, message=_messages(reasons), hint=_remedies(reasons))
    return Check(
        "md", works=True, message=_names(works), hint=f"{_messages(reasons)} {_remedies(reasons)}".strip()
    )


def _filesystem_check(spec: FilesystemSpec, support: Support) -> Check:
    own = filesystem_availability(spec, support)
    if not own.works:
        return Check(spec.id, works=False, message=_messages(own.reasons), hint=_remedies(own.reasons))
    if not spec.levels:
        return Check(spec.id, works=True, message=tr("in memory"))
    works = [level for level in spec.levels if level_availability(spec, level, support).works]
    message = _names(works)
    if len(works) < len(spec.levels):
        lacking = _names([level for level in spec.levels if level not in works])
        message = tr("{levels}; not {lacking}: see {assembler}").format(
            levels=message, lacking=lacking, assembler=spec.several.value
        )
    return Check(spec.id, works=True, message=message)


def _names(levels: Iterable[Level]) -> str:
    return ", ".join(level.value for level in levels)


def _messages(reasons: Iterable[Reason]) -> str:
    return " ".join(dict.fromkeys(item.message for item in reasons))


def _remedies(reasons: Iterable[Reason]) -> str:
    return "\n".join(dict.fromkeys(item.remedy for item in reasons if item.remedy))

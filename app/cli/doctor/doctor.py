"""`pgfooting doctor`: what works on this machine, and why the rest does not.

With `--options [FILESYSTEM]`: every option from the registry, and whether it exists here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.text import Text

from app import VERSION
from app.cli.commands.disks import inspection_progress
from app.cli.commands.runs.show import print_json
from app.cli.terminal.tables import indented, print_line, print_sentence, print_table
from app.doctor.checks import MEASURING, Check, examine_machine
from app.domain.columns import CellKind, Column
from app.domain.errors import ExitStatus, UsageError, did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.json_value import Json
from app.domain.option_texts import ALWAYS
from app.domain.options.checks import preset_problems, unavailable
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import Choice, OptionValue, Toggle
from app.domain.options.option_spec import OptionSpec, Safety
from app.domain.text import quoted, titled, tr
from app.storage.layout.disk_target import (
    Reason,
    Support,
    filesystem_availability,
    level_availability,
    read_support,
)
from app.terminal.plain_text import plain

ALL = "all"
"""Default of ``--options`` without a filesystem."""

_SHORT_CHOICE = 8
"""Largest number of values that get a line each."""


def show_options(name: str, support: Support, *, as_json: bool) -> None:
    """Print the options of one filesystem in full, or of all of them as a table.

    Args:
        name: id of a filesystem, or `ALL`.
        support: of this machine.
        as_json: print one object instead.

    Raises:
        UsageError: there is no such filesystem.
    """
    chosen = [spec for spec in FILESYSTEMS if name in {ALL, spec.id}]
    if not chosen:
        known = [spec.id for spec in FILESYSTEMS]
        message = tr("There is no filesystem {name}.").format(name=quoted(plain(name)[:40]))
        message += " " + tr("Known: {names}.").format(names=", ".join(known))
        raise UsageError(message, hint=did_you_mean(name, known))
    if as_json:
        print_json({"filesystems": [filesystem_as_json(spec, support) for spec in chosen]})
    elif name == ALL:
        _show_overview(support, Console())
    else:
        _show_filesystem(chosen[0], support, Console())


def filesystem_as_json(spec: FilesystemSpec, support: Support) -> dict[str, Json]:
    """Return a filesystem's options, presets and missing features."""
    return {
        "id": spec.id,
        "label": spec.label,
        "good_for": spec.good_for,
        "options": [_option_as_json(option, support) for option in spec.options],
        "presets": [_preset_as_json(spec, preset, support) for preset in spec.presets],
        "always": [
            {
                "stage": item.stage.value,
                "item": f"{item.flag} {item.item}".strip(),
                "why": ALWAYS[item.item][0],
            }
            for item in spec.always
        ],
        "lacks": [{"option": item.option, "why": item.why, "source": item.source} for item in spec.lacks],
    }


def _option_as_json(option: OptionSpec, support: Support) -> dict[str, Json]:
    return {
        "id": option.id,
        "label": option.label,
        "stage": option.stage.value,
        "default": option.default,
        "allowed": list(option.kind.ids) if isinstance(option.kind, Choice) else option.kind.allowed,
        "effect": option.effect,
        "safety": [item.value for item in option.safety],
        "risks": [
            {"value": value, "safety": [item.value for item in items]} for value, items in option.risks
        ],
        "source": option.source,
        "since": [item.words for item in option.since],
        "removed": [item.words for item in option.removed],
        "untested": option.untested,
        "unavailable": unavailable(option, support.versions),
        "unavailable_values": {
            str(value): reason
            for value in _values(option)
            if (reason := unavailable(option, support.versions, value)) and not _is_absent(option, support)
        },
    }


def _preset_as_json(spec: FilesystemSpec, preset: FilesystemPreset, support: Support) -> dict[str, Json]:
    return {
        "id": preset.id,
        "label": preset.label,
        "source": preset.source,
        "choices": [
            {"option": item.option, "value": item.value, "why": item.why, "source": item.source}
            for item in preset.choices
        ],
        "unavailable": [item.message for item in preset_problems(spec, preset, support.versions)],
    }


@dataclass(frozen=True, slots=True)
class _Offered:
    """An option of a filesystem, with the support of this machine."""

    spec: FilesystemSpec
    option: OptionSpec
    support: Support


def _show_overview(support: Support, console: Console) -> None:
    rows = (_Offered(spec, option, support) for spec in FILESYSTEMS for option in spec.options)
    print_table(console, OPTION_COLUMNS, rows)
    print_line(console, tr("Details for one filesystem: pgfooting doctor --options FILESYSTEM"), style="dim")


def _show_filesystem(spec: FilesystemSpec, support: Support, console: Console) -> None:
    print_line(console, spec.label, style="bold")
    print_sentence(console, spec.good_for)
    for reason in filesystem_availability(spec, support).reasons:
        sentence = tr("Unavailable here: {reason}").format(reason=f"{reason.message} {reason.remedy}")
        print_sentence(console, sentence.rstrip(), style="yellow")
    for option in spec.options:
        _show_option(option, support, console)
    for item in spec.lacks:
        print_line(console, "")
        print_sentence(console, f"{item.option}: {item.why}", style="dim")
    for preset in spec.presets:
        _show_preset(spec, preset, support, console)


def _show_option(option: OptionSpec, support: Support, console: Console) -> None:
    print_line(console, "")
    print_line(console, f"{option.id}  ({option.stage.value})", style="bold")
    default = _default(option) or tr("depends on the machine")
    _paragraph(
        console, tr("{allowed}; default: {default}").format(allowed=option.kind.allowed, default=default)
    )
    _paragraph(console, option.effect)
    if len(option.values) <= _SHORT_CHOICE:
        for item in (each for each in option.values if each.effect or each.untested):
            untested = tr(" (untested)") if item.untested else ""
            print_sentence(console, f"{item.id}: {item.effect}{untested}", indent=8)
    for value, classes in option.risks:
        words = ", ".join(item.label for item in classes)
        sentences = " ".join(item.sentence for item in classes)
        _paragraph(console, f"{_words(value)}: {words}. {sentences}", style="yellow")
    if option.untested:
        _paragraph(console, tr("Newer than any tested kernel or tool."), style="dim")
    reason = unavailable(option, support.versions)
    if reason:
        _paragraph(console, tr("Unavailable here: {reason}").format(reason=reason), style="yellow")
    else:
        for line in _value_reasons(option, support):
            _paragraph(console, line, style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=option.source), style="dim")


def _show_preset(spec: FilesystemSpec, preset: FilesystemPreset, support: Support, console: Console) -> None:
    print_line(console, "")
    print_line(console, tr("Preset {name}").format(name=preset.id) + f": {preset.label}", style="bold")
    for choice in preset.choices:
        _paragraph(console, f"{choice.option} = {_words(choice.value)}: {choice.why} ({choice.source})")
    for problem in preset_problems(spec, preset, support.versions):
        _paragraph(console, tr("Unavailable here: {reason}").format(reason=problem.message), style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=preset.source), style="dim")


def _value_reasons(option: OptionSpec, support: Support) -> Iterator[str]:
    """Yield a line for each reason why values are unavailable, with all its values."""
    reasons: dict[str, list[str]] = {}
    for value in _values(option):
        reason = unavailable(option, support.versions, value)
        if reason:
            reasons.setdefault(reason, []).append(_words(value))
    for reason, values in reasons.items():
        shown = values[0] if len(values) == 1 else f"{values[0]} … {values[-1]}"
        yield f"{shown}: " + tr("Unavailable here: {reason}").format(reason=reason)


def _values(option: OptionSpec) -> tuple[OptionValue, ...]:
    return tuple(item.id for item in option.values)


def _is_absent(option: OptionSpec, support: Support) -> bool:
    return bool(unavailable(option, support.versions))


def _default(option: OptionSpec) -> str:
    return "" if option.default is None else _words(option.default)


def _words(value: OptionValue) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _safety(option: OptionSpec) -> str:
    costs = []
    for value, classes in option.risks:
        words = ", ".join(item.label for item in classes if item is not Safety.SAFE)
        costs.append(words if isinstance(option.kind, Toggle) else f"{_words(value)}: {words}")
    return "; ".join(costs)


def _here(spec: FilesystemSpec, option: OptionSpec, support: Support) -> str:
    if not filesystem_availability(spec, support).works:
        return tr("no {filesystem} here").format(filesystem=spec.label)
    reason = unavailable(option, support.versions)
    if reason:
        return reason
    return tr("yes") + (tr(" (untested)") if option.untested else "")


OPTION_COLUMNS: Final[tuple[Column[_Offered], ...]] = (
    Column("filesystem", titled(tr("filesystem")), lambda row: row.spec.id, CellKind.LABEL),
    Column("option", titled(tr("option")), lambda row: row.option.id, CellKind.LABEL),
    Column("when", tr("When"), lambda row: row.option.stage.value, CellKind.LABEL, optional=1),
    Column("default", tr("Default"), lambda row: _default(row.option), CellKind.LABEL, optional=2),
    Column("costs", tr("Costs"), lambda row: _safety(row.option), CellKind.WORDS),
    Column("here", tr("Here"), lambda row: _here(row.spec, row.option, row.support), CellKind.WORDS),
)
"""Columns of the table of all options of all filesystems."""


def _paragraph(console: Console, text: str, *, style: str = "") -> None:
    print_sentence(console, text, indent=4, style=style)


_MARGIN: Final = 14


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print all checks, or all options; the exit status is 1 if nothing can be measured.

    Raises:
        UsageError: options of a filesystem that does not exist.
    """
    support = read_support()
    if arguments.options is not None:
        show_options(arguments.options, support, as_json=arguments.json)
        return ExitStatus.DONE
    with inspection_progress() as progress:
        checks = examine_machine(support, progress)
    if arguments.json:
        print_json(
            {
                "version": VERSION,
                "checks": [
                    {"topic": item.topic, "works": item.works, "message": item.message, "hint": item.hint}
                    for item in checks
                ],
                "versions": versions_as_json(support),
                "filesystems": storage_as_json(support),
            }
        )
    else:
        _show(checks, Console())
    usable = {item.topic for item in checks if item.works}
    return ExitStatus.DONE if usable >= MEASURING else ExitStatus.FAILED


def _show(checks: list[Check], console: Console) -> None:
    signs = {True: ("✔", "green"), False: ("✘", "red"), None: ("·", "yellow")}
    for item in checks:
        sign, style = signs[item.works]
        for line in indented(console, item.message, _MARGIN, first=f"{sign} {item.topic:<11} "):
            text = Text(line)
            text.stylize(style, 0, 1)
            console.print(text, overflow="ignore", crop=False, soft_wrap=not console.is_terminal)
        for hint in item.hint.splitlines():
            print_sentence(console, hint, indent=_MARGIN, style="dim")


def storage_as_json(support: Support) -> list[Json]:
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


def versions_as_json(support: Support) -> dict[str, Json]:
    """Return versions of kernel and tools by name."""
    return {component: ".".join(map(str, version)) for component, version in support.versions.items()}


def _reasons_as_json(reasons: Iterable[Reason]) -> list[Json]:
    return [{"message": item.message, "remedy": item.remedy, "package": item.package} for item in reasons]

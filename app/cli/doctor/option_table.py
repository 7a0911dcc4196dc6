"""`pgfooting doctor --options [FILESYSTEM]`: every option from the registry, and whether it exists here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console

from app.cli.commands.runs.show import print_json
from app.cli.terminal.plain_text import plain
from app.cli.terminal.tables import print_indented, print_line, print_table
from app.domain.columns import CellKind, Column
from app.domain.errors import UsageError, did_you_mean
from app.domain.filesystems import FILESYSTEMS
from app.domain.options.checks import preset_problems, unavailable
from app.domain.options.filesystem_spec import FilesystemPreset, FilesystemSpec
from app.domain.options.kinds import Choice, OptionValue, Toggle
from app.domain.options.option import OptionSpec, Safety
from app.domain.text import tr
from app.probes.base.fact_tree import Fact
from app.storage.layout.availability import Support, filesystem_availability

ALL = "all"
"""What is asked for where no filesystem is named."""

_SHORT_CHOICE = 8
"""Up to so many values each gets a line of its own."""


def show_options(name: str, support: Support, *, as_json: bool) -> None:
    """Print the options of one filesystem with all that is known, or of all of them as a table.

    Args:
        name: id of a filesystem, or `ALL`.
        support: what this machine can do.
        as_json: one object instead.

    Raises:
        UsageError: there is no such filesystem.
    """
    chosen = [spec for spec in FILESYSTEMS if name in {ALL, spec.id}]
    if not chosen:
        known = [spec.id for spec in FILESYSTEMS]
        message = tr("There is no filesystem “{name}”; there are {known}.")
        raise UsageError(
            message.format(name=plain(name)[:40], known=", ".join(known)), hint=did_you_mean(name, known)
        )
    if as_json:
        print_json({"filesystems": [filesystem_as_json(spec, support) for spec in chosen]})
    elif name == ALL:
        _show_overview(support, Console())
    else:
        _show_filesystem(chosen[0], support, Console())


def filesystem_as_json(spec: FilesystemSpec, support: Support) -> dict[str, Fact]:
    """Return options, presets and what is lacking."""
    return {
        "id": spec.id,
        "label": spec.label,
        "good_for": spec.good_for,
        "options": [_option_as_json(option, support) for option in spec.options],
        "presets": [_preset_as_json(spec, preset, support) for preset in spec.presets],
        "always": [
            {"stage": item.stage.value, "item": f"{item.flag} {item.item}".strip(), "why": item.why}
            for item in spec.always
        ],
        "lacks": [{"option": item.option, "why": item.why, "source": item.source} for item in spec.lacks],
    }


def _option_as_json(option: OptionSpec, support: Support) -> dict[str, Fact]:
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


def _preset_as_json(spec: FilesystemSpec, preset: FilesystemPreset, support: Support) -> dict[str, Fact]:
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
    """An option of a filesystem, on a machine that can do this much."""

    spec: FilesystemSpec
    option: OptionSpec
    support: Support


def _show_overview(support: Support, console: Console) -> None:
    rows = (_Offered(spec, option, support) for spec in FILESYSTEMS for option in spec.options)
    print_table(console, OPTION_COLUMNS, rows)
    print_line(console, tr("Everything about one: pgfooting doctor --options FILESYSTEM"), style="dim")


def _show_filesystem(spec: FilesystemSpec, support: Support, console: Console) -> None:
    print_line(console, spec.label, style="bold")
    print_indented(console, spec.good_for, 0)
    for reason in filesystem_availability(spec, support).reasons:
        sentence = tr("Not here: {reason} {remedy}").format(reason=reason.message, remedy=reason.remedy)
        print_indented(console, sentence.rstrip(), 0, style="yellow")
    for option in spec.options:
        _show_option(option, support, console)
    for item in spec.lacks:
        print_line(console, "")
        print_indented(console, f"{item.option}: {item.why}", 0, style="dim")
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
    if isinstance(option.kind, Choice) and len(option.kind.values) <= _SHORT_CHOICE:
        for item in option.kind.values:
            untested = tr(" (untested)") if item.untested else ""
            print_indented(console, f"{item.id}: {item.effect}{untested}", 8)
    for value, classes in option.risks:
        words = ", ".join(item.label for item in classes)
        sentences = " ".join(item.sentence for item in classes)
        _paragraph(console, f"{_words(value)}: {words}. {sentences}", style="yellow")
    if option.untested:
        _paragraph(console, tr("Newer than any kernel or tool that this was tested with."), style="dim")
    reason = unavailable(option, support.versions)
    if reason:
        _paragraph(console, tr("Not here: {reason}").format(reason=reason), style="yellow")
    else:
        for line in _value_reasons(option, support):
            _paragraph(console, line, style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=option.source), style="dim")


def _show_preset(spec: FilesystemSpec, preset: FilesystemPreset, support: Support, console: Console) -> None:
    print_line(console, "")
    print_line(console, tr("Preset {id}: {label}").format(id=preset.id, label=preset.label), style="bold")
    for choice in preset.choices:
        _paragraph(console, f"{choice.option} = {_words(choice.value)}: {choice.why} ({choice.source})")
    for problem in preset_problems(spec, preset, support.versions):
        _paragraph(console, tr("Not here: {reason}").format(reason=problem.message), style="yellow")
    _paragraph(console, tr("Source: {source}").format(source=preset.source), style="dim")


def _value_reasons(option: OptionSpec, support: Support) -> Iterator[str]:
    """Yield what is missing of the values, values with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for value in _values(option):
        reason = unavailable(option, support.versions, value)
        if reason:
            reasons.setdefault(reason, []).append(_words(value))
    for reason, values in reasons.items():
        shown = values[0] if len(values) == 1 else f"{values[0]} … {values[-1]}"
        yield tr("{values} not here: {reason}").format(values=shown, reason=reason)


def _values(option: OptionSpec) -> tuple[OptionValue, ...]:
    return option.kind.ids if isinstance(option.kind, Choice) else ()


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
    return tr("yes, untested") if option.untested else tr("yes")


OPTION_COLUMNS: Final[tuple[Column[_Offered], ...]] = (
    Column("filesystem", tr("Filesystem"), lambda row: row.spec.id, CellKind.LABEL),
    Column("option", tr("Option"), lambda row: row.option.id, CellKind.LABEL),
    Column("when", tr("When"), lambda row: row.option.stage.value, CellKind.LABEL, optional=1),
    Column("default", tr("Default"), lambda row: _default(row.option), CellKind.LABEL, optional=2),
    Column("costs", tr("Costs"), lambda row: _safety(row.option), CellKind.WORDS),
    Column("here", tr("Here"), lambda row: _here(row.spec, row.option, row.support), CellKind.WORDS),
)
"""Of the table of all options of all filesystems."""


def _paragraph(console: Console, text: str, *, style: str = "") -> None:
    print_indented(console, text, 4, style=style)

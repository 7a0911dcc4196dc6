"""Describe a run file in words: properties that may differ between runs, and everything else.

A property is a choice, or a feature of the machine; figures and times are none. The facts panel and the
report show them, `app.comparison.differences` compares them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.analysis.bottleneck import UNKNOWN, Bottleneck, read_bottleneck
from app.analysis.cannot_show import Limitation, find_limitations
from app.analysis.data_set import compression_in_effect
from app.analysis.io_baseline import UsedShare, read_used_shares
from app.analysis.labels import at_least, format_tps
from app.analysis.properties import SETTING, SETTINGS, Property, properties_of, unchosen_settings, value_words
from app.analysis.stability import RunStability, read_shape
from app.domain.columns import CellKind, Column
from app.domain.disturbances import Disturbances
from app.domain.io_baseline import IoBaseline
from app.domain.json_value import Json
from app.domain.quoting import comment, shell_line
from app.domain.run import Phase, RunState
from app.domain.step_progress import ROOT_STEP
from app.domain.storage_plan.plan import StoragePlan
from app.domain.text import format_duration, format_size, number_text, titled, tr
from app.library.entries import effective_state
from app.runfile.disturbance import marks_of, read_disturbances
from app.runfile.metadata.environment import MOST_CHARACTERS, counted_devices
from app.runfile.metadata.offered_load import OfferedLoad, offered_load
from app.runfile.metadata.run_metadata import EXISTING_SERVER, BackgroundMetadata, PhaseMetadata, completed
from app.runfile.metadata.typed_json import Known, NotKnown, known, or_none
from app.runfile.reader import CommandRecord, RunFile, Texts, facts_of, kept_if_small
from app.runfile.series import FileCache
from app.runfile.summary import figures_of, is_lower_bound, summarise, summarise_phases
from app.runfile.writer import SERVER_DEFAULTS

# The phases of a workload that has several, each with its own figures: rows of a table.


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """One repetition of one phase.

    Attributes:
        metadata: its metadata in the run file.
        figures: as in `app.runfile.figures`; empty if it was not reached, or there are none.
    """

    metadata: PhaseMetadata
    figures: Mapping[str, float | None] = field(default_factory=dict)


def read_phase_figures(run: RunFile) -> tuple[PhaseFigures, ...]:
    """Return the phases of a run that started, in order; empty for a run with one phase.

    Raises:
        CorruptRunFileError: the file is damaged.
    """
    phases = known(run.metadata.phases, ())
    if not phases:
        return ()
    stored, own = run.phase_figures(), figures_of(run)
    if not stored and not own:  # while it runs, or before it can be finished
        stored, own = summarise_phases(run), summarise(run)
    begun = {times.number for times in run.phases() if times.phase is Phase.PART}
    if run.phase(Phase.MEASURE) is not None:
        begun |= {each.number for each in phases if each.is_own}
    return tuple(
        PhaseFigures(each, own if each.is_own else stored.get(each.number, {}))
        for each in phases
        if each.number in begun
    )


def phase_note(phase: PhaseMetadata) -> str:
    """Return remarks about a phase, in addition to its figures; empty for none."""
    notes = [] if phase.counts else [tr("not compared")]
    rate, percent, of = or_none(phase.workload.rate_tps), or_none(phase.rate_percent), or_none(phase.rate_of)
    if rate is not None and percent is not None:
        words = tr("at {rate:,.0f} per second, {percent:g} % of {of}")
        notes.append(words.format(rate=rate, percent=percent, of=of))
    elif rate is not None:
        notes.append(tr("at {rate} per second").format(rate=number_text(rate, ",.0f")))
    notes += [
        tr("after {name} ({seconds})").format(name=each.name, seconds=format_duration(each.duration_s))
        for each in phase.maintenance
    ]
    notes += filter(None, [_background_note(phase.background)])
    return ", ".join(notes)


def executed_words(phase: PhaseMetadata) -> str:
    """Return a phase's script and background work: phases that differ in them are not the same."""
    executed, beside = known(phase.workload.label, ""), phase.background
    if not beside.name:
        return executed
    return f"{executed} + {_background_words(beside)}".strip()


def _background_words(background: BackgroundMetadata) -> str:
    """Return a phase's background work, as stated."""
    if background.every_s is not None:
        return tr("{name} every {every}").format(
            name=background.name, every=format_duration(background.every_s)
        )
    if background.max_rate_bytes is not None:
        words = tr("{name} at most {rate} a second")
        return words.format(name=background.name, rate=format_size(background.max_rate_bytes))
    return background.name


def _background_note(background: BackgroundMetadata) -> str:
    """Return a phase's background work and its number of repetitions; empty for none."""
    if not background.name:
        return ""
    counts = []
    if background.done:
        counts.append(tr("{done} times").format(done=background.done) if background.done != 1 else tr("once"))
    if len(background.turns) > background.done:
        counts.append(tr("one cut off by the end of the run"))
    words = tr("in parallel with {what} ({count})")
    return words.format(what=_background_words(background), count=", ".join(counts) or tr("not started"))


def _phase_text(each: PhaseFigures, name: str, form: str) -> str:
    value = each.figures.get(name)
    if value is None:
        return ""
    return at_least(number_text(value, form), is_bound=is_lower_bound(each.figures, name))


def _seconds(each: PhaseFigures) -> str:
    seconds = each.figures.get("duration_s")
    return "" if seconds is None else format_duration(seconds)


PHASE_COLUMNS: Final[tuple[Column[PhaseFigures], ...]] = (
    Column("phase", tr("Phase"), lambda each: each.metadata.label, CellKind.WORDS),
    Column(
        "workload",
        titled(tr("transactions")),
        lambda each: known(each.metadata.workload.label, ""),
        CellKind.LABEL,
    ),
    Column(
        "clients",
        titled(tr("clients")),
        lambda each: str(known(each.metadata.workload.clients, 0) or ""),
        optional=3,
    ),
    Column("tps", "TPS", lambda each: format_tps(each.figures.get("tps"))),
    Column("mean", tr("Mean ms"), lambda each: _phase_text(each, "latency_mean_ms", ".3g"), optional=2),
    Column("p99", "p99 ms", lambda each: _phase_text(each, "latency_p99_ms", ".3g"), optional=1),
    Column(
        "written",
        tr("Written / tx"),
        lambda each: _phase_text(each, "device_write_bytes", ",.0f"),
        optional=4,
    ),
    Column("length", tr("Length"), _seconds, optional=5),
    Column("note", tr("Note"), lambda each: phase_note(each.metadata), CellKind.WORDS, optional=6),
)
"""Columns of the table of a run's phases."""


_ROOT: Final = "root"


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RunFacts:
    """One run in words.

    Attributes:
        path: of the run file.
        id: hexadecimal identity; empty if the file has none.
        name: of the run: configuration and repeat.
        campaign: name of its campaign.
        campaign_key: the same only for runs of one campaign.
        configuration: name of its configuration.
        repeat: 0-based.
        attempt: 1, or more if it was repeated because of a disturbance.
        place: 1-based place of its configuration in the campaign; 0 if unknown.
        number: 1-based place in the order of the campaign; None if unknown.
        order: of its campaign's runs, a `RunOrder`; empty if unknown.
        order_seed: seed of that order; None without one, or if unknown.
        remarks: sentences of its campaign that belong to the result.
        question: of its campaign; empty for none.
        figures: names of those that answer it.
        design: of its campaign, decides how often each configuration ran, see `Design`; empty if unknown.
        rivals: names of its configuration and its competitors in a sequential campaign.
        state: how far it came, see `RunState`.
        error: why it failed; empty if it did not.
        started_epoch_s: seconds since the epoch; None if unknown.
        marks: (kind, reason) labels.
        properties: choices, and features of the machine.
        disturbances: by other processes during the measurement.
        others: options left at their default, and unknown values, see `every_property`.
        unchosen: other settings of the server, by name, see `every_property`.
        summary: figures, see app/runfile/summary.py.
        commands: every executed program, and root's own actions, in order; see `command_line`.
        environment: dotted name and value of every fact from before the run.
        unavailable: (source, reason) of series that do not exist.
        shape: of its measured phase; None if there is none.
        tags: given by the user.
        note: written by the user.
        file: for reading its figures again; None if that is not allowed.
        devices: those with counted operations, bytes and flushes, in a few words; empty if unknown.
        load: how it was offered.
        bottleneck: of the run.
        unshown: limits of its figures.
        compression: setting of the data's filesystem; empty for none.
        baseline: of the storage; None if it was not measured.
        used: shares of the baseline that the run used.
        phases: with their own figures, if it measured several.
        plan: of the storage that pgFooting created; None if it created none, or if unknown.
    """

    path: str
    id: str
    name: str
    campaign: str
    campaign_key: str
    configuration: str
    repeat: int
    state: str
    error: str
    started_epoch_s: float | None
    marks: tuple[tuple[str, str], ...]
    properties: tuple[Property, ...]
    summary: dict[str, float | None]
    commands: tuple[CommandRecord, ...]
    environment: tuple[tuple[str, str], ...]
    unavailable: tuple[tuple[str, str], ...]
    shape: RunStability | None = field(default=None, repr=False, compare=False)
    tags: tuple[str, ...] = ()
    note: str = ""
    others: tuple[Property, ...] = field(default=(), repr=False)
    unchosen: Mapping[str, str] = field(default_factory=dict, repr=False)
    place: int = 0
    number: int | None = None
    order: str = ""
    order_seed: int | None = None
    remarks: tuple[str, ...] = ()
    question: str = ""
    figures: tuple[str, ...] = ()
    design: str = ""
    rivals: tuple[str, ...] = ()
    file: Path | None = field(default=None, repr=False, compare=False)
    _known: dict[float, dict[str, float | None]] = field(default_factory=dict, repr=False, compare=False)
    devices: str = ""
    bottleneck: Bottleneck = UNKNOWN
    unshown: tuple[Limitation, ...] = ()
    compression: str = ""
    disturbances: Disturbances = field(default_factory=Disturbances)
    attempt: int = 1
    baseline: IoBaseline | None = field(default=None, repr=False, compare=False)
    used: tuple[UsedShare, ...] = field(default=(), repr=False, compare=False)
    load: OfferedLoad = field(default_factory=OfferedLoad)
    phases: tuple[PhaseFigures, ...] = field(default=(), repr=False)
    plan: StoragePlan | None = field(default=None, repr=False, compare=False)

    def every_property(self, settings: Collection[str]) -> Iterator[Property]:
        """Yield all properties, shown or not, to compare them.

        Args:
            settings: only these of `unchosen`: the ones that another run shows.
        """
        yield from self.properties
        yield from self.others
        for name in filter(settings.__contains__, self.unchosen if settings else ()):
            yield Property(SETTING, name, self.unchosen[name], is_shown=False, part=SETTINGS)

    def figures_after(self, cut_s: float) -> dict[str, float | None]:
        """Return the figures without the first seconds of the measured phase; `summary` if nothing is cut.

        Raises:
            RunFileError: the file can no longer be read.
        """
        if not cut_s:
            return self.summary
        if cut_s not in self._known:
            if self.file is None:
                return {}
            with RunFile(self.file) as run:
                self._known[cut_s] = summarise(run, cut_s)
        return self._known[cut_s]


def read_run_facts(path: Path, *, whole: bool = True) -> RunFacts:
    """Read one run file.

    Args:
        path: of the file.
        whole: also what no comparison uses: commands, facts from before the run, missing series.

    Raises:
        RunFileError: it cannot be read.
    """
    with RunFile(path) as run:
        value, facts = completed(run.metadata), run.facts("before")
        environment = run.environment
        found = tuple(properties_of(value, environment))
        judged, shape = read_disturbances(run), read_shape(run)
        return RunFacts(
            tags=known(value.tags, ()),
            note=_text(value.note),
            path=str(path),
            file=path,
            id=_text(value.id),
            name=_text(value.name) or path.stem,
            campaign=_text(value.campaign),
            campaign_key=_text(value.campaign_folder) or str(path.parent),
            configuration=_text(value.configuration),
            repeat=known(value.repeat, 0),
            attempt=known(value.attempt, 1),
            place=or_none(value.place) or 0,
            number=or_none(value.number),
            order=_text(value.order),
            order_seed=or_none(value.order_seed),
            remarks=known(value.remarks, ()),
            question=_text(value.question),
            figures=known(value.figures, ()),
            design=_text(value.design),
            rivals=known(value.rivals, ()),
            state=effective_state(path, run.state).value,
            error="" if isinstance(value.error, NotKnown) else value.error.text[:MOST_CHARACTERS],
            started_epoch_s=None if isinstance(value.started_epoch_s, NotKnown) else value.started_epoch_s,
            marks=tuple(marks_of(run, judged)),
            disturbances=judged,
            baseline=or_none(value.io_baseline),
            used=read_used_shares(run),
            properties=tuple(item for item in found if item.is_shown),
            others=tuple(item for item in found if not item.is_shown),
            unchosen=unchosen_settings(value, environment),
            summary=figures_of(run),
            phases=read_phase_figures(run),
            load=offered_load(value),
            plan=or_none(value.target.plan),
            commands=_executed(run) if whole else (),
            environment=run.of_facts("before", _flat) if whole else (),
            unavailable=tuple((tr(of), tr(why)) for _, of, why in (run.unavailable() if whole else ())),
            shape=shape,
            bottleneck=read_bottleneck(run),
            unshown=find_limitations(value, environment, facts, shape),
            devices=counted_devices(environment)[:MOST_CHARACTERS],
            compression=compression_in_effect(environment),
        )


kept_run_facts: Final = FileCache(read_run_facts, 400, lambda run: run.state != RunState.RUNNING.value)
"""The same, cached with the computed figures for pages that ask repeatedly."""


def shown_settings(runs: Iterable[RunFacts]) -> frozenset[str]:
    """Return the names of the settings that any of these runs shows."""
    return frozenset(item.name for run in runs for item in run.properties if item.topic == SETTING)


def property_of(run: RunFacts, topic: str, name: str) -> str:
    """Return a property's value, empty if the run has none."""
    return next((item.value for item in run.properties if (item.topic, item.name) == (topic, name)), "")


def is_elsewhere(run: RunFacts) -> bool:
    """Whether a run was on an existing server."""
    return any(kind == EXISTING_SERVER for kind, _ in run.marks)


def _executed(run: RunFile) -> tuple[CommandRecord, ...]:
    """Return the programs of a run in order, including root's own actions, such as wiping signatures."""
    own = [
        CommandRecord(event.t_ms, 0, _ROOT, (event.message,), None, "", "") for event in run.events(ROOT_STEP)
    ]
    return tuple(sorted((*run.commands(), *own), key=lambda each: each.started_ms))


def command_line(command: CommandRecord) -> str:
    """Return a command as it could be typed; what root or this program did itself as a comment."""
    argv = command.argv
    if len(argv) == 3 and argv[2].startswith("{"):  # a module, its function, and what was passed
        argv = (argv[1].replace("_", " "), *re.findall(r'"(/[^"]*)"', argv[2]))
    elif command.exit_code is not None:
        return shell_line(argv)
    return comment(" ".join(argv))


def _text(value: Known[str]) -> str:
    return known(value, "")[:MOST_CHARACTERS]


def _value(value: Json, name: str = "") -> str:
    """Return a JSON value for users; empty if there is none."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return _nested(value)[:MOST_CHARACTERS]
    return value_words(value, name if name.endswith("_bytes") else "")


def _nested(value: Sequence[Json] | Mapping[str, Json]) -> str:
    if not isinstance(value, Mapping):
        return ", ".join(part for part in map(_value, value) if part)
    unreadable = value.get("unreadable")
    if isinstance(unreadable, str):
        return tr("not known: {reason}").format(reason=unreadable)
    return ", ".join(f"{key} {_value(item, key)}" for key, item in value.items())


@kept_if_small
def _flat(texts: Texts) -> tuple[tuple[str, str], ...]:
    """Return dotted names and values of facts."""
    return tuple(_branches({key: it for key, it in facts_of(texts).items() if key != SERVER_DEFAULTS}))


def _branches(facts: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted names and values, branch by branch."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and "unreadable" not in value:
            yield from _branches(value, f"{name}.")
        elif text := value[:MOST_CHARACTERS] if isinstance(value, str) else _value(value, key):
            yield name, text

"""Check the rules between the keys of a configuration: individually valid, but contradictory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from app.campaign_file.partial import SETTINGS, Given, Partial
from app.campaign_file.problems import KeyPath
from app.domain.campaign.configuration import (
    Caches,
    DataSet,
    DataSize,
    DiskTarget,
    MemoryTarget,
    PostgresChoice,
    ServerTarget,
    Workload,
)
from app.domain.campaign.disk_target import ServerOption, contradiction, refused_with
from app.domain.campaign.phases import PG_BASEBACKUP, background, filesystems_of, obstacle_of
from app.domain.maintenance import maintenance
from app.domain.options.option_spec import SMALLEST_PAGE_BYTES, USUAL_PAGE_BYTES
from app.domain.options.refusals import ConflictFinding
from app.domain.text import tr


@dataclass(frozen=True, slots=True)
class Stated:
    """The merged document of one configuration.

    Attributes:
        place: of the configuration.
        given: its keys.
        target: made of its keys; None if it has none.
    """

    place: KeyPath = field(default_factory=KeyPath)
    given: Partial = field(default_factory=dict)
    target: Given | None = None

    def workload(self, key: str) -> Given | None:
        """Return the value of a workload key; None if it is not given."""
        return self.given.get(("workload", key))

    @property
    def disks(self) -> DiskTarget | None:
        """The target on spare disks; None for other targets."""
        target = self.target.value if self.target is not None else None
        return target if isinstance(target, DiskTarget) else None

    @property
    def settings(self) -> dict[str, Given]:
        """The server settings by name, in lower case."""
        return {key[2]: given for key, given in self.given.items() if key[:2] == SETTINGS and key[2:]}


def _threads_within_clients(layer: Stated) -> tuple[KeyPath, str] | None:
    """Reject more threads than clients: pgbench would silently reduce them (`main` in pgbench.c)."""
    threads, clients = layer.workload("threads"), layer.workload("clients")
    most = clients.value if clients else Workload().clients
    if threads is None or threads.value is None or most is None or threads.value <= most:
        return None
    sentence = tr("found {threads}, but at most the number of clients ({clients}) is allowed.")
    return threads.place, sentence.format(threads=threads.value, clients=most)


def _clients_within_connections(layer: Stated) -> tuple[KeyPath, str] | None:
    """Require a connection for every client; `app.postgres.settings` adds those of pgFooting itself."""
    most, clients = layer.settings.get("max_connections"), layer.workload("clients")
    wanted = clients.value if clients else Workload().clients
    text = "" if most is None else most.value
    if most is None or not text.isdecimal() or wanted is None or int(text) >= wanted:
        return None
    place = most.place / "max_connections"
    sentence = tr("found {text}, but at least the number of clients ({clients}) is needed.")
    return place, sentence.format(text=text, clients=wanted)


def _settings_agree_with_options(layer: Stated) -> tuple[KeyPath, str] | None:
    """Require that a setting given in two places has one value: the intended one is unknown."""
    if layer.disks is None:
        return None
    option = _contradiction(repr(layer.disks), layer.disks, _own_settings(layer))
    if option is None:
        return None
    sentence = tr(
        "found {found}, but {option} is {value}: use the same value in both places, or set it in one only."
    )
    key = f"target.{DiskTarget.kind}.{option.key}"
    words = sentence.format(found=option.instead, option=key, value=option.text)
    return layer.settings[option.name].place / option.name, words


def _settings_fit_the_disks(layer: Stated) -> tuple[KeyPath, str] | None:
    """Require server settings that are safe on the filesystem; same rules as on the wizard's page."""
    target = layer.disks
    if target is None or layer.target is None:
        return None
    own = layer.settings
    for finding in _refused_with(repr(target), target, _own_settings(layer), _page_bytes(layer)):
        if finding.field in own:
            return own[finding.field].place / finding.field, finding.message
        return layer.target.place / "options" / finding.field, finding.message
    return None


def _page_bytes(layer: Stated) -> int:
    """Return the least data page size of the server; that of a user's own build is not known yet.

    `app.execution.resolve` applies the same rules again with the actual page size.
    """
    chosen = layer.given.get(("postgresql", "installation"))
    named = chosen is not None and str(chosen.value).startswith("/")
    return SMALLEST_PAGE_BYTES if named else USUAL_PAGE_BYTES


def _own_settings(layer: Stated) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, given.value) for name, given in layer.settings.items()))


# Many configurations of a matrix ask the same: a thousand answers took a second. `spelled` distinguishes
# options that are equal, as 1 and true are.


@lru_cache(maxsize=1024)
def _contradiction(
    spelled: str,  # noqa: ARG001 - part of what is asked
    target: DiskTarget,
    own: tuple[tuple[str, str], ...],
) -> ServerOption | None:
    return contradiction(target, dict(own))


@lru_cache(maxsize=1024)
def _refused_with(
    spelled: str,  # noqa: ARG001 - as above
    target: DiskTarget,
    own: tuple[tuple[str, str], ...],
    page_bytes: int,
) -> tuple[ConflictFinding, ...]:
    return refused_with(target, dict(own), page_bytes)


def _is_cold(layer: Stated) -> Given | None:
    caches = layer.workload("caches")
    return caches if caches is not None and caches.value is Caches.COLD else None


def _cold_without_warm_up(layer: Stated) -> tuple[KeyPath, str] | None:
    """Reject a warm-up with cold caches: it fills them. Its default is none with cold caches."""
    caches, warmup = _is_cold(layer), layer.workload("warmup")
    if caches is None or warmup is None or not warmup.value:
        return None
    sentence = tr("a warm-up of {seconds} s would warm the cold caches; with cold caches only 0 is allowed.")
    return warmup.place, sentence.format(seconds=warmup.value)


def _cold_outside_memory(layer: Stated) -> tuple[KeyPath, str] | None:
    caches = _is_cold(layer)
    if caches is None or layer.target is None or not isinstance(layer.target.value, MemoryTarget):
        return None
    sentence = tr("found “{value}”, but data in memory is always cached.")
    return caches.place, sentence.format(value=Caches.COLD)


def _phases_fit(layer: Stated) -> tuple[KeyPath, str] | None:
    """Apply the rules about clients to each phase, with its own values."""
    phases = layer.workload("phase")
    for number, phase in enumerate(phases.value or () if phases else (), start=1):
        assert phases is not None  # noqa: S101 - for the type checker: it has phases
        place = KeyPath(f"{phases.place.path}[{number}]", configuration=phases.place.configuration)
        said = {
            ("workload", name): Given(value, place / name)
            for name in ("clients", "threads")
            if (value := getattr(phase, name)) is not None
        }
        if phase.threads is None and said:
            said["workload", "threads"] = Given(None, place)  # as many as fit
        found = Stated(layer.place, layer.given | said, layer.target)
        for rule in (_threads_within_clients, _clients_within_connections):
            breach = rule(found) if said else None
            if breach is not None:
                return breach
    return None


def _maintenance_has_its_filesystem(layer: Stated) -> tuple[KeyPath, str] | None:
    """Require a filesystem created by root that supports the maintenance."""
    phases = layer.workload("phase")
    if phases is None or layer.target is None or layer.target.value is None:
        return None
    filesystems = filesystems_of(layer.target.value)
    for number, phase in enumerate(phases.value or (), start=1):
        obstacles = {
            f"maintenance[{place}]": obstacle_of(maintenance(name), filesystems)
            for place, name in enumerate(phase.maintenance, 1)
        }
        if phase.background is not None:
            obstacles["background"] = background(phase.background).obstacle(filesystems)
        for key, obstacle in obstacles.items():
            if obstacle:
                path = f"{phases.place.path}[{number}].{key}"
                return KeyPath(path, configuration=phases.place.configuration), obstacle
    return None


def _base_backup_can_be_made(layer: Stated) -> tuple[KeyPath, str] | None:
    """Require a WAL sender, and sufficient WAL, for a base backup (manual, pg_basebackup)."""
    phases = layer.workload("phase")
    if phases is None or not any(phase.background == PG_BASEBACKUP.name for phase in phases.value or ()):
        return None
    wrong = {"wal_level": "minimal", "max_wal_senders": "0"}
    for name, value in wrong.items():
        given = layer.settings.get(name)
        if given is not None and given.value.strip().lower() == value:
            sentence = tr("found “{value}”, which does not allow base backups during a phase.")
            return given.place / name, sentence.format(value=value)
    return None


def _cold_without_phases(layer: Stated) -> tuple[KeyPath, str] | None:
    """Reject cold caches with several phases: only the first finds them cold, the figures are of another."""
    caches, phases = _is_cold(layer), layer.workload("phase")
    if caches is None or phases is None or not phases.value:
        return None
    sentence = tr("found “{value}”, but with several phases only the first would start with cold caches.")
    return caches.place, sentence.format(value=Caches.COLD)


def _copied_without_tablespaces(layer: Stated) -> tuple[KeyPath, str] | None:
    """Reject copied data with tablespaces: a template is one data directory, and would hold their files."""
    data_set = layer.workload("data_set")
    if data_set is None or data_set.value is not DataSet.COPIED or layer.disks is None:
        return None
    if len(layer.disks.of_relations) == 1:
        return None
    sentence = tr(
        "found “{value}”, but templates cannot contain tablespaces: with separate disks for tables or "
        "indexes, data must be loaded."
    )
    return data_set.place, sentence.format(value=DataSet.COPIED)


def _fits_a_server_of_others(layer: Stated) -> tuple[KeyPath, str] | None:
    """Reject keys that need files, processes or the machine of a foreign server, instead of ignoring them."""
    if layer.target is None or not isinstance(layer.target.value, ServerTarget):
        return None
    as_it_is = tr("does not apply to an existing server, whose settings stay as they are: remove it.")
    no_class = tr(
        "found “{value}”, a share of this machine's memory; the server's memory is unknown, so give a size."
    )
    refused: dict[tuple[str, str], Callable[[Any], str]] = {
        ("postgresql", "preset"): lambda value: as_it_is if value != PostgresChoice().preset else "",
        ("postgresql", "checksums"): lambda value: as_it_is if value != PostgresChoice().checksums else "",
        ("workload", "caches"): lambda value: (
            tr("found “cold”, but pgFooting cannot empty the caches of an existing server.")
            if value is Caches.COLD
            else ""
        ),
        ("workload", "data_set"): lambda value: (
            tr("found “copied”, but pgFooting cannot copy files to an existing server.")
            if value is DataSet.COPIED
            else ""
        ),
        ("workload", "size"): lambda value: (
            no_class.format(value=value) if value in {DataSize.MEDIUM, DataSize.LARGE} else ""
        ),
    }
    for key, why in refused.items():
        given = layer.given.get(key)
        sentence = why(given.value) if given is not None and given.value is not None else ""
        if given is not None and sentence:
            return given.place, sentence
    return None


Rule = Callable[[Stated], tuple[KeyPath, str] | None]

RULES: Final[tuple[Rule, ...]] = (
    _threads_within_clients,
    _clients_within_connections,
    _settings_agree_with_options,
    _settings_fit_the_disks,
    _cold_without_warm_up,
    _cold_outside_memory,
    _phases_fit,
    _maintenance_has_its_filesystem,
    _base_backup_can_be_made,
    _cold_without_phases,
    _copied_without_tablespaces,
    _fits_a_server_of_others,
)
"""Rules between keys of a configuration: each returns the place and the sentence of a violation."""

"""Read facts about server, storage and machine from the files around a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app.domain.errors import ForeignDataError
from app.domain.json_value import Json
from app.domain.text import GIB, MIB, TIB, tr
from app.importers.files.members import text_of
from app.importers.formats.file_types import FileType
from app.importers.formats.server_statistics import (
    ServerSettings,
    parse_configuration,
    parse_pg_config,
    parse_settings,
    server_version,
)
from app.importers.formats.storage_texts import FolderNameFacts, StorageInfo, read_storage
from app.importers.runs.discovery import FoundFile, ScanResult, members_of
from app.probes.base.probe import Facts

_DATA_BYTES_CELL: Final = -1
"""Last cell of a row of sizes: the whole database (pg_database_size)."""


@dataclass(slots=True)
class Environment:
    """Environment of a run.

    Attributes:
        storage: merged from all texts and names.
        origins: source of each of its parts.
        settings: of the server; None if no file has them.
        no_settings: why there are none although files have some; empty otherwise.
        version: of the server; empty if unknown.
        build: pg_config's lines.
        data_bytes: size of the database before the run.
        machine: facts of the machine.
    """

    storage: StorageInfo = field(default_factory=StorageInfo)
    origins: dict[str, str] = field(default_factory=dict)
    settings: ServerSettings | None = None
    no_settings: str = ""
    version: str = ""
    build: dict[str, str] = field(default_factory=dict)
    data_bytes: int | None = None
    machine: dict[str, Json] = field(default_factory=dict)

    def facts(self) -> dict[str, Json]:
        """Return everything under the probes' names."""
        storage_info = self.storage
        storage: dict[str, Json] = {}
        if storage_info.filesystem:
            storage["mount"] = {"filesystem": storage_info.filesystem, "options": list(storage_info.options)}
        if storage_info.properties:
            storage["filesystem"] = {"dataset": dict(storage_info.properties)}
        if storage_info.level:
            storage["raid"] = {
                "level": storage_info.level,
                "assembler": storage_info.assembler,
                "devices": storage_info.devices,
                "detail": storage_info.detail,
            }
        facts: dict[str, Json] = dict(self.machine)
        if storage:
            facts["storage"] = storage
        if self.origins:
            facts["imported"] = dict(self.origins)
        if self.settings is not None:
            facts["server"] = {
                "version": self.version,
                "settings": {name: {"value": value} for name, value in self.settings.values.items()},
            }
        return facts


def read_machines(tree: ScanResult, notes: list[str]) -> dict[str, dict[str, Json]]:
    """Return the machines described in any README below the root, by name."""
    found: dict[str, dict[str, Json]] = {}
    for files in tree.folders.values():
        for member in members_of(files, FileType.README):
            try:
                machines = parse_machines(text_of(member))
            except ForeignDataError as error:
                notes.append(error.message)
                continue
            found |= {name: machine_facts(name, machine) for name, machine in machines.items()}
    return found


def read_environment(tree: ScanResult, folder: Path, place: FolderNameFacts, notes: list[str]) -> Environment:
    """Return the facts from files in a folder and above it; files win over names of folders."""
    found = Environment()
    for each, text in _texts(tree, folder, FileType.STORAGE, notes):
        storage = read_storage(text)
        if storage is not None:
            _merge(found, storage, tr("file {name}").format(name=each.member.name))
    names = StorageInfo(place.filesystem, level=place.level, assembler=place.assembler)
    _merge(found, names, tr("name of the folder or row"))
    _drop_arrays_of_others(found)
    for _, text in _texts(tree, folder, FileType.SETTINGS, notes):
        if (settings := parse_settings(text)).values:
            found.settings = settings
            found.version = settings.values.get("server_version", "")
    if found.settings is None:
        _read_configuration(found, tree, folder, notes)
    for _, text in _texts(tree, folder, FileType.PG_CONFIG, notes):
        found.build = parse_pg_config(text)
    for _, text in _texts(tree, folder, FileType.SIZES, notes, above=False):
        found.data_bytes = _data_bytes(text)
    if not found.version:
        for _, text in _texts(tree, folder, FileType.SERVER_LOG, notes):
            found.version = found.version or server_version(text)
    found.version = found.version or found.build.get("VERSION", "").removeprefix("PostgreSQL ")
    return found


def _drop_arrays_of_others(found: Environment) -> None:
    """Remove an array that did not contain the data, and the assembler of an unknown level."""
    if found.storage.is_beside_md:
        found.storage = replace(found.storage, level="", devices=None)
        found.origins.pop("level", None)
    if not found.storage.level:
        found.storage = replace(found.storage, assembler="")


_ADDED: Final = "postgresql.auto.conf"
"""Written by ALTER SYSTEM, read after postgresql.conf."""


def _read_configuration(found: Environment, tree: ScanResult, folder: Path, notes: list[str]) -> None:
    """Read the nearest configuration file; of several, the used one is unknown."""
    texts = [(each.member.name, text) for each, text in _texts(tree, folder, FileType.CONFIGURATION, notes)]
    files = [text for name, text in texts if name != _ADDED]
    added = [text for name, text in texts if name == _ADDED]
    if max(len(files), len(added)) > 1:
        names = ", ".join(sorted({name for name, _ in texts}))
        found.no_settings = tr(
            "several candidate files, and it is unknown which one was used: {names}"
        ).format(names=names)
    elif texts:
        found.settings = parse_configuration(*files, *added)


def _texts(
    tree: ScanResult, folder: Path, kind: FileType, notes: list[str], *, above: bool = True
) -> Iterator[tuple[FoundFile, str]]:
    files = tree.context(folder, kind)
    if kind is FileType.STORAGE:  # the folders of the run and of the filesystem have different facts
        files = list(tree.all_context(folder, kind))
    if not above:
        files = [each for each in tree.folders.get(folder, ()) if each.kind is kind]
    for each in files:
        try:
            yield each, text_of(each.member)
        except ForeignDataError as error:
            notes.append(error.message)


def _merge(found: Environment, storage: StorageInfo, origin: str) -> None:
    """Add the facts that are still unknown."""
    for name in ("filesystem", "options", "properties", "level", "assembler", "devices", "detail", "device"):
        if not getattr(found.storage, name) and getattr(storage, name):
            found.storage = replace(found.storage, **{name: getattr(storage, name)})
            if name in {"filesystem", "level"}:
                found.origins[name] = origin


def _data_bytes(text: str) -> int | None:
    for line in text.splitlines():
        cells = line.split(";")
        if cells[0] == "before" and re.fullmatch(r"[0-9]{1,18}", cells[_DATA_BYTES_CELL]):
            return int(cells[_DATA_BYTES_CELL])
    return None


_HEADING: Final = re.compile(r"#{1,4}\s+(.+?)\s*#*")
_ITEM: Final = re.compile(
    r"\s*[*•-]\s+(?:(CPU|processor|RAM|memory|storage|disks?|kernel|OS|system)\s*:?\s+)(.+)", re.IGNORECASE
)
_SIZE: Final = re.compile(r"(\d{1,6})\s*(MB|MiB|GB|GiB|TB|TiB)\b", re.IGNORECASE)
_UNITS: Final = {"m": MIB, "g": GIB, "t": TIB}
_KERNEL: Final = re.compile(r"\d+\.\d+(?:\.\d+)?\S*")
_NAMES: Final = {
    "cpu": "processor",
    "ram": "memory",
    "disk": "storage",
    "disks": "storage",
    "os": "system",
}

Machine = Mapping[str, str]


def parse_machines(text: str) -> dict[str, Machine]:
    """Return the machines in a README, by heading; headings without such lines are skipped."""
    found: dict[str, dict[str, str]] = {}
    heading = ""
    for line in text.splitlines():
        if match := _HEADING.fullmatch(line):
            heading = match[1]
        elif (match := _ITEM.fullmatch(line)) and heading:
            kind = match[1].lower()
            found.setdefault(heading, {}).setdefault(_NAMES.get(kind, kind), match[2].strip())
    return dict(found)


def machine_facts(name: str, machine: Machine) -> Facts:
    """Return a README's facts under the probes' names."""
    facts: Facts = {"machine": {"name": name, **machine}}
    if processor := machine.get("processor"):
        facts["processor"] = {"info": {"model_name": processor}}
    if size := _SIZE.search(machine.get("memory", "")):
        # Memory is sold in powers of two, in whatever unit it is written.
        facts["memory"] = {"info": {"MemTotal": int(size[1]) * _UNITS[size[2][0].lower()]}}
    if kernel := _KERNEL.search(machine.get("kernel", "")):
        facts["kernel"] = {"release": kernel[0]}
    return facts

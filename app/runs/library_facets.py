"""What runs can be searched by besides their names: version, machine, options, tags. Pure; foreign values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.domain.text import tr
from app.domain.units import format_size
from app.runs.runfile import Json

_PLAIN: Final = frozenset({"rw"})
"""Mount options that every mount under test has."""


def _dict(value: Json | None) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json | None) -> Iterable[Json]:
    return value if isinstance(value, list) else ()


def _text(value: Json | None) -> str:
    return value if isinstance(value, str) else ""


def postgresql_version(values: Mapping[str, Json]) -> str | None:
    """Return the version of the server, such as ``15.18``; None where unknown."""
    return _text(_dict(values.get("installation")).get("version")) or None


def machine_label(facts: Mapping[str, Json]) -> str | None:
    """Return what tells machines apart at a glance: processor, CPUs, memory; None where unknown."""
    processor = _dict(facts.get("processor"))
    model = _text(_dict(processor.get("info")).get("model_name"))
    online = processor.get("online")
    memory = _dict(_dict(facts.get("memory")).get("info")).get("MemTotal")
    parts = [" ".join(model.split())] if model else []
    if isinstance(online, int):
        parts.append(tr("1 CPU") if online == 1 else tr("{count} CPUs").format(count=online))
    if isinstance(memory, int):
        parts.append(format_size(memory))
    return ", ".join(parts) or None


def option_words(values: Mapping[str, Json], facts: Mapping[str, Json]) -> tuple[str, ...]:
    """Return mount options, options of the storage plan, and the settings that somebody chose, each once."""
    found: list[str] = []
    mount = _dict(_dict(facts.get("storage")).get("mount"))
    for key in ("options", "super_options"):
        found += [option for option in map(_text, _list(mount.get(key))) if option]
    for name, value in _dict(_dict(values.get("target")).get("options")).items():
        found.append(f"{name}={value}")
    postgresql = _dict(values.get("postgresql"))
    if preset := _text(postgresql.get("preset")):
        found.append(f"preset={preset}")
    if isinstance(postgresql.get("checksums"), bool):
        found.append("checksums=on" if postgresql["checksums"] else "checksums=off")
    for setting in map(_dict, _list(values.get("settings"))):
        if setting.get("origin") in {"user", "filesystem"}:
            found.append(f"{_text(setting.get('name'))}={_text(setting.get('value'))}")
    return tuple(option for option in dict.fromkeys(found) if option not in _PLAIN)


def tags_of(values: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the tags that people gave a run."""
    return tuple(tag for tag in map(_text, _list(values.get("tags"))) if tag)

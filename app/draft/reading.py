"""Reads the fields of a draft through their kinds and notes what is wrong and what has to be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from app.campaign_file.kinds import Name
from app.campaign_file.paths import Scripts
from app.campaign_file.problems import InvalidValueError
from app.campaign_file.problems import KeyPath as FilePlace
from app.campaign_file.scopes import ScopedValue, Table
from app.domain.campaign.configuration import FolderTarget, MemoryTarget, Script, Target
from app.domain.problem import Problem
from app.draft.fields.fields import FIELDS, SCRIPT, SETTINGS
from app.draft.fields.state import OWN_SCRIPTS, Length, PostgresDraft, SizeChoice, WorkloadDraft
from app.draft.fields.text import read_settings, read_text
from app.draft.machine_answers import MachineAnswer, MachineQuestion, ScriptsQuestion

_ROOT: Final = Path("/")


@dataclass(slots=True)
class FieldReader:
    """Reads fields one by one.

    Attributes:
        answers: of the machine, so far.
        problems: everything that is wrong so far.
        questions: without whose answers there is no campaign.
    """

    answers: Mapping[MachineQuestion, MachineAnswer]
    problems: list[Problem] = field(default_factory=list)
    questions: list[MachineQuestion] = field(default_factory=list)

    def add(self, path: str, sentence: str, *, about: str = "") -> None:
        """Note a problem; `about` is a name that begins its sentence."""
        message = f"{about}: {sentence}" if about else sentence[:1].upper() + sentence[1:]
        self.problems.append(Problem(path, message))

    def add_refused(self, path: str, problems: Sequence[Problem]) -> None:
        """Note what a kind refuses."""
        for problem in problems:
            self.add(path, problem.message, about=problem.path.removeprefix("."))

    def read(self, key: str, text: str, path: str = "") -> Any:  # noqa: ANN401
        """Return the value of a field; None where it is refused, which is noted."""
        try:
            return read_text(FIELDS[key], text)
        except InvalidValueError as error:
            self.add_refused(path or key, error.problems)
            return None

    def name(self, text: str, path: str) -> str | None:
        """Return a name; None where it is refused."""
        try:
            name: str = Name().read(text.strip(), _ROOT)
        except InvalidValueError as error:
            self.add_refused(path, error.problems)
            return None
        return name

    def make_target(self, kind: str, text: str, path: str) -> Target | None:
        """Return the folder or the memory of a text; None where it is refused."""
        made: type[FolderTarget | MemoryTarget] = FolderTarget if kind == "folder" else MemoryTarget
        if not text.strip():
            return made()
        key = "target.folder.path" if kind == "folder" else "target.memory.size"
        value = self.read(key, text, path)
        return None if value is None else made(value)

    def read_postgresql(self, part: PostgresDraft) -> Table:
        """Return the values of the page about PostgreSQL."""
        table = self._read_keys(
            "postgresql",
            {
                "installation": part.installation,
                "preset": part.preset,
                "checksums": "true" if part.checksums else "false",
            },
        )
        table["settings"] = self.settings(part.settings, SETTINGS, FilePlace(SETTINGS))
        return table

    def settings(self, text: str, path: str, place: FilePlace) -> ScopedValue:
        """Return server settings of a text."""
        try:
            return ScopedValue(read_settings(text), place)
        except InvalidValueError as error:
            self.add_refused(path, error.problems)
            return ScopedValue(None, place)

    def read_workload(self, part: WorkloadDraft) -> Table:
        """Return the values of the page about the workload."""
        texts = {
            "clients": part.clients,
            "warmup": part.warmup,
            "protocol": part.protocol,
        }
        match part.size_choice:
            case SizeChoice.SCALE:
                texts["scale"] = part.scale
            case SizeChoice.BYTES:
                texts["size"] = part.size
            case _:
                texts["size"] = part.size_choice.value
        if part.length is Length.DURATION:
            texts["duration"] = part.duration
        else:
            texts["transactions"] = part.transactions
        optional = {"threads": part.threads, "rate": part.rate, "latency_limit": part.latency_limit}
        texts |= {key: text for key, text in optional.items() if text.strip()}
        table = self._read_keys("workload", texts)
        table["scripts"] = ScopedValue(self.scripts(_raw_scripts(part), SCRIPT), FilePlace(SCRIPT))
        return table

    def _read_keys(self, section: str, texts: Mapping[str, str]) -> Table:
        table: Table = {}
        for key, text in texts.items():
            each = FIELDS[f"{section}.{key}"]
            path = f"{section}.{key}"
            table[each.attribute] = ScopedValue(self.read(path, text), FilePlace(path))
            if each.instead_of:
                table[each.instead_of] = ScopedValue(None, FilePlace(path))
        return table

    def scripts(self, raw: list[object], path: str) -> tuple[Script, ...] | None:
        """Return scripts; files are read by whoever answers the question."""
        if not any(isinstance(item, dict) and "file" in item for item in raw):
            try:
                scripts: tuple[Script, ...] = Scripts().read(raw, _ROOT)
            except InvalidValueError as error:
                self.add_refused(path, error.problems)
                return None
            return scripts
        question = ScriptsQuestion(json.dumps(raw))
        known = self.answers.get(question)
        if known is None:
            self.questions.append(question)
            return None
        if known.error is not None:
            self.add(path, known.error.message)
            return None
        return cast("tuple[Script, ...]", known.result)


def _raw_scripts(part: WorkloadDraft) -> list[object]:
    """Return the third page's scripts as a campaign file would hold them."""
    if part.script != OWN_SCRIPTS:
        return [part.script]
    raw: list[object] = []
    for each in part.scripts:
        source = {"builtin": each.builtin} if each.builtin else {"file": each.path.strip()}
        weight = each.weight.strip()
        raw.append({**source, "weight": int(weight) if weight.isascii() and weight.isdigit() else weight})
    return raw

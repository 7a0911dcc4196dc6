"""Every sentence that root tells is the same after it crossed the bus, and after it lay in the journal."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import string
from pathlib import Path
from typing import Any

import pytest

from app.dbus.service import load_gio, variant_of
from app.domain import errors
from app.domain.disk import (
    DiskRefusal,
    UnreleasedItem,
    refusal_from_wire,
    refusal_to_wire,
    unreleased_from_wire,
    unreleased_to_wire,
)
from app.domain.errors import CancelledError, FootingError, RefusedError, StorageError, restore_error
from app.domain.messages import message
from app.domain.messages.message import (
    MESSAGE,
    SENTENCES,
    SPARE,
    STORAGE,
    Message,
    error_text,
    joined,
    message_from_json,
    message_from_wire,
    message_to_json,
    message_to_wire,
    say,
    without_full_stop,
)
from app.domain.step_progress import Operation, StepProgress, progress_from_wire, progress_to_wire
from app.domain.text import GIB, NUMBER_FORMATS, format_size
from tests.cases import each_case

APP = Path(__file__).parents[3] / "app"


def fields_of(code: str) -> dict[str, str]:
    """Return the names of the values of a sentence, with how they are formatted."""
    found = string.Formatter().parse(SENTENCES[code])
    return {name: spec or "" for _, name, spec, _ in found if name is not None}


def sample(code: str) -> Message:
    """Return a sentence with values as they are met: text, fractions, and a sentence within."""
    values: dict[str, object] = {}
    for number, (name, spec) in enumerate(fields_of(code).items()):
        kinds: list[object] = [f"{name} {{x}} ü", number, say("end-use"), joined("; ", [say("swap"), "x"])]
        values[name] = 7.5 if spec else kinds[number % len(kinds)]
    return say(code, **values)


def crossed(text: str) -> str:
    """Return what a text is at the other end of a bus, in types of D-Bus."""
    _, glib = load_gio()
    return message_from_wire(variant_of(glib, MESSAGE, message_to_wire(text)).unpack())


@each_case("code", SENTENCES)
def test_sentence_round_trip_bus_and_journal(code: str) -> None:
    said = sample(code)
    for read in (crossed(said), message_from_json(json.loads(json.dumps(message_to_json(said))))):
        assert read == said == SENTENCES[code].format(**said.values)
        assert isinstance(read, Message)
        assert (read.code, dict(read.values)) == (said.code, dict(said.values))


@each_case("code", SENTENCES)
def test_sentence_fields_have_plain_names(code: str) -> None:
    assert all(name.isidentifier() and spec in {"", ".0f"} for name, spec in fields_of(code).items())


def test_a_code_stands_for_one_sentence() -> None:
    assert not STORAGE.keys() & SPARE.keys()


def said_in(folder: str) -> list[tuple[str, ast.Call]]:
    """Return every call of `say` in a folder."""
    return [
        (f"{path.name}:{node.lineno}", node)
        for path in (APP / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"
    ]


def test_said_codes_and_values_match_sentences() -> None:
    used = set()
    for place, call in [*said_in("storage"), *said_in("helper"), *said_in("domain/messages")]:
        (code,) = call.args
        if isinstance(code, ast.Constant):
            assert code.value in SENTENCES, place
            assert {each.arg for each in call.keywords} == fields_of(str(code.value)).keys(), place
            used.add(code.value)
    assert used == SENTENCES.keys(), "a sentence that nobody says"


@pytest.mark.parametrize("folder", ["storage", "helper"])
def test_root_has_no_sentence_without_code(folder: str) -> None:
    """Plans are judged by the window too, before root sees them: those sentences are made there."""
    of_plans = {"availability.py", "disk_target.py"}
    making = {
        path.name
        for path in (APP / folder).rglob("*.py")
        if "import tr\n" in path.read_text(encoding="utf-8")
    }
    assert making <= of_plans


def test_unknown_code_with_values() -> None:
    assert message_from_wire(("unheard-of", {"node": "/dev/sdb", "count": 3})) == (
        "“unheard-of” (node: /dev/sdb, count: 3), a message from another version of pgFooting"
    )
    within = message_from_wire(("kept", {"node": "sdb", "reason": ("unheard-of", {}), "when": ("", {})}))
    assert within.startswith("sdb “unheard-of” (), a message from another version")


@pytest.mark.parametrize(
    "wire",
    [
        ("path-exists", {}),
        ("disk-locked", {"node": "sdb", "seconds": "many"}),
        ("joined", {}),
        ("joined", {"between": 1, "parts": 2}),
        ("unstopped", {}),
        ("text", {}),
    ],
)
def test_mismatched_values_no_crash(wire: Any) -> None:  # noqa: ANN401
    assert isinstance(message_from_wire(wire), str)


def test_values_are_no_templates() -> None:
    assert (
        crossed(say("path-exists", path="{0} {path} {x.__class__}"))
        == "{0} {path} {x.__class__} already exists."
    )


def test_plain_text_crosses_unchanged() -> None:
    assert crossed("") == ""
    found = crossed("mkfs: {no} such device")
    assert found == "mkfs: {no} such device"
    assert not isinstance(found, Message)


def test_invalid_characters_replaced() -> None:
    assert crossed(say("path-exists", path="a\0b\udc80")) == "a\N{REPLACEMENT CHARACTER}b? already exists."


def test_deeply_nested_messages_become_text() -> None:
    said: str = say("swap")
    for _ in range(40):
        said = say("undo-failed", step=joined(" ", ("x", said)), reason="y")
    assert crossed(said) == said


def test_oversized_numbers_become_text() -> None:
    said = say("at-byte", offset=2**70)
    assert crossed(said) == said == f"at byte {2**70}"


def test_joined_and_unstopped() -> None:
    plain = ("It is swap.", "", "8:1 swap.")
    coded = (say("rule-swap"), "", "8:1 swap.")
    assert joined("; ", plain) == "It is swap.; 8:1 swap."
    assert joined("; ", coded) == crossed(joined("; ", coded)) == "It is used as swap.; 8:1 swap."
    assert joined(" ", ("", "")) == ""
    assert isinstance(joined(" ", ("", say("swap"))), Message)
    for text in (*coded, joined("; ", coded)):
        assert without_full_stop(text) == crossed(without_full_stop(text)) == text.rstrip(".")


def test_what_an_exception_says_stays_a_message() -> None:
    assert error_text(OSError(5, "Input/output error", "/dev/x")) == str(
        OSError(5, "Input/output error", "/dev/x")
    )
    for err in (OSError(5, say("swap"), "/dev/x"), OSError(5, say("swap")), ValueError(say("swap"))):
        assert error_text(err) == crossed(error_text(err)) == str(err)
        assert isinstance(error_text(err), Message)


def test_a_message_can_be_copied() -> None:
    said = say("path-exists", path="/x")
    for other in (copy.deepcopy(said), copy.copy(said), pickle.loads(pickle.dumps(said))):  # noqa: S301
        assert (other, other.code, other.values) == (said, said.code, said.values)


@pytest.mark.parametrize(
    "broken", [None, 3, [], {}, {"code": 1, "values": {}}, {"code": "swap", "values": []}]
)
def test_invalid_journal_message_refused(broken: object) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        message_from_json(broken)


def codes_of_errors() -> list[type[FootingError]]:
    return [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, FootingError) and "code" in each.__dict__
    ]


@pytest.mark.parametrize("kind", codes_of_errors())
def test_every_error_is_restored_by_its_code(kind: type[FootingError]) -> None:
    restored = restore_error(kind.code, crossed(say("path-exists", path="/x")), crossed(say("end-use")))
    plain = kind.__init__ is FootingError.__init__
    assert type(restored) is kind if plain else issubclass(kind, type(restored))
    assert (restored.message, restored.hint) == ("/x already exists.", SENTENCES["end-use"])
    assert restored.exit_status == kind.exit_status


def test_unknown_error_code_is_storage_error() -> None:
    assert type(restore_error("unheard-of", "x")) is StorageError
    assert type(restore_error(CancelledError.code, "x")) is CancelledError
    assert type(restore_error(RefusedError.code, "x")) is RefusedError


def test_unreleased_and_refusal_round_trip() -> None:
    _, glib = load_gio()
    item = UnreleasedItem(
        "/dev/sdb", "S1", say("kept", node="sdb", reason=say("holds-no-table"), when=""), "x"
    )
    wire = variant_of(glib, f"(ss{MESSAGE}{MESSAGE})", unreleased_to_wire(item)).unpack()
    assert unreleased_from_wire(wire) == item
    refusal = DiskRefusal("D05", say("rule-mounted"), say("use", number="8:1", user="/srv"), "")
    wire = variant_of(glib, f"(s{MESSAGE}{MESSAGE}{MESSAGE})", refusal_to_wire(refusal)).unpack()
    assert refusal_from_wire(wire) == refusal


@pytest.mark.parametrize("operation", Operation)
def test_progress_round_trip(operation: Operation) -> None:
    _, glib = load_gio()
    said = say("sync-goes-on", node="md1", action="resync", speed="7")
    for job in (StepProgress(operation, 1, 2, "mkfs"), StepProgress(operation, 2, 2, said, 0.0, 12.5)):
        wire = variant_of(glib, f"(suu{MESSAGE}dd)", progress_to_wire(job)).unpack()
        assert progress_from_wire(wire) == job


def test_sizes_in_reader_number_format(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = say("size-at-least", size=format_size(1.46 * GIB), minimum=format_size(16 * GIB))
    kept = message_to_json(sentence)
    assert message_from_json(kept) == sentence == "1.46 GiB, at least 16 GiB"
    monkeypatch.setattr(message, "number_text", NUMBER_FORMATS["de"].write)
    assert message_from_json(kept) == "1,46 GiB, at least 16 GiB"
    named = message_to_json(say("size-at-least", size="3.5 GiB of sda", minimum="v1.46"))
    assert message_from_json(named) == "3.5 GiB of sda, at least v1.46", "names are as they are"

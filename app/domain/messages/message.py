"""A sentence that root tells, as a code and values: the text is made where it is read.

Root runs without the user's language. What it says is therefore a `Message`: a text like every other one
where it is said, and code and values where it leaves the process (`message_to_wire`, `message_to_json`), from
which the reader makes the sentence again in his own language. Text that is nobody's sentence (what a program
said, the text of a command, an error of the kernel) is a plain `str` and crosses as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from app.domain.messages.spare import SPARE
from app.domain.messages.storage import STORAGE
from app.domain.text import number_text, tr

SENTENCES: Final[Mapping[str, str]] = {**STORAGE, **SPARE}
"""Every sentence by its code, with the names of its values."""

TEXT: Final = "text"
"""Code of a text that is no sentence of ours; its one value has the same name."""
JOINED: Final = "joined"
UNSTOPPED: Final = "unstopped"
MESSAGE: Final = "(sa{sv})"
"""A message as it crosses the bus: code, values; an empty code for no message.

Values are texts, whole numbers, fractions, messages, or arrays of messages.
"""
_MOST_DEPTH: Final = 6
"""Messages within messages; D-Bus has at most 64 containers within each other, of which one takes four."""
_SIZE: Final = re.compile(r"(?P<number>\d+(?:\.(?P<fraction>\d+))?) (?P<unit>(?:[KMGT]i)?B)")
"""As `app.domain.units.format_size` writes them."""
_MOST_INTEGER: Final = 2**63 - 1

Value = str | int | float | tuple[str, ...]


class Message(str):
    """A sentence that knows its code and its values.

    Attributes:
        code: of `SENTENCES`, `JOINED` or `UNSTOPPED`.
        values: by name; those that are sentences are messages themselves.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Value]

    def __new__(cls, code: str, values: Mapping[str, Value]) -> Self:
        """Make the text.

        Raises:
            KeyError: there is no such code, or a value lacks.
            ValueError, TypeError: a value is of the wrong type.
        """
        self = super().__new__(cls, _text_of(code, values))
        self.code = code
        self.values = dict(values)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[explicit-override]  # root has no typing_extensions
        """Return what copies are made of."""
        return self.code, self.values


def say(code: str, /, **values: object) -> Message:
    """Return a sentence; what is neither text nor number is told as `str` tells it.

    Args:
        code: of `SENTENCES`.
        values: by the names in the sentence.
    """
    return Message(code, {name: _value(each) for name, each in values.items()})


def joined(between: str, parts: Iterable[str]) -> str:
    """Return texts with something between them, those that are empty left out; messages stay messages."""
    told = tuple(filter(None, parts))
    if len(told) == 1:
        return told[0]
    if not any(isinstance(each, Message) for each in told):
        return between.join(told)
    return Message(JOINED, {"between": between, "parts": told})


def unstopped(text: str) -> str:
    """Return a text without its full stop, to stand within another sentence."""
    if isinstance(text, Message):
        return Message(UNSTOPPED, {"text": text}) if text.endswith(".") else text
    return text.rstrip(".")


def error_text(err: BaseException) -> str:
    """Return what an exception says, as `str` does; what it was given as a message stays one."""
    match err.args:
        case (Message() as message,):
            return message
        case (int(number), Message() as message):
            path = getattr(err, "filename", None)
            if path is None:
                return say("os-error", number=number, reason=message)
            return say("os-error-path", number=number, reason=message, path=repr(path))
        case _:
            return str(err)


def _joined_text(values: Mapping[str, Any]) -> str:
    return str(values["between"]).join(values["parts"])


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    JOINED: _joined_text,
    UNSTOPPED: lambda values: str(values["text"]).rstrip("."),
}


def _text_of(code: str, values: Mapping[str, Value]) -> str:
    form = _FORMS.get(code)
    return form(values) if form else SENTENCES[code].format(**values)


def _value(value: object) -> Value:
    if isinstance(value, str | float) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return str(value)


# --- across the bus


@dataclass(frozen=True, slots=True)
class WireVariant:
    """A value with its type, as D-Bus needs it within a{sv}.

    Attributes:
        signature: of it.
        value: itself; may hold others.
    """

    signature: str
    value: object


WireMessage = tuple[str, dict[str, WireVariant]]


def message_to_wire(text: str, depth: int = 0) -> WireMessage:
    """Return a message as it crosses the bus (`MESSAGE`); what is nested too deep crosses as root's text."""
    if not text:
        return "", {}
    if not isinstance(text, Message) or depth >= _MOST_DEPTH:
        return TEXT, {TEXT: WireVariant("s", str(text))}
    return text.code, {name: _variant(each, depth + 1) for name, each in text.values.items()}


def _variant(value: Value, depth: int) -> WireVariant:
    match value:
        case Message():
            return WireVariant(MESSAGE, message_to_wire(value, depth))
        case tuple():
            return WireVariant(f"a{MESSAGE}", [message_to_wire(each, depth) for each in value])
        case float():
            return WireVariant("d", value)
        case int() if abs(value) <= _MOST_INTEGER:
            return WireVariant("x", value)
        case _:
            return WireVariant("s", str(value))


def message_from_wire(wire: Sequence[Any]) -> str:
    """Return the message that crossed the bus, in words of this process.

    A code that this program does not know (the helper is newer) is told as such, with its values.
    """
    code, values = wire
    return _restored(str(code), {str(name): _from_variant(each) for name, each in values.items()})


def _from_variant(value: Any) -> Value:  # noqa: ANN401 - whatever was in a variant
    match value:
        case tuple():
            return message_from_wire(value)
        case list():
            return tuple(message_from_wire(each) for each in value)
        case _:
            return _value(value)


def _restored(code: str, values: Mapping[str, Value]) -> str:
    if not code:
        return ""
    if code == TEXT:
        return str(values.get(TEXT, ""))
    try:
        return Message(code, {name: _as_read(each) for name, each in values.items()})
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        told = ", ".join(f"{name}: {each}" for name, each in values.items() if not isinstance(each, tuple))
        return tr("“{code}” ({values}), a message of another version of pgFooting").format(
            code=code, values=told
        )


def _as_read(value: Value) -> Value:
    """Return a value with the size in it written as the reader's language does; root writes it in English."""
    size = _SIZE.fullmatch(value) if isinstance(value, str) and not isinstance(value, Message) else None
    if size is None:
        return value
    digits = len(size["fraction"] or "")
    return f"{number_text(float(size['number']), f'.{digits}f')} {size['unit']}"


# --- in the journal


def message_to_json(text: str) -> object:
    """Return a message as plain values for JSON: a text, or code and values."""
    if not isinstance(text, Message):
        return text
    return {"code": text.code, "values": {name: _to_json(each) for name, each in text.values.items()}}


def _to_json(value: Value) -> object:
    match value:
        case str():
            return message_to_json(value)
        case tuple():
            return [message_to_json(each) for each in value]
        case _:
            return value


def message_from_json(value: object) -> str:
    """Return the message that `message_to_json` wrote.

    Raises:
        ValueError, TypeError, KeyError: it is nothing that it writes.
    """
    match value:
        case str():
            return value
        case {"code": str(code), "values": dict(values)}:
            return _restored(code, {str(name): _from_json(each) for name, each in values.items()})
        case _:
            raise TypeError("a message")


def _from_json(value: object) -> Value:
    match value:
        case list():
            return tuple(message_from_json(each) for each in value)
        case float() | int() if not isinstance(value, bool):
            return value
        case _:
            return message_from_json(value)

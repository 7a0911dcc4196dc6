"""Call a function in a child process: its arguments, and its result or error, as JSON.

Standard library only: `app.process.exec_as` imports this, and the module of the function, before the account
changes. The parent's side is `app.process.starter.as_account`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from types import ModuleType
from typing import Any


def pack(value: object) -> str:
    """Return a value as JSON; what JSON has no kind for is the name of its class and its arguments."""
    return json.dumps(value, default=_made_again)


def _made_again(value: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON has no kind for
    name, arguments = type(value).__name__, []
    match value:
        case bytes():  # on the standard input
            name = "content"
        case OSError():
            name, arguments = "OSError", [value.errno, value.strerror, value.filename]
        case Exception():
            arguments = list(value.args)
        case tuple():  # which JSON has as a list
            arguments = [list(value)]
        case Enum():
            arguments = [value.value]
        case _:
            arguments = [getattr(value, each.name) for each in fields(value)]
    return {"class": name, "arguments": arguments}


def unpack(text: str, module: ModuleType, **more: Callable[..., object]) -> Any:  # noqa: ANN401 - JSON
    """Return the value of a JSON text of `pack`.

    Args:
        text: of the other process.
        module: has the classes that the text may name.
        more: further makers of values, by name.

    Raises:
        ValueError: it is not JSON.
        KeyError: it names something else.
    """
    # SECURITY: root reads what another account's process writes: it names data, never something that acts.
    classes = {name: each for name, each in vars(module).items() if _is_data(each)}
    classes |= {"OSError": OSError, "tuple": tuple, **more}

    def made(values: dict[str, Any]) -> object:
        return classes[values["class"]](*values["arguments"]) if "class" in values else values

    return json.loads(text, object_hook=made)


def _is_data(value: object) -> bool:
    return isinstance(value, type) and (is_dataclass(value) or issubclass(value, Enum | Exception))


def call(module: ModuleType, name: str, arguments: str) -> int:
    """Call a function of a module; print its result, or its OSError or error of that module."""
    given = unpack(arguments, module, content=sys.stdin.buffer.read)
    try:
        result = getattr(module, name)(**given)
        answer = {"result": _made_again(result) if isinstance(result, tuple) else result}
    except OSError as err:
        path = str(err.filename)  # within a folder the function knows only names
        where = path if path.startswith("/") else str(next(iter(given.values())))
        answer = {"error": OSError(err.errno, err.strerror, where)}
    except Exception as err:
        if not _is_data(vars(module).get(type(err).__name__)):
            raise
        answer = {"error": err}
    print(pack(answer), flush=True)  # noqa: T201 - this is the answer
    return 0

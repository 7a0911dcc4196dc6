"""CPU time of single parts of a running program: each part without the parts that it calls."""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Meter:
    """Adds up CPU nanoseconds by label; a part within a part counts for itself alone.

    Reading the clock costs about half a microsecond for each call, which is in the figures.
    """

    def __init__(self) -> None:
        self.ns: dict[str, int] = {}
        self._local = threading.local()
        self._restore: list[Callable[[], None]] = []

    def wrap(self, label: str, owner: Any, name: str) -> None:  # noqa: ANN401 - any object or class
        """Count what the method `name` of an object or class needs, until `restore`."""
        own = name in vars(owner) if hasattr(owner, "__dict__") else False
        original = getattr(owner, name)
        wrapper = self._function
        if hasattr(original, "__wrapped__"):  # made with contextlib.contextmanager
            wrapper = self._context
        elif inspect.isgeneratorfunction(original):
            wrapper = self._generator
        setattr(owner, name, wrapper(label, original))
        self.ns.setdefault(label, 0)
        self._restore.append(
            functools.partial(setattr, owner, name, original)
            if own
            else functools.partial(delattr, owner, name)
        )

    def restore(self) -> None:
        """Undo every `wrap`."""
        while self._restore:
            self._restore.pop()()

    def _function(self, label: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            with self._counting(label):
                return original(*args, **kwargs)

        return timed

    def _generator(self, label: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Iterator[Any]:  # noqa: ANN401
            items = original(*args, **kwargs)
            while True:
                with self._counting(label):
                    item = next(items, self)
                if item is self:
                    return
                yield item

        return timed

    def _context(self, label: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count entering and leaving, and not what happens between."""

        @contextmanager
        def timed(*args: Any, **kwargs: Any) -> Iterator[Any]:  # noqa: ANN401
            inner = original(*args, **kwargs)
            with self._counting(label):
                value = inner.__enter__()
            try:
                yield value
            except BaseException as error:
                if not inner.__exit__(type(error), error, error.__traceback__):
                    raise
            else:
                with self._counting(label):
                    inner.__exit__(None, None, None)

        return timed

    @contextmanager
    def _counting(self, label: str) -> Iterator[None]:
        stack: list[str] = self._local.__dict__.setdefault("stack", [])
        self._count(stack)
        stack.append(label)
        try:
            yield
        finally:
            self._count(stack)
            stack.pop()

    def _count(self, stack: list[str]) -> None:
        """Add the time since the last look to the part that was running."""
        now_ns = time.thread_time_ns()
        if stack:
            self.ns[stack[-1]] += now_ns - self._local.since_ns
        self._local.since_ns = now_ns

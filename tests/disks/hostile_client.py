"""A client without rights that calls whatever the interface has with whatever fits, and with what does not.

``python -m tests.disks.hostile_client SEED COUNT LONGEST``, as somebody who may inspect and not erase; texts
have up to LONGEST characters. Prints JSON: how often each error was answered, and every text of an error. The
same seed makes the same calls.
"""

from __future__ import annotations

import json
import random
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from typing import Any

from app.dbus.service import load_gio
from app.helper.base.audit import INTERFACE
from tests.bus.client import Client, RemoteError
from tests.disks.helper_owner import NAME, PATH

BATCH = 50
TEXTS = (
    "", "a", "0" * 32, "0" * 64, "../../../../etc/shadow", "/etc/passwd", "/dev/sda", "-F", "--force",
    "$(reboot)", "; rm -rf /", "`id`", "a\nb\rc", "\x1b[2J\x07", "%s%n%d", "\N{SNOWMAN}",
    "\N{RIGHT-TO-LEFT OVERRIDE}", "\U0010ffff", "data=journal,exec,suid", "ext4 -O ^has_journal", "zfs",
    "ext4",
    "xfs", "btrfs", "f2fs", "single", "mirror", "raid10", "7:0", "8:0", "7:0/../../mem", "254:16777215",
    "9" * 400, "server", "pgbench", "wait", "none", "internal", "NaN", "True", "__class__", "{0.__class__}",
    "org.pgfooting.Helper1",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 7, 512, 4096, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
METHODS = {
    element.attrib["name"]: "".join(
        each.attrib["type"] for each in element if each.attrib["direction"] == "in"
    )
    for element in ET.parse(INTERFACE).getroot().iter("method")  # noqa: S314 - our own file
}


class Generator:
    """Values of any signature."""

    def __init__(self, seed: int, longest: int = 200_000) -> None:
        self.longest = longest
        self.random = random.Random(seed)  # noqa: S311 - the same calls each time
        self.glib = load_gio()[1]

    def text(self) -> str:
        chance = self.random.random()
        if chance < 0.02:
            return self.random.choice("a/-\N{SNOWMAN}") * self.random.randrange(self.longest)
        if chance < 0.15:
            return "".join(chr(self.random.randrange(1, 0xD800)) for _ in range(self.random.randrange(40)))
        return self.random.choice(TEXTS)

    def values(self, signature: str) -> list[Any]:
        """One value for each complete type of a signature."""
        found = []
        while signature:
            length = complete(signature)
            found.append(self.value(signature[:length]))
            signature = signature[length:]
        return found

    def value(self, kind: str) -> Any:  # noqa: ANN401, PLR0911 - one case each
        number = self.random.choice(NUMBERS)
        match kind[0]:
            case "s":
                return self.text()
            case "u":
                return number & 0xFFFFFFFF
            case "t":
                return number & (2**64 - 1)
            case "x":
                return (number & (2**63 - 1)) * self.random.choice((1, -1))
            case "d":
                return self.random.choice((0.0, -1.0, 1e308, float("nan"), float("inf")))
            case "b":
                return bool(number & 1)
            case "v":
                inner = self.random.choice(("s", "x", "b", "t", "as", "a{sv}", "(su)", "v", "d"))
                return self.glib.Variant(inner, self.value(inner))
            case "(":
                return tuple(self.values(kind[1:-1]))
            case "a" if kind[1] == "{":
                return {self.text(): self.value(kind[3:-1]) for _ in range(self.many())}
            case _:
                return [self.value(kind[1:]) for _ in range(self.many())]

    def many(self) -> int:
        if self.random.random() < 0.002:
            return self.random.randrange(200)
        return self.random.choice((0, 1, 1, 1, 2, 3))


def complete(signature: str) -> int:
    """Length of the first complete type."""
    if signature[0] == "a":
        return 1 + complete(signature[1:])
    if signature[0] not in "({":
        return 1
    depth = 0
    for place, letter in enumerate(signature):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0:
            return place + 1
    raise ValueError(signature)


def one(client: Client, generator: Generator) -> Callable[[], Any]:
    """Begin one call: mostly of the right type; sometimes of another method's, or of none."""
    method = generator.random.choice(list(METHODS))
    signature = METHODS[method]
    chance = generator.random.random()
    if chance < 0.1:
        signature = generator.random.choice([*METHODS.values(), "s", "a{sv}", "as", "ssssss"])
    elif chance < 0.15:
        method = generator.random.choice(
            ["", "version", "Execute2", "__init__", "_begin", "Introspect", "Set"]
        )
        method = method or "X"
    interactive = generator.random.random() < 0.5
    return client.begin(method, f"({signature})", *generator.values(signature), interactive=interactive)


def main(seed: int, count: int, longest: int) -> None:
    """Call, and tell what was answered."""
    generator, names, texts = Generator(seed, longest), Counter[str](), set[str]()
    with Client(NAME, PATH, NAME) as client:
        for start in range(0, count, BATCH):
            waiting = [one(client, generator) for _ in range(min(BATCH, count - start))]
            for wait in waiting:
                try:
                    wait()
                    names["answered"] += 1
                except RemoteError as err:
                    names[err.name] += 1
                    texts.add(err.text[:2000])
    sys.stdout.write(json.dumps({"names": names, "texts": sorted(texts)}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""A stranger who asks as much as he can: ``python -m tests.disks.stranger DISK``, until a line is read.

DISK is the identity of one, as JSON. Begins when a first line is read: forty connections with dialogs to
inspect, one that asks to erase again and again, calls of every kind without a pause, small and large. Prints
``ready`` when every kind of call was made once, and in the end, as JSON, how often each answer came.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from app.dbus.service import load_gio
from app.domain.disk import DiskIdentity
from app.domain.storage_plan.reader import PLANS, identity_to_wire
from tests.bus.client import Client, RemoteError
from tests.disks.helper_owner import Owner, client, plan_over, wired

CONNECTIONS = 40


def main(disk: DiskIdentity) -> None:
    """Ask until told to stop."""
    over = threading.Event()
    sys.stdin.readline()
    threading.Thread(target=_end_on_request, args=(over,), daemon=True).start()
    _, glib = load_gio()
    names: Counter[str] = Counter()
    many = [("", "", "", 0, disk.device_number, 0)] * 2400
    bad = glib.Variant(f"({PLANS})", ([((many, "", "", {}, 0, 0, "", "", "", -1), [], [])],))
    good = glib.Variant(f"({PLANS})", ([wired(plan_over(disk))] * 16,))
    disks = glib.Variant("(a(ssstst))", ([identity_to_wire(disk)] * 64,))
    large = glib.Variant("(ssu)", ("x" * 2_000_000, "", 0))
    nothing, junk = glib.Variant("()", ()), glib.Variant("(ssu)", ("0" * 32, "0" * 64, os.getuid()))
    kinds = (
        ("Version", nothing),
        ("Describe", good),
        ("Describe", bad),
        ("Inspect", disks),
        ("Execute", junk),
    )

    def count(wait: Callable[[], Any]) -> None:
        try:
            wait()
            names["answered"] += 1
        except RemoteError as err:
            names[f"{err.name.rpartition('.')[2]} {err.text[:20]}"] += 1

    with ExitStack() as stack:
        clients: list[Client] = [stack.enter_context(client()) for _ in range(CONNECTIONS)]
        threading.Thread(target=_ask_to_erase, args=(disk, over, names), daemon=True).start()
        for each in clients:
            each.send("Inspect", disks, interactive=True)
        is_ready = False
        while not over.is_set():
            calls = [each.send(method, content) for each in clients for method, content in kinds]
            calls.append(clients[0].send("Execute", large))
            for wait in calls:
                count(wait)
            if not is_ready:
                is_ready = True
                sys.stdout.write("ready\n")
                sys.stdout.flush()
        sys.stdout.write(json.dumps(names) + "\n")
        sys.stdout.flush()
        os._exit(0)  # what is open need not be waited for


def _end_on_request(over: threading.Event) -> None:
    sys.stdin.readline()
    over.set()


def _ask_to_erase(disk: DiskIdentity, over: threading.Event, names: Counter[str]) -> None:
    """Ask for a dialog again whenever the one before was closed."""
    with client() as connection:
        while not over.is_set():
            try:
                plan_id, _, described = Owner(connection).describe(plan_over(disk))
                connection.call("Execute", "(ssu)", plan_id, described, os.getuid(), interactive=True)
            except RemoteError as err:
                names[f"erase: {err.name.rpartition('.')[2]} {err.text[:20]}"] += 1


if __name__ == "__main__":
    main(DiskIdentity(*json.loads(sys.argv[1])))

"""Follow the disks of this machine live: every change within a second, with UDisks2 and without.

The kernel notifies by itself: uevents on a netlink socket (disks, partitions, arrays), and mountinfo, swaps
and mdstat that become readable when they change (proc(5)). UDisks2 adds udev's results a moment later. On any
of these the machine is inspected again, and reported only if a disk has changed.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from app.dbus.udisks import UdisksFollower, UdisksUnavailable
from app.storage.inspect.snapshot import Policy, Snapshot
from app.storage.inspect.sources import SourceFolders
from app.storage.inspect.udisks_objects import Objects
from app.storage.spare.disks import DiskChange, Listing, changes, listing_of
from app.storage.spare.inspect import inspect_machine

NETLINK_KOBJECT_UEVENT: Final = 15
_KERNEL_GROUP: Final = 1
_CHANGING_FILES: Final = ("self/mountinfo", "swaps", "mdstat")
_SETTLE_S: Final = 0.1
"""Changes come in bunches (a disk and its partitions); one inspection answers all of a bunch."""
_LONGEST_SETTLE_S: Final = 0.4
_STOP_S: Final = 5.0

OnChange = Callable[[Listing, tuple[DiskChange, ...]], None]

_log = logging.getLogger(__name__)


class DiskWatch:
    """Call `on_change` with all disks and the changes: at the start, then at every change, until `stop`.

    The calls come from a thread of the watch.
    """

    def __init__(
        self, on_change: OnChange, policy: Policy | None = None, places: SourceFolders | None = None
    ) -> None:
        self._on_change = on_change
        self._policy = policy or Policy()
        self._places = places or SourceFolders.of_this_machine()
        self._waking, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stopping = False
        self._objects: Objects | None = None
        self._snapshot: Snapshot | None = None
        self._follower = UdisksFollower(self._udisks_changed)
        self._thread = threading.Thread(target=self._run, name="disks", daemon=True)

    def start(self) -> None:
        """Start to follow; returns at once."""
        with suppress(UdisksUnavailable):
            self._follower.start()
        self._thread.start()

    def stop(self) -> None:
        """End it; there are no calls afterwards."""
        self._stopping = True
        self._follower.stop()
        os.write(self._wake, b"x")
        self._thread.join(_STOP_S)
        os.close(self._wake)
        os.close(self._waking)

    def _udisks_changed(self, objects: Objects | None) -> None:
        self._objects = objects
        with suppress(BlockingIOError, OSError):  # full: it wakes anyway; closed: it has ended
            os.write(self._wake, b"x")

    def _run(self) -> None:
        with ExitStack() as stack:
            poller = select.poll()
            poller.register(self._waking, select.POLLIN)
            uevents = self._listen(stack, poller)
            known: Listing | None = None
            while not self._stopping:
                found = self._look()
                if found is not None and found != known and not self._stopping:
                    self._on_change(found, changes(known.disks if known else (), found.disks))
                    known = found
                self._wait(poller, uevents)

    def _look(self) -> Listing | None:
        try:
            self._snapshot = inspect_machine(self._policy, self._places, previous=self._snapshot)
            return listing_of(self._snapshot, self._policy, self._places, self._objects)
        except Exception:  # noqa: BLE001 - a border: the next change is looked at all the same
            _log.exception("looking at the disks")
            return None

    def _listen(self, stack: ExitStack, poller: select.poll) -> socket.socket | None:
        for name in _CHANGING_FILES:
            with suppress(OSError):  # no swap, no md: nothing to follow
                file = stack.enter_context((self._places.proc / name).open("rb"))
                file.read()
                poller.register(file, select.POLLPRI | select.POLLERR)
        try:
            kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
            uevents = stack.enter_context(socket.socket(socket.AF_NETLINK, kind, NETLINK_KOBJECT_UEVENT))
            uevents.bind((0, _KERNEL_GROUP))
            uevents.setblocking(False)  # noqa: FBT003 - the socket's own
        except OSError:  # forbidden in some containers
            return None
        poller.register(uevents, select.POLLIN)
        return uevents

    def _wait(self, poller: select.poll, uevents: socket.socket | None) -> None:
        """Wait for an event that may concern disks, then until it is quiet for a moment."""
        while not self._stopping and not self._drain(poller.poll(), uevents):
            pass
        deadline = time.monotonic() + _LONGEST_SETTLE_S
        while not self._stopping and time.monotonic() < deadline:
            events = poller.poll(int(_SETTLE_S * 1000))
            if not events:
                return
            self._drain(events, uevents)

    def _drain(self, events: list[tuple[int, int]], uevents: socket.socket | None) -> bool:
        """Read pending events; return whether any of them may concern disks."""
        matters = False
        for descriptor, _ in events:
            if uevents is not None and descriptor == uevents.fileno():
                matters |= _concerns_disks(uevents)
            else:
                matters = True
                if descriptor == self._waking:
                    with suppress(BlockingIOError):
                        os.read(self._waking, 4096)
        return matters


def _concerns_disks(uevents: socket.socket) -> bool:
    """Read all pending uevents; return whether any is about block devices."""
    matters = False
    with suppress(BlockingIOError, OSError):  # ENOBUFS: some were lost, so an inspection is due too
        while True:
            matters |= b"SUBSYSTEM=block" in uevents.recv(16384)
    return matters

"""What a person sees of a disk that the journal keeps: as it crosses the bus, and in words."""

from __future__ import annotations

import dataclasses

import pytest

from app.dbus.service import load_gio, variant_of
from app.domain.disk import DiskIdentity, DiskRefusal
from app.domain.messages.message import say
from app.domain.storage_plan.plan import KEPT, KeptContent, KeptDisk, kept_from_wire, kept_to_wire
from app.domain.storage_plan.words import kept_words, obstacle_words

OURS = KeptContent("/dev/sdb1", "ext4", "1-2", "CUSTOMERS", "/srv", 1.8e9, 20 << 20, 1 << 30)
KEPT_DISK = KeptDisk(
    will_wipe=True,
    is_table_ours=True,
    is_as_left=True,
    began_s=1.7e9,
    contents=(KeptContent("/dev/sdb", "gpt"), OURS),
    reason=say("journal-session", id="7"),
    unseen=say("array-unseen", uuid="8-9"),
    obstacles=(DiskRefusal("D18", "It is mounted.", "8:17 at /srv", "umount /srv"),),
)


@pytest.mark.parametrize(
    "kept",
    [KEPT_DISK, KeptDisk(will_wipe=False, is_table_ours=False, is_as_left=False, began_s=0.0, contents=())],
    ids=["full", "empty"],
)
def test_it_crosses_the_bus(kept: KeptDisk) -> None:
    pytest.importorskip("gi")
    _, glib = load_gio()
    (wire,) = variant_of(glib, f"({KEPT})", (kept_to_wire(kept),)).unpack()
    assert kept_from_wire(wire) == kept


def test_everything_is_said() -> None:
    text = "\n".join(kept_words(KEPT_DISK))
    for words in (
        "2023-11-1",
        "byte for byte",
        "session 7",
        "label CUSTOMERS",
        "20 MiB of 1 GiB used",
        "as pgFooting left it",
    ):
        assert words in text
    assert ("/srv" in text, "2027-01-1" in text, "are lost" in text) == (True, True, True)
    assert "mdadm --assemble --readonly /dev/md/look --uuid=8-9" in text
    used = dataclasses.replace(KEPT_DISK, is_as_left=False)
    assert "was written to after" in "\n".join(kept_words(used))
    assert obstacle_words(KEPT_DISK) == ("It is mounted. 8:17 at /srv", "umount /srv")


def test_what_is_not_wiped_is_said() -> None:
    other = dataclasses.replace(KEPT_DISK, will_wipe=False, is_table_ours=False, contents=(), began_s=0.0)
    text = "\n".join(kept_words(other))
    assert ("is not the one" in text, "wipes nothing" in text, "No filesystem" in text) == (True, True, True)


@pytest.mark.parametrize(
    ("serial", "wwn", "name"),
    [("Z1D0", "naa.5", "Z1D0"), ("a b;c", "naa.5", "naa.5"), ("$(x)", None, "_x_"), ("", "naa.5", "naa.5")],
)
def test_the_name_needs_no_quotes(serial: str, wwn: str | None, name: str) -> None:
    assert DiskIdentity(serial, wwn, "M", 1, "8:16").typed_name() == name

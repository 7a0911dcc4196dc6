"""`pgfooting disks --release SERIAL`: shown, confirmed, released, or refused with status 3."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from app.arguments.declared import build_parser
from app.cli.commands import disks
from app.cli.commands.disks import ReleaseQuestion, disks_command, release_disk
from app.doctor.checks import release_command
from app.domain.disk_answers import Disk
from app.domain.errors import CancelledError, ExitStatus, FootingError, RefusedError, UsageError
from app.domain.storage_plan.plan import KeptDisk, ReleaseOutcome
from app.storage.spare.disks import Listing
from tests.made_disks import SPARE
from tests.unit.domain.test_kept_disk import KEPT_DISK

DISK = SPARE[0]
SERIAL, TAIL = DISK.identity.serial, DISK.identity.tail()
FREE = dataclasses.replace(KEPT_DISK, obstacles=())


class Root:
    """Stands for root, who keeps a disk; holds the digests with which its release was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept, self.outcome, self.asked = FREE, ReleaseOutcome.WIPED, list[str]()
        monkeypatch.setattr(disks, "inspect_kept", self._inspect)
        monkeypatch.setattr(disks, "release_kept", self._release)

    def _inspect(self, _disk: Disk) -> tuple[KeptDisk, str]:
        return self.kept, "as shown"

    def _release(self, _disk: Disk, digest: str) -> ReleaseOutcome:
        self.asked.append(digest)
        return self.outcome


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Root:
    return Root(monkeypatch)


def typing(*lines: str) -> ReleaseQuestion:
    """A person at a terminal who types these lines and leaves."""
    waiting = list(lines)

    def ask(_prompt: str) -> str:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    return ReleaseQuestion(ask=ask, can_ask=lambda: True)


NOBODY = ReleaseQuestion(can_ask=lambda: False)


@pytest.mark.parametrize("question", [typing("x", TAIL), ReleaseQuestion((SERIAL,), can_ask=lambda: False)])
@pytest.mark.parametrize("outcome", [ReleaseOutcome.WIPED, ReleaseOutcome.DROPPED])
def test_what_was_confirmed_is_released(
    root: Root, capsys: pytest.CaptureFixture[str], question: ReleaseQuestion, outcome: ReleaseOutcome
) -> None:
    root.outcome = outcome
    release_disk(DISK, question if question.confirmed else typing("x", TAIL), as_json=False)
    shown = capsys.readouterr()
    assert root.asked == ["as shown"]
    assert ("CUSTOMERS" in shown.err, SERIAL in shown.err) == (True, True)
    assert ("/var/lib/pgfooting/signatures" in shown.out) is (outcome is ReleaseOutcome.WIPED)


@pytest.mark.parametrize(
    ("question", "error"),
    [
        (NOBODY, RefusedError),
        (typing("x", "y", "z", TAIL), RefusedError),
        (typing(""), RefusedError),
        (typing(), CancelledError),
        (ReleaseQuestion(("OTHER",)), UsageError),
    ],
    ids=["no terminal", "wrong", "empty", "left", "another disk"],
)
def test_what_is_not_confirmed_stays(
    root: Root, question: ReleaseQuestion, error: type[FootingError]
) -> None:
    with pytest.raises(error) as refused:
        release_disk(DISK, question, as_json=False)
    assert root.asked == []
    if question is NOBODY:
        assert (refused.value.exit_status, f"--erase {SERIAL}" in refused.value.hint) == (3, True)


def test_obstacle_refused_before_prompt(root: Root) -> None:
    root.kept = KEPT_DISK
    with pytest.raises(RefusedError) as refused:
        release_disk(DISK, typing(TAIL), as_json=False)
    assert ("umount /srv" in refused.value.hint, root.asked) == (True, [])


def test_json_is_one_object(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    release_disk(DISK, ReleaseQuestion((SERIAL,)), as_json=True)
    output = json.loads(capsys.readouterr().out)
    assert (output["outcome"], output["disk"]["serial"]) == ("wiped", SERIAL)
    assert output["kept"]["contents"][1]["label"] == "CUSTOMERS"


def test_hostile_labels_are_escaped(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = dataclasses.replace(KEPT_DISK.contents[1], label="\x1b[2J\nx")
    root.kept = dataclasses.replace(FREE, contents=(hostile,))
    release_disk(DISK, ReleaseQuestion((SERIAL,)), as_json=False)
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "released"), [([], None), (["--release"], ""), (["--release", "S1", "--erase", "S1"], "S1")]
)
def test_the_serial_number_is_optional(words: list[str], released: str | None) -> None:
    assert build_parser().parse_args(["disks", *words]).release == released


def test_the_command_names_the_disk(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.commands.disks.find_disks", lambda *_: Listing(SPARE, (), as_root=True))

    def command(*words: str) -> Any:  # noqa: ANN401 - a status
        return disks_command(build_parser().parse_args(["disks", *words]))

    assert command("--release", SERIAL, "--erase", SERIAL) is ExitStatus.DONE
    assert release_command(DISK).endswith(f"disks --release {SERIAL}")
    with pytest.raises(UsageError):
        command("--release", "NOBODY")
    with pytest.raises(UsageError):
        command("--erase", SERIAL)
    assert root.asked == ["as shown"]

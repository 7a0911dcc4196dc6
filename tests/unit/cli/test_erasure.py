"""Confirming that disks may be erased: on a terminal by their last characters, else by --erase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.cli.terminal.consent import ErasureQuestion
from app.domain.disk import InspectionReport
from app.domain.errors import CancelledError, ExitStatus, RefusedError, UsageError, refuse
from app.execution.disks.session import DiskConsent, ErasePrompt
from tests.unit.storage.test_disk_target import machine

DISKS = tuple(machine(10**12, 2 * 10**12))
ERASURE = ErasePrompt(DISKS, {"xfs, ext4": ("mkfs.xfs /dev/sdb1", "mount \x1b[2J")}, test_devices=False)


class Person:
    """Types what a test says; the prompts are kept."""

    def __init__(self, *lines: str) -> None:
        self.prompts: list[str] = []
        self._lines: Iterator[str] = iter(lines)

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        try:
            return next(self._lines)
        except StopIteration:
            raise EOFError from None


def question(person: Person | None, *confirmed: str) -> ErasureQuestion:
    return ErasureQuestion(confirmed, person, lambda: person is not None)


def test_disk_confirmed_by_last_four_characters(capsys: pytest.CaptureFixture[str]) -> None:
    person = Person("IAL1\n", "  IAL2  \n")
    question(person)(ERASURE)
    assert ["SERIAL1" in person.prompts[0], "SERIAL2" in person.prompts[1]] == [True, True]
    shown = capsys.readouterr()
    assert shown.out == ""
    for words in ("MODEL  SERIAL1  931 GiB  sdb", "SERIAL2  1.82 TiB", "xfs, ext4", "  mkfs.xfs /dev/sdb1"):
        assert words in shown.err
    assert "\x1b[2J" not in shown.err


def test_checks_and_limits_before_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    read = InspectionReport(16 << 20, 1280, 65536, 2 << 30, read_s=1.8e9)
    known = replace(ERASURE, disks=(DISKS[0], replace(DISKS[1], looked=read)))
    question(Person("IAL1", "IAL2"))(known)
    first, second = (line for line in capsys.readouterr().err.splitlines() if line.startswith("    "))
    assert "both ends (16 MiB each) and about 1,280 samples of 64 KiB" in first
    assert "Contiguous existing data of 2 GiB or more is always found" in first
    assert "Smaller or sparser data may go undetected" in first
    assert "Every byte was read on 2027-01-1" in second


def test_wrong_word_asked_again() -> None:
    person = Person("IAL2", "ial1", "IAL1", "IAL2")
    question(person)(ERASURE)
    assert len(person.prompts) == 4


@pytest.mark.parametrize(
    "lines", [("no", "no", "no"), ("",), ("IAL1", "\n"), ("IAL1", "IAL1", "1", "SERIAL2")]
)
def test_unconfirmed_disk_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(RefusedError, match="Nothing was done") as caught:
        question(Person(*lines))(ERASURE)
    assert caught.value.exit_status == ExitStatus.REFUSED


def test_the_end_of_input_stops() -> None:
    with pytest.raises(CancelledError):
        question(Person("IAL1"))(ERASURE)


def test_disks_from_command_line_not_asked() -> None:
    person = Person("IAL2")
    question(person, "SERIAL1")(ERASURE)
    assert len(person.prompts) == 1
    question(None, "SERIAL1", "0x5000c50000000002")(ERASURE)


def test_no_terminal_lists_missing_words() -> None:
    with pytest.raises(RefusedError) as caught:
        question(None, "SERIAL2")(ERASURE)
    assert caught.value.hint.endswith("--erase SERIAL1")


@pytest.mark.parametrize("name", ["SERIAL", "IAL1", "sdb", "", "SERIAL3\x1b[2J"])
def test_confirming_foreign_disk_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match="nothing with that name") as caught:
        question(Person("IAL1", "IAL2"), name)(ERASURE)
    assert "\x1b" not in str(caught.value)
    assert "SERIAL1, SERIAL2" in caught.value.hint


def test_unnamed_disk_cannot_be_confirmed() -> None:
    nameless = replace(DISKS[0], identity=replace(DISKS[0].identity, serial="", wwn=None))
    with pytest.raises(RefusedError):
        question(Person("", "", ""))(ErasePrompt((nameless,), {}, test_devices=False))


def test_who_cannot_ask_agrees_to_nothing() -> None:
    with pytest.raises(RefusedError, match="was not confirmed"):
        DiskConsent().confirm(ERASURE)
    assert DiskConsent().confirm is refuse

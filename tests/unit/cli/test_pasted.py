"""What the command line tells a person to type, with names that somebody made to be obeyed."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.domain.errors import RefusedError
from app.execution.disks.session import ErasePrompt
from app.execution.servers import Contact, OpenServer
from tests.pasted import PAYLOADS, paste
from tests.unit.cli import test_erasure, test_load
from tests.unit.postgres.test_existing import ADDRESS, LOOK


def pasted(error: RefusedError, option: str) -> str:
    """Return what a person would add to a command, taken from a hint."""
    return f"x {error.hint[error.hint.index(option) :]}"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_name_of_a_server_is_obeyed(payload: str, tmp_path: Path) -> None:
    address = replace(ADDRESS, parameters={**ADDRESS.parameters, "host": payload})
    ask = test_load.question(None)
    for name, question in (
        (payload, partial(ask.contact, [Contact(f"host={payload}", payload)])),
        (f"{payload}:5432", partial(ask, [OpenServer(address, LOOK)])),
    ):
        with pytest.raises(RefusedError) as caught:
            question()
        line = pasted(caught.value, "--load")
        assert paste([line], tmp_path) == []
        if payload.isprintable():
            assert name in "".join(shlex.split(line))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_serial_number_never_executed(payload: str, tmp_path: Path) -> None:
    disks = tuple(
        replace(each, identity=replace(each.identity, serial=payload)) for each in test_erasure.DISKS
    )
    with pytest.raises(RefusedError) as caught:
        test_erasure.question(None)(ErasePrompt(disks, {}, test_devices=False))
    assert paste([pasted(caught.value, "--erase")], tmp_path) == []

"""Campaigns that wait for their turn: their order, what holds them, and keeping them over a restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.campaign_file.reader import parse_campaign
from app.domain.campaign.configuration import Campaign, Configuration, MemoryTarget, ServerTarget
from app.domain.errors import ExitStatus, UsageError
from app.hosts.folders import account
from app.hosts.folders.own_folders import create_state_folder
from app.library.campaign_end import CampaignEnd
from app.live.queue import (
    FILE_NAME,
    MOST,
    CampaignQueue,
    DamagedQueueError,
    QueuedCampaign,
    goes_on_after,
    goes_on_after_end,
    keep_queue,
    queue_text,
    read_kept_queue,
    read_queue_text,
)


def one(key: str) -> QueuedCampaign:
    return QueuedCampaign(key, f"campaign {key}", 'name = "x"')


def queue_of(*keys: str) -> CampaignQueue:
    queue = CampaignQueue()
    for key in keys:
        queue.add(one(key))
    return queue


def keys(queue: CampaignQueue) -> str:
    return "".join(each.key for each in queue.waiting)


@pytest.mark.parametrize(
    ("status", "goes_on"),
    [
        (ExitStatus.DONE, True),
        (ExitStatus.FAILED, True),
        (ExitStatus.USAGE, True),
        (ExitStatus.REFUSED, True),
        (ExitStatus.CANCELLED, False),
        (-9, False),
    ],
)
def test_only_a_campaign_that_was_stopped_or_killed_keeps_the_others_waiting(
    status: int, *, goes_on: bool
) -> None:
    assert goes_on_after(status) is goes_on


@pytest.mark.parametrize("end", [None, *CampaignEnd])
def test_one_that_somebody_else_started_is_judged_the_same_by_what_its_folder_says(
    end: CampaignEnd | None,
) -> None:
    assert goes_on_after_end(end) is (end not in {None, CampaignEnd.STOPPED})


def test_they_begin_in_order_and_the_order_can_be_changed() -> None:
    queue = queue_of("a", "b", "c", "d")
    queue.move("c", -1)
    queue.move("a", -1)  # it is the first already
    queue.move("d", 1)
    queue.move("gone", 1)
    assert keys(queue) == "acbd"
    queue.remove("b")
    assert queue.remove("b") is None
    taken = [queue.take(), queue.take(), queue.take(), queue.take()]
    assert [each.key if each else None for each in taken] == ["a", "c", "d", None]


def test_after_a_stop_the_others_wait_until_a_person_says_so() -> None:
    queue = queue_of("a", "b")
    queue.note_end("first", goes_on=True)
    assert queue.held == ""
    queue.note_end("first", goes_on=False)
    assert queue.held == "“first” was stopped or its runner died: the others wait until you say so."
    assert queue.take() is None
    queue.go_on()
    first = queue.take()
    assert first is not None
    assert first.key == "a"


def test_nothing_is_held_where_nothing_waits() -> None:
    queue = queue_of("a")
    queue.note_end("x", goes_on=False)
    queue.remove("a")
    assert queue.held == ""
    queue.note_end("x", goes_on=False)
    assert queue.held == ""


def test_what_was_kept_is_offered_and_never_begins_by_itself() -> None:
    queue = queue_of("n")
    queue.offer([one("a"), one("b"), one("n")])
    assert keys(queue) == "abn"
    assert [each.key for each in queue.offers()] == ["a", "b"]
    taken = queue.take()
    assert taken is not None
    assert taken.key == "n"
    assert queue.take() is None
    assert keys(queue) == "ab"


def test_more_than_so_many_are_not_taken() -> None:
    queue = queue_of(*map(str, range(MOST)))
    with pytest.raises(UsageError, match=f"{MOST} campaigns wait already"):
        queue.add(one("more"))
    assert len(queue.waiting) == MOST


def test_a_campaign_waits_as_a_file_that_says_all_of_it() -> None:
    campaign = Campaign("x", (Configuration("a", MemoryTarget()),), repeats=4)
    each = QueuedCampaign.of(campaign, 90.0)
    assert parse_campaign(each.text, base_directory="/", source_name="x") == campaign
    assert (each.name, each.runs, each.about_s, each.folder) == ("x", 4, 90.0, "")
    on = QueuedCampaign.going_on(Path("/library/x"))
    assert (on.name, on.text, on.folder) == ("x", "", "/library/x")


@pytest.fixture
def _own_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(account, "ROOT_FOLDER", str(tmp_path / "root"))


@pytest.mark.usefixtures("_own_state_folder")
def test_the_list_survives_and_what_a_person_confirmed_does_not() -> None:
    assert read_kept_queue() == ()
    waiting = [one("a"), QueuedCampaign("b", "ü", "", "/library/ü", 3, 1.5)]
    keep_queue(queue_text(waiting))
    assert read_kept_queue() == tuple(waiting)
    path = create_state_folder() / FILE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert "confirm" not in path.read_text()


@pytest.mark.usefixtures("_own_state_folder")
def test_the_servers_that_a_person_agreed_to_load_are_known_to_the_list_and_never_kept() -> None:
    campaign = Campaign("a", (Configuration("a", ServerTarget("host=db")),))
    begins = QueuedCampaign.of(campaign, None, ("db:5432",))
    goes_on = QueuedCampaign.going_on(Path("/library/x"), ("db:5432",))
    keep_queue(queue_text([begins, goes_on]))
    assert begins.load == goes_on.load == ("db:5432",)
    assert "5432" not in (create_state_folder() / FILE_NAME).read_text()
    assert [each.load for each in read_kept_queue()] == [(), ()]


@pytest.mark.usefixtures("_own_state_folder")
def test_a_damaged_list_is_told_once_and_removed() -> None:
    keep_queue("{")
    with pytest.raises(DamagedQueueError, match="cannot be read any more"):
        read_kept_queue()
    assert read_kept_queue() == ()


@pytest.mark.parametrize(
    "waiting",
    [
        "x",
        [1],
        [{}],
        [{"key": "a", "name": 3, "text": "x"}],
        [{"key": "", "name": "x", "text": "x"}],
        [{"key": "a", "name": "x"}],
        [{"key": "a", "name": "x", "text": "x", "folder": "/x"}],
        [{"key": "a", "name": "x", "text": "x", "runs": True}],
        [{"key": "a", "name": "x", "text": "x", "about_s": -1}],
        [{"key": "a", "name": "x", "text": "x", "about_s": "long"}],
    ],
)
def test_what_is_no_list_is_refused(waiting: object) -> None:
    with pytest.raises(DamagedQueueError):
        read_queue_text(json.dumps({"format": 1, "waiting": waiting}))


def test_a_later_format_is_refused_and_unknown_words_are_not() -> None:
    later = {"key": "a", "name": "x", "text": "y", "later": [1]}
    assert read_queue_text(json.dumps({"format": 1, "waiting": [later]})) == (QueuedCampaign("a", "x", "y"),)
    with pytest.raises(DamagedQueueError):
        read_queue_text(json.dumps({"format": 2, "waiting": [later]}))

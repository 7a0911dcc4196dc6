"""What is known of a disk from before, what is read again in spite of it, and which node is opened."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.text import MIB
from app.storage.inspect.snapshot import (
    ChangesSinceRelease,
    Content,
    DuplicateMarks,
    FullRead,
    Geometry,
    ReleaseComparison,
    ReleaseRecord,
    SourceKnowledge,
)
from app.storage.inspect.sources import SourceFolders
from app.storage.spare import content as content_module
from app.storage.spare.content import (
    NOTHING_KNOWN,
    PreviousContent,
    content_of,
    opened_disk,
    read_content,
    read_exclusive,
)

SIZE = 48 * MIB
RECORD = ReleaseRecord("S", None, SIZE, "", 7.0)
OF_BEFORE = Content(samples=(4711,), sampled=99, certain_bytes=12)
LOOKED_AT = 99


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def read(image: Path, before: PreviousContent) -> Content:
    medium = Geometry(SIZE, False, False, "none", 512, 512, rotational=False)  # noqa: FBT003
    fd = os.open(image, os.O_RDONLY)
    try:
        return content_of(fd, medium, random.Random(1), before)  # noqa: S311 - the same samples each time
    finally:
        os.close(fd)


def comparing(monkeypatch: pytest.MonkeyPatch, since: ChangesSinceRelease) -> ReleaseComparison:
    compared = ReleaseComparison(since, RECORD.released_s, places=3)
    monkeypatch.setattr(content_module, "compare", lambda *_: compared)
    return compared


def test_signature_at_an_end_suffices(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparing(monkeypatch, ChangesSinceRelease.NOTHING)
    with image.open("r+b") as file:
        file.write(b"LUKS\xba\xbe\x00\x02")
    content = read(image, PreviousContent(released=RECORD, content=OF_BEFORE))
    assert content.signatures
    assert (content.comparison, content.sampled, content.samples) == (None, 0, ())


@pytest.mark.parametrize("since", ChangesSinceRelease)
def test_places_unless_unchanged_since_release(
    image: Path, monkeypatch: pytest.MonkeyPatch, since: ChangesSinceRelease
) -> None:
    compared = comparing(monkeypatch, since)
    content = read(image, PreviousContent(released=RECORD))
    assert content.comparison == compared
    assert (content.sampled > 0) is not compared.is_as_left
    assert read(image, NOTHING_KNOWN).comparison is None, "without a record nothing is compared"


def test_looked_at_once_per_process(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = read(image, PreviousContent(content=OF_BEFORE))
    assert (content.samples, content.sampled, content.certain_bytes) == ((4711,), LOOKED_AT, 12)
    compared = comparing(monkeypatch, ChangesSinceRelease.WRITTEN)
    content = read(image, PreviousContent(released=RECORD, content=OF_BEFORE))
    assert (content.samples, content.comparison) == ((4711,), compared)


def test_skipped_places_looked_at_later(image: Path) -> None:
    content = read(image, PreviousContent(content=replace(OF_BEFORE, sampled=0)))
    assert content.samples == ()
    assert content.sampled not in {0, LOOKED_AT}


MARKS = DuplicateMarks("boot 1", 3, 4096)


@pytest.mark.parametrize(
    ("marks", "holds"),
    [
        (MARKS, True),
        (replace(MARKS, requests=4), False),
        (replace(MARKS, appearance="boot 2"), False),
        (replace(MARKS, appearance=""), False),
    ],
)
def test_full_read_holds_while_no_write_counted(image: Path, marks: DuplicateMarks, *, holds: bool) -> None:
    full = FullRead("S", None, SIZE, replace(MARKS, appearance=marks.appearance and "boot 1"), None, 5.0)
    assert read(image, PreviousContent(marks, full_read=full)).full_read == (full if holds else None)
    assert read(image, PreviousContent(marks)).full_read is None


COMPARED = ReleaseComparison(ChangesSinceRelease.ALIKE, RECORD.released_s, places=3)


@pytest.mark.parametrize(
    ("known", "digest", "since"),
    [
        (COMPARED, "", ChangesSinceRelease.ALIKE),
        (COMPARED, "other ends", ChangesSinceRelease.ENDS),
        (None, "", ChangesSinceRelease.UNKNOWN),
        (replace(COMPARED, places=0), "", ChangesSinceRelease.UNKNOWN),
        (replace(COMPARED, released_s=6.0), "", ChangesSinceRelease.UNKNOWN),
    ],
    ids=["as it was", "the ends changed", "never compared", "no place was", "another record"],
)
def test_places_compared_once_ends_each_time(
    image: Path,
    monkeypatch: pytest.MonkeyPatch,
    known: ReleaseComparison | None,
    digest: str,
    since: ChangesSinceRelease,
) -> None:
    comparing(monkeypatch, ChangesSinceRelease.UNKNOWN)
    record = replace(RECORD, digest=digest)
    content = read(image, PreviousContent(released=record, content=replace(OF_BEFORE, comparison=known)))
    assert content.comparison is not None
    assert content.comparison.since is since


def places(tmp_path: Path) -> SourceFolders:
    return SourceFolders(dev=tmp_path, as_root=True)


def test_link_or_pipe_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    for name, number in (("link", errno.ELOOP), ("pipe", errno.ENODEV)):
        with pytest.raises(OSError, match=name) as caught, opened_disk(places(tmp_path), name, "1:3"):
            pass
        assert caught.value.errno == number


@pytest.mark.parametrize(
    ("number", "state", "says"),
    [
        (errno.EBUSY, SourceKnowledge.READ, "O_EXCL"),
        (errno.EIO, SourceKnowledge.UNREADABLE, os.strerror(errno.EIO)),
        (errno.EACCES, SourceKnowledge.UNREADABLE, os.strerror(errno.EACCES)),
    ],
)
def test_busy_is_an_answer_other_errors_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, state: SourceKnowledge, says: str
) -> None:
    @contextmanager
    def opened(*_: object) -> Iterator[int]:
        if number:
            raise OSError(number, os.strerror(number), str(tmp_path / "sdz"))
        yield 0

    monkeypatch.setattr(content_module, "opened_disk", opened)
    asked = read_exclusive(places(tmp_path), "sdz", "8:1")
    assert asked.state is state
    assert says in (asked.reason or str(asked.value))
    medium = Geometry(SIZE, False, False, "none", 512, 512, rotational=False)  # noqa: FBT003
    assert read_content(places(tmp_path), "sdz", "8:1", medium).state is SourceKnowledge.UNREADABLE
    if number == errno.EACCES:
        ours = replace(places(tmp_path), as_root=False)
        assert read_exclusive(ours, "sdz", "8:1").state is SourceKnowledge.NEEDS_ROOT
        assert read_content(ours, "sdz", "8:1", medium).state is SourceKnowledge.NEEDS_ROOT

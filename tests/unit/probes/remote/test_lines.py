"""What a far side sends is cut into lines, whatever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.probes.base.probe import RemoteMachine, SshDestination, explain, is_destination, strip_controls
from app.probes.remote import connection
from app.probes.remote.connection import (
    LONGEST_LINE,
    LineKind,
    LineReader,
    RemoteLine,
    parse_line,
)

TOKEN = "0011aabb"  # noqa: S105 - of a connection, no secret
HELLO = b"pgfooting 0011aabb H\t1\tLinux\n"


def test_line_needs_token_kind_and_fields() -> None:
    line = parse_line(HELLO.strip(), TOKEN)
    assert line is not None
    assert (line.kind, line.fields) == (LineKind.HELLO, ("1", "Linux"))
    for other in (
        b"pgfooting ffffffff H\t1\tLinux",
        b"pgfooting 0011aabb Z\t1\tLinux",
        b"pgfooting 0011aabb H\t1",
        b"pgfooting 0011aabb H 1 Linux",
        b"Welcome to Debian",
        b"",
    ):
        assert parse_line(other, TOKEN) is None


def test_control_characters_removed() -> None:
    line = parse_line(b"pgfooting 0011aabb F\tname\t\x1b[2J\x1b]0;x\x07\xe2\x80\xae\xff", TOKEN)
    assert line is not None
    assert line.fields[1].isprintable()
    assert "\x1b" not in strip_controls("\x1b[31m")


def test_foreign_lines_counted_and_dropped() -> None:
    reader = LineReader(TOKEN)
    assert reader.feed(b"Last login: yesterday\n\x00\x01\xff\npgfooting 0011") == []
    (line,) = reader.feed(b"aabb H\t1\tLinux\r\n")
    assert line.fields == ("1", "Linux")
    assert reader.foreign == 2


def test_gigabyte_line_takes_no_memory() -> None:
    reader = LineReader(TOKEN)
    part = b"x" * 65536
    for _ in range(1000):
        assert reader.feed(part) == []
        assert len(reader._begun) <= LONGEST_LINE
    assert [line.kind for line in reader.feed(b"\n" + HELLO)] == [LineKind.HELLO]


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_chunks_read_like_whole(parts: list[bytes]) -> None:
    whole, pieces = LineReader(TOKEN), LineReader(TOKEN)
    everything = b"".join(parts) + b"\n" + HELLO
    found = [line for part in (*parts, b"\n", HELLO) for line in pieces.feed(part)]
    assert found == whole.feed(everything)
    assert found[-1].kind is LineKind.HELLO


# --- whom ssh may be asked to reach, and what it says


@pytest.mark.parametrize(
    "host", ["db1", "postgres@db1.example.org", "ssh://db@10.0.0.1:2222", "[fe80::1%eth0]"]
)
def test_names_that_ssh_knows_are_taken(host: str) -> None:
    assert is_destination(host)
    argv = SshDestination(host).argv()
    assert argv[-3:] == ("--", host, "sh")
    assert "BatchMode=yes" in argv


@pytest.mark.parametrize(
    "host", ["", "-oProxyCommand=id", "a b", "a;id", "$(id)", "a\nb", "x" * 300, "a'b", "\x1b"]
)
def test_destination_cannot_be_an_option(host: str) -> None:
    assert not is_destination(host)
    with pytest.raises(ValueError, match="is not a valid host name"):
        SshDestination(host)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "me@db1: Permission denied (publickey,password).",
            "accepts none of the keys that ssh can use without a prompt",
        ),
        (
            "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.",
            "has changed",
        ),
        ("Host key verification failed.", "The host key of"),
        ("ssh: connect to host db1 port 22: Connection refused", "Connection refused"),
    ],
)
def test_what_ssh_says_is_told_in_words(said: str, words: str) -> None:
    found = explain("db1", said, 255)
    assert words in found
    assert "db1" in found


def test_unknown_words_shown_harmlessly() -> None:
    found = explain("db1", "banner\n\x1b[2Jstrange " + "x" * 5000, 255)
    assert "strange" in found
    assert found.isprintable()
    assert len(found) < 500
    assert explain("db1", "", 255).endswith("exit status 255.")
    assert explain("db1", "", None) == "The connection to db1 ended."


def test_machine_identity_is_name_and_folder() -> None:
    assert RemoteMachine(SshDestination("a")) == RemoteMachine(SshDestination("a"), None)


def test_flood_parses_only_candidate_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[bytes] = []

    def look(line: bytes, token: str) -> RemoteLine | None:
        looked_at.append(line)
        return parse_line(line, token)

    monkeypatch.setattr(connection, "parse_line", look)
    reader = LineReader("t")
    ours = b"pgfooting t E\tfacts"
    assert reader.feed(b"y\n" * 30_000 + ours + b"\n" + b"y\n" * 30_000) == [
        RemoteLine(LineKind.END, ("facts",))
    ]
    assert looked_at == [b"y", ours], "and the first, which may have begun before"
    assert reader.foreign == 60_000

"""Texts of others as words of a shell, in comments and in fstab; which sentences hold commands."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.quoting import comment, shell_line, shell_option, shell_word
from app.domain.text import NumberFormat, Sentence, tr
from app.report.take_with_you import fstab_field
from tests.house import modules, said_in
from tests.pasted import PAYLOADS, paste, shells

TOP = Path(__file__).resolve().parents[3]
PROGRAMS = re.compile(
    r"(?:^|[\s`“:])(?:pgfooting|packaging/\w+|sudo|mdadm|zpool|zfs|u?mount|swapo(?:n|ff)|losetup|wipefs|blkdiscard"
    r"|blockdev|systemctl|journalctl|dmsetup|cryptsetup|[lv]gchange|apt-get|dnf|pipx?|chown|chmod|ssh|findmnt"
    r"|lsblk|modprobe|sysctl|echo|kill|rm|mv|cp|mkdir|flock|psql|initdb|pg_ctl|\{command\})(?= [^ ])"
    r"|--[a-z-]+[ =](?=\{)"
)
PLACE = re.compile(r"\{(?P<name>\w*)(?P<rest>[^{}]*)\}")
OURS = {
    "command",
    "options",
    "packages",
    "package",
    "script",
    "wanted",
    "parameter",
    "percent",
    "count",
    "scale",
}
"""Values that are words of ours: commands and names of packages, numbers, options that are quoted already."""


def sentences() -> Iterator[tuple[str, str]]:
    """Yield every sentence of the program that has values, with its file."""
    for path in modules().values():
        for text in (text for call in said_in(path) for text in call.args):
            if isinstance(text, ast.Constant) and "{" in str(text.value):
                yield str(path.relative_to(TOP)), str(text.value)


def unquoted(sentence: str) -> list[str]:
    """Return the values behind a command of a sentence that are not quoted for a shell."""
    places = PLACE.finditer(command_in(sentence))
    return [each["name"] for each in places if each["name"] not in OURS and "!q" not in each["rest"]]


PROSE = frozenset(
    (
        "{option} {name}: the campaign uses nothing with that name. Nothing was done.",
        "The connection to {host} ended (exit status {status}).",
        "The connection to {host} ended: {words}",
        "initdb of PostgreSQL {version}",
        "the mount of {path} cannot be found",
        "{command} failed (status {code}): {said}.",
    )
)
"""Sentences that only name a program."""


def command_in(sentence: str) -> str:
    """Return the part of a sentence that can be pasted; empty for none."""
    found = None if sentence in PROSE else PROGRAMS.search(sentence)
    return "" if found is None else re.split("[`”]", sentence[found.start() :].lstrip(" `“:"))[0]


def test_every_value_in_a_command_is_quoted() -> None:
    assert unquoted("Unmount it: umount {folder}") == ["folder"]
    assert unquoted("{name} is busy: umount {folder!q}") == []
    assert [(file, each) for file, each in sentences() if unquoted(each)] == []


def test_no_value_of_a_sentence_is_obeyed(tmp_path: Path) -> None:
    commands = [command_in(sentence) for _, sentence in sentences() if "!q}" in sentence]
    assert len(commands) > 10
    for command in commands:
        assert command
        names = {each["name"] for each in PLACE.finditer(command)}
        lines = [
            tr(command).format(**{name: "x" if name in OURS else payload for name in names})
            for payload in PAYLOADS
        ]
        assert all(line.isprintable() for line in lines)
        assert paste(lines, tmp_path) == [], command


def test_a_word_is_quoted_in_every_language() -> None:
    sentence = Sentence.of("umount {folder!q}: {count:,}", NumberFormat(",", "."))
    assert sentence.format(folder="/a b", count=1000) == "umount '/a b': 1.000"
    assert tr("umount {folder!q}").format(folder="/srv") == "umount /srv"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_word_is_one_word(payload: str, tmp_path: Path) -> None:
    line = shell_line(["echo", payload, payload])
    assert line.isprintable()
    assert (
        paste([line, f"umount {shell_word(payload)}", f"x {shell_option('--load', payload)}"], tmp_path) == []
    )


@pytest.mark.parametrize("payload", [*PAYLOADS, "", "a b", "Ä ö", "\udc80", "~", "-x", "\t", "$'x'"])
def test_a_word_is_what_it_was(payload: str, tmp_path: Path) -> None:
    for shell in shells():
        if shell[0].endswith("/sh") and not payload.isprintable():
            continue  # has no $'...'
        words = f"printf '%s\\0' {shell_word(payload)} >said\n"
        subprocess.run(
            shell, input=words.encode(), cwd=tmp_path, timeout=60, check=False, capture_output=True
        )
        assert (tmp_path / "said").read_bytes() == payload.encode("utf-8", "surrogateescape") + b"\0"


def test_option_value_with_hyphen() -> None:
    assert shell_option("--load", "db:5432") == "--load db:5432"
    assert shell_option("--erase", "-rf") == "--erase=-rf"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_comment_does_nothing_in_any_shell(payload: str, tmp_path: Path) -> None:
    lines = [comment(each) for each in (payload, f"A  {payload}", f"x ({payload})")]
    assert all(line.startswith("# ") and line.isprintable() for line in lines)
    assert paste(lines, tmp_path) == []


@given(st.text())
def test_fstab_field_without_blanks(text: str) -> None:
    field = fstab_field(text.encode("utf-8", "replace").decode())
    assert field.isascii()
    assert not set(field) & set(" \t\n#\r\0")


def test_libmount_reads_a_field_back(tmp_path: Path) -> None:
    program = shutil.which("findmnt")
    if program is None:
        pytest.skip("findmnt is not installed")
    for payload in PAYLOADS:
        table = tmp_path / "fstab"
        table.write_text(f"{fstab_field(payload)}  /srv/pgdata  ext4  defaults  0 2\n")
        argv = [
            program,
            "--tab-file",
            str(table),
            "--evaluate",
            "--noheadings",
            "--raw",
            "--output",
            "FSTYPE,TARGET",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.stdout == "ext4 /srv/pgdata\n", payload

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.domain.filesystems import FILESYSTEMS, filesystem
from app.domain.formats import format_of
from app.domain.options.checks import (
    check,
    unavailable,
    unsafe_options,
    validate_options,
)
from app.domain.options.filesystem_spec import Circumstances, FilesystemSpec
from app.domain.options.kinds import Choice, Integer, OptionValue, Toggle
from app.domain.options.option_spec import KERNEL, OptionSpec
from app.domain.options.raid import Level
from app.domain.options.refusals import Action, echo, legal_options, option_problems
from app.domain.text import KIB
from tests.cases import each_case

untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
OPTIONS = [(spec, option) for spec in FILESYSTEMS for option in spec.options]
HOSTILE = (
    "",
    " ",
    "noatime,suid",
    "noatime suid",
    "a\nb",
    "a\x00b",
    "a\x1b[31mb",
    "-f",
    "--force",
    "=",
    "size=1,exec",
    "$(reboot)",
    ";reboot",
    "../../etc/passwd",
    "é",
    "\ud800",
    "x" * 100_000,
)

legal_value = {
    Toggle: lambda kind: st.booleans(),
    Choice: lambda kind: st.sampled_from(kind.ids),
    Integer: lambda kind: st.one_of(
        *map(st.just, (kind.minimum, kind.maximum, *kind.also)),
        st.integers(kind.minimum, kind.maximum).filter(kind.accepts)
        if not kind.power_of_two and kind.multiple_of == 1
        else st.just(kind.minimum),
    ),
}


def a_legal_value(option: OptionSpec) -> st.SearchStrategy[OptionValue]:
    return legal_value[type(option.kind)](option.kind)  # type: ignore[no-untyped-call]


@st.composite
def chosen(draw: st.DrawFn) -> tuple[FilesystemSpec, dict[str, OptionValue]]:
    spec = draw(st.sampled_from(FILESYSTEMS))
    options = draw(st.lists(st.sampled_from(spec.options), unique_by=lambda item: item.id, max_size=6))
    return spec, {option.id: draw(a_legal_value(option)) for option in options}


foreign = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=60),
    st.binary(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sampled_from(HOSTILE),
)


def test_a_legal_choice_has_no_problem() -> None:
    options = {"atime": "noatime", "barrier": False, "commit": 30, "journal_bytes": 64 << 20}
    assert validate_options(filesystem("ext4"), options) == ()


def test_unknown_option_suggests_nearest() -> None:
    (problem,) = validate_options(filesystem("ext4"), {"comit": 5})
    assert problem.path == "comit"
    assert problem.message == "ext4 has no option “comit”. Did you mean “commit”?"
    assert "commit" in problem.hint


@pytest.mark.parametrize(
    ("name", "word", "advice"),
    [
        ("ext4", "nobarrier", "mount … barrier = false"),
        ("ext4", "^has_journal", "mkfs.ext4 … journal = false"),
        ("btrfs", "nodatacow", "mount … datacow = false"),
        ("ext4", "noatime", 'mount … atime = "noatime"'),
        ("ext4", "data=writeback", 'mount … data = "writeback"'),
        ("zfs", "atime=off", 'zfs … atime = "noatime"'),
        ("f2fs", "nobarrier", "mount … barrier = false"),
    ],
)
def test_mount_word_suggests_option(name: str, word: str, advice: str) -> None:
    (problem,) = validate_options(filesystem(name), {word: True})
    program, written = advice.split(" … ")
    assert re.search(f"“{re.escape(word)}” .* {program}\\. .*{written}", problem.message)
    assert "has no option" not in problem.message, "the filesystem has it"


@pytest.mark.parametrize(
    ("name", "word", "reason"),
    [
        ("zfs", "barrier", "sync=disabled"),
        ("ext3", "delalloc", "the kernel refuses it"),
        ("tmpfs", "barrier", "It uses no disk"),
        ("f2fs", "compress", "written once"),
    ],
)
def test_lacking_option_refused_with_reason(name: str, word: str, reason: str) -> None:
    (problem,) = validate_options(filesystem(name), {word: True})
    assert reason in problem.message


def test_an_option_given_twice_is_refused() -> None:
    problems = validate_options(filesystem("ext4"), [("commit", 5), ("commit", 6)])
    assert [(item.path, item.message, item.hint) for item in problems] == [
        ("commit", "commit is given twice.", "once")
    ]


@pytest.mark.parametrize(
    ("name", "option", "value", "message", "allowed"),
    [
        ("ext4", "commit", 0, "commit cannot be 0.", "1 s to 3600 s"),
        ("ext4", "commit", "5", "commit cannot be “5”.", "1 s to 3600 s"),
        ("ext4", "commit", True, "commit cannot be true.", "1 s to 3600 s"),
        ("ext4", "commit", 5.0, "commit cannot be 5.0.", "1 s to 3600 s"),
        ("ext4", "commit", None, "commit cannot be None.", "1 s to 3600 s"),
        ("ext4", "barrier", 0, "barrier cannot be 0.", "true or false"),
        ("ext4", "barrier", "off", "barrier cannot be “off”.", "true or false"),
        ("ext4", "data", "wb", "data cannot be “wb”.", "ordered, writeback, journal"),
        ("ext4", "data", "DATA\n", "data cannot be “DATA\\n”.", "ordered, writeback, journal"),
        (
            "zfs",
            "recordsize",
            10000,
            "recordsize cannot be 10000.",
            "512 B to 1048576 (1 MiB), a power of two",
        ),
        ("zfs", "ashift", 8, "ashift cannot be 8.", "9 to 16, or 0"),
        (
            "ext4",
            "journal_bytes",
            (4 << 20) + 1,
            "journal_bytes cannot be 4194305.",
            "4194304 (4 MiB) to 34359738368 (32 GiB), a multiple of 1048576 (1 MiB)",
        ),
    ],
)
def test_wrong_value_with_allowed(name: str, option: str, value: object, message: str, allowed: str) -> None:
    (problem,) = validate_options(filesystem(name), {option: value})
    assert (problem.path, problem.message, problem.hint) == (option, message, allowed)


def test_all_problems_are_told_at_once() -> None:
    problems = validate_options(filesystem("ext4"), {"commit": 0, "bogus": 1, "data": 7})
    assert {item.path for item in problems} == {"commit", "bogus", "data"}


def test_conflicting_options_refused() -> None:
    problems = validate_options(filesystem("btrfs"), {"datacow": False, "compress": "lzo"})
    assert [item.path for item in problems] == ["compress"]


def test_level_and_versions_checked_if_known() -> None:
    ext4, xfs = filesystem("ext4"), filesystem("xfs")
    assert validate_options(ext4, {"stride": 16, "stripe_width": 32}) == ()
    assert validate_options(ext4, {"stride": 16, "stripe_width": 32}, level=Level.RAID5)
    assert validate_options(xfs, {"barrier": False}) == ()
    assert validate_options(xfs, {"barrier": False}, versions={KERNEL: (6, 1)})


def test_unsafe_options_value_and_sentence() -> None:
    assert unsafe_options(filesystem("ext4"), {"barrier": True, "atime": "noatime"}, Level.SINGLE) == ()
    (marked,) = unsafe_options(filesystem("ext4"), {"barrier": False, "commit": 30})
    assert marked[:2] == ("barrier", "false")
    assert "power cut" in marked[2]
    assert [item[0] for item in unsafe_options(filesystem("btrfs"), {"datacow": False})] == ["datacow"] * 2
    assert [item[:2] for item in unsafe_options(filesystem("tmpfs"), {})] == [("filesystem", "tmpfs")]
    (unstable,) = unsafe_options(filesystem("btrfs"), {}, Level.RAID5)
    assert unstable[:2] == ("level", "raid5")
    assert unsafe_options(filesystem("zfs"), {}, Level.RAID5) == ()


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("ext4", "barrier", False),
        ("ext4", "data", "writeback"),
        ("ext4", "journal", False),
        ("xfs", "barrier", False),
        ("btrfs", "barrier", False),
        ("btrfs", "datacow", False),
        ("btrfs", "datasum", False),
        ("btrfs", "nocow_attribute", True),
        ("f2fs", "barrier", False),
        ("f2fs", "fsync_mode", "nobarrier"),
        ("zfs", "sync", "disabled"),
        ("btrfs", "full_page_writes", False),
        ("zfs", "redundant_metadata", "most"),
    ],
)
def test_unsafe_options_of_design(name: str, option: str, value: OptionValue) -> None:
    assert unsafe_options(filesystem(name), {option: value})


def test_switch_off_available_everywhere() -> None:
    noswap = filesystem("tmpfs").option("noswap")
    old = {KERNEL: (6, 1)}
    assert unavailable(noswap, old, value=True)
    assert unavailable(noswap, old, value=False) == ""
    assert unavailable(filesystem("xfs").option("barrier"), old, value=False)


def test_what_is_not_installed_decides_nothing() -> None:
    barrier = filesystem("xfs").option("barrier")
    assert unavailable(barrier, {}) == ""
    assert unavailable(barrier, {KERNEL: (4, 18, 20)}) == ""
    assert unavailable(barrier, {KERNEL: (6, 18, 44)}) == "removed in Linux 4.19; found 6.18.44"


@each_case("spec option", OPTIONS)
def test_hostile_text_refused_briefly(spec: FilesystemSpec, option: OptionSpec) -> None:
    for text in HOSTILE:
        (problem,) = validate_options(spec, {option.id: text})
        assert problem.path == option.id
        assert problem.hint
        assert len(problem.message) < 150
        assert problem.message.isprintable()


@pytest.mark.parametrize("spec", FILESYSTEMS, ids=lambda spec: spec.id)
def test_no_hostile_text_is_an_option(spec: FilesystemSpec) -> None:
    for text in HOSTILE:
        (problem,) = validate_options(spec, {text: True})
        assert problem.hint
        assert len(problem.path) <= 40
        assert problem.path.isprintable()
        assert problem.message.isprintable()
        problem.message.encode()


def test_echo_short_and_printable() -> None:
    assert echo("a\nb") == "a\\nb"
    assert len(echo("x" * 1000)) == 40
    assert echo(b"\x00") == "b'\\x00'"


@untimed
@given(
    st.sampled_from(FILESYSTEMS),
    st.lists(st.tuples(st.one_of(st.text(max_size=30), foreign), foreign), max_size=5),
)
def test_any_input_answered(spec: FilesystemSpec, pairs: list[tuple[str, object]]) -> None:
    problems = validate_options(spec, pairs)
    by_root = option_problems(format_of(spec.id), pairs)
    assert [each.path for each in by_root] == [each.path for each in problems]
    legal = legal_options(spec, pairs) if all(isinstance(name, str) for name, _ in pairs) else {}
    if len(legal) < len(pairs):
        assert problems
    for problem in problems:
        assert problem.message
        assert problem.message.isprintable()
        assert len(problem.message) < 400


@untimed
@given(chosen())
@example((filesystem("ext4"), {"block_size": 65536, "bigalloc": True}))
def test_legal_options_refused_by_rules_only(made: tuple[FilesystemSpec, dict[str, OptionValue]]) -> None:
    spec, options = made
    findings = check(Circumstances(spec, options))
    refused = [item for item in findings if item.action is Action.REFUSE]
    problems = validate_options(spec, options)
    assert [item.path for item in problems] == [item.field for item in refused]
    assert all(item.field in options for item in refused)


@untimed
@given(chosen(), st.data())
def test_one_wrong_value_named(
    made: tuple[FilesystemSpec, dict[str, OptionValue]], data: st.DataObject
) -> None:
    spec, options = made
    option = data.draw(st.sampled_from(spec.options))
    value = data.draw(foreign.filter(lambda item: not option.kind.accepts(item)))
    problems = validate_options(spec, options | {option.id: value})
    assert [item.path for item in problems] == [option.id]


def test_size_range_limits() -> None:
    kind = filesystem("zfs").option("recordsize").kind
    assert kind.accepts(1024 * KIB)
    assert not kind.accepts(2048 * KIB)
    assert not kind.accepts(256)
    assert not kind.accepts(-512)
    assert not kind.accepts(0)

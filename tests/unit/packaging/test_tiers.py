"""packaging/test and tiers.sh: every test in one tier, nothing that fails goes uncounted."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.fix_chosen import SLOW
from tests.unit.packaging.conftest import PROJECT, Scripts

TIERS = ("unit", "gui", "bus", "postgres", "disks", "machine")
TIER = "ENVIRONMENT=$FAKE/environment CACHE=$FAKE SCRATCH=$FAKE PROCESSES=2\n"


def write_pytest(scripts: Scripts, *, status: int, report: str) -> None:
    """Let the environment's python pretend that pytest ended like this."""
    python = scripts.fake / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (scripts.fake / "report").write_text(report)
    scripts.program(
        python,
        '#!/bin/bash\n[ "$1" = -m ] || exec "$REAL_PYTHON" "$@"\n'
        'echo "$PGFOOTING_DEVICE_TESTS $*" >>"$FAKE/pytest.calls"\n'
        'for word; do case $word in --junit-xml=*) cp "$FAKE/report" "${word#*=}" ;; esac; done\n'
        f"exit {status}\n",
    )


def suite(tests: int, failures: int = 0, errors: int = 0, skipped: int = 0) -> str:
    counts = f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    return f"<testsuites><testsuite {counts}/></testsuites>"


def summary(scripts: Scripts, code: str) -> list[str]:
    outcome = scripts.call(TIER + code + "\nprint_summary")
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.splitlines()


def test_every_test_is_in_exactly_one_tier(scripts: Scripts) -> None:
    expressions = {tier: scripts.call(f"expression_of {tier}").stdout for tier in TIERS}
    markers = TIERS[1:]
    for carried in itertools.chain.from_iterable(
        itertools.combinations(markers, n) for n in range(len(markers) + 1)
    ):
        values = {marker: marker in carried for marker in markers}
        chosen = [tier for tier in TIERS if eval(expressions[tier], {}, values)]  # noqa: S307 - our own words
        assert len(chosen) == 1, carried


def test_device_tests_in_one_tier(scripts: Scripts) -> None:
    for tier in ("unit", "gui", "bus", "postgres"):
        expression = scripts.call(f"expression_of {tier}").stdout
        assert "not machine" in expression
        assert "not disks" in expression


def test_other_folders_hold_no_unit_tests() -> None:
    """Root collects tests/unit alone for them."""
    folders = {
        path.parent.relative_to(PROJECT / "tests").parts[:1]
        for path in (PROJECT / "tests").rglob("test_*.py")
    }
    assert {name for (name,) in folders} - {"unit"} <= set(TIERS)


def test_every_marker_of_pyproject_has_a_tier(scripts: Scripts) -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"][
        "markers"
    ]
    assert {marker.partition(":")[0] for marker in declared} == set(TIERS) - {"unit"}


def test_the_last_line_sums_up_all_tiers(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(10, skipped=2))
    assert summary(scripts, "run_tier unit\nrun_tier gui")[-1] == "16 passed, 0 failed, 4 skipped"


def test_failures_make_tier_red(scripts: Scripts) -> None:
    write_pytest(scripts, status=1, report=suite(10, failures=1, errors=2))
    lines = summary(scripts, "run_tier postgres")
    assert lines[-1] == "7 passed, 3 failed"
    assert any(re.match(r"postgres +RED ", line) for line in lines)


def test_red_names_in_the_summary(scripts: Scripts) -> None:
    cases = [f"<testcase classname='tests.unit.a' name='test_{n}'><failure/></testcase>" for n in range(21)]
    cases.append("<testcase classname='tests.unit.a' name='test_ok'/>")
    report = suite(22, failures=21).replace("/></testsuites>", f">{''.join(cases)}</testsuite></testsuites>")
    write_pytest(scripts, status=1, report=report)
    lines = summary(scripts, "begin_beside unit run_tier unit\nend_beside")
    found = lines[lines.index("== summary") + 2 : -2]
    assert found == [*(f"  RED tests.unit.a::test_{n}" for n in range(20)), "  and 1 more"]


@pytest.mark.parametrize("report", ["", "<testsuites><testsuite tests='1'", suite(3)])
def test_an_interpreter_that_dies_is_a_failure(scripts: Scripts, report: str) -> None:
    write_pytest(scripts, status=139, report=report)
    assert ", 1 failed" in summary(scripts, "run_tier unit")[-1]


def test_parallel_tier_reported_last(scripts: Scripts) -> None:
    write_pytest(scripts, status=1, report=suite(10, failures=1))
    python = scripts.fake / "environment" / "bin" / "python"
    command = 'echo "state $XDG_STATE_HOME"\necho "$PGF'
    python.write_text(python.read_text().replace('echo "$PGF', command))
    code = 'use_folders "$SCRATCH"\nbegin_beside gui run_tier gui\nrun_tier unit\nend_beside'
    lines = summary(scripts, code)
    assert [line for line in lines if line.startswith(("== ", "state "))] == [
        "== unit", f"state {scripts.fake}/STATE_HOME",
        "== gui", f"state {scripts.fake}/beside-gui/STATE_HOME",
        "== summary",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[-4:-2]] == [["unit", "RED"], ["gui", "RED"]]
    assert lines[-1] == "18 passed, 2 failed"


def test_parallel_tier_dies_early(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(10))
    lines = summary(scripts, "begin_beside gui exit 0\nrun_tier unit\nend_beside")
    assert lines[-1] == "10 passed, 1 failed"


@pytest.mark.long
def test_root_runs_unit_tests_as_user(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(10, skipped=2))
    python = scripts.fake / "environment" / "bin" / "python"
    python.write_text(
        python.read_text().replace('echo "$PGF', 'echo "in $PWD" >>"$FAKE/pytest.calls"\necho "$PGF')
    )
    environment = python.parents[1]
    for path in (
        environment / "lib" / "module.py",
        environment / "caches" / "mypy",
        environment / "pyvenv.cfg",
        environment / "bytecode" / "usr" / "lib.pyc",
        environment / f"bytecode{scripts.checkout}" / "app" / "a.pyc",
        environment / f"bytecode{scripts.checkout}" / "tests" / "b.pyc",
    ):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    code = """is_root() { true; }
chown() { [[ $* == "--recursive -- nobody: $FAKE/scratch/user"* ]]; }
setpriv() {
  (cd "$FAKE/scratch/user/environment/bytecode" && find . -type f) >"$FAKE/compiled"
  echo "$1" >>"$FAKE/pytest.calls" && shift 3 && "$@"
}
mkdir "$FAKE/scratch" && SCRATCH=$FAKE/scratch PROCESSES=1 && cd "$CHECKOUT" && begin_unit && begin_skipped
end_beside"""
    lines = summary(scripts, code)
    scratch = scripts.fake / "scratch"
    assert not (scratch / "user").exists()
    _, compiling, user, there, first, here, second = (scripts.fake / "pytest.calls").read_text().splitlines()
    assert compiling.endswith(f"compileall -q -j 0 {scripts.checkout}/app {scripts.checkout}/ui")
    compiled = set((scripts.fake / "compiled").read_text().split())
    assert compiled == {"./usr/lib.pyc", f".{scratch}/user/checkout/app/a.pyc"}
    assert (user, there, here) == (
        "--reuid=nobody",
        f"in {scratch}/user/checkout",
        f"in {scripts.checkout}",
    )
    assert f"--basetemp={scratch}/user/unit1/unit1 " in first
    assert f"--claims={scratch}/claims-unit " in first
    assert second.endswith(f"--skipped-in={scratch}/skipped tests/unit")
    assert lines[-1] == "16 passed, 0 failed, 4 skipped"
    assert [each.name for each in (scratch / "skipped").iterdir()] == ["unit1.xml"]


def pytest_in(folder: Path, *options: str, plugin: str = "tests.fix_chosen") -> list[str]:
    """What a pytest of the tests in FOLDER says of each."""
    start = f"import sys, pytest; sys.path.insert(0, {str(PROJECT)!r}); sys.exit(pytest.main())"
    command = [sys.executable, "-c", start, "-v", "-p", "no:cacheprovider", "-p", plugin]
    command += ["--import-mode=importlib", "-o", "junit_family=xunit1", f"--rootdir={folder}"]
    command += [str(folder), *options]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    if plugin == "tests.fix_chosen":  # with nothing else it starts in a third of the time
        command += ["-c", os.devnull]
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    else:
        command += ["-c", str(PROJECT / "pyproject.toml")]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return sorted(re.findall(r"^(\S+::.* [A-Z]+) ", done.stdout, re.MULTILINE))


@pytest.mark.long
def test_programs_of_tests_find_app(tmp_path: Path) -> None:
    start = "subprocess.run([sys.executable, '-P', '-c', 'import app'], check=True)"
    (tmp_path / "test_one.py").write_text(f"import subprocess, sys\ndef test_x(): {start}\n")
    assert pytest_in(tmp_path, plugin="tests.conftest") == ["test_one.py::test_x PASSED"]


@pytest.mark.long
def test_only_what_reports_skipped_is_chosen(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_one.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('a', ['é b', 'c'])\ndef test_one(a):\n"
        "    if a != 'c':\n        pytest.skip('x')\n"
    )
    (tests / "test_two.py").write_text("def test_two():\n    pass\n")
    first = pytest_in(tests, f"--junit-xml={tmp_path}/report.xml")
    (tests / "test_two.py").write_text("raise AssertionError")  # is not read again
    assert [line.split()[-1] for line in first] == ["SKIPPED", "PASSED", "PASSED"]
    assert pytest_in(tests, f"--skipped-in={tmp_path}") == first[:1]


def test_first_and_last_case_of_slow_tests(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n@pytest.mark.slow\n@pytest.mark.parametrize('b', '12')\n"
        "@pytest.mark.parametrize('a', 'abc')\ndef test_x(a, b): pass\n\n"
        "@pytest.mark.slow\ndef test_y(): pass\n\n"
        "@pytest.mark.parametrize('a', 'abc')\ndef test_z(a): pass\n"
    )
    found = pytest_in(tmp_path, "-m", "not long")
    kept = ("x[a-1]", "x[c-2]", "y", "z[a]", "z[b]", "z[c]")
    assert found == [f"test_one.py::test_{name} PASSED" for name in kept]
    assert len(pytest_in(tmp_path)) == 10


def test_slow_tests_exist() -> None:
    for path, _, name in (each.rpartition("::") for each in SLOW):
        assert f"def {name}(" in (PROJECT / path.partition("::")[0]).read_text(encoding="utf-8"), path


@pytest.mark.long
def test_processes_share_modules_by_claims(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    for name in ("a/test_1", "a/test_2", "b/test_3"):
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / f"{name}.py").write_text("def test_x(): pass\ndef test_y(): assert False\n")
    claims = tmp_path / "claims"
    claims.mkdir()
    (claims / "a+test_2.py").touch()
    option = f"--claims={claims}"
    own = [f"{name}.py::test_{end}" for name in ("a/test_1", "b/test_3") for end in ("x PASSED", "y FAILED")]
    assert pytest_in(tests, option) == own
    assert pytest_in(tests, option) == []
    assert pytest_in(tests, option, "-x") == []


def test_lanes_take_turns(scripts: Scripts) -> None:
    """Nothing waits for the slowest process of a tier, and no more run at once than there are lanes."""
    code = """step() { sleep "$2"; echo "$1" >>"$FAKE/ended"; count "$1" 1 0 0; }
begin_in_lane 1 lint step lint 0.4
begin_in_lane 2 unit2 step unit2 0.1
begin_in_lane 1 unit1 step unit1 0
begin_in_lane 2 gui2 step gui2 0
end_beside
begin_in_lane 1 later step later 0
end_beside"""
    lines = summary(scripts, code)
    assert (scripts.fake / "ended").read_text().split() == ["unit2", "gui2", "lint", "unit1", "later"]
    assert lines[-1] == "5 passed, 0 failed"


def test_ended_lane_shares_nothing(scripts: Scripts) -> None:
    code = "true &\nwait $!\nwhile_runs $! echo ended\nwhile_runs $$ echo runs"
    assert scripts.call(code).stdout == "runs\n"


def test_tier_is_looked_for_where_its_mark_is(scripts: Scripts) -> None:
    for name in ("unit/a", "gui/b", "bus/c", "postgres/d"):
        path = scripts.checkout / "tests" / name / "test_it.py"
        path.parent.mkdir(parents=True)
        path.write_text("@pytest.mark.postgres\n" if name != "bus/c" else "@pytest.mark.postgresql\n")
    found = scripts.call('cd "$CHECKOUT" && paths_of postgres && paths_of unit').stdout.split()
    assert found == ["tests/postgres", "tests/unit/a/test_it.py", "tests/gui/b/test_it.py", "tests/unit"]


@pytest.mark.parametrize(
    ("possible", "expected"), [("true", ["postgres1", "postgres2"]), ("false", ["postgres"])]
)
def test_servers_share_only_in_namespaces(scripts: Scripts, possible: str, expected: list[str]) -> None:
    write_pytest(scripts, status=0, report=suite(10))
    apart = scripts.checkout / "tests" / "system" / "apart"
    scripts.program(apart, f'#!/bin/bash\n[[ $1 != --possible ]] || exec {possible}\nexec "${{@:2}}"\n')
    lines = summary(scripts, "begin_servers\nend_beside")
    assert [line.split()[0] for line in lines if " green " in line] == expected
    assert lines[-1] == f"{10 * len(expected)} passed, 0 failed"
    calls = (scripts.fake / "pytest.calls").read_text()
    assert calls.count(f" --claims={scripts.fake}/claims-postgres") == (
        len(expected) if possible == "true" else 0
    )


@pytest.mark.parametrize(
    ("settings", "less"),
    [
        ("", "longest long"),
        ("MACHINE=short", "longest long"),
        ("MACHINE=campaigns", "longest long"),
        ("MACHINE=short ALL=asked", "longest"),
        ("QUICK=asked", "longest long slow"),
        ("MACHINE=whole", ""),
        ("ONLY=bus,postgres", ""),
        ("ONLY=bus", "longest long"),
    ],
)
def test_long_tests_of_a_tier(scripts: Scripts, settings: str, less: str) -> None:
    found = scripts.call(f'{settings}\nchoose postgres\nprintf "%s|" "${{CHOICE[@]}}"').stdout.split("|")
    assert found[1].endswith("and postgres" + "".join(f" and not {name}" for name in less.split()))
    assert ("--hypothesis-profile=few" in found) == ("long" in less.split())


@pytest.mark.parametrize("code", ["run_tier unit", "ROOT= MACHINE=\nrun_selection -k nonsense"])
def test_vanished_tests_fail(scripts: Scripts, code: str) -> None:
    write_pytest(scripts, status=5, report=suite(0))
    assert summary(scripts, code)[-1] == "0 passed, 1 failed"


def test_devices_are_left_alone_unless_asked_for(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    lines = summary(scripts, "ROOT= MACHINE=\nprepare_device_tiers\nrun_device_tier disks --root ''")
    assert lines[-2:] == ["Left out: disks.", "To run them: packaging/test --root."]
    assert not (scripts.fake / "pytest.calls").exists()


REFUSED = "refusals_of_device_tests() { echo one reason; echo another; }\nprepare_device_tiers\n"


def test_refused_devices_count_as_failure(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    lines = summary(scripts, f"ROOT=asked MACHINE=\n{REFUSED}run_device_tier disks --root asked")
    assert lines.index("another") == lines.index("one reason") + 1
    assert lines[-1] == "0 passed, 1 failed"
    assert not (scripts.fake / "pytest.calls").exists()


def test_devices_not_asked_install_nothing(scripts: Scripts) -> None:
    install = 'provide_system_packages() { echo "installs for $1"; }\n'
    assert scripts.call(f"{TIER}{install}ROOT= MACHINE=\n{REFUSED}").stdout == ""
    assert scripts.call(f"{TIER}{install}ROOT=asked MACHINE=\n{REFUSED}").stdout == ""
    refused = f"refusals_of_machine_tests() {{ echo no root; }}\n{REFUSED}"
    assert scripts.call(f"{TIER}{install}ROOT= MACHINE=whole\n{refused}").stdout == ""
    allowed = REFUSED.replace("echo one reason; echo another", ":")
    assert scripts.call(f"{TIER}{install}ROOT=asked MACHINE=\n{allowed}").stdout == "installs for disks\n"
    both = "installs for disks\ninstalls for matrix\n"
    assert scripts.call(f"{TIER}{install}ROOT=matrix MACHINE=\n{allowed}").stdout == both


def write_guest_build(scripts: Scripts, text: str) -> None:
    """Let the guest's build be this script."""
    program = scripts.checkout / "tests" / "machine" / "build-guest"
    scripts.program(program, f"#!/bin/bash\n{text}\n")


MACHINE = (
    "refusals_of_device_tests() { :; }\nrefusals_of_machine_tests() { :; }\nLOOP_CONTROL=/none\n"
    "provide_system_packages() { :; }\nROOT= MACHINE=short\n"
    "prepare_device_tiers\nrun_device_tier machine --machine short"
)


def test_guest_built_before_machine_tier(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    write_guest_build(scripts, "sleep 0.2; echo the build speaks >&2; echo /the/guest")
    python = scripts.fake / "environment" / "bin" / "python"
    python.write_text(python.read_text().replace('echo "$PGF', 'echo "$PGFOOTING_GUEST_FOLDER $PGF'))
    assert "the build speaks" in summary(scripts, MACHINE)
    assert (scripts.fake / "pytest.calls").read_text().startswith("/the/guest ")


def test_refused_devices_still_run_guest(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    write_guest_build(scripts, "echo /the/guest")
    refused = MACHINE.replace("refusals_of_device_tests() { :; }", REFUSED.partition("\n")[0])
    refused = refused.replace("LOOP_CONTROL=/none", "LOOP_CONTROL=/dev/null")
    lines = summary(scripts, f"{refused}\nif plays_covering_matrix; then echo played; fi")
    assert lines[-1] == "3 passed, 0 failed"
    assert "played" not in lines
    text = "container left out: it has the kernel of this machine, where one reason; another"
    assert text in lines
    (called,) = (scripts.fake / "pytest.calls").read_text().splitlines()
    assert " --ignore=tests/machine/test_container.py " in called
    assert (PROJECT / "tests" / "machine" / "test_container.py").is_file()


def test_layouts_on_loop_devices(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    inside = scripts.checkout / "tests" / "system" / "in-namespace"
    scripts.program(inside, '#!/bin/bash\necho "in a namespace"\nexec "$@"\n')
    lines = summary(scripts, "run_layouts\nbash -c 'echo \"notes in $PGFOOTING_COVERED\"'")
    assert "in a namespace" in lines
    assert f"notes in {scripts.fake}/covered" in lines
    assert any(line.startswith("layouts   green      3 passed ") for line in lines)
    (called,) = (scripts.fake / "pytest.calls").read_text().splitlines()
    assert called.startswith(f"{scripts.fake}/loop-devices -m pytest ")
    assert "tests/disks/test_layout.py" in called
    (name,) = re.findall(r" -k (\w+)", called)
    assert f"def {name}" in (PROJECT / "tests" / "disks" / "test_layout.py").read_text()


def test_container_with_devices_only(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    write_guest_build(scripts, "echo /the/guest")
    assert not any(line.startswith("container") for line in summary(scripts, MACHINE))
    assert "--ignore" not in (scripts.fake / "pytest.calls").read_text()


def test_without_root_there_is_no_virtual_machine(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    code = MACHINE.replace("refusals_of_machine_tests() { :; }\n", "")
    code = code.replace("prepare_device_tiers", "MACHINE_REFUSALS=$(refusals_of_machine_tests 1000)")
    lines = summary(scripts, code)
    assert "only root can make the virtual machine's Debian" in lines
    assert lines[-1] == "0 passed, 1 failed"
    assert scripts.call("refusals_of_machine_tests 0").stdout == ""


def test_guest_build_failure(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(3))
    write_guest_build(scripts, "echo no mirror >&2; exit 1")
    lines = summary(scripts, MACHINE)
    assert "no mirror" in lines
    assert lines[-1] == "0 passed, 1 failed"
    assert not (scripts.fake / "pytest.calls").exists()


def test_disk_tests_run_in_namespace(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    program = scripts.checkout / "tests" / "system" / "in-namespace"
    scripts.program(program, '#!/bin/bash\necho "in namespaces" >>"$FAKE/pytest.calls"\nexec "$@"\n')
    code = "refusals_of_device_tests() { :; }\nprovide_system_packages() { :; }\nPGFOOTING_DEVICE_TESTS=\n"
    code += "ROOT=asked MACHINE=\nprepare_device_tiers\nrun_device_tier disks --root asked\nrun_tier unit"
    summary(scripts, code)
    calls = (scripts.fake / "pytest.calls").read_text().splitlines()
    assert calls[0] == "in namespaces"
    assert calls[1].startswith(f"{scripts.fake}/loop-devices -m pytest")
    assert calls[2].startswith(" -m pytest")
    assert len(calls) == 3


def write_matrix(scripts: Scripts, tally: str, status: int) -> None:
    """Let the runner of the matrix write this tally and end with this status."""
    python = scripts.fake / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    command = f'printf "{tally}" >"$4"' if tally else ":"
    scripts.program(python, f'#!/bin/bash\necho "$*" >>"$FAKE/matrix.calls"\n{command}\nexit {status}\n')
    program = scripts.checkout / "tests" / "system" / "in-namespace"
    scripts.program(program, '#!/bin/bash\nexec "$@"\n')


@pytest.mark.parametrize(
    ("tally", "status", "counted"),
    [
        ("140 0\\n", 0, ["", "140 passed, 0 failed"]),
        ("138 2\\none: kept\\ntwo\\n", 1, ["  RED one: kept", "  RED two", "", "138 passed, 2 failed"]),
        ("140 0\\n", 3, ["", "140 passed, 1 failed"]),
        ("", 1, ["", "0 passed, 1 failed"]),
    ],
)
def test_combinations_of_the_matrix_are_counted(
    scripts: Scripts, tally: str, status: int, counted: list[str]
) -> None:
    write_matrix(scripts, tally, status)
    lines = summary(scripts, "ROOT=matrix MACHINE=\nrun_matrix --results /kept")
    assert lines[lines.index("== summary") + 2 :] == counted
    called = (scripts.fake / "matrix.calls").read_text()
    assert called.startswith("-m tests.disks.matrix --tally ")
    assert called.endswith(" --results /kept\n")


def test_no_matrix_without_devices(scripts: Scripts) -> None:
    write_matrix(scripts, "1 0\\n", 0)
    lines = summary(scripts, f"ROOT=matrix MACHINE=\n{REFUSED}run_matrix")
    assert "one reason" in lines
    assert lines[-1] == "0 passed, 1 failed"
    assert not (scripts.fake / "matrix.calls").exists()


@pytest.mark.parametrize(
    ("root", "machine", "control", "played"),
    [
        ("asked", "", "/none", "yes"),
        ("", "short", "/dev/null", "yes"),
        ("", "short", "/none", "no"),
        ("", "whole", "/dev/null", "no"),
        ("", "", "/dev/null", "no"),
    ],
)
def test_covering_matrix_with_device_tiers(
    scripts: Scripts, root: str, machine: str, control: str, played: str
) -> None:
    code = f"ROOT={root} MACHINE={machine} LOOP_CONTROL={control}\n"
    code += "if plays_covering_matrix; then echo yes; else echo no; fi"
    assert scripts.call(f"{TIER}{code}").stdout == f"{played}\n"


QUICK = 'run_check() { echo "checks $1"; [[ $1 != "$RED" ]]; }\nQUICK=asked\nrun_quick'


@pytest.mark.parametrize(("red", "count"), [("none", "19 passed, 0 failed"), ("mypy", "18 passed, 1 failed")])
def test_quick_is_lint_and_fast_unit_tests(scripts: Scripts, red: str, count: str) -> None:
    write_pytest(scripts, status=0, report=suite(7))
    lines = summary(scripts, f"RED={red}\n{QUICK}")
    assert [line for line in lines if line.startswith("checks ")] == [
        "checks ruff format", "checks ruff check", "checks mypy", "checks lint-imports", "checks shellcheck",
    ]  # fmt: skip
    assert lines[-3:] == [
        count,
        "Left out: slow tests and every other tier.",
        "To run them: packaging/test.",
    ]
    calls = (scripts.fake / "pytest.calls").read_text().splitlines()
    unit = scripts.call("expression_of unit").stdout
    assert len(calls) == 2
    assert all(f"-m {unit} and not longest and not long and not slow" in call for call in calls)


def test_a_lint_that_died_is_a_failure(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(7))
    lines = summary(scripts, "run_check() { exit 9; }\nQUICK=asked\nrun_quick")
    assert lines[-3] == "14 passed, 1 failed"


@pytest.mark.parametrize("others", [["--root"], ["--bench"], ["--machine=short"], ["tests/unit"]])
def test_quick_runs_alone(scripts: Scripts, others: list[str]) -> None:
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "test"), "--quick", *others], status=2)
    assert "--quick runs alone" in errors


def test_selection_of_refused_devices(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    errors = scripts.refusal(f"{TIER}ROOT=asked MACHINE=\n{REFUSED}run_selection tests/disks")
    assert "one reason; another" in errors
    assert not (scripts.fake / "pytest.calls").exists()


def test_arguments_are_handed_to_one_pytest(scripts: Scripts) -> None:
    write_pytest(scripts, status=0, report=suite(1))
    summary(scripts, 'PGFOOTING_DEVICE_TESTS=\nROOT= MACHINE=\nrun_selection -k "a and b"')
    assert (
        (scripts.fake / "pytest.calls")
        .read_text()
        .rstrip()
        .endswith("-m not disks and not machine -k a and b")
    )


def test_ignored_signals_reach_tests(scripts: Scripts) -> None:
    (scripts.fake / "environment" / "bin").mkdir(parents=True)
    (scripts.fake / "environment" / "bin" / "python").symlink_to(scripts.fake / "python3")
    show = 'python -c "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_DFL)"'
    assert scripts.call(f"trap '' HUP INT\n{TIER}{show}").stdout == "True\n"


def test_benches_run_in_turn_and_are_counted(scripts: Scripts, tmp_path: Path) -> None:
    benches = tmp_path / "tests" / "bench"
    benches.mkdir(parents=True)
    (benches / "bench_b.py").write_text("raise SystemExit(1)")
    (benches / "bench_a.py").write_text("print('42 ns')")
    (benches / "_shared.py").write_text("raise SystemExit('not a bench')")
    code = f'python() {{ "$REAL_PYTHON" "$@"; }}\ncd {tmp_path}\nrun_benches'
    lines = summary(scripts, code)
    assert "42 ns" in lines
    assert lines[-3:] == ["1 passed, 1 failed", "Left out: every tier.", "To run them: packaging/test."]


def test_benches_and_devices_do_not_go_together(scripts: Scripts) -> None:
    errors = scripts.refusal([str(scripts.checkout / "packaging" / "test"), "--bench", "--root"], status=2)
    assert "--bench runs alone" in errors

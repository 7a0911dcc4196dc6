"""The size and the borders of the rooms."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.house import (
    PROJECT,
    ROOT_EXECUTES,
    budgets,
    closure,
    imports_of,
    modules,
    packages_of,
    report,
    rooms,
    tree_of,
)

MOST_SLACK = 50
"""Lines of code by which a budget may exceed its room before it has to be lowered."""
OF_A_SERVER = frozenset({"postmaster_pid", "data_directory", "wal_directory", "socket_directory"})
"""What only who makes a server knows, or who was told that it is not known."""
NAME_IT = (
    "app.postgres",
    "app.hosts",
    "app.probes.base.probe",  # ServerSources, each field with "not known"
    "app.probes.sources.others.foreign_io",  # whose control group is ours, where that is known
    "app.probes.sources.processes",  # the process, where ServerSources has it
    "app.draft.commands",  # the wizard shows initdb's arguments
)
MAKE_A_SERVER = frozenset(
    {
        "app.postgres.server",
        "app.hosts.own_server",
        "app.hosts.folders.run_folders",
    }
)


def test_rooms_within_budget() -> None:
    allowed = budgets()
    sizes = {room: size.code for room, size in rooms().items()}
    assert {room: lines for room, lines in sizes.items() if lines > allowed.get(room, 0)} == {}


def test_budgets_without_slack() -> None:
    sizes = rooms()
    slack = {room: limit for room, limit in budgets().items() if room not in sizes}
    slack |= {room: limit for room, limit in budgets().items() if limit - sizes[room].code > MOST_SLACK}
    assert slack == {}


def test_root_executes_these_packages_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(packages_of(closure("app.helper.__main__"))) == list(ROOT_EXECUTES)
    with capsys.disabled():
        print(f"\n{report()}")  # noqa: T201 - whoever reviews what root executes looks at how much it is


def test_only_server_makers_name_process_folders() -> None:
    for name in modules():
        if not name.startswith(NAME_IT):
            nodes = [vars(node) for node in ast.walk(tree_of(modules()[name]))]
            words = {node.get(field) for node in nodes for field in ("id", "attr", "arg")}
            assert words & OF_A_SERVER == set(), name


def test_only_execution_run_makes_servers() -> None:
    found = {name for name in modules() if imports_of(name) & MAKE_A_SERVER}
    assert {name for name in found if not name.startswith(("app.postgres.", "app.hosts."))} == {
        "app.execution.run"
    }


def test_every_path_of_the_map_is_there() -> None:
    text = (PROJECT / "app" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:app|ui|tests|packaging)/[\w./-]*\w", text))
    assert len(named) > 50
    assert [path for path in sorted(named) if not (PROJECT / path).exists()] == []


def test_map_lists_rooms_in_contract_order() -> None:
    text = (PROJECT / "app" / "README.md").read_text(encoding="utf-8")
    named = re.compile(r"`app/(\w+)(?:\.py)?`")
    rows = [set(named.findall(row.partition("|")[2].partition("|")[0])) for row in text.splitlines()]
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]
    (layers,) = (each["layers"] for each in contracts["contracts"] if each.get("containers") == ["app"])
    order = [{name.strip() for name in layer.split("|")} for layer in layers]
    assert [row for row in rows if row] == [layer for layer in order if layer != {"__main__"}]


def test_databases_closed_by_opening_block() -> None:
    """A connection of sqlite3 ends a transaction with its block and stays open: Python 3.13 warns of it."""
    rooms = ("app", "ui", "tests", "packaging")
    files = (path for room in rooms for path in (PROJECT / room).rglob("*.py"))
    open_ones = "with " + "sqlite3.connect("
    assert [str(path) for path in files if open_ones in path.read_text(encoding="utf-8")] == []

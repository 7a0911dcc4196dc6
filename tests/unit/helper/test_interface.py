"""The interface, the table of methods, the policies and the code agree; default is refusal."""

from __future__ import annotations

import ast
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from app.domain.storage_plan.plan import KEPT
from app.domain.storage_plan.reader import GROUP, IDENTITY, PLAN, PLANS
from app.helper.base.audit import INTERFACE
from app.helper.service import INTERFACE_NUMBER, METHODS, NAME, Access, Helper, method
from app.helper.session.session import REQUESTS

PROJECT = Path(__file__).parents[3]
SYSTEM = PROJECT / "packaging" / "system"
ROOT = ET.parse(INTERFACE).getroot()  # noqa: S314 - our own file
EXPORTED = [element.attrib["name"] for element in ROOT.iter("method")]


def signature(name: str) -> str:
    element = next(each for each in ROOT.iter("method") if each.attrib["name"] == name)
    return "".join(each.attrib["type"] for each in element if each.attrib["direction"] == "in")


def test_every_method_has_its_access() -> None:
    assert sorted(EXPORTED) == sorted(each.name for each in METHODS)
    assert len(set(EXPORTED)) == len(EXPORTED)
    assert [method(each.name) for each in METHODS] == list(METHODS)


@pytest.mark.parametrize("name", ["", "Missing", "version", "Execute2", "__init__"])
def test_unknown_method_has_no_access(name: str) -> None:
    assert method(name) is None


def test_only_version_and_describe_for_anyone() -> None:
    assert [each.name for each in METHODS if each.access is Access.ANYONE] == ["Version", "Describe"]


def test_every_method_is_implemented() -> None:
    owned = {each.name for each in METHODS if each.access is Access.OWNER}
    assert owned == set(REQUESTS)
    assert all(hasattr(Helper, f"_{each.name.lower()}") for each in METHODS if each.name not in owned)


def test_owner_methods_name_the_session_first() -> None:
    owned = [each.name for each in METHODS if each.access is Access.OWNER]
    assert all(signature(name).startswith("s") for name in owned)


def test_interface_version_is_documented() -> None:
    assert f"interface number {INTERFACE_NUMBER}" in INTERFACE.read_text()


def test_nothing_can_be_set_from_outside() -> None:
    assert list(ROOT.iter("property")) == []


def test_signatures_on_both_sides() -> None:
    assert signature("Describe") == PLANS
    assert signature("Inspect") == f"a{IDENTITY}"
    assert (signature("InspectKept"), signature("ReleaseKept")) == (IDENTITY, f"{IDENTITY}s")
    assert f'name="kept" type="{KEPT}"' in INTERFACE.read_text()
    assert GROUP in PLAN in PLANS


def test_actions_in_policy_erase_asks_always() -> None:
    policy = ET.parse(SYSTEM / "org.pgfooting.helper.policy").getroot()  # noqa: S314
    actions = {element.attrib["id"]: element for element in policy.iter("action")}
    asked = {Access.INSPECT.value, Access.ERASE.value}
    assert set(actions) == asked
    defaults = actions[Access.ERASE.value].find("defaults")
    assert defaults is not None
    assert {element.text for element in defaults} == {"auth_admin"}
    assert len(defaults) == 3


def test_only_root_may_own_the_name() -> None:
    policy = ET.parse(SYSTEM / f"{NAME}.conf").getroot()  # noqa: S314
    for element in policy.iter("policy"):
        owns = [rule.attrib["own"] for rule in element if "own" in rule.attrib]
        assert owns == ([NAME] if element.attrib.get("user") == "root" else [])
        for rule in element:
            assert rule.attrib.get("send_destination", NAME) == NAME
            assert "send_destination" in rule.attrib or "own" in rule.attrib


def test_bus_policy_allows_only_our_interface() -> None:
    policy = ET.parse(SYSTEM / f"{NAME}.conf").getroot()  # noqa: S314
    rules = [
        (element.attrib.get("user") or element.attrib["context"], rule.tag, rule.attrib.get("send_interface"))
        for element in policy.iter("policy")
        for rule in element
        if "own" not in rule.attrib
    ]
    assert rules == [
        ("default", "allow", NAME),
        ("default", "allow", "org.freedesktop.DBus.Introspectable"),
        ("default", "allow", "org.freedesktop.DBus.Peer"),
    ]


TEXTS = {"session", "plan", "digest", "part", "name"}
"""Arguments that are a text: handles, the digest of what was described, and words of ours."""


def test_text_arguments_of_methods() -> None:
    arguments = [
        (each.attrib["name"], each.attrib["type"])
        for method in ROOT.iter("method")
        for each in method
        if each.attrib["direction"] == "in"
    ]
    assert {name for name, kind in arguments if kind == "s"} == TEXTS
    others = {kind for _, kind in arguments if "s" in kind and kind != "s"}
    assert others == {PLANS, IDENTITY, f"a{IDENTITY}"}, "typed plans and disks"


@pytest.mark.parametrize("name", ["pgfooting-helper.service", "pgfooting-recover.service"])
def test_units_let_only_root_write(name: str) -> None:
    assert "UMask=0077" in (SYSTEM / name).read_text().splitlines()


STARTING = re.compile(
    r"subprocess|asyncio|multiprocessing|ProcessPoolExecutor|runpy|posix_spawn\w*|exec[vl]p?e?|popen|system|fork\w*|pty"
)


@pytest.mark.parametrize("folder", ["helper", "storage", "domain", "dbus"])
def test_one_module_starts_programs_without_shell(folder: str) -> None:
    starting = set()
    for path in (PROJECT / "app" / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.keyword) and node.arg == "shell"), path
            if any(STARTING.fullmatch(name) for name in _names_of(node)):
                starting.add(str(path.relative_to(PROJECT / "app")))
    assert starting == ({"storage/system/programs.py"} if folder == "storage" else set())


def _names_of(node: ast.AST) -> list[str]:
    """Return what a node imports, or takes from the module os."""
    match node:
        case ast.Import():
            return [each.name for each in node.names]
        case ast.ImportFrom():
            return [node.module or "", *(each.name for each in node.names)]
        case ast.Attribute(value=ast.Name(id="os")):
            return [node.attr]
        case _:
            return []


MOUNTS_OF_ITS_OWN = re.compile(
    r"Protect(?!Hostname)|Private|ReadWrite|ReadOnly|Inaccessible|(No)?ExecPaths|TemporaryFile|Mount|Bind(ReadOnly)?Paths|Root|"
    r"Extension|DynamicUser|ProcSubset|LogNamespace|JoinsNamespaceOf"
)
"""Directives of systemd.exec(5) that give a service a mount namespace, or one of another unit.

ProtectHostname= alone brings none (systemd, exec_needs_mount_namespace).
"""


@pytest.mark.parametrize("name", ["pgfooting-helper.service", "pgfooting-recover.service"])
def test_unit_has_no_own_mount_namespace(name: str) -> None:
    text = (SYSTEM / name).read_text()
    keys = {line.partition("=")[0] for line in text.splitlines() if "=" in line and not line.startswith("#")}
    assert not [key for key in keys if MOUNTS_OF_ITS_OWN.match(key)]


def test_the_helper_imports_almost_nothing() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import app.helper.__main__; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", code, str(PROJECT)], capture_output=True, text=True, check=True
    )
    foreign = {name for name in done.stdout.split() if not name.startswith(("_", "sitecustom"))}
    assert foreign <= {"app"}, "gi is imported when the bus is needed, and nothing else ever"

"""packaging/common.sh: where things are kept, and what is said when there is no place."""

from __future__ import annotations

from pathlib import Path

from tests.unit.packaging.conftest import Scripts

SHOW = 'find_cache_folder; printf "%s" "$CACHE"'


def test_the_cache_is_in_the_home_folder(scripts: Scripts) -> None:
    assert scripts.call(SHOW).stdout == f"{scripts.home}/.cache/pgfooting"


def test_xdg_cache_home_comes_first(scripts: Scripts, tmp_path: Path) -> None:
    scripts.environment["XDG_CACHE_HOME"] = str(tmp_path / "a cache")
    assert scripts.call(SHOW).stdout == f"{tmp_path}/a cache/pgfooting"


def test_a_relative_xdg_cache_home_is_ignored(scripts: Scripts) -> None:
    scripts.environment["XDG_CACHE_HOME"] = "somewhere"
    assert scripts.call(SHOW).stdout == f"{scripts.home}/.cache/pgfooting"


def test_no_home(scripts: Scripts) -> None:
    scripts.environment["HOME"] = ""
    outcome = scripts.call(SHOW)
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    assert "HOME is not set" in outcome.stderr
    assert "XDG_CACHE_HOME" in outcome.stderr


def test_read_only_home(scripts: Scripts) -> None:
    scripts.environment["HOME"] = "/dev/null"
    errors = scripts.refusal(SHOW)
    assert "Cannot write to the cache folder /dev/null/.cache/pgfooting" in errors


def test_a_path_with_a_colon_is_refused(scripts: Scripts, tmp_path: Path) -> None:
    scripts.environment["XDG_CACHE_HOME"] = f"{tmp_path}/a:b"
    errors = scripts.refusal(SHOW)
    assert "a path with a colon" in errors
    assert not (tmp_path / "a:b").exists()


def test_root_avoids_home_of_user(scripts: Scripts) -> None:
    code = "is_root() { true; }\nstat() { echo 1000; }\n"
    code += f'getent() {{ echo "root:x:0:0::{scripts.home}/of-root:/bin/sh"; }}\n'
    assert scripts.call(code + SHOW).stdout == f"{scripts.home}/of-root/.cache/pgfooting"


def test_a_closed_standard_input_is_replaced(scripts: Scripts) -> None:
    code = f"exec <&-\n. {str(scripts.checkout)!r}/packaging/common.sh\nreadlink /dev/fd/0"
    assert scripts.call(code).stdout == "/dev/null\n"

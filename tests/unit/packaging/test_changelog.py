"""CHANGELOG.md is cut by versions: what belongs to the one that is built, and what was released when."""

from __future__ import annotations

import re

from app import VERSION
from tests.unit.packaging.conftest import PROJECT

TEXT = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## \[([^\]]+)\](?: - (\S+))?$", TEXT, re.MULTILINE)


def test_unreleased_section_above_version() -> None:
    names = [name for name, _ in SECTIONS]
    assert names[:2] == ["Unreleased", VERSION]
    assert len(set(names)) == len(names)


def test_only_what_was_released_has_a_date() -> None:
    """Metainfo of the packages lists dated versions as releases."""
    dates = [date for name, date in SECTIONS if name != "Unreleased"]
    assert dict(SECTIONS)["Unreleased"] == ""
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) for date in dates[1:])


def test_unreleased_empty_until_version_dated() -> None:
    """Until its tag is set, everything belongs to the version that is built."""
    before, _, rest = TEXT.partition("## [Unreleased]\n")
    assert before
    unreleased = rest[: rest.index("\n## [")]
    assert dict(SECTIONS)[VERSION] or not re.search(r"^(###|-) ", unreleased, re.MULTILINE)

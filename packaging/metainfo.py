"""Print the metainfo of a package: the file of the tree, with the project's addresses and its releases.

Usage: ``metainfo.py CHECKOUT VERSION DATE``: of the package that is built, and of its commit (YYYY-MM-DD).
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

NAME = "org.pgfooting.Footing.metainfo.xml"
URLS = {"Homepage": "homepage", "Issues": "bugtracker"}
"""Names of addresses in pyproject.toml and in metainfo."""
PICTURES = {
    "live": "A run while it is measured",
    "compare": "Verdicts of a campaign",
    "library": "Runs of a campaign over each other",
    "wizard-where": "Where the data shall live",
}
"""Names of the screenshots that are shown, the first as the most telling one, and what they show."""
RELEASED = re.compile(r"^## \[(?P<version>[^\]]+)\] - (?P<date>\d{4}-\d{2}-\d{2})$", re.MULTILINE)


def leads_somewhere(address: str) -> bool:
    """Whether an address is more than a placeholder (RFC 2606): who shows pictures fetches them."""
    return not (urlsplit(address).hostname or "").endswith((".example", ".invalid", "localhost"))


def releases(changelog: str, version: str, date: str) -> Iterator[tuple[str, str]]:
    """Yield version and date of the package that is built and of each earlier release, the newest first."""
    yield version, date
    for match in RELEASED.finditer(changelog):
        if match["version"] != version:
            yield match["version"], match["date"]


def complete(root: ET.Element, addresses: dict[str, str], versions: Iterator[tuple[str, str]]) -> None:
    """Add addresses, pictures and releases to the metainfo of the tree."""
    for name, kind in URLS.items():
        ET.SubElement(root, "url", type=kind).text = addresses[name]
    if leads_somewhere(addresses["Screenshots"]):
        pictures = ET.SubElement(root, "screenshots")
        for number, (name, caption) in enumerate(PICTURES.items()):
            picture = ET.SubElement(pictures, "screenshot", {"type": "default"} if number == 0 else {})
            ET.SubElement(picture, "caption").text = caption
            ET.SubElement(picture, "image").text = f"{addresses['Screenshots'].rstrip('/')}/{name}.png"
    history = ET.SubElement(root, "releases")
    for version, date in versions:
        kind = "development" if "~" in version else "stable"
        ET.SubElement(history, "release", version=version, date=date, type=kind)


def metainfo(checkout: Path, version: str, date: str) -> str:
    """Return the metainfo of the package of `version`, whose commit is of `date`."""
    root = ET.fromstring((checkout / "packaging" / NAME).read_text(encoding="utf-8"))  # noqa: S314 - our own file
    addresses = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    complete(root, addresses, releases(changelog, version, date))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


if __name__ == "__main__":
    print(metainfo(Path(sys.argv[1]), sys.argv[2], sys.argv[3]), end="")

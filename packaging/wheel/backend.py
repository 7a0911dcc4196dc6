"""Builds pgFooting's wheel and source archive: the build backend that pyproject.toml names (PEP 517).

It needs Python alone. In the wheel `app`, `ui` and `resources` lie below one package, `pgfooting`, as they
are: see launcher.py, which becomes that package. The same tree gives the same bytes: every time is that of
SOURCE_DATE_EPOCH, else the first that an archive can say, and every member belongs to nobody. The source
archive gives the same wheel as the checkout.
"""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import os
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

TOP: Final = Path(__file__).resolve().parents[2]
# pip imports this from the checkout, into which a build writes nothing: not even this module's byte code.
if __spec__ is not None and __spec__.cached is not None:
    with suppress(OSError):
        Path(__spec__.cached).unlink()
        Path(__spec__.cached).parent.rmdir()
PACKAGE: Final = "pgfooting"
PROGRAM: Final = ("app", "ui", "resources")
"""What of the tree a running program reads."""
SHOWN: Final = "resources/screenshots"
"""Shown by the README only."""
SOURCE: Final = (
    *("app", "ui", "resources", "packaging", "tests", ".ci", ".github", ".gitignore"),
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
)
STARTERS: Final = {"__init__.py": "launcher.py", "__main__.py": "start.py"}
EARLIEST: Final = 315532800
"""1980-01-01, in seconds since 1970: a ZIP archive knows no earlier time."""

Members = list[tuple[str, bytes]]


@cache
def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    with (TOP / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def moment() -> int:
    """Return the time that all members get, in seconds since 1970."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)


def files(names: Iterable[str]) -> Iterator[str]:
    """Give the files and links of these folders and files, in order, without byte code and caches.

    A link that leads out of the tree is none of an archive's: who unpacks one refuses it. (The tests' virtual
    machine has one; its guest is built from a checkout.)
    """
    for path in sorted(TOP / name for name in names):
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for each in (path.relative_to(TOP) for path in found if path.is_file() or path.is_symlink()):
            hidden = any(part == "__pycache__" or part.startswith(".") for part in each.parts[1:])
            leads_out = (TOP / each).is_symlink() and (TOP / each).readlink().is_absolute()
            if not hidden and not leads_out and each.suffix != ".pyc":
                yield each.as_posix()


def metadata() -> str:
    """Return what the wheel and the source archive say of themselves."""
    described = project()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {described['name']}",
        f"Version: {described['version']}",
        f"Summary: {described['description']}",
        f"Keywords: {','.join(described['keywords'])}",
        *(f"Maintainer-email: {each['name']} <{each['email']}>" for each in described["maintainers"]),
        f"License-Expression: {described['license']}",
        *(f"License-File: {name}" for name in described["license-files"]),
        *(f"Classifier: {each}" for each in described["classifiers"]),
        *(f"Project-URL: {name}, {address}" for name, address in described["urls"].items()),
        f"Requires-Python: {described['requires-python']}",
        *(f"Requires-Dist: {each}" for each in described["dependencies"]),
    ]
    for extra, wanted in described["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {each}; extra == "{extra}"' for each in wanted]
    lines += ["Description-Content-Type: text/markdown; charset=UTF-8", ""]
    return "\n".join([*lines, (TOP / described["readme"]).read_text(encoding="utf-8")])


def information() -> Members:
    """Return the members of the folder that describes the package, but the list of all members."""
    described = project()
    scripts = "".join(f"{name} = {place}\n" for name, place in described["scripts"].items())
    generator = f"Generator: pgfooting {described['version']}\n"
    wheel = f"Wheel-Version: 1.0\n{generator}Root-Is-Purelib: true\nTag: py3-none-any\n"
    return [
        ("METADATA", metadata().encode()),
        ("WHEEL", wheel.encode()),
        ("entry_points.txt", f"[console_scripts]\n{scripts}".encode()),
        *((f"licenses/{name}", (TOP / name).read_bytes()) for name in described["license-files"]),
    ]


def stem() -> str:
    """Return what the names of all that is built begin with."""
    return f"{project()['name']}-{project()['version']}"


def build_wheel(
    wheel_directory: str, _settings: object = None, _metadata_directory: str | None = None
) -> str:
    """Write the wheel into a folder, and return its name."""
    name, folder = f"{stem()}-py3-none-any.whl", f"{stem()}.dist-info"
    shown = tuple(files([SHOWN]))
    members: Members = [
        *(
            (f"{PACKAGE}/{each}", (TOP / "packaging" / "wheel" / source).read_bytes())
            for each, source in STARTERS.items()
        ),
        *((f"{PACKAGE}/{each}", (TOP / each).read_bytes()) for each in files(PROGRAM) if each not in shown),
        *((f"{folder}/{each}", content) for each, content in information()),
    ]
    members.append((f"{folder}/RECORD", record(members, f"{folder}/RECORD")))
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as archive:
        for member, content in members:
            entry = zipfile.ZipInfo(member, time.gmtime(moment())[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    return name


def record(members: Members, own: str) -> bytes:
    """Return the list of all members with digest and size, and of itself without."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, content in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(content)))
    writer.writerow((own, "", ""))
    return text.getvalue().encode()


def build_sdist(sdist_directory: str, _settings: object = None) -> str:
    """Write the source archive into a folder, and return its name."""
    name = f"{stem()}.tar.gz"
    with (
        Path(sdist_directory, name).open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=moment()) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in files(SOURCE):
            archive.addfile(*member(f"{stem()}/{path}", TOP / path))
        archive.addfile(*member(f"{stem()}/PKG-INFO", metadata().encode()))
    return name


def member(name: str, source: Path | bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    """Return a member of the source archive that is nobody's, and its content."""
    entry, content = tarfile.TarInfo(name), source if isinstance(source, bytes) else b""
    entry.mtime, entry.mode = moment(), 0o644
    if isinstance(source, Path) and source.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, str(source.readlink())
    elif isinstance(source, Path):
        content, entry.mode = source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644
    entry.size = len(content)
    return entry, io.BytesIO(content)

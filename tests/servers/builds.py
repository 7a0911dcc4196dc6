"""Servers with other page sizes, which no distribution has: built from Debian's source, once each."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tests.servers.cache import ServerNotHadError, run
from tests.servers.packages import PackageSource

BLOCK_SIZES_KB: Final = (4, 16, 32)
_SOURCE: Final = "postgresql-15"
"""The last whose source holds what bison and flex make of it."""
_WITHOUT: Final = ("icu", "readline", "zlib", "perl", "python", "openssl", "gssapi", "ldap")


def build_server(source: PackageSource, servers: Path, block_kb: int) -> Path:
    """Return the folder of programs of a server with pages of this size; built where it is missing.

    Raises:
        ServerNotHadError: there is no source, or it cannot be built here.
    """
    place = servers / f"built-{block_kb}kb"
    if (place / "bin/pgbench").exists():
        return place / "bin"
    tree = _source_tree(source)
    work = servers / f"building-{block_kb}kb"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)
    work.mkdir()
    without = [f"--without-{part}" for part in _WITHOUT]
    run((tree / "configure", f"--prefix={place}", f"--with-blocksize={block_kb}", *without), cwd=work)
    for folder in (".", "src/bin/pgbench"):
        run(("make", "-s", "-j2", "-C", folder, "all"), cwd=work)
    for folder in (".", "src/bin/pgbench"):
        run(("make", "-s", "-C", folder, "install"), cwd=work)
    shutil.rmtree(work)
    return place / "bin"


def _source_tree(source: PackageSource) -> Path:
    folder = source.folder / "source"
    folder.mkdir(exist_ok=True)
    if not list(folder.glob("*/configure")):
        source("apt-get", "source", "--download-only", _SOURCE, cwd=folder)
        archive = next(folder.glob("*.orig.tar.*"), None)
        if archive is None:
            raise ServerNotHadError(f"The source of {_SOURCE} cannot be had.")
        run(("tar", "-xf", archive), cwd=folder)
    return next(folder.glob("*/configure")).parent

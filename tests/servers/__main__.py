"""Makes the servers that tests with every version use besides this machine's and PyPI's.

    python -m tests.servers

Network and a Debian or Ubuntu machine with gcc, make and dpkg are needed; what is there already is not made
again. Newer versions are Debian's packages for trixie, sid and experimental in a root of their own each;
other page sizes are built from the source of Debian 12's PostgreSQL. What cannot be had is
said and left out: the tests then use fewer servers.
"""

from __future__ import annotations

import sys
from functools import partial

from tests.servers.builds import BLOCK_SIZES_KB, build_server
from tests.servers.cache import ServerNotHadError, servers_folder
from tests.servers.packages import MAJORS, PackageSource, unpack_server


def main() -> int:
    """Make what is missing; return how many cannot be had."""
    folder = servers_folder()
    folder.mkdir(parents=True, exist_ok=True)
    source = PackageSource(folder / "apt")
    missing = 0
    makers = [partial(unpack_server, source, folder, major) for major in MAJORS]
    makers += [partial(build_server, source, folder, size) for size in BLOCK_SIZES_KB]
    for make in makers:
        try:
            sys.stdout.write(f"{make()}\n")
        except ServerNotHadError as error:
            missing += 1
            sys.stderr.write(f"{error}\n")
    return missing


if __name__ == "__main__":
    sys.exit(main())

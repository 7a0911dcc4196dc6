"""Which settings an installation knows, and whether it takes the values of a campaign; before any start.

Both questions are asked of the server's own program, without a data directory: ``--describe-config`` lists
the parameters of the sample file (help_config.c: without those marked as internal or for developers), and
``-C`` reads an empty configuration file and then every ``-c`` of the command line (postmaster.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import SettingError, did_you_mean
from app.domain.text import tr
from app.postgres.installations.installation import Installation
from app.postgres.settings import Setting
from app.postgres.startup_failure import parse_refusal, setting_error
from app.process.starter import TIMED_OUT, Account, Recorder, run_command

CHECK_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class KnownSetting:
    """A parameter as the server describes it.

    Attributes:
        name: parameter.
        context: when it can be changed: postmaster, sighup, user ...
        category: chapter of the manual.
        kind: BOOLEAN, INTEGER, REAL, STRING or ENUM.
        default: built-in default; booleans as TRUE or FALSE, sizes in the parameter's base unit.
        minimum: of numbers, else empty.
        maximum: of numbers, else empty.
        description: one sentence.
    """

    name: str
    context: str
    category: str
    kind: str
    default: str
    minimum: str
    maximum: str
    description: str


def parse_known_settings(text: str) -> tuple[KnownSetting, ...]:
    """Return the parameters of ``postgres --describe-config``: one line each, fields separated by tabs."""
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(KnownSetting(*row[:8]) for row in rows if len(row) >= 8)


def known_settings(
    installation: Installation, account: Account, record: Recorder
) -> tuple[KnownSetting, ...]:
    """Return what ``postgres --describe-config`` lists.

    Raises:
        ProgramError: the server's program cannot be started.
        SettingError: it does not answer as every supported version does.
    """
    argv = (installation.program("postgres"), "--describe-config")
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    listed = parse_known_settings(outcome.stdout)
    if not outcome.succeeded or not listed:
        raise SettingError(
            tr("The settings of PostgreSQL {version} could not be listed: {outcome}").format(
                version=installation.version, outcome=outcome.describe()
            )
        )
    return listed


def check_settings(
    settings: Sequence[Setting], installation: Installation, account: Account, record: Recorder
) -> None:
    """Make the server read all settings; nothing is started or written.

    A value can still fail at the start, when the server asks the kernel for memory or compares settings
    with each other.

    Raises:
        SettingError: a setting that this version does not know, or a value that it does not take; names it.
            Or it did not answer in time, which says nothing of the settings.
        ProgramError: the server's program cannot be started.
    """
    argv = [installation.program("postgres"), "-C", "server_version", "-D", installation.bin_directory]
    argv += ["-c", "config_file=/dev/null"]
    for setting in settings:
        argv += ["-c", f"{setting.name}={setting.value}"]
    outcome = run_command(argv, account=account, timeout_s=CHECK_TIMEOUT_S, record=record)
    if outcome.succeeded:
        return
    if outcome.exit_code == TIMED_OUT:
        message = tr("PostgreSQL {version} did not say in time whether it takes these settings: {outcome}")
        raise SettingError(
            message.format(version=installation.version, outcome=outcome.describe()),
            hint=tr("Something keeps this machine busy; look again once it has ended."),
        )
    refusal = parse_refusal(outcome.stderr)
    nearest = ""
    if refusal.is_unknown:
        names = [known.name for known in known_settings(installation, account, record)]
        nearest = did_you_mean(refusal.setting, names)
    raise setting_error(refusal, installation.version, nearest) or SettingError(
        tr("PostgreSQL {version} does not take these settings: {text}").format(
            version=installation.version, text=refusal.text or outcome.describe()
        ),
        hint=refusal.hint,
    )

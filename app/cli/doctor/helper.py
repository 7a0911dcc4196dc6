"""What the doctor says of the helper, without which spare disks cannot be used."""

from __future__ import annotations

from contextlib import closing

from app.cli.doctor.check import Check
from app.dbus.helper_client import HelperClient
from app.dbus.helper_errors import NOTHING_TOUCHED
from app.domain.errors import FootingError
from app.domain.text import tr


def helper_check() -> Check:
    """Return whether the helper answers and speaks our version; it is started where it sleeps."""
    try:
        with closing(HelperClient.open()) as client:
            version = client.version
    except FootingError as error:
        message = error.message.removesuffix(NOTHING_TOUCHED).strip()
        return Check("disks", works=False, message=message, hint=error.hint)
    message = tr("The helper {version} answers; pgfooting disks says which disks are spare.")
    message = message.format(version=version.program)
    if version.test_devices:
        message += " " + tr("It takes loop devices for disks (TEST DEVICES, /etc/pgfooting/helper.conf).")
    return Check("disks", works=True, message=message)

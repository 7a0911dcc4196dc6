"""The command line of run-guest."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tests.machine.rig import ACCOUNTS, CHECKOUT, Guest, GuestError, built_guest

_DISKS = ["virtio:2G"] * 6 + ["nvme:2G"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run-guest",
        description="Boot the virtual machine, copy the project in, run COMMAND in the copy, print its "
        "output, end with its exit status (124: time is over, 125: the machine died or could not be built).",
    )
    parser.add_argument(
        "--as",
        dest="account",
        choices=ACCOUNTS,
        default="root",
        help="root; a user logged in remotely; a user with a seat (password of both: tester)",
    )
    parser.add_argument(
        "--disk",
        action="append",
        metavar="KIND:SIZE[:RPM][,serial=TEXT]...",
        help="a disk: virtio, sata, scsi, nvme or usb (default: six virtio and one nvme of 2G)",
    )
    parser.add_argument("--no-disks", action="store_true", help="no disk but the root")
    parser.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS", help="for COMMAND (default 600)"
    )
    parser.add_argument("--memory", type=int, default=2048, metavar="MIB")
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="the project to copy in")
    parser.add_argument(
        "--logs", type=Path, metavar="FOLDER", help="afterwards copy journal, dmesg and console there"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    return parser


def _copy_logs(guest: Guest, folder: Path) -> None:
    words = "dmesg >/run/rig/share/dmesg.txt; journalctl --boot --no-pager >/run/rig/share/journal.txt"
    guest.run(["bash", "-c", words], limit_s=120)
    folder.mkdir(parents=True, exist_ok=True)
    for file in (guest.share / "dmesg.txt", guest.share / "journal.txt", guest.folder / "console.log"):
        shutil.copy(file, folder)


def main(arguments: list[str]) -> int:
    """Run one command in a guest of its own and return the status to end with."""
    options = _parser().parse_args(arguments)
    disks = [] if options.no_disks else options.disk or _DISKS
    try:
        guest = Guest(
            disks,
            folder=built_guest(),
            checkout=options.checkout,
            memory_mib=options.memory,
            processors=options.processors,
        )
        with guest:
            status = guest.run(options.command, account=options.account, limit_s=options.timeout)
            if options.logs is not None:
                _copy_logs(guest, options.logs)
            return status
    except GuestError as error:
        print(f"run-guest: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return error.status
    except ValueError as error:
        print(f"run-guest: {error}", file=sys.stderr)  # noqa: T201
        return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

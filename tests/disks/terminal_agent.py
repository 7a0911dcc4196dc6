"""polkit's own agent on a terminal of a test's, which reads the dialog and types."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time

LIMIT_S = 60
PASSWORD = "correct horse"  # noqa: S105 - of a namespace that ends with the tests


def set_password() -> None:
    """Give root of the namespace a password."""
    subprocess.run(["chpasswd"], input=f"root:{PASSWORD}\n", text=True, check=True)


class TerminalAgent:
    """polkit's own agent on a terminal of the test's: shows the dialogs of one process."""

    def __init__(self, pid: int) -> None:
        self.terminal, theirs = pty.openpty()
        read_end, write_end = os.pipe()
        self._process = subprocess.Popen(
            ["pkttyagent", "--process", str(pid), "--notify-fd", str(write_end)],
            stdin=theirs, stdout=theirs, stderr=theirs, pass_fds=[write_end], start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one thread
        )  # fmt: skip
        os.close(theirs)
        os.close(write_end)
        assert os.read(read_end, 1) == b""  # closed when it is registered
        os.close(read_end)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        poller = select.poll()  # select() knows no descriptor above 1023
        poller.register(self.terminal, select.POLLIN)
        while text not in self.shown:
            assert poller.poll(LIMIT_S * 1000), self.shown
            self.shown += os.read(self.terminal, 4096).decode()

    def wait_for_prompt(self) -> None:
        """Wait until the password is asked for and what is typed counts.

        The agent shows its prompt, then turns the echo off and throws away what was typed until then
        (polkit, src/polkitagent/polkitagenttextlistener.c: tcsetattr with TCSAFLUSH).
        """
        self.wait_for("Password:")
        deadline = time.monotonic() + LIMIT_S
        while termios.tcgetattr(self.terminal)[3] & termios.ECHO:
            assert time.monotonic() < deadline, self.shown
            time.sleep(0.005)

    def type(self, line: str) -> None:
        os.write(self.terminal, f"{line}\n".encode())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self.terminal)

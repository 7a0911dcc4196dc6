"""QEMU: whether KVM works here, the command line of a guest, and its monitor (QMP)."""

from __future__ import annotations

import json
import os
import platform
import resource
import socket
import subprocess
from pathlib import Path
from typing import Any

QEMU = f"qemu-system-{platform.machine()}"
_KVM_LIMIT_S = 10
# What Python's wheels need (x86-64-v2) and no more: with everything that can be emulated ("max") the guest's
# kernel uses what an emulator is slow at, and the same tests took 1.25 times as long.
_EMULATED_CPU = "qemu64,+cx16,+lahf_lm,+popcnt,+rdrand,+sse4.1,+sse4.2,+ssse3"
_KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 mitigations=off audit=0 apparmor=0 net.ifnames=0 "
    "tsc=reliable no_timer_check random.trust_cpu=on systemd.show_status=0"
)


def _no_core_file() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def kvm_works(guest: Path) -> bool:
    """Whether this machine's KVM really runs the guest's kernel.

    The existence of /dev/kvm proves nothing: inside of some virtual machines it is there and cannot run a
    stock kernel. So the kernel is booted to busybox once and has to end in 10 s; the verdict is kept
    beside the guest until the host is booted again.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = guest / "kvm"
    if not verdict.exists() or not verdict.read_text().startswith(boot):
        options = [QEMU, "-M", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256", "-display", "none"]
        options += [
            "-nodefaults",
            "-no-reboot",
            "-kernel",
            str(guest / "vmlinux"),
            "-initrd",
            str(guest / "initramfs"),
        ]
        options += ["-append", "panic=-1 rdinit=/bin/busybox -- poweroff -f"]
        try:
            trial = subprocess.run(
                options,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_KVM_LIMIT_S,
                check=False,
                preexec_fn=_no_core_file,
            )
            works = trial.returncode == 0
        except subprocess.TimeoutExpired:
            works = False
        verdict.write_text(f"{boot} {'works' if works else 'does not work'}\n")
    return "does not work" not in verdict.read_text()


def machine_options(guest: Path, *, memory_mib: int, processors: int) -> list[str]:
    """Return the options for processors, memory, kernel and console. Emulated processors are best alone."""
    kvm = kvm_works(guest)
    accelerator = (
        ["-accel", "kvm", "-cpu", "host"]
        if kvm
        else ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", _EMULATED_CPU]
    )
    return [
        *("-M", "q35", *accelerator, "-smp", str(processors), "-m", str(memory_mib)),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-rtc", "base=utc"),
        *("-kernel", str(guest / "vmlinux"), "-initrd", str(guest / "initramfs"), "-append", _KERNEL_WORDS),
        *("-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random"),
    ]


def escaped(path: Path) -> str:
    """Return a path as a value inside of one of QEMU's options, where commas separate."""
    return str(path).replace(",", ",,")


class Monitor:
    """The machine protocol of a running QEMU (docs/interop/qmp-spec): one command at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""
        self._line()  # the greeting
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> object:
        """Return what `command` returns; events in between are dropped.

        Raises:
            RuntimeError: QEMU refuses the command, or has ended.
        """
        request = json.dumps({"execute": command, "arguments": arguments})
        self._connection.sendall(request.encode() + b"\n")
        while "return" not in (answer := self._line()):
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
        return answer["return"]

    def wait_for_event(self, name: str) -> dict[str, Any]:
        """Return the data of the next event called `name`."""
        while True:
            answer = self._line()
            if answer.get("event") == name:
                return dict(answer.get("data", {}))

    def _line(self) -> dict[str, Any]:
        while b"\n" not in self._unread:
            received = self._connection.recv(65536)
            if not received:
                raise RuntimeError("QEMU has ended")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return dict(json.loads(line))

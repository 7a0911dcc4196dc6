"""A sentence of root as a code and values: the text is made where it is read.

Root runs without the user's language. Its sentences are therefore a `Message`: a normal text within the
process, and code and values outside of it (`message_to_wire`, `message_to_json`), from which the reader makes
the sentence in his own language. Other text (a program's output, the text of a command, an error of the
kernel) is a plain `str` and crosses unchanged.

`SPARE` has the sentences about spare disks: rules, findings, remedies. `STORAGE` has those about creating and
removing storage: errors, kept disks with reasons, remedies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from app.domain.json_value import Json
from app.domain.text import number_text, tr

_MEMBER: Final = tr("{node} is a member of: {of}")
_UNKNOWN_LINE: Final = tr("unknown line in {file}: {line}")
_IN_USE: Final = tr("{node} is in use{by}: the kernel refuses exclusive access.")
_REFUSED: Final = tr("Refused: {what} ({evidence}).")

SPARE: Final[Mapping[str, str]] = {
    # storage/inspect/pieces.py
    "disk-ends": tr("the disk ends at byte {offset}"),
    # storage/inspect/processes.py
    "no-process-shows-mounts": tr("the mounts of processes cannot be read"),
    "mountinfo-line-unknown": _UNKNOWN_LINE.replace("{file}", "mountinfo"),
    "mount-detail": "{filesystem}, {namespace}",
    "process": tr("{program} (process {pid})"),
    # storage/inspect/records.py
    "records-not-understood": tr("These records could not be parsed and are ignored: {files}."),
    # storage/inspect/sources.py
    "path-absent": tr("{path} does not exist"),
    # storage/inspect/udisks_objects.py
    "of-udisks": "UDisks2: {what}",
    "udisks-smart-failing": "UDisks2: SmartFailing",
    # storage/inspect/uses.py
    "swaps-line-unknown": _UNKNOWN_LINE.replace("{file}", "/proc/swaps"),
    "swap-area-not-found": tr("swap area {area} cannot be found"),
    "btrfs-uuid": "btrfs {uuid}",
    "zfs-not-loaded": tr("ZFS is not loaded"),
    "zfs-error": tr("ZFS is loaded but fails: {error}"),
    "zpool-status-error": "zpool status: {error}",
    # storage/spare/content.py
    "node-not-of-number": tr("the device node does not belong to {number}"),
    "open-exclusive-failed": "open({path}, O_EXCL): {reason}",
    # storage/spare/health.py
    "health-spare": tr("available spare is below its threshold"),
    "health-temperature": tr("temperature is out of range"),
    "health-reliability": tr("reliability is degraded by errors"),
    "health-read-only": tr("the medium is read-only"),
    "health-backup": tr("the volatile memory backup device has failed"),
    "health-persistent-memory": tr("the persistent memory region is unreliable"),
    "health-no-status": tr("this kind of disk reports no status"),
    "health-log-refused": tr("the disk does not return its SMART log"),
    "health-sanitize": tr("a sanitize operation is in progress"),
    "health-status-not-returned": tr("the disk does not return its SMART status"),
    "health-exceeded": tr("SMART: a threshold is exceeded, and the disk predicts that it will fail"),
    "health-status-unknown": tr("SMART status is unknown: {status}"),
    # storage/spare/rule.py
    "cannot-be-told": tr("Not ruled out: {unknown}"),
    "of-source": "{source}: {what}",
    "root-can-tell": tr("Only root can check this."),
    # storage/spare/rules.py
    "content-not-read": tr("Its content was not read."),
    # storage/spare/rules_content.py
    "blank-it": tr(
        "To erase everything on it for good: wipefs --all {path!q} && blkdiscard --zeroout {path!q}"
    ),
    "partition-found": tr("partition {name}, {size}"),
    "udev-table": tr("udev: partition table {type}"),
    "udev-type": "{number}: udev: {type}",
    "at-byte": tr("at byte {offset}"),
    "changed-since-release": tr("It was changed since pgFooting released it."),
    "perhaps-changed-since-release": tr("It may have been changed since pgFooting released it."),
    "byte-not-zero": tr("byte {offset} is not zero"),
    "samples-not-zero": tr("{count} of {all} samples are not zero, the first at byte {offset}"),
    "byte-not-zero-when-read": tr("byte {offset} is not zero (seen when every byte was read)"),
    "written-since-release": tr("the kernel has counted {size} written since then"),
    "no-bytes-since-release": tr(
        "the kernel has counted writes since then, but no bytes: they may have failed"
    ),
    "places-changed": tr("{count} of {all} secret samples have changed, the first at byte {offset}"),
    "ends-changed": tr("its first or last 16 MiB have changed"),
    "release-record-ended": tr(
        "the record of its release on {time} is void, because the machine or the disk has restarted since"
    ),
    "read-whole-disk": tr(
        "To check whether it contains anything but zeros: pgfooting disks --read {serial!q}"
    ),
    "file-names": tr("{file} names {text}"),
    "take-out-of-file": tr("Remove it from {file}."),
    "rule-signature": tr("It contains a filesystem or a partition table."),
    "unknown-signature": tr("It contains a filesystem or a partition table."),
    "rule-data": tr("It contains data that pgFooting does not recognise."),
    "unknown-data": tr("It contains data that pgFooting does not recognise."),
    "rule-member": tr("It belongs to an array, a pool, a volume group, an encrypted volume or swap."),
    "unknown-member": tr("It belongs to an array, a pool, a volume group, an encrypted volume or swap."),
    "rule-reference": tr("A configuration file names it."),
    "unknown-reference": tr("A configuration file names it."),
    # storage/spare/rules_disk.py
    "hidden": "/sys/block/{name}/hidden is 1",
    "loop-device": tr("loop device"),
    "allow-loop-devices": tr(
        "An administrator can allow loop devices for tests in /etc/pgfooting/helper.conf."
    ),
    "none": tr("none"),
    "disk-kind": "{name}, subsystem {subsystem}",
    "scsi-type": tr("SCSI device type {type}, not 0"),
    "no-medium": tr("There is no medium in it."),
    "size-zero": "size 0",
    "size-at-least": tr("{size}, at least {minimum}"),
    "too-small": tr("It is too small."),
    "make-writable": tr("If it was set read-only in software: blockdev --setrw {path!q}"),
    "read-only": tr("It is read-only."),
    "ro-is-1": "ro is 1",
    "removable": tr("Its medium is removable."),
    "removable-is-1": "removable is 1",
    "zoned-is": "queue/zoned is {zoned}",
    "zoned": tr("It has zones that must be written in order."),
    "same-identity": tr("{name} has the same identity {key}"),
    "two-paths": tr("Two paths to a disk, or a disk and its clone. Use the multipath device, or detach one."),
    "multipath": tr("It is one path of a multipath disk."),
    "udev-multipath": "udev: DM_MULTIPATH_DEVICE_PATH=1",
    "serial-without-wwn": tr("serial “{serial}”, no WWN"),
    "give-virtual-serial": tr("For a virtual disk, set a serial number in its virtual machine."),
    "no-identity": tr("It has no serial number or WWN of its own."),
    "field-changed": tr("{field} was {then}, is {now}"),
    "choose-anew": tr("Choose the disks again."),
    "rule-other-disk": tr("It is not the disk that was selected."),
    "replace-disk": tr("Replace the disk; if it is being sanitized, wait until that ends."),
    "udisks-ignore": "{number}: udev: UDISKS_IGNORE=1",
    "rule-kind": tr("pgFooting formats only whole SATA, SAS, SCSI, NVMe, virtio and Xen disks."),
    "unknown-kind": tr("It is a device of another kind."),
    "rule-medium": tr("Its medium cannot be used."),
    "unknown-medium": tr("Its medium cannot be used."),
    "rule-same-identity": tr("Another disk has the same identity."),
    "unknown-same-identity": tr("Another disk has the same identity."),
    "unknown-identity": tr("It is not the disk that was selected."),
    "rule-warns": tr("The disk reports a problem."),
    "unknown-warns": tr("The disk reports a problem."),
    "rule-hands-off": tr("udev or UDisks marks it as ignored."),
    "unknown-hands-off": tr("udev or UDisks marks it as ignored."),
    # storage/spare/rules_use.py
    "stop-array": tr("Stop the array: mdadm --stop /dev/{name!q}"),
    "close-mapping": tr(
        "Close the mapping: cryptsetup close NAME, or vgchange --activate n GROUP. To see its name, run "
        "dmsetup info /dev/{name!q}"
    ),
    "stop-cache": tr("Stop the cache: echo 1 > /sys/block/{name!q}/bcache/stop"),
    "stop-holder": tr("Stop {name} first."),
    "swapoff": tr("Turn it off: swapoff {area!q}"),
    "swap": "swap",
    "unmount": tr("Unmount it: umount {folder!q}"),
    "mounted-at": tr("mounted at {folder}"),
    "unmount-btrfs": tr("Unmount the filesystem: findmnt --types btrfs shows where it is."),
    "export-pool": tr("Export the pool: zpool export {pool!q}"),
    "zfs-pool": tr("ZFS pool {pool}"),
    "choose-hibernation": tr("Choose another device for hibernation (resume= on the kernel's command line)."),
    "hibernation": tr("hibernation"),
    "resume-device": "{number}: /sys/power/resume",
    "folder-lies-on": tr("{folder} is on device {number}"),
    "evidence-through": tr("{evidence}, through {top}"),
    "system-folder": tr("system ({folder})"),
    "run-outside": tr("Run pgFooting outside the container."),
    "only-container-seen": tr("only the processes of this container are visible"),
    "openers-not-told": tr("pgFooting cannot find out whether it is open."),
    "end-program": tr("Stop that program, or make it close the disk."),
    "detach-loop": tr("Detach it: losetup --detach {device!q}"),
    "take-out-of-target": tr("Remove it from the target's configuration."),
    "served": tr("exported as a target"),
    "find-users": tr("Find out what uses it (lsblk, fuser, findmnt in other namespaces), and stop that."),
    "rule-held": tr("Another kernel device uses it."),
    "unknown-held": tr("Another kernel device uses it."),
    "rule-swap": tr("It is used as swap."),
    "unknown-swap": tr("It is used as swap."),
    "rule-mounted": tr("It is mounted."),
    "unknown-mounted": tr("It is mounted."),
    "rule-btrfs": tr("It is part of a mounted btrfs."),
    "unknown-btrfs": tr("It is part of a mounted btrfs."),
    "rule-pool": tr("It is part of an imported ZFS pool."),
    "unknown-pool": tr("It is part of an imported ZFS pool."),
    "rule-system": tr("The running system uses it."),
    "unknown-system": tr("The running system uses it."),
    "rule-open": tr("It is open."),
    "unknown-open": tr("It is open."),
    "rule-not-exclusive": tr("The kernel refuses exclusive access to it."),
    "unknown-exclusive": tr("The kernel refuses exclusive access to it."),
    "held-by": tr("{disk} is held by {holder}"),
    "use": "{number}: {user}",
    "use-detail": "{number}: {user} ({detail})",
    # storage/spare/spare.py
    "user-detail": "{user} ({detail})",
    "users-not-told": tr("pgFooting cannot find out what uses it."),
    "something-uses-it": tr("It is in use."),
}


STORAGE: Final[Mapping[str, str]] = {
    # storage/checks/disk_checks.py
    "disk-not-identified": tr("{node} can no longer be identified: {reason}."),
    "disk-other-than-chosen": tr("{node} is not the disk that was selected ({fields} differ)."),
    "choose-disks-again": tr("Choose the disks again."),
    "disk-not-spare": tr("{node} is not spare ({rule}): {message} {evidence}"),
    "disk-not-exclusive": _IN_USE.replace("{by}", ""),
    "node-other-number": tr("{node} is no longer {number}."),
    # storage/checks/readback.py
    "readback-option": tr("{option}: requested {asked}, found {found}"),
    "readback-differs": tr("The storage does not have the requested settings: {differences}."),
    "readback-shows-nothing": tr("pgFooting cannot parse the output of {command}. Nothing was verified."),
    "readback-no-array": tr("{node} is not an md array, so nothing could be verified."),
    "readback-leave-out": tr("This kernel or tool accepts the option but does not apply it: remove it."),
    "nothing-mounted": tr("nothing mounted"),
    "none-of-tokens": tr("none of {tokens}"),
    "nothing-of-it": tr("nothing"),
    "command-failed": tr("{command} failed (status {code}): {said}."),
    # storage/checks/queue_settings.py
    "scheduler-unknown": tr("The kernel has no I/O scheduler {scheduler} for {disk}; it offers {offered}."),
    "scheduler-module": tr(
        "If it is a kernel module, an administrator can load it with “modprobe {scheduler!q}” or “modprobe "
        "{scheduler!q}-iosched”."
    ),
    "queue-not-told": tr(
        "The kernel does not report {setting} of {disk} (found “{found}”). It was not changed."
    ),
    "read-ahead-pages": tr(
        "This kernel reads ahead in whole pages of {page} KiB, so a read-ahead of {kib} KiB is not possible."
    ),
    "queue-left-alone": tr(
        "{disk}: {setting} is now {found}, because it was changed after pgFooting had set {chosen}. It "
        "stays as it is; the previous value was {before}."
    ),
    "queue-not-back": tr("{disk}: {setting} could not be restored to {before} and stays {found}."),
    "skipped-queue-already": tr("it already has this value"),
    "skipped-queue-unchanged": tr("it was not changed, or is already restored"),
    "skipped-queue-before": tr("it has its previous value"),
    "skipped-queue-boot": tr("the machine has restarted since, which reset it"),
    "skipped-queue-anew": tr("{disk} was reconnected or replaced, which reset it"),
    # storage/checks/conditions.py
    "seen-gone": "{node}: " + tr("gone"),
    "seen-content": "{node}: {what}",
    "seen-nothing": "{node}: " + tr("nothing"),
    "seen-not-mounted": "{folder}: " + tr("nothing mounted"),
    "seen-bytes": "{node}: {size} B",
    "seen-array": "{node}: {array}",
    "seen-no-array": "{node}: " + tr("not running"),
    "seen-holder": tr("{array} holds {node}"),
    "seen-no-holder": tr("no array holds {node}"),
    "seen-member": _MEMBER.replace("{of}", "{uuid}"),
    "seen-no-member": _MEMBER.replace("{of}", tr("nothing")),
    "seen-imported": "{pool}: " + tr("imported"),
    "seen-not-imported": "{pool}: " + tr("not imported"),
    "seen-guid": "{pool}: GUID {guid}",
    "seen-no-guid": "{pool}: " + tr("no GUID"),
    "seen-btrfs": "btrfs {uuid}: " + tr("mounted"),
    "seen-no-btrfs": "btrfs {uuid}: " + tr("not mounted"),
    "seen-fact": "{name}: {text}",
    "seen-own-table": tr("{disk} has the partition table that pgFooting wrote"),
    "seen-other-table": tr("{disk} does not have the partition table that pgFooting wrote"),
    "seen-gpt": "{disk}: GPT {uuid}",
    "seen-no-journal-guid": tr("the journal contains no GUID of the pool"),
    "seen-part": tr("{node} is part of {holders}"),
    "seen-claimed": "{node}: " + tr("claimed"),
    "seen-free": "{node}: " + tr("free"),
    # storage/execution.py
    "os-error": "[Errno {number}] {reason}",
    "os-error-path": "[Errno {number}] {reason}: {path}",
    "was-undone": tr("The storage created so far was removed."),
    "cancelled-before": tr("Cancelled before: {step}."),
    "step-failed": "{step}: {reason}.",
    "skipped-not-ours": tr("this helper did not unmount it"),
    "folder-stays": tr(
        "{path} is kept: {disk} is still in use, and removing the folder would detach other mounts."
    ),
    "skipped-since": "{disk}: {why}",
    "skipped-not-there": tr("it is not there"),
    "skipped-no-udevd": tr("no udevd runs here"),
    "path-exists": tr("{path} already exists."),
    "kernel-says": tr("The kernel reports: {lines}"),
    "step-refused": _REFUSED.replace("{what}", "{command}"),
    "step-without-effect": tr("{step} did not have the expected effect: {evidence}."),
    "pool-not-ours": tr("Pool {pool} has GUID {found}, not {known}: it is not pgFooting's."),
    "pool-guid-unreadable": tr("The GUID of pool {pool} cannot be read."),
    "not-all-undone": tr("Not everything could be undone."),
    "undo-failed": "{step}: {reason}",
    "more-steps-failed": tr("(steps that failed after it: {count})"),
    # storage/system/programs.py
    "program-time-up": tr("it did not finish within {seconds:.0f} s; {said}"),
    "program-said-nothing": tr("it printed nothing"),
    "program-missing": tr("The program {name} is not in {folders}."),
    "doctor-names-package": tr("“pgfooting doctor” names its package."),
    "cancelled-program": tr("Cancelled while {name} ran."),
    "program-not-ended": tr("{argv} (process {pid}) cannot be killed: it waits in the kernel."),
    # storage/system/answers.py
    "disk-no-answer": tr(
        "{node} has not answered for {seconds:.0f} s. A process that waits for it cannot be killed."
    ),
    # storage/system/state.py
    "no-block-device": tr("{node} is not a block device."),
    # storage/system/waiting.py
    "disk-locked": tr("Another program has locked {node} for more than {seconds:.0f} s."),
    "node-did-not-appear": tr("{node} did not appear within {seconds:.0f} s ({found} of {size} bytes)."),
    "sync-stands-still": tr("The synchronisation of {node} makes no progress ({state})."),
    "sync-goes-on": "{node}: {action}, {speed} KiB/s",
    "member-lost": tr("{node} lost its member {member}."),
    "cancelled-waiting": tr("Cancelled while waiting for {node}."),
    # storage/wiping/wipe.py
    "holds-foreign": tr("contains {what}, which this session did not create"),
    "holds-none": tr("no longer contains {what}: it was changed"),
    "holds-part": tr("contains only a part of {what}: it was changed"),
    "holds-again": tr("contains {what} again, after it was wiped"),
    "own-signature": tr("pgFooting's signature"),
    "holds-no-table": tr("no longer contains pgFooting's partition table: it was changed"),
    # storage/system/device.py
    "node-not-exclusive": _IN_USE,
    # storage/wiping/found.py
    "labelled": tr("label {label}"),
    "signatures-not-told": tr("The content of {node} is not known: {said}."),
    "wipefs-form-unknown": tr("pgFooting cannot parse the output of wipefs."),
    # storage/wiping/wipe.py
    "skipped-no-partition": tr("it contains nothing that pgFooting wrote"),
    "skipped-disk-away": tr("{disk} is missing"),
    "skipped-no-table": tr("{disk} has no partition table that pgFooting wrote"),
    "array-does-not-run": tr("does not run: a disk is missing or failed, so its content is not known"),
    "moved-for-kernel": tr("is not where pgFooting created it"),
    "wipe-refused": _REFUSED,
    "skipped-not-unmounted": tr("this helper did not unmount it, so a person has to decide"),
    "skipped-nothing-ours": tr("it contains nothing that pgFooting wrote"),
    "signature-stays": tr("{node} still has {what}."),
    "skipped-blank": tr("it is blank"),
    "changed-since-wiped": tr("was changed after pgFooting wiped the partition table"),
    "kept-disk-away": tr(
        "The disk with the serial number {serial} is missing; the storage on it stays recorded."
    ),
    "released-when-here": tr(
        "Connect it again: pgFooting then checks and releases it (see “pgfooting doctor”)."
    ),
    "holds-unwiped": tr("contains a partition that was not wiped"),
    "open-unseen": tr("is open in a process that is not visible"),
    "open-hidden": tr(
        "is open in a process that is not visible. These processes have open files that cannot be "
        "identified: {who}"
    ),
    "kept-in-use": tr("{node} is in use: {who}."),
    "end-use": tr("Stop it. pgFooting then releases the disk."),
    "kept": "{node} {reason}.",
    "nothing-written": tr("Nothing was written to it."),
    "more-not-written": tr("Nothing more is written to it."),
    "kept-offered": tr("{node} is kept because {why}. It contains: {what}. Nothing more is written to it."),
    "found-unmounted": tr("pgFooting did not unmount it itself, so it may have been used since"),
    "since-boot": tr("the machine has restarted since pgFooting used it"),
    "since-anew": tr("the disk was reconnected or replaced since pgFooting used it"),
    "table-not-ours": tr("a partition table or disk ends that are not byte for byte what pgFooting wrote"),
    "release-offered": tr(
        "If you need none of it, run pgfooting disks --release {serial!q} (in the wizard: “Release disk …”)."
    ),
    "changed-since-seen": tr("was changed since pgFooting last saw it"),
    "changed-since-shown": tr("was changed since it was shown"),
    "holds-changed-table": tr(
        "contains a partition table that is not byte for byte the one that pgFooting wrote"
    ),
    "left-alone": tr("pgFooting does not touch {disk} while it contains that."),
    # helper/session/lifetime.py
    "session-expired": tr("The session was not used for {hours} hours."),
    # helper/storage/leftovers.py
    "nothing-left": tr("No session left anything on it."),
    "journal-session": tr("session {id}"),
    "journal-being-recovered": tr("session {id}, for {seconds:.0f} s: {step}"),
    "journal-not-understood": tr("pgFooting cannot parse {path}, which may refer to it"),
    "rule-not-given-back": tr("pgFooting used it and has not released it."),
    "release-it": tr(
        "To see what is on it and release it, run pgfooting disks --release {serial!q} (in the wizard: "
        "“Release disk …”)."
    ),
    "journal-aside": tr(
        "If nothing on that session's disks is needed, an administrator can move the file away: mv {path!q} "
        "/root/"
    ),
    # helper/session/kept.py
    "not-looked-at": tr("It cannot be inspected."),
    "array-unseen": tr(
        "It is one disk of the array {uuid}, whose content is not visible and would be lost. To look "
        "first: mdadm --assemble --readonly /dev/md/look --uuid={uuid!q} and afterwards mdadm --stop "
        "/dev/md/look."
    ),
    "pool-unseen": tr(
        "It is one disk of the ZFS pool {pool}, whose content would be lost. To look first: zpool import -N "
        "-o readonly=on {pool!q}, zfs list -r {pool!q}, zpool export {pool!q}."
    ),
    "not-as-shown": tr("{disk} has changed since it was shown. Nothing was written to it."),
    "look-again": tr("Inspect it again, then decide."),
    # helper/storage/ownership.py
    "processes-work": tr("These processes use it: {who}."),
    "user-unseen": tr("The user {user} has something open there that is not visible."),
    "processes-hide": tr("These processes have open files that cannot be identified, perhaps there: {who}."),
    "group-not-ended": tr("{group}: processes of the control group could not be stopped."),
    # helper/storage/maintenance.py
    "maintenance-not-ended": tr("The storage is kept, because “{name}” on it has not ended."),
    # helper/session/session.py
    "helper-refused-by-kernel": tr("The helper could not continue: {reason}."),
    "helper-try-again": tr("The disks remain refused. Fix the cause, then release them again."),
    "helper-mistake": tr("The helper failed. Its log has the details: journalctl -u pgfooting-helper"),
    # helper/session/inspection.py
    "not-read-to-end": tr("It cannot be read completely."),
    "written-while-read": tr("It was written to while it was read."),
    "writes-counted": tr("the kernel has counted writes"),
    "not-here": tr("It is missing."),
}


SENTENCES: Final[Mapping[str, str]] = {**STORAGE, **SPARE}
"""Every sentence by its code, with the names of its values."""

TEXT: Final = "text"
"""Code of a text that is no sentence of ours; its one value has the same name."""
JOINED: Final = "joined"
UNSTOPPED: Final = "unstopped"
MESSAGE: Final = "(sa{sv})"
"""A message as it crosses the bus: code, values; an empty code for no message. Values are texts, whole
numbers, fractions, messages, or arrays of messages.
"""
_MOST_DEPTH: Final = 6
"""Maximum nesting of messages; D-Bus allows 64 nested containers, and a message takes four."""
_SIZE: Final = re.compile(r"(?P<number>\d+(?:\.(?P<fraction>\d+))?) (?P<unit>(?:[KMGT]i)?B)")
"""Format of `app.domain.text.format_size`."""
_MOST_INTEGER: Final = 2**63 - 1

Value = str | int | float | tuple[str, ...]


class Message(str):
    """A sentence with its code and its values.

    Attributes:
        code: of `SENTENCES`, `JOINED` or `UNSTOPPED`.
        values: by name; sentences among them are messages themselves.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Value]

    def __new__(cls, code: str, values: Mapping[str, Value]) -> Self:
        """Make the text.

        Raises:
            KeyError: there is no such code, or a value is missing.
            ValueError, TypeError: a value has the wrong type.
        """
        self = super().__new__(cls, _text_of(code, values))
        self.code = code
        self.values = dict(values)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[explicit-override]  # root has no typing_extensions
        """Return the constructor arguments for copies."""
        return self.code, self.values


def say(code: str, /, **values: object) -> Message:
    """Return a sentence; values other than text and numbers are converted by `str`.

    Args:
        code: of `SENTENCES`.
        values: by the names in the sentence.
    """
    return Message(code, {name: _value(each) for name, each in values.items()})


def joined(between: str, parts: Iterable[str]) -> str:
    """Join texts, without empty ones; messages stay messages."""
    known = tuple(filter(None, parts))
    if len(known) == 1:
        return known[0]
    if not any(isinstance(each, Message) for each in known):
        return between.join(known)
    return Message(JOINED, {"between": between, "parts": known})


def without_full_stop(text: str) -> str:
    """Return a text without its full stop, for use within another sentence."""
    if isinstance(text, Message):
        return Message(UNSTOPPED, {"text": text}) if text.endswith(".") else text
    return text.rstrip(".")


def error_text(err: BaseException) -> str:
    """Return the text of an exception, as `str` does; a message among its arguments stays one."""
    match err.args:
        case (Message() as message,):
            return message
        case (int(number), Message() as message):
            path = getattr(err, "filename", None)
            if path is None:
                return say("os-error", number=number, reason=message)
            return say("os-error-path", number=number, reason=message, path=repr(path))
        case _:
            return str(err)


def _joined_text(values: Mapping[str, Any]) -> str:
    return str(values["between"]).join(values["parts"])


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    JOINED: _joined_text,
    UNSTOPPED: lambda values: str(values["text"]).rstrip("."),
}


def _text_of(code: str, values: Mapping[str, Value]) -> str:
    form = _FORMS.get(code)
    return form(values) if form else SENTENCES[code].format(**values)


def _value(value: object) -> Value:
    if isinstance(value, str | float) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return str(value)


# --- across the bus


@dataclass(frozen=True, slots=True)
class WireVariant:
    """A value with its type, as D-Bus needs it within a{sv}.

    Attributes:
        signature: of the value.
        value: may contain others.
    """

    signature: str
    value: object


WireMessage = tuple[str, dict[str, WireVariant]]


def message_to_wire(text: str, depth: int = 0) -> WireMessage:
    """Return a message as it crosses the bus (`MESSAGE`); too deeply nested ones become root's text."""
    if not text:
        return "", {}
    if not isinstance(text, Message) or depth >= _MOST_DEPTH:
        return TEXT, {TEXT: WireVariant("s", str(text))}
    return text.code, {name: _variant(each, depth + 1) for name, each in text.values.items()}


def _variant(value: Value, depth: int) -> WireVariant:
    match value:
        case Message():
            return WireVariant(MESSAGE, message_to_wire(value, depth))
        case tuple():
            return WireVariant(f"a{MESSAGE}", [message_to_wire(each, depth) for each in value])
        case float():
            return WireVariant("d", value)
        case int() if abs(value) <= _MOST_INTEGER:
            return WireVariant("x", value)
        case _:
            return WireVariant("s", str(value))


def message_from_wire(wire: Sequence[Any]) -> str:
    """Restore a message from the bus, in the language of this process.

    A code that this program does not know (the helper is newer) is shown as such, with its values.
    """
    code, values = wire
    return _restored(str(code), {str(name): _from_variant(each) for name, each in values.items()})


def _from_variant(value: Any) -> Value:  # noqa: ANN401 - whatever was in a variant
    match value:
        case tuple():
            return message_from_wire(value)
        case list():
            return tuple(message_from_wire(each) for each in value)
        case _:
            return _value(value)


def _restored(code: str, values: Mapping[str, Value]) -> str:
    if not code:
        return ""
    if code == TEXT:
        return str(values.get(TEXT, ""))
    try:
        return Message(code, {name: _as_read(each) for name, each in values.items()})
    except (KeyError, IndexError, ValueError, TypeError, AttributeError):
        text = ", ".join(f"{name}: {each}" for name, each in values.items() if not isinstance(each, tuple))
        return tr("“{code}” ({values}), a message from another version of pgFooting").format(
            code=code, values=text
        )


def _as_read(value: Value) -> Value:
    """Return a value with a size in the format of the reader's language; root writes it in English."""
    size = _SIZE.fullmatch(value) if isinstance(value, str) and not isinstance(value, Message) else None
    if size is None:
        return value
    digits = len(size["fraction"] or "")
    return f"{number_text(float(size['number']), f'.{digits}f')} {size['unit']}"


# --- in the journal


def message_to_json(text: str) -> Json:
    """Return a message as plain values for JSON: a text, or code and values."""
    if not isinstance(text, Message):
        return text
    return {"code": text.code, "values": {name: _to_json(each) for name, each in text.values.items()}}


def _to_json(value: Value) -> Json:
    match value:
        case str():
            return message_to_json(value)
        case tuple():
            return [message_to_json(each) for each in value]
        case _:
            return value


def message_from_json(value: object) -> str:
    """Restore a message from `message_to_json`.

    Raises:
        ValueError, TypeError, KeyError: it has another form.
    """
    match value:
        case str():
            return value
        case {"code": str(code), "values": dict(values)}:
            return _restored(code, {str(name): _from_json(each) for name, each in values.items()})
        case _:
            raise TypeError("a message")


def _from_json(value: object) -> Value:
    match value:
        case list():
            return tuple(message_from_json(each) for each in value)
        case float() | int() if not isinstance(value, bool):
            return value
        case _:
            return message_from_json(value)

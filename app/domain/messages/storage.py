"""Sentences of making and unmaking storage: what went wrong, what was kept and why, what helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.text import tr

STORAGE: Final[Mapping[str, str]] = {
    # storage/checks/disk_checks.py
    "disk-not-identified": tr("{node} cannot be identified any more: {reason}."),
    "disk-other-than-chosen": tr("{node} is not the disk that was chosen ({fields} differ)."),
    "choose-disks-again": tr("Choose the disks again."),
    "disk-not-spare": tr("{node} is not spare ({rule}): {message} {evidence}"),
    "disk-not-exclusive": tr("{node} is in use: the kernel refuses to open it exclusively."),
    "node-other-number": tr("{node} is not {number} any more."),
    # storage/checks/readback.py
    "readback-option": tr("{option}: asked {asked}, found {found}"),
    "readback-differs": tr("What was made is not what was asked for: {differences}."),
    "readback-shows-nothing": tr("{command} shows nothing that is understood: nothing could be read back."),
    "readback-no-array": tr("{node} is no md array: nothing could be read back."),
    "readback-leave-out": tr("This kernel or tool takes the option and does not apply it: leave it out."),
    "nothing-mounted": tr("nothing mounted"),
    "none-of-tokens": tr("none of {tokens}"),
    "nothing-of-it": tr("nothing of it"),
    "command-failed": tr("{command} failed (status {code}): {said}."),
    # storage/checks/queue_settings.py
    "scheduler-unknown": tr("The kernel has no I/O scheduler {scheduler} for {disk}; it has {offered}."),
    "scheduler-module": tr(
        "Where it comes as a module of the kernel, an administrator loads that: “modprobe {scheduler!q}”, or "
        "“modprobe {scheduler!q}-iosched”."
    ),
    "queue-not-told": tr(
        "The kernel does not tell {setting} of {disk} (found “{found}”): it is not changed."
    ),
    "read-ahead-pages": tr(
        "This kernel reads ahead whole pages of {page} KiB: {kib} KiB is no read-ahead here."
    ),
    "queue-left-alone": tr(
        "{disk}: {setting} is {found} now, which somebody has set since it became {chosen}. It is left "
        "alone; before it was {before}."
    ),
    "queue-not-back": tr("{disk}: {setting} could not be put back: it stays {found}, and was {before}."),
    "skipped-queue-already": tr("it is so already"),
    "skipped-queue-unchanged": tr("it was not changed, or is put back already"),
    "skipped-queue-before": tr("it is as it was before"),
    "skipped-queue-boot": tr("the machine was started anew since, and has set it anew"),
    "skipped-queue-anew": tr("{disk} appeared anew, or is another disk: the kernel has set it anew"),
    # storage/checks/conditions.py
    "seen-gone": tr("{node} is gone"),
    "seen-content": tr("{node} has {what}"),
    "seen-nothing": tr("{node} has nothing"),
    "seen-not-mounted": tr("{folder} has nothing mounted"),
    "seen-bytes": tr("{node} has {size} bytes"),
    "seen-array": tr("{node} is {array}"),
    "seen-no-array": tr("{node} is not running"),
    "seen-holder": tr("{array} holds {node}"),
    "seen-no-holder": tr("no array holds {node}"),
    "seen-member": tr("{node} is a member of {uuid}"),
    "seen-no-member": tr("{node} is a member of nothing"),
    "seen-imported": tr("{pool} is imported"),
    "seen-not-imported": tr("{pool} is not imported"),
    "seen-guid": tr("{pool} has GUID {guid}"),
    "seen-no-guid": tr("{pool} has GUID none"),
    "seen-btrfs": tr("btrfs {uuid} is mounted"),
    "seen-no-btrfs": tr("btrfs {uuid} is not mounted"),
    "seen-fact": tr("{name} is “{text}”"),
    "seen-own-table": tr("{disk} has the partition table that was made"),
    "seen-other-table": tr("{disk} has another partition table than the one that was made"),
    "seen-gpt": tr("{disk} has GPT {uuid}"),
    "seen-no-journal-guid": tr("the journal holds no GUID of the pool"),
    "seen-part": tr("{node} is part of {holders}"),
    "seen-claimed": tr("{node} is claimed"),
    "seen-free": tr("{node} is free"),
    # storage/execution.py
    "os-error": tr("[Errno {number}] {reason}"),
    "os-error-path": tr("[Errno {number}] {reason}: {path}"),
    "was-undone": tr("What had been made was undone."),
    "cancelled-before": tr("Cancelled before: {step}."),
    "step-failed": tr("{step}: {reason}."),
    "skipped-not-ours": tr("this helper has not unmounted what lies there"),
    "folder-stays": tr(
        "{path} stays: {disk} is still in use, and what others have mounted there would go with it."
    ),
    "skipped-since": tr("{disk}: {why}"),
    "skipped-not-there": tr("it is not there"),
    "skipped-no-udevd": tr("no udevd runs here"),
    "path-exists": tr("{path} exists already."),
    "kernel-says": tr("The kernel says: {lines}"),
    "step-refused": tr("Refused: {command}: {evidence}."),
    "step-without-effect": tr("{step} had not the effect that it should have: {evidence}."),
    "pool-not-ours": tr("Pool {pool} has GUID {found}, not {known}: it is not ours."),
    "pool-guid-unreadable": tr("The GUID of pool {pool} cannot be read."),
    "not-all-undone": tr("Not everything could be undone."),
    "undo-failed": tr("{step}: {reason}"),
    "more-steps-failed": tr("({count} more steps failed after it)"),
    # storage/system/programs.py
    "program-time-up": tr("its time was up after {seconds:.0f} s; {said}"),
    "program-said-nothing": tr("it said nothing"),
    "program-missing": tr("The program {name} is in none of {folders}."),
    "doctor-names-package": tr("pgfooting doctor says which package has it."),
    "cancelled-program": tr("Cancelled while {name} ran."),
    "program-not-ended": tr("{argv} cannot be ended (process {pid}): the kernel holds it."),
    # storage/system/answers.py
    "disk-no-answer": tr(
        "{node} does not answer (for {seconds:.0f} s). A process that waits for it cannot be ended."
    ),
    # storage/system/state.py
    "no-block-device": tr("{node} is no block device."),
    # storage/system/waiting.py
    "disk-locked": tr("{node} is locked by another program for more than {seconds:.0f} s."),
    "node-did-not-appear": tr("{node} did not appear within {seconds:.0f} s ({found} of {size} bytes)."),
    "sync-stands-still": tr("The synchronisation of {node} stands still ({state})."),
    "sync-goes-on": tr("{node}: {action}, {speed} KiB/s"),
    "member-lost": tr("{node} lost its member {member}."),
    "cancelled-waiting": tr("Cancelled while waiting for {node}."),
    # storage/wiping/decision.py
    "holds-foreign": tr("holds {what}, not made by this session"),
    "holds-none": tr("holds no {what} any more: somebody changed it"),
    "holds-part": tr("holds only a part of {what}: somebody changed it"),
    "holds-again": tr("holds {what} again, after it was wiped"),
    "own-signature": tr("signature of ours"),
    "holds-no-table": tr("holds no partition table of ours any more: somebody changed it"),
    # storage/system/device.py
    "node-not-exclusive": tr("{node} is in use{by}: the kernel does not give it exclusively."),
    # storage/wiping/found.py
    "labelled": tr("label {label}"),
    "signatures-not-told": tr("What lies on {node} cannot be told: {said}."),
    "wipefs-form-unknown": tr("wipefs lists signatures in a form that nobody knows."),
    # storage/wiping/wipe.py
    "skipped-no-partition": tr("there is no partition of ours"),
    "skipped-disk-away": tr("{disk} is not here"),
    "skipped-no-table": tr("{disk} has no partition table of ours"),
    "array-does-not-run": tr("does not run, a disk of it is missing or failed: nobody can see what it holds"),
    "moved-for-kernel": tr("is known to the kernel at another place than ours"),
    "wipe-refused": tr("Refused: {what}: {evidence}."),
    "skipped-not-unmounted": tr("what lies there was not unmounted by this helper: it is left to a person"),
    "skipped-nothing-ours": tr("nothing of ours is there"),
    "signature-stays": tr("{node} still has {what}."),
    "skipped-blank": tr("it is blank, and nothing of ours is there"),
    "changed-since-wiped": tr("changed since our partition table was wiped"),
    "kept-disk-away": tr(
        "The disk with the serial number {serial} is not here: what was made on it is kept."
    ),
    "released-when-here": tr("When it is here again, it is looked at and released: pgfooting doctor."),
    "holds-unwiped": tr("holds a partition whose content is not wiped"),
    "open-unseen": tr("is open, by somebody who cannot be seen"),
    "open-hidden": tr(
        "is open, by somebody who cannot be seen; these processes hold files that nothing names: {who}"
    ),
    "kept-in-use": tr("{node} is in use: {who}."),
    "end-use": tr("End that; pgFooting then releases the disk."),
    "kept": tr("{node} {reason}."),
    "nothing-written": tr("Nothing was written to it."),
    "more-not-written": tr("Nothing more is written to it."),
    "kept-offered": tr("{node} is kept, because {why}. On it: {what}. Nothing more is written to it."),
    "found-unmounted": tr("pgFooting did not unmount it itself, so that anybody may have used it since"),
    "since-boot": tr("the machine was started anew since pgFooting used it"),
    "since-anew": tr("the disk has come anew, or is another one, since pgFooting used it"),
    "table-not-ours": tr("a partition table or ends that are not, byte for byte, what pgFooting made"),
    "release-offered": tr(
        "If nothing of that is needed: pgfooting disks --release {serial!q} "
        "(in the wizard: “Release disk …”)."
    ),
    "changed-since-seen": tr("was changed since pgFooting saw it last"),
    "changed-since-shown": tr("was changed since it was shown"),
    "holds-changed-table": tr(
        "holds a partition table that is not, byte for byte, the one that pgFooting made"
    ),
    "left-alone": tr("pgFooting leaves {disk} alone as long as that is there."),
    # helper/session/lifetime.py
    "session-expired": tr("Nobody made use of the session for {hours} hours."),
    # helper/storage/leftovers.py
    "nothing-left": tr("No session has left anything on it."),
    "journal-session": tr("session {id}"),
    "journal-being-recovered": tr("session {id}, for {seconds:.0f} s: {step}"),
    "journal-not-understood": tr("{path} cannot be understood, and may name it"),
    "rule-not-given-back": tr("pgFooting used it and has not given it back."),
    "release-it": tr(
        "To see what is on it and release it: pgfooting disks --release {serial!q} "
        "(in the wizard: “Release disk …”)."
    ),
    "journal-aside": tr(
        "An administrator who needs nothing of that session's disks moves the file away: mv {path!q} /root/"
    ),
    # helper/session/kept.py
    "not-looked-at": tr("It cannot be looked at."),
    "array-unseen": tr(
        "It is one disk of the array {uuid}: what the array holds, and would be lost, is not seen on this "
        "disk. To look at it first: mdadm --assemble --readonly /dev/md/look --uuid={uuid!q}; "
        "afterwards: mdadm --stop /dev/md/look."
    ),
    "pool-unseen": tr(
        "It is one disk of the ZFS pool {pool}: what the pool holds, and would be lost, is not seen on this "
        "disk. To look at it first: zpool import -N -o readonly=on {pool!q} and zfs list -r {pool!q}; "
        "afterwards: zpool export {pool!q}."
    ),
    "not-as-shown": tr("{disk} is not as it was shown. Nothing was written to it."),
    "look-again": tr("Look at it again, then decide."),
    # helper/storage/ownership.py
    "processes-work": tr("These processes work on it: {who}."),
    "user-unseen": tr("The user {user} has something open there that cannot be seen."),
    "processes-hide": tr("These processes hold files that nothing names, perhaps there: {who}."),
    "group-not-ended": tr("{group}: processes of the control group could not be ended."),
    # helper/storage/maintenance.py
    "maintenance-not-ended": tr("What is under way on the storage ({name}) does not end: it is not unmade."),
    # helper/session/session.py
    "helper-refused-by-kernel": tr("The helper could not go on: {reason}."),
    "helper-try-again": tr("The disks stay refused. Mend the cause, then release them again."),
    "helper-mistake": tr("The helper made a mistake; its journal says more."),
    # helper/session/inspection.py
    "not-read-to-end": tr("It cannot be read to its end."),
    "written-while-read": tr("It was written while it was read."),
    "writes-counted": tr("the kernel has counted writes"),
    "not-here": tr("It is not here any more."),
}

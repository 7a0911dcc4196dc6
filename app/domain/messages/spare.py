"""Sentences of the question whether a disk is spare: rules, what was found, what would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.domain.text import tr

SPARE: Final[Mapping[str, str]] = {
    # storage/inspect/pieces.py
    "disk-ends": tr("the disk ends at byte {offset}"),
    # storage/inspect/processes.py
    "no-process-shows-mounts": tr("no process shows its mounts"),
    "mountinfo-line-unknown": tr("mountinfo has a line that nobody knows: {line}"),
    "mount-detail": tr("{filesystem}, {namespace}"),
    "process": tr("{program} (process {pid})"),
    # storage/inspect/records.py
    "records-not-understood": tr("These records cannot be understood and count for nothing: {files}."),
    # storage/inspect/sources.py
    "path-absent": tr("there is no {path}"),
    # storage/inspect/udisks_objects.py
    "of-udisks": tr("UDisks2: {what}"),
    "udisks-smart-failing": tr("UDisks2: SmartFailing"),
    # storage/inspect/uses.py
    "swaps-line-unknown": tr("/proc/swaps has a line that nobody knows: {line}"),
    "swap-area-not-found": tr("swap area {area} cannot be found"),
    "btrfs-uuid": tr("btrfs {uuid}"),
    "zfs-not-loaded": tr("ZFS is not loaded"),
    "zfs-error": tr("ZFS is loaded, but: {error}"),
    "zpool-status-error": tr("zpool status: {error}"),
    # storage/spare/content.py
    "node-not-of-number": tr("the node is not that of {number}"),
    "open-exclusive-failed": tr("open({path}, O_EXCL): {reason}"),
    # storage/spare/health.py
    "health-spare": tr("available spare is below its threshold"),
    "health-temperature": tr("temperature is out of range"),
    "health-reliability": tr("reliability is degraded by errors"),
    "health-read-only": tr("the medium is read-only"),
    "health-backup": tr("the backup of volatile memory failed"),
    "health-persistent-memory": tr("the persistent memory region is unreliable"),
    "health-no-status": tr("this kind of disk gives no status"),
    "health-log-refused": tr("the SMART log is refused"),
    "health-sanitize": tr("a sanitize operation is in progress"),
    "health-status-not-returned": tr("SMART status is not returned"),
    "health-exceeded": tr("SMART: a threshold is exceeded, the disk expects to fail"),
    "health-status-unknown": tr("SMART status is unknown: {status}"),
    # storage/spare/rule.py
    "cannot-be-told": tr("It cannot be told {unknown}."),
    "of-source": tr("{source}: {what}"),
    "root-can-tell": tr("Root can tell."),
    # storage/spare/rules.py
    "content-not-read": tr("Its content was not read."),
    # storage/spare/rules_content.py
    "blank-it": tr(
        "To give up everything on it, for good: wipefs --all {path!q} && blkdiscard --zeroout {path!q}"
    ),
    "partition-found": tr("partition {name}, {size}"),
    "udev-table": tr("udev: partition table {type}"),
    "udev-type": tr("{number}: udev: {type}"),
    "at-byte": tr("at byte {offset}"),
    "changed-since-release": tr("It was changed since pgFooting released it."),
    "byte-not-zero": tr("byte {offset} is not zero"),
    "samples-not-zero": tr("{count} of {all} samples are not zero, the first at byte {offset}"),
    "byte-not-zero-when-read": tr("byte {offset} is not zero, as was seen when all were read"),
    "written-since-release": tr("the kernel has counted {size} written since then"),
    "places-changed": tr(
        "{count} of {all} secret places are not as they were left, the first at byte {offset}"
    ),
    "ends-changed": tr("its first and last 16 MiB are not as they were left"),
    "release-record-ended": tr(
        "the record of its release on {time} held until the machine or the disk was started anew"
    ),
    "read-whole-disk": tr(
        "To find out whether it holds anything but zeros: pgfooting disks --read {serial!q}"
    ),
    "file-names": tr("{file} names {text}"),
    "take-out-of-file": tr("Take it out of {file}."),
    "rule-signature": tr("It carries a filesystem or a partition table."),
    "unknown-signature": tr("what lies on it"),
    "rule-data": tr("It holds data that pgFooting does not know."),
    "unknown-data": tr("whether data lies on it"),
    "rule-member": tr("It belongs to an array, a pool, a volume group, an encrypted volume or swap."),
    "unknown-member": tr("whether it belongs to an array or a pool that does not run"),
    "rule-reference": tr("A configuration of this machine names it."),
    "unknown-reference": tr("whether a configuration names it"),
    # storage/spare/rules_disk.py
    "hidden": tr("/sys/block/{name}/hidden is 1"),
    "loop-device": tr("loop device"),
    "allow-loop-devices": tr(
        "An administrator can allow loop devices for tests in /etc/pgfooting/helper.conf."
    ),
    "none": tr("none"),
    "disk-kind": tr("{name}, subsystem {subsystem}"),
    "scsi-type": tr("SCSI device type {type}, not 0"),
    "no-medium": tr("There is no medium in it."),
    "size-zero": tr("size 0"),
    "size-at-least": tr("{size}, at least {minimum}"),
    "too-small": tr("It is too small."),
    "make-writable": tr("If only the kernel says so: blockdev --setrw {path!q}"),
    "read-only": tr("It is read-only."),
    "ro-is-1": tr("ro is 1"),
    "removable": tr("Its medium is removable."),
    "removable-is-1": tr("removable is 1"),
    "zoned-is": tr("queue/zoned is {zoned}"),
    "zoned": tr("It has zones that must be written in order."),
    "same-identity": tr("{name} has the same identity {key}"),
    "two-paths": tr("Two paths to one disk, or a copy of it: use the multipath device, or detach one."),
    "multipath": tr("It is one path of a multipath disk."),
    "udev-multipath": tr("udev: DM_MULTIPATH_DEVICE_PATH=1"),
    "serial-without-wwn": tr("serial “{serial}”, no WWN"),
    "give-virtual-serial": tr("A virtual disk gets a serial in the settings of its virtual machine."),
    "no-identity": tr("It has no identity of its own."),
    "field-changed": tr("{field} was {then}, is {now}"),
    "choose-anew": tr("Look at the disks again and choose anew."),
    "rule-other-disk": tr("It is not the disk that was chosen."),
    "replace-disk": tr("Replace the disk, or wait where it is busy with itself."),
    "udisks-ignore": tr("{number}: udev: UDISKS_IGNORE=1"),
    "rule-kind": tr("pgFooting formats whole SATA, SAS, SCSI, NVMe, virtio and Xen disks only."),
    "unknown-kind": tr("what kind of device it is"),
    "rule-medium": tr("Its medium cannot be used."),
    "unknown-medium": tr("what its medium is"),
    "rule-same-identity": tr("Another disk has the same identity."),
    "unknown-same-identity": tr("whether another disk has the same identity"),
    "unknown-identity": tr("which disk it is"),
    "rule-warns": tr("The disk itself warns."),
    "unknown-warns": tr("whether the disk warns of failing"),
    "rule-hands-off": tr("It is marked as one to keep hands off."),
    "unknown-hands-off": tr("whether it is marked as one to keep hands off"),
    # storage/spare/rules_use.py
    "stop-array": tr("Stop the array: mdadm --stop /dev/{name!q}"),
    "close-mapping": tr(
        "Close the mapping: cryptsetup close NAME, or vgchange "
        "--activate n GROUP; dmsetup info /dev/{name!q} tells its name"
    ),
    "stop-cache": tr("Stop the cache: echo 1 > /sys/block/{name!q}/bcache/stop"),
    "stop-holder": tr("Stop {name} first."),
    "swapoff": tr("Turn it off: swapoff {area!q}"),
    "swap": tr("swap"),
    "unmount": tr("Unmount it: umount {folder!q}"),
    "mounted-at": tr("mounted at {folder}"),
    "unmount-btrfs": tr("Unmount the filesystem: findmnt --types btrfs shows where it is."),
    "export-pool": tr("Export the pool: zpool export {pool!q}"),
    "zfs-pool": tr("ZFS pool {pool}"),
    "choose-hibernation": tr("Choose another device for hibernation (resume= on the kernel's command line)."),
    "hibernation": tr("hibernation"),
    "resume-device": tr("{number}: /sys/power/resume"),
    "folder-lies-on": tr("{folder} lies on {number}"),
    "evidence-through": tr("{evidence}, through {top}"),
    "system-folder": tr("system ({folder})"),
    "run-outside": tr("Run it outside of the container."),
    "only-container-seen": tr("only the processes of a container can be seen from here"),
    "openers-not-told": tr("It cannot be told whether something has it open."),
    "end-program": tr("End that program, or make it close the disk."),
    "detach-loop": tr("Detach it: losetup --detach {device!q}"),
    "take-out-of-target": tr("Take it out of the target's configuration."),
    "served": tr("served to others"),
    "find-users": tr("Find out who uses it (lsblk, fuser, findmnt in other namespaces) and end that."),
    "rule-held": tr("A kernel device is built on it."),
    "unknown-held": tr("whether a kernel device is built on it"),
    "rule-swap": tr("It is used as swap."),
    "unknown-swap": tr("whether it is used as swap"),
    "rule-mounted": tr("It is mounted."),
    "unknown-mounted": tr("whether it is mounted"),
    "rule-btrfs": tr("It is part of a mounted btrfs."),
    "unknown-btrfs": tr("whether it is part of a mounted btrfs"),
    "rule-pool": tr("It is part of an imported ZFS pool."),
    "unknown-pool": tr("whether it is part of an imported ZFS pool"),
    "rule-system": tr("The system itself lies on it."),
    "unknown-system": tr("whether the system lies on it"),
    "rule-open": tr("Something has it open."),
    "unknown-open": tr("whether something has it open"),
    "rule-not-exclusive": tr("The kernel does not give it exclusively."),
    "unknown-exclusive": tr("whether the kernel gives it exclusively"),
    "held-by": tr("{disk} is held by {holder}"),
    "use": tr("{number}: {user}"),
    "use-detail": tr("{number}: {user} ({detail})"),
    # storage/spare/spare.py
    "user-detail": tr("{user} ({detail})"),
    "users-not-told": tr("It cannot be told who uses it."),
    "something-uses-it": tr("Something uses it."),
}

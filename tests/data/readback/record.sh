#!/bin/bash
# Records what a read back looks at, from filesystems on two loop devices that it makes. Usage: record.sh FOLDER
# The recordings beside it: Debian 12, Linux 6.18, e2fsprogs 1.47.0, xfsprogs 6.1.0, btrfs-progs 6.2, f2fs-tools 1.15.0.
set -euo pipefail
work=$(mktemp --directory)
result=$(realpath -- "$1")
cd -- "$work"
uuid=9d59df20-f4e9-5a1d-840b-e40a0e200312
mkdir mounted
truncate --size=600M first second
first=$(losetup --find --show first) second=$(losetup --find --show second)
finish() {
  losetup --detach "$first" "$second"
  rm --recursive --one-file-system -- "$work"
}
trap finish EXIT

mkfs.ext4 -q -b 4096 -E stride=128,stripe_width=384,lazy_itable_init=0 -O fast_commit -U "$uuid" "$first"
mount -o nodev,nosuid,noatime,errors=remount-ro "$first" mounted
dumpe2fs -h "$first" >"$result/dumpe2fs-1.47.0.txt" 2>/dev/null
umount mounted
wipefs --quiet --all "$first"

mkfs.xfs -q -d su=524288,sw=3 -m "reflink=0,uuid=$uuid" "$first"
mount -t xfs -o nodev,nosuid,noatime "$first" mounted
xfs_info mounted >"$result/xfs_info-6.1.0.txt"
umount mounted
wipefs --quiet --all "$first"

mkfs.btrfs --quiet -d raid1 -m raid1 --csum xxhash -U "$uuid" "$first" "$second"
mount -t btrfs -o "nodev,nosuid,nodatacow,device=$second" "$first" mounted
btrfs inspect-internal dump-super -f "$first" >"$result/btrfs-dump-super-6.2.txt"
btrfs filesystem df --raw mounted >"$result/btrfs-df-6.2.txt"
grep " $work/mounted " /proc/self/mountinfo >"$result/mountinfo-btrfs-6.18.txt"
chattr +C mounted
lsattr -d mounted >"$result/lsattr-1.47.0.txt"
umount mounted
wipefs --quiet --all "$first" "$second"
btrfs device scan --forget "$first" "$second" || true

mkfs.f2fs -q -O extra_attr,inode_checksum,sb_checksum first >/dev/null
# The lines before the features name the kernel and whoever built it.
dump.f2fs first | sed --quiet '/superblock features/,$p' >"$result/dump.f2fs-1.15.0.txt"

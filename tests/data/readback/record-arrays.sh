#!/bin/bash
# Records what the kernel says of md arrays, and `zpool` of pools, on the six disks /dev/vdb to /dev/vdg of the
# virtual machine, which it overwrites. Usage: tests/machine/run-guest tests/data/readback/record-arrays.sh
# The recordings beside it: Debian 12, Linux 6.1, mdadm 4.2, OpenZFS 2.1.11.
set -euo pipefail
cd -- "$(dirname -- "$0")"
array=/dev/md/recorded

record() { # NAME LEVEL COUNT OPTION...
  local name=$1 level=$2 count=$3 disks=(/dev/vd{b..g})
  shift 3
  mdadm --create "$array" --metadata=1.2 --assume-clean --level="$level" --raid-devices="$count" "$@" \
    "${disks[@]:0:count}" </dev/null &>/dev/null
  for _ in {1..600}; do [[ -e $array ]] && break; sleep 0.2; done
  echo "== md-$name-6.1.txt"
  (cd "/sys/class/block/$(basename "$(realpath "$array")")/md" &&
    grep -s . level raid_disks chunk_size layout bitmap/location) | sed 's/:/=/'
  mdadm --stop "$array" &>/dev/null
  wipefs --all --quiet "${disks[@]:0:count}"
}

pool() { # NAME VDEV...
  local name=$1
  shift
  zpool create -o cachefile=none -O mountpoint=none recorded "$@"
  echo "== zpool-$name-2.1.11.txt"
  zpool list -v -H -P recorded
  zpool destroy recorded
  wipefs --all --quiet /dev/vd{b..g} 2>/dev/null
}

record stripe raid0 2 --chunk=64K
record mirror raid1 2 --bitmap=internal
record mirror-none raid1 2 --bitmap=none
record raid10 raid10 4 --chunk=512K --layout=n2 --bitmap=internal
record raid5 raid5 3 --chunk=64K --bitmap=none
record raid6 raid6 4 --chunk=1024K --bitmap=internal

pool single vdb
pool stripe vdb vdc
pool mirror mirror vdb vdc
pool raid10 mirror vdb vdc mirror vdd vde
pool raidz1-log raidz1 vdb vdc vdd log vde
pool raidz2-logs raidz2 vdb vdc vdd vde log mirror vdf vdg

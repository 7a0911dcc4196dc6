# shellcheck shell=bash
# Whether tests may touch block devices here: the guard of the tier `disks` and of the matrix.
#
# Sourced after common.sh. The rule (README): only as root, only where no udevd or udisksd of the machine itself runs
# (they would react to every device that a test makes), and only where there is no block device but the root disk and
# loop devices of our own, so that a mistake has nothing to destroy. What cannot be read refuses. The virtual machine of
# the tier `machine` reaches none of the devices here: it asks for root alone, who makes its Debian.

PROC=/proc
SYSFS=/sys
# shellcheck disable=SC2034 # for tiers.sh: without it the kernel gives no loop devices
LOOP_CONTROL=/dev/loop-control

# The kernel's name of the device under `/` (vda1, dm-0), nothing for an overlay, tmpfs or ZFS.
root_device() {
  local source
  source=$(findmnt --noheadings --raw --output SOURCE --target / 2>/dev/null) || return 0
  source=${source%%\[*}
  [[ $source == /dev/* ]] || return 0
  source=$(readlink --canonicalize -- "$source")
  printf '%s' "${source##*/}"
}

# Prints NAME, the disk it is a partition of, that disk's partitions, and the same for all that it is made of (dm, md).
family_of() {
  local name=$1 entry disk
  [[ -n $name && -e $SYSFS/class/block/$name ]] || return 0
  disk=$name
  if [[ -e $SYSFS/class/block/$name/partition ]]; then
    disk=$(basename -- "$(dirname -- "$(readlink --canonicalize -- "$SYSFS/class/block/$name")")")
  fi
  printf '%s\n' "$name" "$disk"
  for entry in "$SYSFS/class/block/$disk"/*/partition; do
    [[ ! -e $entry ]] || basename -- "$(dirname -- "$entry")"
  done
  for entry in "$SYSFS/class/block/$name/slaves"/*; do
    [[ ! -e $entry ]] || family_of "${entry##*/}"
  done
}

# Prints why loop device NAME is not ours; nothing for one without a file and for one whose file lies in FOLDER.
refusal_of_loop() {
  local file=$SYSFS/class/block/$1/loop/backing_file backing
  [[ -e $file ]] || return 0
  backing=$(<"$file") || { echo "/dev/$1: its backing file cannot be read" && return; }
  [[ $backing == "$2"/* ]] || echo "/dev/$1 is a loop device of $backing, which is not a test's"
}

# Prints one line for each running udevd or udisksd.
refusals_of_daemons() {
  local file name
  for file in "$PROC"/[0-9]*/comm; do
    name=$(cat -- "$file" 2>/dev/null) || continue
    case $name in
      systemd-udevd | udevd | eudev | '(udev-worker)' | udisksd)
        file=${file%/comm}
        echo "$name is running (process ${file##*/}) and would react to devices that tests make"
        ;;
    esac
  done
}

# Whether NAME is memory that nobody has given a size: there is nothing in it.
is_unused_zram() {
  [[ $1 == zram* && $(cat -- "$SYSFS/class/block/$1/size" 2>/dev/null) == 0 ]]
}

# Prints the reasons why no test may touch block devices here, one a line; nothing where they may.
#   ROOT: name of the root device; LOOP_FOLDER: where tests keep the files of their loop devices; USER: effective uid.
refusals_of_device_tests() {
  local root=$1 loop_folder=$2 user=$3 family device name
  ((user == 0)) || echo "only root can make loop devices and mount"
  refusals_of_daemons
  [[ -d $SYSFS/class/block ]] || { echo "$SYSFS/class/block cannot be read, so the disks here are not known" && return; }
  family=$(family_of "$root")
  for device in "$SYSFS"/class/block/*; do
    name=${device##*/}
    [[ -e $device ]] || continue
    case $name in
      loop*) refusal_of_loop "$name" "$loop_folder" ;;
      *) grep --quiet --line-regexp --fixed-strings -- "$name" <<<"$family" || is_unused_zram "$name" ||
        echo "/dev/$name exists and is neither the root disk nor a loop device of a test" ;;
    esac
  done
}

# Prints the reason why the tests on the virtual machine cannot run here for USER (effective uid); nothing where they can.
refusals_of_machine_tests() {
  (($1 == 0)) || echo "only root can make the virtual machine's Debian"
}

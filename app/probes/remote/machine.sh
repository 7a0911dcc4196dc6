# What the machine of a server does, told in lines to who asks: see connection.py, which reads them.
#
# Sent to "sh" on that machine over its standard input, behind a line "token=...". Needs nothing there but sh, writes no
# file, and ends with its input. Everything is read before the first answer, so that shells which read ahead take no
# request for a part of the program. A sample on Linux starts no other program.

tab='	'
: "${token:=none}"
LC_ALL=C
PATH="$PATH:/sbin:/usr/sbin:/usr/local/sbin"
export LC_ALL PATH

# --- What is told

# KIND FIELDS...: one line; a field holds no tab, and at most 2000 characters of it are told.
tell() {
  line="pgfooting $token $1"
  shift
  for field in "$@"; do line="$line$tab$field"; done
  printf '%.8000s\n' "$line"
}

fact() { [ -z "$2" ] || printf 'pgfooting %s F\t%s\t%.2000s\n' "$token" "$1" "$2"; }
device_fact() { [ -z "$3" ] || printf 'pgfooting %s D\t%s\t%s\t%.500s\n' "$token" "$1" "$2" "$3"; }

# NAME FILE: the first line of a file.
file_fact() { first_line "$2" && fact "$1" "$found"; }

# Sets `found` to the first line of a file.
first_line() {
  found=
  [ -r "$1" ] || return 1
  { IFS= read -r found <"$1"; } 2>/dev/null || [ -n "$found" ]
}

# NAME COMMAND...: what a program prints, line by line, tabs as blanks; nothing where it is missing.
output() {
  name=$1
  shift
  command -v "$1" >/dev/null 2>&1 || return 0
  "$@" 2>/dev/null </dev/null | head -n 400 | tr "$tab" ' ' | while IFS= read -r text; do
    printf 'pgfooting %s O\t%s\t%.1000s\n' "$token" "$name" "$text"
  done
}

# KIND COMMAND...: what `zfs get -Hp` and `zpool get -Hp` print: name, property, value, source.
properties() {
  kind=$1
  shift
  "$@" 2>/dev/null </dev/null | head -n 400 | while IFS="$tab" read -r _ property value _; do
    printf 'pgfooting %s P\t%s\t%s\t%.500s\n' "$token" "$kind" "$property" "$value"
  done
}

# --- Where the data lies

# Sets `place` to a folder, or to what is around it as far as this account may look.
find_place() {
  place=$1
  real=$(readlink -f -- "$place" 2>/dev/null)
  [ -z "$real" ] || place=$real
  while [ ! -e "$place" ]; do
    place=${place%/*}
    [ -n "$place" ] || { place=/ && break; }
  done
}

# Sets `number`, `point`, `options`, `kind`, `source`, `super` to the mount of `place`: the last of the longest ones.
find_mount() {
  number='' point='' options='' kind='' source='' super=''
  while read -r _ _ its_number _ its_point its_options rest; do
    case $its_point in *\\*) its_point=$(printf '%b' "$its_point") ;; esac
    folder=${its_point%/}
    case $place/ in "$folder"/*) ;; *) continue ;; esac
    [ "${#its_point}" -ge "${#point}" ] || continue
    number=$its_number point=$its_point options=$its_options
    rest=${rest#*- }
    kind=${rest%% *} rest=${rest#* }
    source=${rest%% *} super=${rest#* }
  done </proc/self/mountinfo
}

# Sets `whole` to the disk of a block device that may be a partition.
find_whole() {
  whole=$(cd -P "/sys/class/block/$1" 2>/dev/null && pwd -P)
  [ ! -e "$whole/partition" ] || whole=${whole%/*}
  whole=${whole##*/}
}

# Prints the kernel's names of the block devices that the mount lies on.
devices_of_mount() {
  if [ -e "/sys/dev/block/$number" ]; then
    path=$(cd -P "/sys/dev/block/$number" && pwd -P) && echo "${path##*/}"
    return
  fi
  case $kind in
    zfs)
      zpool list -vHPL "${source%%/*}" 2>/dev/null </dev/null | while read -r path _; do
        case $path in /dev/*) echo "${path##*/}" ;; esac
      done
      ;;
    btrfs)
      path=$(readlink -f -- "$source" 2>/dev/null)
      for folder in /sys/fs/btrfs/*/devices; do
        [ ! -e "$folder/${path##*/}" ] || ls "$folder"
      done
      ;;
  esac
}

# Sets `disks` (what nothing lies below) and `layers` (arrays and mappings) of the mount, at most 64 together.
find_disks() {
  disks='' layers='' seen='' todo=''
  for name in $(devices_of_mount); do find_whole "$name" && todo="$todo $whole"; done
  count=0
  while [ -n "$todo" ] && [ "$count" -lt 64 ]; do
    # shellcheck disable=SC2086 # names of the kernel, without blanks
    set -- $todo
    [ $# -gt 0 ] || break
    name=$1
    shift
    todo=$*
    case "$seen " in *" $name "*) continue ;; esac
    seen="$seen $name" count=$((count + 1)) below=
    for slave in "/sys/block/$name/slaves"/*; do
      [ ! -e "$slave" ] || { find_whole "${slave##*/}" && below="$below $whole"; }
    done
    if [ -n "$below" ]; then todo="$todo$below" layers="$layers $name"; else disks="$disks $name"; fi
  done
}

look_at() {
  asked=$1
  place='' disks='' layers='' pool='' number='' point='' options='' kind='' source='' super=''
  case $asked in /*) find_place "$asked" ;; *) return ;; esac
  if [ "$system" = Linux ]; then
    find_mount
    find_disks
    [ "$kind" != zfs ] || pool=${source%%/*}
  else
    # The only table that all of them have: the last line of df(1) begins with the source and ends with the mount point.
    df_text=$(df -k "$place" 2>/dev/null </dev/null)
    df_text=${df_text##*"
"}
    source=${df_text%% *}
    ! command -v zfs >/dev/null 2>&1 || ! zfs list -H -o name "$source" >/dev/null 2>&1 </dev/null || pool=${source%%/*}
  fi
}

# --- Facts

facts_of_linux() {
  while IFS= read -r text; do
    case $text in PRETTY_NAME=*) text=${text#*=} && text=${text#\"} && fact kernel.distribution "${text%\"}" ;; esac
  done 2>/dev/null </etc/os-release
  while IFS=: read -r name value; do
    [ -n "$name" ] || break
    name=${name%%"$tab"*} value=${value# }
    case $name in
      "model name" | vendor_id | microcode | "cpu cores") fact "cpuinfo.$name" "$value" ;;
      flags) case " $value " in *" hypervisor "*) fact virtualisation.hypervisor_flag true ;; esac ;;
    esac
  done 2>/dev/null </proc/cpuinfo
  fact processor.online "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
  fact kernel.ticks_per_s "$(getconf CLK_TCK 2>/dev/null)"
  fact kernel.page_size_bytes "$(getconf PAGESIZE 2>/dev/null)"
  cpu=/sys/devices/system/cpu
  file_fact processor.governor $cpu/cpu0/cpufreq/scaling_governor
  file_fact processor.frequency_driver $cpu/cpu0/cpufreq/scaling_driver
  file_fact processor.frequency_max_khz $cpu/cpu0/cpufreq/scaling_max_freq
  file_fact kernel.clock_source /sys/devices/system/clocksource/clocksource0/current_clocksource
  file_fact kernel.command_line /proc/cmdline
  while read -r name value unit; do
    case $name in
      MemTotal: | MemAvailable: | SwapTotal: | SwapFree: | HugePages_Total: | HugePages_Free: | Hugepagesize:)
        fact "meminfo.${name%:}" "$value $unit"
        ;;
    esac
  done 2>/dev/null </proc/meminfo
  file_fact memory.transparent_huge_pages /sys/kernel/mm/transparent_hugepage/enabled
  for name in dirty_ratio dirty_background_ratio dirty_bytes dirty_background_bytes swappiness overcommit_memory \
    nr_hugepages zone_reclaim_mode; do
    file_fact "vm.$name" "/proc/sys/vm/$name"
  done
  file_fact load.average /proc/loadavg
  file_fact load.uptime_s /proc/uptime
  for name in sys_vendor product_name bios_version; do file_fact "product.$name" "/sys/class/dmi/id/$name"; done
  if command -v systemd-detect-virt >/dev/null 2>&1; then
    fact virtualisation.machine "$(systemd-detect-virt --vm 2>/dev/null </dev/null)"
    fact virtualisation.container "$(systemd-detect-virt --container 2>/dev/null </dev/null)"
  fi
  file_fact identity.machine_id /etc/machine-id
  [ -e /proc/pressure/io ] || fact kernel.no_pressure true
  fact mount.number "$number"
  fact mount.point "$point"
  fact mount.options "$options"
  fact mount.filesystem "$kind"
  fact mount.source "$source"
  fact mount.super_options "$super"
  for name in $disks; do facts_of_device "$name" disk; done
  for name in $layers; do facts_of_device "$name" layer; done
}

facts_of_device() {
  name=$1
  device_fact "$name" role "$2"
  for key in size ro removable md/level md/raid_disks md/degraded md/sync_action dm/uuid loop/backing_file serial \
    queue/rotational queue/nr_requests queue/read_ahead_kb queue/wbt_lat_usec queue/nomerges queue/write_cache \
    queue/fua queue/iostats queue/logical_block_size queue/physical_block_size queue/max_sectors_kb queue/scheduler \
    device/vendor device/model device/rev device/firmware_rev device/serial device/wwid; do
    first_line "/sys/block/$name/$key" && device_fact "$name" "$key" "$found"
  done
}

facts_of_others() {
  for name in hw.model hw.ncpu hw.ncpuonline hw.physmem hw.physmem64 kern.vm_guest vm.pagesize hw.pagesize hw.vendor \
    hw.product machdep.dmi.system-vendor machdep.dmi.system-product; do
    ! command -v sysctl >/dev/null 2>&1 || fact "sysctl.$name" "$(sysctl -n "$name" 2>/dev/null </dev/null)"
  done
  fact kernel.page_size_bytes "$(getconf PAGESIZE 2>/dev/null)"
  output psrinfo psrinfo -pv
  [ "$system" != SunOS ] || output prtconf prtconf -m
  output uptime uptime
  [ -z "$place" ] || output df df -k "$place"
  output mount mount
  [ "$system" != SunOS ] || output mnttab cat /etc/mnttab
  case $source in *@* | *HAMMER2* | *hammer2*) output hammer2-info hammer2 info ;; esac
  # Each of these only reads, and prints nothing here where the place is on another filesystem.
  case $system in
    DragonFly)
      [ -z "$place" ] || output hammer2-stat hammer2 stat "$place"
      [ -z "$place" ] || output hammer-info hammer info "$place"
      ;;
    FreeBSD | OpenBSD) case $source in /dev/*) output dumpfs dumpfs -m "$source" ;; esac ;;
  esac
}

tell_facts() {
  look_at "$1"
  fact kernel.system "$system"
  fact kernel.release "$(uname -r 2>/dev/null)"
  fact kernel.version "$(uname -v 2>/dev/null)"
  fact kernel.architecture "$(uname -m 2>/dev/null)"
  fact place.asked "$asked"
  fact place.found "$place"
  if [ "$system" = Linux ]; then facts_of_linux; else facts_of_others; fi
  if [ -n "$pool" ]; then
    fact mount.pool "$pool"
    fact zfs.version "$(zfs version 2>/dev/null </dev/null | head -n 1)"
    file_fact zfs.zfs_arc_max /sys/module/zfs/parameters/zfs_arc_max
    properties dataset zfs get -Hp all "$source"
    properties pool zpool get -Hp all "$pool"
    output zpool-status zpool status -P "$pool"
  fi
  tell E facts
}

# --- Samples

sample_of_linux() {
  set --
  first_line /proc/uptime && set -- "$@" "uptime=${found%% *}"
  first_line /proc/stat && set -- "$@" "${found%% *}=${found#* }"
  text=
  while read -r name value unit; do
    case $name in
      MemAvailable: | Cached: | Buffers: | Dirty: | Writeback: | SwapTotal: | SwapFree:) text="$text $name $value" ;;
      Shmem:) text="$text $name $value" && break ;;
    esac
  done 2>/dev/null </proc/meminfo
  set -- "$@" "memory=$text"
  while read -r name value; do
    [ "$name" != pswpin ] || { set -- "$@" "swap_in=$value" && break; }
  done 2>/dev/null </proc/vmstat
  for name in cpu io memory; do
    [ -r "/proc/pressure/$name" ] || continue
    text=
    { while read -r value _ _ _ total; do text="$text $value $total"; done <"/proc/pressure/$name"; } 2>/dev/null
    set -- "$@" "pressure.$name=$text"
  done
  for name in $disks; do
    first_line "/sys/block/$name/stat" && set -- "$@" "device.$name=$found"
  done
  tell S "$number_asked" "$@"
}

# --- What belongs to the connection

# A connection that is cut without a word leaves this waiting: it ends where nobody asks for a minute or two.
stay_for_a_while() {
  [ -z "$guard" ] || { kill "$guard" && wait "$guard"; } 2>/dev/null
  (
    # One may come before the number of what is begun is known; and what was begun a moment ago may still be this shell,
    # which would only note a TERM.
    ended='' nap=''
    trap 'ended=yes; [ -z "$nap" ] || kill -KILL "$nap"' TERM
    sleep 120 &
    nap=$!
    [ -z "$ended" ] || kill -KILL "$nap"
    wait "$nap" && kill -TERM "$me"
  ) </dev/null >/dev/null 2>&1 &
  guard=$!
  unguarded=0
}

# shellcheck disable=SC2317 # called by a trap
clean_up() {
  trap '' HUP INT TERM PIPE
  [ -z "$guard" ] || kill "$guard" 2>/dev/null
}

main() {
  me=$$ guard='' unguarded=0
  trap clean_up EXIT
  trap 'exit 0' HUP INT TERM PIPE
  system=$(uname -s 2>/dev/null)
  stay_for_a_while
  tell H 1 "$system"
  while IFS= read -r request; do
    argument=${request#* }
    case $request in
      "facts "*) tell_facts "$argument" ;;
      "tick "*)
        number_asked=$argument
        sample_of_linux
        unguarded=$((unguarded + 1))
        [ "$unguarded" -lt 30 ] || stay_for_a_while
        ;;
      *) tell E unknown ;;
    esac
  done
  exit 0
}

main

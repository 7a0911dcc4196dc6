# shellcheck shell=bash
# What pgFooting needs of the system, how its absence is noticed, and how Debian provides it.
#
# Sourced after common.sh. Presence is decided by files, not by package names: a PostgreSQL of PGDG, or one built by
# the user, serves as well as Debian's.

SYSTEM_PYTHON=/usr/bin/python3
OS_RELEASE=/etc/os-release
LDCONFIG=/sbin/ldconfig
APT_LISTS=/var/lib/apt/lists
# What install-debian-packages puts there while it works; left behind only where it was killed.
CLUSTER_SWITCH=/etc/postgresql-common/createcluster.d/pgfooting-installation.conf
SERVER_FOLDERS='/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin /usr/local/bin /usr/bin'

# name | why | Debian and Ubuntu | Fedora | Arch | openSUSE. The first column of packages is proved by prove-debian; the
# others come from the distributions' lists (pgbench is in the contrib packages of Fedora and openSUSE).
NEEDS=(
  "python|runs pgFooting (3.11 or newer)|python3|python3|python|python3"
  "venv|keeps pgFooting's libraries apart from the system's|python3-venv|python3|python|python3"
  "gi|PyGObject, for D-Bus: it has no wheels|python3-gi|python3-gobject-base|python-gobject|python3-gobject"
  "pydbus|D-Bus: sleep inhibitor, disks|python3-pydbus|python3-pydbus|python-pydbus|python3-pydbus"
  "postgresql|the server and pgbench, which are what is measured|postgresql|postgresql-server postgresql-contrib|postgresql|postgresql-server postgresql-contrib"
  "fio|asks storage what it can do by itself|fio|fio|fio|fio"
  "util-linux|setpriv and flock|util-linux|util-linux|util-linux|util-linux"
  "qt|what Qt draws with|libegl1 libgl1 libxkbcommon0 libfontconfig1 libdbus-1-3|libglvnd-egl libglvnd-glx libxkbcommon fontconfig dbus-libs|libglvnd libxkbcommon fontconfig dbus|libEGL1 libGL1 libxkbcommon0 libfontconfig1 libdbus-1-3"
  "screen|what Qt's window needs on X11 and Wayland|libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libx11-xcb1 libwayland-client0 libwayland-cursor0|xcb-util-cursor xcb-util-wm xcb-util-image xcb-util-keysyms xcb-util-renderutil libxkbcommon-x11 libX11-xcb libwayland-client libwayland-cursor|xcb-util-cursor xcb-util-wm xcb-util-image xcb-util-keysyms xcb-util-renderutil libxkbcommon-x11 libx11 wayland|libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libX11-xcb1 libwayland-client0 libwayland-cursor0"
  "dbus-daemon|tests of D-Bus start a bus of their own|dbus-daemon|dbus-daemon|dbus|dbus-1-daemon"
  "shellcheck|checks packaging's scripts|shellcheck|ShellCheck|shellcheck|ShellCheck"
  "udevd|sees the disks that tests make|udev|systemd-udev|systemd|udev"
  "udisksd|tells what disks there are|udisks2|udisks2|udisks2|udisks2"
  "polkitd|decides who may change disks|polkitd|polkit|polkit|polkit"
  "mkfs.xfs|makes XFS|xfsprogs|xfsprogs|xfsprogs|xfsprogs"
  "mkfs.btrfs|makes btrfs|btrfs-progs|btrfs-progs|btrfs-progs|btrfsprogs"
  "mkfs.vfat|makes disks of other systems, which are refused|dosfstools|dosfstools|dosfstools|dosfstools"
  "sfdisk|makes partitions|fdisk|util-linux|util-linux|util-linux"
  "qemu|runs the virtual machine of the machine tests|qemu-system-x86|qemu-system-x86-core|qemu-system-x86|qemu-x86"
  "nspawn|runs the container of the tests that need systemd|systemd-container|systemd-container|systemd-container|systemd-container"
  "qemu-img|makes the virtual machine's disks|qemu-utils|qemu-img|qemu-img|qemu-img"
  "mmdebstrap|makes the virtual machine's Debian|mmdebstrap debian-archive-keyring|mmdebstrap|mmdebstrap|mmdebstrap"
  "depmod|puts the virtual machine's kernel modules together|kmod|kmod|kmod|kmod"
  "mkfs.ext4|makes the virtual machine's root disk|e2fsprogs|e2fsprogs|e2fsprogs|e2fsprogs"
  "cryptsetup|makes foreign LUKS|cryptsetup-bin|cryptsetup|cryptsetup|cryptsetup"
  "pvcreate|makes foreign volume groups|lvm2|lvm2|lvm2|lvm2"
  "mkfs.f2fs|makes foreign F2FS|f2fs-tools|f2fs-tools|f2fs-tools|f2fs-tools"
  "mkfs.exfat|makes foreign exFAT|exfatprogs|exfatprogs|exfatprogs|exfatprogs"
  "mkfs.ntfs|makes foreign NTFS|ntfs-3g|ntfsprogs|ntfs-3g|ntfsprogs"
  "mkudffs|makes foreign UDF|udftools|udftools|udftools|udftools"
  "sgdisk|changes partition tables as others do|gdisk|gdisk|gptfdisk|gptfdisk"
  "mksquashfs|makes foreign squashfs|squashfs-tools|squashfs-tools|squashfs-tools|squashfs"
)
QT_LIBRARIES=(libEGL.so.1 libGL.so.1 libxkbcommon.so.0 libfontconfig.so.1 libdbus-1.so.3)
SCREEN_LIBRARIES=(libxcb-cursor.so.0 libxcb-icccm.so.4 libxcb-image.so.0 libxcb-keysyms.so.1 libxcb-randr.so.0
  libxcb-render-util.so.0 libxcb-shape.so.0 libxcb-xkb.so.1 libxkbcommon-x11.so.0 libX11-xcb.so.1
  libwayland-client.so.0 libwayland-cursor.so.0)

# Prints the names of the needs of a use: `engine`, `picture` (reports, too), `window`, `packages` (to build them), `test`, and
# what a tier needs beyond: `disks`, `machine`.
needs_of() {
  local engine="python venv gi pydbus postgresql fio util-linux"
  case $1 in
    engine) printf '%s' "$engine" ;;
    picture) printf '%s' "$engine qt" ;;
    window) printf '%s' "$engine qt screen" ;;
    packages) printf '%s' "python venv gi qt" ;; # with PyGObject comes GLib, which Qt needs
    test) printf '%s' "$engine qt dbus-daemon shellcheck" ;;
    disks) printf '%s' "dbus-daemon udevd udisksd polkitd mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat sfdisk sgdisk" ;;
    matrix) printf '%s' "cryptsetup pvcreate mkfs.f2fs mkfs.exfat mkfs.ntfs mkudffs mksquashfs" ;;
    machine) printf '%s' "python venv qemu nspawn qemu-img mmdebstrap depmod mkfs.ext4 util-linux" ;;
  esac
}

# Prints field FIELD (0 name, 1 why, 2 Debian ...) of need NAME.
need_field() {
  local need fields
  for need in "${NEEDS[@]}"; do
    IFS='|' read -r -a fields <<<"$need"
    [[ ${fields[0]} != "$1" ]] || printf '%s' "${fields[$2]}"
  done
}

has_libraries() {
  local known name
  known=$("$LDCONFIG" -p 2>/dev/null) || return 1
  for name in "$@"; do
    [[ $known == *"$name "* ]] || return 1
  done
}

# A folder with server, initdb and pgbench; /usr/lib/postgresql/11 and the like are too old to be measured.
has_postgresql() {
  local folder version found
  found=$(command -v postgres || true)
  # shellcheck disable=SC2086 # patterns, expanded now: after an installation they match more
  for folder in $SERVER_FOLDERS ${found:+"$(dirname -- "$found")"}; do
    version=$(sed --quiet --regexp-extended 's,.*/(lib/postgresql/|pgsql-)([0-9]+)/bin$,\2,p' <<<"$folder")
    if [[ -x $folder/postgres && -x $folder/initdb && -x $folder/pgbench && ${version:-13} -ge 13 ]]; then
      return
    fi
  done
  return 1
}

# Whether a daemon is here; they are not in PATH.
has_daemon() {
  local folder
  for folder in /usr/lib /usr/libexec /usr/lib/systemd /usr/lib/polkit-1 /usr/libexec/udisks2 /usr/lib/udisks2 /lib/systemd; do
    [[ ! -x $folder/$1 && ! -x $folder/systemd-$1 ]] || return 0
  done
  return 1
}

# Whether NAME is here. FACTS holds what probe_system.py printed.
has() {
  case $1 in
    python) [[ -x $SYSTEM_PYTHON ]] ;;
    venv) [[ $FACTS != *lacks\ venv* && $FACTS != *lacks\ ensurepip* ]] && [[ -n $FACTS ]] ;;
    gi | pydbus) [[ $FACTS != *lacks\ $1* ]] && [[ -n $FACTS ]] ;;
    postgresql) has_postgresql ;;
    util-linux) command -v setpriv >/dev/null && command -v flock >/dev/null ;;
    qt) has_libraries "${QT_LIBRARIES[@]}" ;;
    screen) has_libraries "${SCREEN_LIBRARIES[@]}" ;;
    udevd | udisksd | polkitd) has_daemon "$1" ;;
    nspawn) command -v systemd-nspawn >/dev/null ;;
    qemu) command -v "qemu-system-$(uname --machine)" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# Sets FACTS, PYTHON_VERSION and MISSING (names of needs) for a use of the system.
look_at_system() {
  local name major minor
  FACTS="" PYTHON_VERSION="" MISSING=()
  if [[ -x $SYSTEM_PYTHON ]]; then
    FACTS=$("$SYSTEM_PYTHON" -I "$CHECKOUT/packaging/probe_system.py") ||
      fail "$SYSTEM_PYTHON does not work: see the lines above. Nothing was changed."
    read -r major minor <<<"$FACTS"
    PYTHON_VERSION=$major.$minor
    if ((major * 1000 + minor < 3011)); then
      fail "$SYSTEM_PYTHON is Python $PYTHON_VERSION; pgFooting needs the system's own Python to be 3.11 or newer, because" \
        "PyGObject comes with it. Debian 12 and Ubuntu 24.04 are the oldest that have it. Nothing was changed."
    fi
  fi
  for name in $(needs_of "$1"); do
    has "$name" || MISSING+=("$name")
  done
}

# Prints the distribution as the number of its field in NEEDS; nothing for a stranger.
distribution_field() {
  local names
  # shellcheck source=/dev/null
  names=$(. "$OS_RELEASE" 2>/dev/null && printf ' %s %s ' "${ID:-}" "${ID_LIKE:-}") || return 0
  case $names in
    *' debian '* | *' ubuntu '*) printf 2 ;;
    *' fedora '* | *' rhel '*) printf 3 ;;
    *' arch '*) printf 4 ;;
    *suse*) printf 5 ;;
  esac
}

# Prints the release of Debian or Ubuntu by its word, such as trixie; nothing elsewhere.
release_here() {
  # shellcheck source=/dev/null
  (. "$OS_RELEASE" 2>/dev/null && printf '%s' "${VERSION_CODENAME:-}") || true
}

# Prints the packages of column FIELD for all that is MISSING, without repetition.
packages_of() {
  local name
  for name in "${MISSING[@]}"; do need_field "$name" "$1" | tr ' ' '\n' && echo; done | awk 'NF && !seen[$0]++'
}

tell_missing() {
  local name
  say "Missing on this system:"
  for name in "${MISSING[@]}"; do say "  - $name: $(need_field "$name" 1)"; done
}

# Elsewhere than on Debian nothing is installed: the list is told, and the status is 1.
tell_packages_elsewhere() {
  local field=$1 index
  local names=("" "" "" "Fedora: dnf install" "Arch: pacman -S" "openSUSE: zypper install")
  tell_missing
  say "pgFooting installs packages only on Debian and Ubuntu. Install these and start it again (names not tried here):"
  for index in ${field:-3 4 5}; do
    mapfile -t packages < <(packages_of "$index")
    say "  ${names[$index]} ${packages[*]}"
  done
  fail "Nothing was changed."
}

# Prints what of the named packages dpkg does not know as installed and configured.
unconfigured_packages() {
  local name
  for name in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
  done
}

# Prints what has to run first where apt has no lists, as on a fresh system: without them it knows no package. The
# argument is what stands before a command of root's.
lists_advice() {
  compgen -G "$APT_LISTS/*_Packages*" >/dev/null || printf '%s' "apt has no lists of packages here; before that:  ${1}apt-get update"
}

# Prints what Debian does beside installing where a COMMAND of apt names PostgreSQL; install-debian-packages prevents it.
cluster_advice() {
  [[ " $1 " != *" postgresql "* ]] || printf '%s' "Debian's postgresql also creates and starts a cluster (port 5432), which" \
    " pgFooting does not use; \`pg_dropcluster --stop VERSION main\` removes it. Where root starts this, no cluster is created."
}

# Sets SUDO to what has to stand before a command of root's; ends here where root is out of reach.
find_way_to_root() {
  local network lists cluster
  SUDO=()
  if is_root; then return; fi
  network=$(network_advice)
  cluster=$(cluster_advice "$1")
  lists=$(lists_advice "")
  command -v sudo >/dev/null || fail "Only root may install packages, and there is no sudo here. Nothing was changed." \
    "Ask an administrator to run:  $1" ${cluster:+"$cluster"} ${lists:+"$lists"} "and start this again." "$network"
  SUDO=(sudo)
  lists=$(lists_advice "sudo ")
  [[ -t 0 && -t 2 ]] || SUDO=(sudo -n)
  "${SUDO[@]}" true >&2 || fail "sudo was refused, or needs a password and there is no terminal. Nothing was changed." \
    "Run, or let an administrator run:  sudo $1" ${cluster:+"$cluster"} ${lists:+"$lists"} "and start this again." "$network"
}

# Runs install-debian-packages as root. sudo gets its text and not its path, because root may not be able to read the
# checkout (a home on NFS). UNFINISHED remembers the packages while dpkg is at work.
install_debian_packages() {
  local command="apt-get install --no-install-recommends $*" lists cluster
  find_way_to_root "$command"
  say "Installing with apt${SUDO[*]:+ through sudo}: $*"
  printf '%s\n' "$@" >"$UNFINISHED"
  "${SUDO[@]}" bash -c "$(<"$CHECKOUT/packaging/install-debian-packages")" install-debian-packages "$@" >&2 </dev/null || {
    # Where apt itself ended and dpkg had nothing under way, nothing is torn: the next start asks as this one did.
    [[ -e $CLUSTER_SWITCH || -n $(dpkg --audit 2>&1) ]] || rm --force -- "$UNFINISHED"
    lists=$(lists_advice "${SUDO[*]:+sudo }")
    cluster=$(cluster_advice "$command")
    fail "apt could not install the packages: the lines above say why. What apt did finish stays." \
      "Start this again when the cause is gone, or run:  ${SUDO[*]:+sudo }$command" \
      ${cluster:+"$cluster"} ${lists:+"$lists"} "$(network_advice)"
  }
  rm --force -- "$UNFINISHED"
}

# On Debian and Ubuntu: installs what is MISSING, and takes an interrupted installation up again although all its files
# may be there (unpacked is not configured).
provide_debian_packages() {
  local packages=() torn=()
  if [[ -s $UNFINISHED ]]; then
    mapfile -t packages <"$UNFINISHED"
    if [[ -e $CLUSTER_SWITCH ]]; then torn=("${packages[@]}"); else mapfile -t torn < <(unconfigured_packages "${packages[@]}"); fi
    ((${#torn[@]} > 0)) || rm --force -- "$UNFINISHED"
  fi
  ((${#MISSING[@]} + ${#torn[@]} > 0)) || return 0
  ((${#torn[@]} == 0)) || say "An installation was interrupted before ${torn[*]} were done: taking it up again."
  ((${#MISSING[@]} == 0)) || tell_missing
  mapfile -t packages < <({ printf '%s\n' "${torn[@]}" && packages_of 2; } | awk 'NF && !seen[$0]++')
  install_debian_packages "${packages[@]}"
}

# Makes sure that the system has what USE (a word of needs_of) needs.
provide_system_packages() {
  local field name kept=()
  UNFINISHED=$CACHE/unfinished-packages
  look_at_system "$1"
  field=$(distribution_field)
  if [[ $field == 2 ]]; then
    provide_debian_packages
    look_at_system "$1"
    ((${#MISSING[@]} == 0)) || { tell_missing && fail "apt reports success, yet this is missing."; }
    return 0
  fi
  # pydbus is pure Python and has left some distributions: there the environment takes it from PyPI.
  for name in "${MISSING[@]}"; do [[ $name == pydbus ]] || kept+=("$name"); done
  MISSING=("${kept[@]}")
  ((${#MISSING[@]} == 0)) || tell_packages_elsewhere "$field"
}

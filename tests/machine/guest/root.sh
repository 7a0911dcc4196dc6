# shellcheck shell=bash
# The guest's root: Debian's packages, the Python packages of the tests, and the files of guest/system. Sourced by
# build-guest.

# Prints the packages of guest/packages as mmdebstrap wants them.
guest_packages() {
  grep --invert-match --regexp '^#' --regexp '^$' -- "$GUEST/packages" | paste --serial --delimiters=,
}

# The interpreter is the host's, the packages are chosen for the guest's; nothing of theirs is run here.
install_python_packages() {
  local root=$1
  guest_requirements >"$root.requirements"
  env --unset=PIP_PREFIX --unset=PIP_ROOT PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    "$ENVIRONMENT/bin/python" -I -m pip install --quiet --no-input --progress-bar off --root-user-action=ignore \
    --target "$root/usr/local/lib/python3.11/dist-packages" --implementation cp --python-version 3.11 \
    --platform "manylinux_2_28_$(uname --machine)" --platform "manylinux2014_$(uname --machine)" \
    --only-binary=:all: --no-compile --require-hashes --requirement "$root.requirements" </dev/null
  chroot "$root" python3 -m compileall -q /usr/local/lib/python3.11/dist-packages
}

configure_root() {
  local root=$1 unit
  cp --recursive --no-dereference --preserve=mode,links --no-target-directory -- "$GUEST/system" "$root"
  chmod 440 -- "$root/etc/sudoers.d/tester"
  : >"$root/etc/fstab"
  : >"$root/etc/resolv.conf"
  tr --delete - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  while read -r unit; do
    [[ $unit == '#'* ]] || ln --symbolic --force /dev/null "$root/etc/systemd/system/$unit"
  done <"$GUEST/masked-units"
  chroot "$root" useradd --create-home --uid 1000 --user-group --groups sudo --shell /bin/bash tester
  printf 'root:root\ntester:tester\n' | chroot "$root" chpasswd
  rm --recursive --force -- "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/*.log
}

# Makes the root in FOLDER, without kernel modules.
build_root() {
  local root=$1
  # shellcheck disable=SC2016 # mmdebstrap's own $1
  make_debian "$root" "$(guest_packages)" --essential-hook='mkdir --parents "$1/etc/postgresql-common" &&
    echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"'
  install_python_packages "$root"
  configure_root "$root"
}

# Fills FOLDER with vmlinux, initramfs and root.img from a root and a kernel folder; the root is used up.
assemble_guest() {
  local folder=$1 root=$2 kernel=$3 mebibytes
  cp --archive -- "$kernel/lib/modules" "$root/lib/"
  mebibytes=$(du --summarize --block-size=1M --apparent-size -- "$root" | cut --fields=1)
  truncate --size=$((mebibytes * 13 / 10 + 1200))M "$folder/root.img"
  mkfs.ext4 -q -L rigroot -O '^metadata_csum,^resize_inode' -J size=32 -m 0 -E lazy_itable_init=1,nodiscard \
    -d "$root" "$folder/root.img"
  rm --recursive --force --one-file-system -- "$root"
  ln -- "$kernel/vmlinux" "$kernel/initramfs" "$folder/"
  printf 'kernel %s\nzfs %s\n' "$(<"$kernel/release")" "$(<"$kernel/zfs")" >"$folder/versions"
}

# shellcheck shell=bash
# The guest's kernel: Debian's, as an ELF file that QEMU starts in 2 s (a bzImage needs 4 s when emulated), with ZFS
# compiled for it in a root that is thrown away. Sourced by build-guest.

# linux-image-cloud-amd64 would be smaller, but has neither f2fs nor 9p.
BUILDER_PACKAGES=linux-image-amd64,linux-headers-amd64,dkms,gcc,make,libc6-dev,kmod,busybox-static,python3-minimal
# What a machine without screen, sound and network cards can use; everything else is half of the image.
MODULE_FOLDERS=(arch block crypto fs lib mm drivers/{ata,block,cdrom,char,dax,md,nvme,nvdimm,usb,virtio}
  drivers/scsi net/{9p,core,unix,packet,sched} virt)

# Runs inside of the builder, for its only kernel. zfs-dkms is unpacked and not installed: its installation would
# build for the kernel that runs, which is the host's.
compile_zfs() {
  set -eu
  local release version
  cd /root
  apt-get --quiet --quiet download zfs-dkms
  dpkg-deb --extract zfs-dkms_*.deb /
  for release in /lib/modules/*; do release=${release##*/}; done
  for version in /usr/src/zfs-*; do version=${version##*/zfs-}; done
  dkms add "zfs/$version"
  dkms build "zfs/$version" -k "$release"
  mkdir --parents "/lib/modules/$release/updates/dkms"
  cp "/var/lib/dkms/zfs/$version/$release/x86_64/module/"*.ko "/lib/modules/$release/updates/dkms/"
  echo "$release" >/root/release
  echo "$version" >/root/zfs
}

# Copies the modules of BUILDER that a guest can use to TARGET/lib/modules.
copy_modules() {
  local builder=$1 target=$2 release=$3 source folder
  source=$builder/lib/modules/$release
  mkdir --parents -- "$target/lib/modules/$release/kernel" "$target/lib/modules/$release/updates"
  for folder in "${MODULE_FOLDERS[@]}"; do
    [[ -d $source/kernel/$folder ]] || continue
    mkdir --parents -- "$target/lib/modules/$release/kernel/$(dirname -- "$folder")"
    cp --archive -- "$source/kernel/$folder" "$target/lib/modules/$release/kernel/$folder"
  done
  cp --archive -- "$source/updates/dkms" "$target/lib/modules/$release/updates/"
  cp --archive -- "$source/modules.order" "$source/modules.builtin" "$source/modules.builtin.modinfo" \
    "$target/lib/modules/$release/"
  depmod --basedir "$target" "$release"
}

# Fills FOLDER with vmlinux, initramfs, lib/modules, release and zfs (versions).
build_kernel() {
  local folder=$1 builder=$1.builder release
  make_debian "$builder" "$BUILDER_PACKAGES" \
    --customize-hook="chroot \"\$1\" bash -c '$(declare -f compile_zfs); compile_zfs'"
  release=$(<"$builder/root/release")
  cp -- "$builder/root/release" "$builder/root/zfs" "$folder/"
  copy_modules "$builder" "$folder" "$release"
  "$SYSTEM_PYTHON" -I "$GUEST/initramfs.py" "$builder" "$release" "$folder"
  rm --recursive --force --one-file-system -- "$builder"
}

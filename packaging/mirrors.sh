# shellcheck shell=bash
# Where packages of a release of Debian or Ubuntu come from: shared by packaging/prove-debian and packaging/bundle. Sourced,
# never run.

# Each release, and whose it is.
declare -A DISTRIBUTIONS=([bookworm]=Debian [trixie]=Debian [noble]=Ubuntu [questing]=Ubuntu [resolute]=Ubuntu)
# The package with the keys of each one's archive.
declare -A KEYS_OF=([Debian]="debian-archive-keyring" [Ubuntu]="ubuntu-keyring (Debian has it since release 13)")
KEYRINGS=/usr/share/keyrings

# Prints the file with the keys of RELEASE's archive; fails where it is missing.
keyring() {
  local distribution=${DISTRIBUTIONS[$1]}
  local file=$KEYRINGS/${distribution,,}-archive-keyring.gpg
  [[ -e $file ]] || fail "$file is missing: install the package ${KEYS_OF[$distribution]}. Nothing was written."
  printf '%s' "$file"
}

# Prints the address of the first mirror of the host's apt with this label, else the archive's own: LABEL ADDRESS.
mirror() {
  local found
  # shellcheck disable=SC2016 # apt's own placeholder
  found=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Label: $1" 2>/dev/null | sort --unique | head --lines=1)
  printf '%s' "${found:-$2}"
}

# The mirrors of the host's apt, for RELEASE, as lines of a sources.list; the archive's own where the host has none of them.
sources() {
  local release=$1 keys main security components=main
  keys=$(keyring "$release")
  if [[ ${DISTRIBUTIONS[$release]} == Ubuntu ]]; then
    main=$(mirror Ubuntu http://archive.ubuntu.com/ubuntu) security=$main components="main universe"
  else
    main=$(mirror Debian http://deb.debian.org/debian) security=$(mirror Debian-Security http://deb.debian.org/debian-security)
  fi
  printf "deb [signed-by=$keys] %s %s $components\n" "$main" "$release" "$main" "$release-updates" "$security" "$release-security"
}

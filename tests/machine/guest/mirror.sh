# shellcheck shell=bash
# Where the guest's packages come from, and how a Debian root is made. Sourced by build-guest.

SUITE=bookworm
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# How the host's apt reaches its mirror. Dates are not checked where the host does not check them (mirrors of a day).
APT_OPTIONS='^(Acquire::(Check-Valid-Until|Check-Date|http::Proxy|https::Proxy)) '
NOT_UNPACKED=(/usr/share/man /usr/share/locale /usr/share/doc /usr/share/info /usr/share/lintian)

# Prints the mirror of packages LABEL (Debian, Debian-Security) that the host's apt uses; else DEFAULT.
site_of() {
  local site
  # shellcheck disable=SC2016 # apt's own placeholder
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" 2>/dev/null |
    sort --unique | head --lines=1)
  printf '%s' "${site:-$2}"
}

# Sets SOURCES (lines of sources.list; ZFS is in contrib) and MMDEBSTRAP (the command up to the suite).
look_at_mirror() {
  local main security signed="" key value folder
  main=$(site_of Debian http://deb.debian.org/debian)
  security=$(site_of Debian-Security http://deb.debian.org/debian-security)
  [[ ! -e $KEYRING ]] || signed="[signed-by=$KEYRING] "
  SOURCES=$(printf "deb $signed%s %s main contrib\n" "$main" "$SUITE" "$main" "$SUITE-updates" "$security" "$SUITE-security")
  MMDEBSTRAP=(mmdebstrap --quiet --mode=root --variant=minbase --dpkgopt=force-unsafe-io --dpkgopt=force-confold
    --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"'
    --aptopt='Acquire::Check-Valid-Until "false"')
  for folder in "${NOT_UNPACKED[@]}"; do MMDEBSTRAP+=(--dpkgopt="path-exclude=$folder/*"); done
  while read -r key value; do MMDEBSTRAP+=(--aptopt="$key $value"); done < <(
    apt-config dump | grep --extended-regexp "$APT_OPTIONS" | tr --delete ';' || true)
}

# Makes a root with packages in FOLDER: FOLDER PACKAGES OPTION... What it says is shown only where it fails.
make_debian() {
  local folder=$1 packages=$2
  shift 2
  if ! LC_ALL=C DEBIAN_FRONTEND=noninteractive INITRD=No "${MMDEBSTRAP[@]}" --include="$packages" "$@" \
    "$SUITE" "$folder" - <<<"$SOURCES" >"$folder.log" 2>&1; then
    tail --lines=30 -- "$folder.log" >&2
    return 1
  fi
}

# shellcheck shell=bash
# Where packages of a Debian release come from: shared by packaging/prove-debian and packaging/bundle. Sourced, never run.

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirrors of the host's apt, for RELEASE, as lines of a sources.list; Debian's own where the host is not Debian.
sources() {
  local release=$1 main security
  # shellcheck disable=SC2016 # apt's own placeholder
  main=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null |
    sort --unique | head --lines=1)
  # shellcheck disable=SC2016
  security=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian-Security' 2>/dev/null |
    sort --unique | head --lines=1)
  printf 'deb [signed-by=%s] %s %s main\n' "$KEYRING" "${main:-http://deb.debian.org/debian}" "$release" \
    "$KEYRING" "${main:-http://deb.debian.org/debian}" "$release-updates" \
    "$KEYRING" "${security:-http://deb.debian.org/debian-security}" "$release-security"
}

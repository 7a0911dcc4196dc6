# shellcheck shell=bash
# Shared by packaging/run, packaging/test and packaging/prove-debian: messages and folders.
#
# Sourced, never run. The sourcing script sets PROGRAM and CHECKOUT. Everything said here goes to standard error:
# standard output belongs to pgfooting (`packaging/run list --json | jq`).

: "${PROGRAM:?}" "${CHECKOUT:?}"

# A closed standard input would hand its number to the next file that is opened.
[[ -e /dev/fd/0 ]] || exec </dev/null

say() {
  printf '%s: %s\n' "$PROGRAM" "$*" >&2
}

# Prints a text as one word of a shell: for commands that people paste.
quoted() {
  printf '%q' "$1"
}

# Prints the folder of the bundle in which this checkout lies; nothing where it lies in none.
bundle_folder() {
  local bundle
  bundle=$(dirname -- "$CHECKOUT")
  [[ ! -x $bundle/install || ! -f $bundle/packages/wanted ]] || printf '%s' "$bundle"
}

# Prints, where this checkout lies in a bundle, what installs from it.
bundle_advice() {
  local bundle
  bundle=$(bundle_folder)
  [[ -z $bundle ]] || printf '%s%s' "This is in a bundle: $(quoted "$bundle/install") needs no network. Where packages are missing," \
    " an administrator first starts the install of a copy that nobody else can change."
}

# Prints what else there is where something could not be fetched.
network_advice() {
  local advice
  advice=$(bundle_advice)
  printf '%s' "${advice:-Without network: packaging/bundle, on a machine with network, makes one file with all that is needed here.}"
}

MADE_FOLDERS=() # by this start, the deepest first

# Says each argument as a line of its own and ends with status 1. Folders that this start made and left empty are removed.
fail() {
  local line
  for line in "$@"; do say "$line"; done
  ((${#MADE_FOLDERS[@]} == 0)) || rmdir -- "${MADE_FOLDERS[@]}" 2>/dev/null || true
  exit 1
}

is_root() {
  ((EUID == 0))
}

# Makes the folder into which a script writes: FOLDER COMMAND, after which another one can be named.
make_folder() {
  if ! mkdir --parents -- "$1" 2>/dev/null || [[ ! -w $1 ]]; then
    fail "Cannot write to the folder $1. Nothing was changed." "Name one that you can write to:  $2 FOLDER"
  fi
}

# PYTHONPATH and virtual environments cannot express a path with a colon.
refuse_colon() {
  [[ $2 != *:* ]] || fail "$1 is $2: a path with a colon cannot be on Python's search path." \
    "Nothing was changed. Use a path without a colon."
}

# Whether root owns what there is of PATH, by its name and by where links lead. app/process/account.py does the same.
is_roots() {
  local way path found
  [[ $1 == /* ]] || return 1
  for way in "$1" "$(readlink --canonicalize-missing -- "$1")"; do
    path=$way
    while true; do
      if [[ -e $path || -L $path ]]; then
        found=$(stat --format=%u -- "$path") || return 1
        [[ $found == 0 ]] || return 1
      fi
      [[ $path != / ]] || break
      path=${path%/*}
      path=${path:-/}
    done
  done
}

# The folder of whoever runs this. With `sudo` root may keep the user's HOME: files that belong to root would then
# lock the user out of the user's own cache, and what root starts would be the user's.
home_folder() {
  if is_root && [[ -n ${HOME:-} ]] && ! is_roots "$HOME"; then
    getent passwd 0 | cut --delimiter=: --fields=6
    return
  fi
  printf '%s\n' "${HOME:-}"
}

# Root forgets each variable of its own that names a folder of another account; `sudo -E` keeps them.
forget_foreign_folders() {
  local name
  is_root || return 0
  for name in XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME; do
    if [[ -n ${!name:-} ]] && ! is_roots "${!name}/pgfooting"; then
      say "$name is ${!name}, of another account: it is not used."
      unset "$name"
    fi
  done
  if [[ -n ${TMPDIR:-} ]] && ! is_roots "$TMPDIR"; then unset TMPDIR; fi
  if [[ -n ${HOME:-} ]]; then HOME=$(home_folder); fi
}
forget_foreign_folders

# Sets CACHE: $XDG_CACHE_HOME/pgfooting, else ~/.cache/pgfooting. A relative XDG_CACHE_HOME is ignored, as the XDG base
# directory specification says.
find_cache_folder() {
  local base=${XDG_CACHE_HOME:-} folder
  if [[ $base != /* ]]; then
    base=$(home_folder)
    [[ $base == /* ]] || fail "HOME is not set to an absolute path, so there is no place for pgFooting's Python environment." \
      "Nothing was changed. Set HOME, or XDG_CACHE_HOME to a folder that you can write to."
    base=$base/.cache
  fi
  CACHE=$base/pgfooting
  refuse_colon "The cache folder" "$CACHE"
  folder=$CACHE
  until [[ -e $folder ]]; do
    MADE_FOLDERS+=("$folder")
    folder=$(dirname -- "$folder")
  done
  if ! (umask 077 && mkdir --parents -- "$CACHE") 2>/dev/null || [[ ! -w $CACHE || ! -x $CACHE ]]; then
    fail "Cannot write to the cache folder $CACHE, where pgFooting keeps its Python environment." \
      "Nothing was changed. Set HOME, or XDG_CACHE_HOME to a folder that you can write to."
  fi
  if is_root && [[ ! -O $CACHE ]]; then
    fail "The cache folder $CACHE is not root's: others could put programs there. Nothing was changed." \
      "Make it root's alone, or set XDG_CACHE_HOME to a folder that is."
  fi
}

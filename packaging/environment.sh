# shellcheck shell=bash
# pgFooting's Python environment in the user's cache: made once for each list of packages, never in the system's Python.
#
# Sourced after common.sh and system.sh. An environment is a folder CACHE/environments/GROUP-KEY with two files of ours:
# `pgfooting-environment` from its first moment (so that only our own folders are ever deleted) and `complete` at the
# very end (without it the folder is begun anew). It is built under its final name, because the programs in a venv hold
# its absolute path. Whoever uses it holds a shared lock on `complete`; deletion needs the exclusive one.
#
# What is installed are the versions of packaging/lock/GROUP-PYTHON.txt, and only files with the hashes that stand there:
# an index, a proxy or a mirror that has something else is refused by pip. packaging/lock/renew makes the lists.
#
# The groups lowest and newest are for tests alone (packaging/test --bounds): the ends of what pyproject.toml allows, as
# packaging/bounds.py tells them. They have no list and no hashes; newest is made anew each day.

ENVIRONMENT_FORMAT=2
KEPT_ENVIRONMENTS=3
PIP_ATTEMPTS=3
PIP_PAUSE_S=5
NETWORK_TROUBLE='Connection|Temporary failure|Name or service not known|timed out|Max retries|Read ?Timeout|IncompleteRead|SSL|Proxy|HTTP error 5|50[0-9] Server Error'

# Whether GROUP is an end of the bounds, which no list of packaging/lock has.
is_bound() {
  [[ $1 == lowest || $1 == newest ]]
}

# Writes what GROUP, an end of the bounds, holds, and prints the name of the file.
write_bounds() {
  local file=$CACHE/environments/$1-wanted.txt
  {
    [[ $1 != newest ]] || date --utc +"# %F"
    "$SYSTEM_PYTHON" -B "$CHECKOUT/packaging/bounds.py" "$1" "$CHECKOUT" "$PYTHON_VERSION"
  } >"$file.$$" || fail "The bounds of pyproject.toml cannot be read: the lines above say why."
  mv -- "$file.$$" "$file"
  printf '%s\n' "$file"
}

# The files that list the packages of an environment of GROUP (engine, run, test) with their hashes. Where the system has no
# pydbus (system.sh asks for it on Debian and Ubuntu only), PyPI's is the same pure Python.
package_lists() {
  if is_bound "$1"; then
    printf '%s\n' "$CACHE/environments/$1-wanted.txt"
    return
  fi
  printf '%s\n' "$CHECKOUT/packaging/lock/$1-$PYTHON_VERSION.txt"
  [[ $FACTS != *lacks\ pydbus* ]] || printf '%s\n' "$CHECKOUT/packaging/lock/pydbus.txt"
}

# Ends where no list is for the system's Python or machine.
check_package_lists() {
  local list known machine
  if is_bound "$1"; then
    write_bounds "$1" >/dev/null
    return
  fi
  machine=$(uname --machine)
  known=$(cd -- "$CHECKOUT/packaging/lock" && printf '%s ' "$1"-*.txt | sed --expression="s/$1-//g" --expression='s/\.txt//g')
  while IFS= read -r list; do
    [[ -f $list ]] || fail "There is no list of Python packages for Python $PYTHON_VERSION ($list)." \
      "Nothing was installed. Lists are there for Python ${known% }; packaging/lock/renew $PYTHON_VERSION makes one, if" \
      "all packages exist for it."
    grep --quiet --extended-regexp "^# architectures:.* $machine( |\$)" -- "$list" ||
      fail "The list of Python packages $list is not for this machine ($machine)." \
        "Nothing was installed. Some package exists for other machines only."
  done < <(package_lists "$1")
}

environment_name() {
  local lists key
  mapfile -t lists < <(package_lists "$1")
  key=$({
    printf '%s\n' "$ENVIRONMENT_FORMAT" "$PYTHON_VERSION" "$(uname --machine)"
    cat -- "${lists[@]}"
  } | sha256sum)
  printf '%s-%s' "$1" "${key:0:16}"
}

# Whether FOLDER is an environment of ours, finished or not, and not a link to somewhere else.
is_our_environment() {
  [[ $(basename -- "$1") =~ ^(engine|run|test|lowest|newest)-[0-9a-f]{16}$ && -d $1 && ! -L $1 && -f $1/pgfooting-environment ]]
}

delete_environment() {
  is_our_environment "$1" || return 0
  rm --recursive --force --one-file-system -- "$1" || say "Could not delete the old environment $1; it may be deleted."
}

# Prints the complete environments of GROUP, the one used last first.
environments_by_use() {
  find "$CACHE/environments" -mindepth 2 -maxdepth 2 -path "*/$1-*/complete" -printf '%T@ %h\n' |
    sort --reverse --numeric-sort | cut --delimiter=' ' --fields=2-
}

# Keeps the KEPT_ENVIRONMENTS of GROUP that were used last. Called under the lock of building, so what is not complete
# is a leftover; what is in use (shared lock) stays.
prune_environments() {
  local folder number=0
  for folder in "$CACHE/environments/$1-"*; do
    if is_our_environment "$folder" && [[ ! -e $folder/complete ]]; then delete_environment "$folder"; fi
  done
  while IFS= read -r folder; do
    number=$((number + 1))
    if ((number > KEPT_ENVIRONMENTS)) && [[ $folder != "$ENVIRONMENT" ]] && is_our_environment "$folder"; then
      # The lock is held while deleting: a start that waits for it finds no `complete` and builds its own.
      flock --nonblock "$folder/complete" rm --recursive --force --one-file-system -- "$folder" || true
    fi
  done < <(environments_by_use "$1")
}

# pip reads its own configuration (index, proxy, certificates) as ever, but not where to install. Nothing of the
# system's Python counts as installed: its versions are not those of the list. Nothing is built: that would run a
# program of whoever made the package. The lists are complete, so nothing is looked up beside them (--no-deps). What the
# program needs lies beside it in a bundle of this release, and no network is asked there.
pip_install() {
  local quiet=() exactly=(--require-hashes --no-deps) bundle beside=()
  bundle=$(bundle_folder)
  if [[ -n $bundle && $1 =~ ^(engine|run)$ && $(<"$bundle/release") == "$(release_here)" ]]; then
    beside=(PIP_NO_INDEX=1 "PIP_FIND_LINKS=file://${bundle// /%20}/wheels")
  fi
  [[ -t 2 ]] || quiet=(--quiet --progress-bar off)
  if is_bound "$1"; then exactly=(); fi
  env --unset=PIP_TARGET --unset=PIP_PREFIX --unset=PIP_ROOT PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 "${beside[@]}" \
    "$ENVIRONMENT/bin/python" -I -m pip install "${quiet[@]}" --no-input --ignore-installed --no-compile "${exactly[@]}" \
    --only-binary=:all: --log "$ENVIRONMENT/pip.log" --requirement "$ENVIRONMENT/requirements.txt" >&2 </dev/null
}

install_requirements() {
  local attempt wanted
  wanted=$(sed --quiet 's/^\([A-Za-z0-9][^ ]*[=>]=[^ ]*\).*/\1/p' "$ENVIRONMENT/requirements.txt" | paste --serial --delimiters=' ')
  say "Installing for Python $PYTHON_VERSION into $ENVIRONMENT (once): $wanted"
  for ((attempt = 1; ; attempt++)); do
    if pip_install "$1"; then return; fi
    if ((attempt >= PIP_ATTEMPTS)) || ! grep --quiet --extended-regexp "$NETWORK_TROUBLE" "$ENVIRONMENT/pip.log"; then break; fi
    say "pip met trouble with the network; trying again in $PIP_PAUSE_S s ($attempt of $PIP_ATTEMPTS)."
    sleep "$PIP_PAUSE_S"
  done
  delete_environment "$ENVIRONMENT"
  fail "pip could not install these Python packages, which pgFooting needs: $wanted" \
    "The lines above say why. Nothing half done is left; start this again when the cause is gone (network, proxy, disk space)." \
    "$(network_advice)"
}

build_environment() {
  local group=$1 lists
  mapfile -t lists < <(package_lists "$group")
  [[ ! -e $ENVIRONMENT ]] || delete_environment "$ENVIRONMENT"
  [[ ! -e $ENVIRONMENT ]] || fail "$ENVIRONMENT exists and was not made by pgFooting. It was not touched; move it away."
  mkdir -- "$ENVIRONMENT"
  echo "Made by pgFooting; may be deleted, packaging/run makes it again." >"$ENVIRONMENT/pgfooting-environment"
  "$SYSTEM_PYTHON" -I -m venv --system-site-packages -- "$ENVIRONMENT" >&2 ||
    fail "Could not make a Python environment in $ENVIRONMENT: the lines above say why."
  cat -- "${lists[@]}" >"$ENVIRONMENT/requirements.txt"
  install_requirements "$group"
  rm --force -- "$ENVIRONMENT/pip.log"
  # The word "complete" must not reach the disk before what it speaks of.
  sync --file-system "$ENVIRONMENT"
  date --utc --iso-8601=seconds >"$ENVIRONMENT/complete.new"
  mv -- "$ENVIRONMENT/complete.new" "$ENVIRONMENT/complete"
  prune_environments "$group"
}

# Prints the group whose environment serves USE (engine, window): a server without a screen gets no Qt. Where the one
# of the window is there already, it serves both.
group_for() {
  if [[ $1 == engine && ! -e $CACHE/environments/$(environment_name run)/complete ]]; then
    printf engine
  else
    printf run
  fi
}

# Sets ENVIRONMENT to a complete environment of GROUP (engine, run, test, lowest, newest) and holds it until this process, or the program that
# it becomes by exec, ends.
prepare_environment() {
  local lock
  mkdir --parents -- "$CACHE/environments"
  check_package_lists "$1"
  ENVIRONMENT=$CACHE/environments/$(environment_name "$1")
  until [[ -e $ENVIRONMENT/complete ]] && exec {HOLD}<"$ENVIRONMENT/complete" && flock --shared "$HOLD" &&
    [[ -e $ENVIRONMENT/complete ]]; do
    exec {lock}>"$CACHE/environments/lock"
    flock --nonblock "$lock" || { say "Another start of pgFooting is setting up: waiting for it." && flock "$lock"; }
    [[ -e $ENVIRONMENT/complete ]] || build_environment "$1"
    exec {lock}>&-
  done
  touch --no-create -- "$ENVIRONMENT/complete" 2>/dev/null || true
}

# What Python is to see, whatever the caller's shell has set: the environment, the checkout, and not the folder in
# which the user happens to stand. Byte code goes to the cache: the checkout may be read-only or another user's.
set_python_environment() {
  unset PYTHONHOME PYTHONSTARTUP PYTHONINSPECT PYTHONDONTWRITEBYTECODE VIRTUAL_ENV
  export PYTHONPATH=$CHECKOUT PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1 PYTHONPYCACHEPREFIX=$ENVIRONMENT/bytecode
}

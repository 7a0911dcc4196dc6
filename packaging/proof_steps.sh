#!/bin/bash
# What prove-debian does inside the fresh root, as its root: proof_steps.sh root|user. The clone is mounted read-only
# and its path has spaces; standard input is /dev/null; there is no display and no HOME but the account's own.
set -euo pipefail

# It kills what it started, wherever that hides; it must never do so outside of its own process namespace.
(($$ == 1)) || { echo "proof_steps.sh is started by packaging/prove-debian alone." >&2 && exit 2; }

ACCOUNT=$1
CLONE="/srv/a clone with spaces"
STARTED=0 BROKEN=0

step() {
  printf '\n#### %s\n' "$*"
  STARTED=$SECONDS
}

passed() {
  printf '#### proved (%d s): %s\n' $((SECONDS - STARTED)) "$*"
}

# What is not proved does not keep the rest from being tried.
broken() {
  printf '#### NOT PROVED: %s\n' "$*"
  BROKEN=$((BROKEN + 1))
}

# Runs a command as an ordinary user NAME, from a home of its own.
as_user() {
  local name=$1
  shift
  (cd "/home/$name" && setpriv --reuid="$name" --regid="$name" --init-groups env HOME="/home/$name" USER="$name" "$@")
}

as_account() {
  if [[ $ACCOUNT == root ]]; then (cd /root && HOME=/root "$@"); else as_user dba "$@"; fi
}

# Runs a command as the account: NAME COMMAND...
try() {
  local name=$1 status=0
  shift
  as_account "$@" || status=$?
  if ((status == 0)); then passed "$name"; else broken "$name: status $status"; fi
}

# A user without sudo gets the command to run, status 1, and nothing has changed.
prove_refusal() {
  local said status=0
  step "refusal: an ordinary user without sudo on a machine where everything is missing"
  said=$(as_user visitor "$CLONE/packaging/run" --headless 2>&1) || status=$?
  printf '%s\n' "$said"
  if [[ $status -eq 1 && $said == *"apt-get install --no-install-recommends python3"* ]]; then
    passed "refusal names the command"
  else
    broken "refusal: status $status"
  fi
}

# Prints the processes below process PARENT, by id.
descendants() {
  local child children=()
  read -r -a children <"/proc/$1/task/$1/children" || true
  for child in "${children[@]}"; do
    descendants "$child"
    echo "$child"
  done 2>/dev/null
}

# Starts packaging/run and kills it with all its processes as soon as the file glob PATTERN exists.
kill_when_there() {
  local pattern=$1 pid doomed process
  step "interruption: killed as soon as $pattern is there"
  as_account "$CLONE/packaging/run" list >/tmp/killed.log 2>&1 &
  pid=$!
  until compgen -G "$pattern" >/dev/null; do
    kill -0 "$pid" 2>/dev/null || { broken "it ended before: $(tail --lines=3 /tmp/killed.log)" && return; }
    sleep 0.02
  done
  mapfile -t doomed < <(descendants "$pid")
  for process in "$pid" "${doomed[@]}"; do printf '%s ' "$(cat "/proc/$process/comm" 2>/dev/null || true)"; done
  kill -KILL "$pid" "${doomed[@]}" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  printf '\n'
  tail --lines=2 /tmp/killed.log
}

# Leaves package NAME as a dpkg does that is killed in the moment in which it unpacks it.
leave_half_unpacked() {
  step "interruption: as if killed while dpkg unpacked $1"
  sed --in-place "/^Package: $1\$/,/^\$/s/^Status: .*/Status: install reinstreq half-installed/" /var/lib/dpkg/status
  dpkg-query --show --showformat '${Package}: ${Status}\n' "$1"
}

# Killed while dpkg unpacks, while it configures, and while pip installs, the next start goes on.
prove_interruptions() {
  local home
  home=$([[ $ACCOUNT == root ]] && echo /root || echo /home/dba)
  kill_when_there "/usr/share/doc/postgresql-common*"
  kill_when_there "/usr/lib/postgresql/*/bin/postgres"
  leave_half_unpacked postgresql-common
  kill_when_there "$home/.cache/pgfooting/environments/*-*/lib/python3*/site-packages/psutil"
}

prove_headless() {
  step "packaging/run --headless"
  try "packaging/run --headless" "$CLONE/packaging/run" --headless
  [[ -z $(find /etc/postgresql -mindepth 2 2>/dev/null) ]] || broken "apt created a cluster"
  [[ ! -e /etc/postgresql-common/createcluster.d/pgfooting-installation.conf ]] || broken "our apt switch was left behind"
}

prove_quick_start() {
  local began ended
  step "packaging/run list, with nothing missing"
  began=${EPOCHREALTIME/./}
  try "packaging/run list" "$CLONE/packaging/run" list
  ended=${EPOCHREALTIME/./}
  printf '#### packaging/run list took %d ms\n' $(((ended - began) / 1000))
}

prove_tests() {
  step "packaging/test"
  try "packaging/test" env CI=true "$CLONE/packaging/test"
  step "packaging/test, a selection, with nothing missing"
  try "packaging/test --quiet tests/unit/packaging" env CI=true "$CLONE/packaging/test" --quiet tests/unit/packaging
}

# This namespace holds nothing but what this proof started.
prove_nothing_left() {
  local left name process
  left=$(for process in /proc/[0-9]*; do
    read -r name 2>/dev/null <"$process/comm" || continue
    [[ ! $name =~ ^(postgres|pgbench|python) ]] || tr '\0' ' ' 2>/dev/null <"$process/cmdline" || true
  done)
  step "leftovers"
  if [[ -n $left ]]; then broken "still running: $left"; fi
  if [[ -n $(ls -A /dev/shm) ]]; then broken "left in /dev/shm: $(ls -A /dev/shm)"; fi
  printf '#### %d things are not proved as %s\n' "$BROKEN" "$ACCOUNT"
}

[[ $ACCOUNT != root ]] || prove_refusal
prove_interruptions
prove_headless
prove_quick_start
prove_tests
prove_nothing_left
((BROKEN == 0))

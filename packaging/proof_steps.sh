#!/bin/bash
# What prove-debian does inside the fresh root, as its root: proof_steps.sh root|user. The clone is mounted read-only
# and its path has spaces; standard input is /dev/null; there is no display and no HOME but the account's own.
set -euo pipefail

# It kills what it started, wherever that hides; it must never do so outside of its own process namespace.
(($$ == 1)) || { echo "proof_steps.sh is started by packaging/prove-debian alone." >&2 && exit 2; }

ACCOUNT=$1
CLONE="/srv/a clone with spaces"
STARTED=0

step() {
  printf '\n#### %s\n' "$*"
  STARTED=$SECONDS
}

passed() {
  printf '#### proved (%d s): %s\n' $((SECONDS - STARTED)) "$*"
}

broken() {
  printf '#### NOT PROVED: %s\n' "$*"
  exit 1
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

# A user without sudo gets the command to run, status 1, and nothing has changed.
prove_refusal() {
  local said status=0
  step "refusal: an ordinary user without sudo on a machine where everything is missing"
  said=$(as_user visitor "$CLONE/packaging/run" --headless 2>&1) || status=$?
  printf '%s\n' "$said"
  [[ $status -eq 1 && $said == *"apt-get install --no-install-recommends python3"* ]] || broken "status $status"
  passed "refusal names the command"
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
    kill -0 "$pid" 2>/dev/null || broken "it ended before: $(tail --lines=3 /tmp/killed.log)"
    sleep 0.02
  done
  mapfile -t doomed < <(descendants "$pid")
  for process in "$pid" "${doomed[@]}"; do printf '%s ' "$(cat "/proc/$process/comm" 2>/dev/null || true)"; done
  kill -KILL "$pid" "${doomed[@]}" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  printf '\n'
  tail --lines=2 /tmp/killed.log
}

# Killed while dpkg unpacks, while it configures, and while pip installs, the next start goes on.
prove_interruptions() {
  local home
  home=$([[ $ACCOUNT == root ]] && echo /root || echo /home/dba)
  kill_when_there "/usr/share/doc/postgresql-common*"
  kill_when_there "/usr/lib/postgresql/*/bin/postgres"
  kill_when_there "$home/.cache/pgfooting/environments/run-*/lib/python3*/site-packages/psutil"
  passed "killed three times"
}

prove_headless() {
  step "packaging/run --headless"
  as_account "$CLONE/packaging/run" --headless || broken "packaging/run --headless: status $?"
  passed "packaging/run --headless"
  [[ -z $(find /etc/postgresql -mindepth 2 2>/dev/null) ]] || broken "apt created a cluster"
  [[ ! -e /etc/postgresql-common/createcluster.d/pgfooting-installation.conf ]] || broken "our apt switch was left behind"
}

prove_quick_start() {
  local began=${EPOCHREALTIME/./} ended
  step "packaging/run list, with nothing missing"
  as_account "$CLONE/packaging/run" list || broken "packaging/run list: status $?"
  ended=${EPOCHREALTIME/./}
  passed "packaging/run list took $(((ended - began) / 1000)) ms"
}

prove_tests() {
  step "packaging/test"
  as_account env CI=true "$CLONE/packaging/test" || broken "packaging/test: status $?"
  passed "packaging/test"
  step "packaging/test, again"
  as_account env CI=true "$CLONE/packaging/test" --quiet tests/unit || broken "packaging/test tests/unit: status $?"
  passed "packaging/test tests/unit"
}

# Everything that runs in this namespace besides this shell and what it waits for.
prove_nothing_left() {
  local left
  left=$(find /proc -maxdepth 1 -regex '/proc/[0-9]+' ! -path "/proc/$$" -exec sh -c 'tr "\0" " " <"$1/cmdline" 2>/dev/null' _ {} \; |
    grep --extended-regexp 'postgres|pgbench|python' || true)
  [[ -z $left ]] || broken "still running: $left"
  [[ -z $(ls -A /dev/shm) ]] || broken "left in /dev/shm: $(ls -A /dev/shm)"
  passed "no process and nothing in /dev/shm is left"
}

[[ $ACCOUNT != root ]] || prove_refusal
prove_interruptions
prove_headless
prove_quick_start
prove_tests
prove_nothing_left

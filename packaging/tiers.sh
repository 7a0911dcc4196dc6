# shellcheck shell=bash
# The tiers of packaging/test: how each runs, what it counted, and the summary.
#
# Sourced by packaging/test after environment.sh and devices.sh. Every test is in exactly one tier: that of the first
# marker of MARKERS which it carries, `unit` without any.

MARKERS=(machine disks postgres bus gui)
TIERS=(lint unit gui bus postgres disks machine)
ORDINARY_USER=nobody # every system has it
SUMMARY=() PASSED=0 FAILED=0 SKIPPED=0
STARTED=0
REFUSALS="" MACHINE_REFUSALS="" GUEST_BUILD="" COMMAND_PREFIX=() PYTEST_CACHE=""
PROCESSES="" # of a tier; empty for one for each CPU, four at most
declare -A BESIDE=() # pid of what runs beside, by its name
LAST=()              # pid of what runs last in each lane, by its number
declare -A REST=()   # the command that runs what was not asked for, by its name
: "${ROOT=}" "${MACHINE=}" "${ONLY=}" "${ALL=}" "${QUICK=}"

# Signals that the caller ignores (nohup, a job in the background) would stay ignored in what the tests start, and the
# tests send them.
python() {
  "${COMMAND_PREFIX[@]}" env --default-signal=HUP,INT,QUIT,TERM,PIPE "$ENVIRONMENT/bin/python" "$@" </dev/null
}

known_tier() {
  [[ " ${TIERS[*]} " == *" $1 "* ]]
}

# Whether TIER is to run, or at least to be told of: those of ONLY where that is given, else all, but no lint at the
# ends of the bounds, for types differ between versions. What is not to run is told.
wants() {
  if [[ -n $ONLY ]]; then
    [[ ,$ONLY, == *",$1,"* ]] || { leave_for "$1" && return 1; }
  elif [[ -n ${BOUNDS:-} && $1 == lint ]]; then
    leave_for lint && return 1
  fi
}

heading() {
  printf '\n== %s\n' "$1"
  STARTED=${EPOCHREALTIME//[.,]/}
}

seconds() {
  local microseconds=$((${EPOCHREALTIME//[.,]/} - STARTED))
  printf '%d.%d' $((microseconds / 1000000)) $((microseconds % 1000000 / 100000))
}

# Adds one finished tier to the sums: TIER PASSED FAILED SKIPPED.
count() {
  local colour=green
  (($3 == 0)) || colour=RED
  PASSED=$((PASSED + $2)) FAILED=$((FAILED + $3)) SKIPPED=$((SKIPPED + $4))
  SUMMARY+=("$(printf '%-9s %-6s %5d passed %4d failed %4d skipped %8s s' "$1" "$colour" "$2" "$3" "$4" "$(seconds)")")
}

# Names in the summary what was red, twenty at most: NAMES...
name_red() {
  local name
  for name in "${@:1:20}"; do SUMMARY+=("  RED $name"); done
  (($# <= 20)) || SUMMARY+=("  and $(($# - 20)) more")
}

# Notes a tier, or what else the last two lines name, and the option that runs it: NAME [OPTION].
leave_for() {
  REST[$1]="packaging/test${2:+ $2}"
}

# Notes what cannot run here: NAME REASON.
leave_out() {
  SUMMARY+=("$(printf '%-9s left out: %s' "$1" "$2")")
}

# Prints pytest's marker expression for TIER.
expression_of() {
  local marker expression=""
  for marker in "${MARKERS[@]}"; do
    if [[ $marker == "$1" ]]; then
      printf '%s%s' "$expression" "$marker"
      return
    fi
    expression+="not $marker and "
  done
  printf '%s' "${expression% and }"
}

# Runs one pytest, behind COMMAND_PREFIX, and counts it: TIER ARGUMENTS... What died without being counted is one
# failure.
run_pytest() {
  local tier=$1 report=$SCRATCH/$1.xml status=0 lines passed failed skipped
  shift
  python -m pytest -o cache_dir="${PYTEST_CACHE:-$ENVIRONMENT/caches/pytest}" --junit-xml="$report" \
    --basetemp="$SCRATCH/$tier" "$@" || status=$?
  COMMAND_PREFIX=()
  rm --recursive --force -- "${SCRATCH:?}/$tier"
  if ((status == 5)) && [[ $tier != unit && $tier != selection ]]; then
    leave_out "$tier" "no tests yet"
    return
  fi
  mapfile -t lines < <(python "$CHECKOUT/packaging/tally.py" "$report")
  read -r passed failed skipped <<<"${lines[0]}"
  if ((status != 0 && failed == 0)); then failed=1; fi
  count "$tier" "$passed" "$failed" "$skipped"
  name_red "${lines[@]:1}"
}

# Prints what goes on with TIER's marker expression: tests that take long run only where they are asked for.
less_of() {
  [[ ,$ONLY, != *",$1,"* && $MACHINE != whole ]] || return 0
  printf ' and not longest'
  [[ -n $ALL ]] || printf ' and not long'
  [[ -z $QUICK ]] || printf ' and not slow'
}

# Sets CHOICE to pytest's options for TIER; without what takes long there are few examples of each property as well.
choose() {
  CHOICE=(-m "$(expression_of "$1")$(less_of "$1")")
  [[ ! ${CHOICE[1]} =~ "not long"( |$) ]] || CHOICE+=(--hypothesis-profile=few)
}

# Runs a tier: TIER [PATHS...].
run_tier() {
  heading "$1"
  choose "$1"
  run_pytest "$1" "${CHOICE[@]}" "${@:2}"
}

# Prints what has tests of TIER: its folder, and the modules of other folders that name its marker.
paths_of() {
  printf '%s\n' "tests/$1"
  [[ $1 == unit ]] || grep --recursive --files-with-matches --include='test_*.py' "pytest\.mark\.$1\b" \
    tests/{unit,gui,bus,postgres} | grep --invert-match "^tests/$1/" || true
}

# Begins COMMAND beside what follows, as soon as what began last in lane NUMBER has ended: NUMBER NAME COMMAND...
# There are as many lanes as CPUs, so that nothing waits for the slowest module of a tier.
begin_in_lane() {
  begin_beside "$2" after "${LAST[$1]:-}" "${@:3}"
  LAST[$1]=${BESIDE[$2]}
}

# Runs COMMAND when process PID, if there is one, has ended: PID COMMAND...
after() {
  [[ -z $1 ]] || tail --pid="$1" --sleep-interval=0.2 --follow /dev/null
  "${@:2}"
}

processes_of_tiers() {
  local processes=${PROCESSES:-$(nproc)}
  printf '%s' $((processes <= 4 ? processes : 4))
}

# Begins a tier in every lane from FIRST_LANE on, in processes that share its modules out: TIER [COMMAND...], where
# COMMAND runs what stands behind it.
begin_tier() {
  local number processes
  processes=$(processes_of_tiers)
  for ((number = ${FIRST_LANE:-1}; number <= processes; number++)); do begin_process "$number" "$@"; done
}

# Begins one of the processes of a tier in lane NUMBER: NUMBER TIER [COMMAND...].
begin_process() {
  local paths claims=$SCRATCH/claims-$2
  mapfile -t paths < <(paths_of "$2")
  [[ -d $claims ]] || mkdir --mode=1777 -- "$claims"
  begin_in_lane "$1" "$2$1" "${@:3}" run_part "$2" "$1" "$claims" "${paths[@]}"
}

# One of the processes of a tier: TIER NUMBER CLAIMS [PATHS...].
run_part() {
  heading "$1$2"
  choose "$1"
  run_pytest "$1$2" "${CHOICE[@]}" --claims="$3" "${@:4}"
}

# Begins the unit tests as an ordinary user, whom most people are: root runs them as ORDINARY_USER, in a copy of checkout and
# environment that this user can read, and root those that were skipped.
begin_unit() {
  if ! is_root; then
    begin_tier unit
    return
  fi
  local user=$SCRATCH/user
  chmod 755 -- "$SCRATCH"
  mkdir -- "$user" "$user/environment" "$SCRATCH/skipped"
  cp --archive --reflink=auto -- "$CHECKOUT" "$user/checkout"
  # Not its caches, which the tiers beside this one write.
  cp --archive --reflink=auto -- "$ENVIRONMENT"/{bin,lib,pyvenv.cfg} "$user/environment"
  copy_bytecode "$user"
  chown --recursive -- "$ORDINARY_USER:" "$user"
  begin_tier unit as_user
}

# Copies what is compiled of the program and its libraries below USER, so that it is compiled once. Not of the tests: byte
# code that pytest made names the file that it was made of, which ORDINARY_USER may not be able to show.
copy_bytecode() {
  local from to bytecode=$1/environment/bytecode
  python -m compileall -q -j 0 "$CHECKOUT"/{app,ui} || true # the tests say what is wrong
  for from in /usr "$ENVIRONMENT/lib" "$CHECKOUT"/{app,ui}; do
    to=${from/#"$CHECKOUT"/$1/checkout}
    to=$bytecode${to/#"$ENVIRONMENT"/$1/environment}
    [[ -d $ENVIRONMENT/bytecode$from ]] || continue
    mkdir --parents -- "$(dirname -- "$to")"
    cp --archive --reflink=auto -- "$ENVIRONMENT/bytecode$from" "$to"
  done
}

# As root: begins, in the first lane, the unit tests that were skipped, when all others of them have ended.
begin_skipped() {
  local name pids=()
  for name in "${!BESIDE[@]}"; do [[ $name != unit* ]] || pids+=("${BESIDE[$name]}"); done
  begin_in_lane 1 unit-root run_skipped "${pids[@]}"
}

# Runs its arguments, which begin with `run_part TIER NUMBER`, as ORDINARY_USER. In a process of its own, whose variables it
# sets.
as_user() {
  local name=$2$3 skipped=$SCRATCH/skipped
  CHECKOUT=$SCRATCH/user/checkout ENVIRONMENT=$SCRATCH/user/environment HOME=$SCRATCH/user/$name
  SCRATCH=$HOME PYTEST_CACHE=$HOME/cache
  export HYPOTHESIS_STORAGE_DIRECTORY=$HOME/hypothesis
  mkdir -- "$HOME"
  use_folders "$HOME"
  chown --recursive -- "$ORDINARY_USER:" "$HOME"
  set_python_environment
  COMMAND_PREFIX=(setpriv --reuid="$ORDINARY_USER" --regid="$(id --group -- "$ORDINARY_USER")" --clear-groups
    env --chdir="$CHECKOUT" --)
  "$@"
  mv -- "$SCRATCH/$name.xml" "$skipped"
}

# When the processes PIDS have ended: runs the tests that they skipped.
run_skipped() {
  local pid
  for pid in "$@"; do tail --pid="$pid" --follow /dev/null; done
  rm --recursive --force -- "$SCRATCH/user"
  heading unit-root
  choose unit
  run_pytest unit-root "${CHOICE[@]}" --skipped-in="$SCRATCH/skipped" tests/unit
}

# Points the XDG folders into FOLDER, where they are made.
use_folders() {
  local name
  for name in RUNTIME_DIR STATE_HOME DATA_HOME CONFIG_HOME CACHE_HOME; do
    mkdir --mode=700 -- "$1/$name"
    export "XDG_$name=$1/$name"
  done
}

# Runs its arguments in namespaces of their own, where tests measure as if nobody else did: run_part TIER NUMBER ...
run_apart() {
  mkdir --mode=1777 -- "$SCRATCH/tmp-$3"
  COMMAND_PREFIX=("$CHECKOUT/tests/system/apart" "$SCRATCH/tmp-$3")
  "$@"
}

# Whether several processes may run tests of PostgreSQL: only one campaign of a machine measures at a time, so that each
# needs namespaces, which only root can make.
can_measure_apart() {
  "$CHECKOUT/tests/system/apart" --possible
}

# Runs COMMAND if process PID has not ended yet: PID COMMAND...
while_runs() {
  ! kill -0 "$1" 2>/dev/null || "${@:2}"
}

# Begins the tests of PostgreSQL; where a lane of their own has begun them, every other lane shares in what it has left.
begin_servers() {
  local paths first=${BESIDE[postgres0]:-}
  if can_measure_apart; then
    begin_tier postgres ${first:+while_runs "$first"} run_apart
  else
    mapfile -t paths < <(paths_of postgres)
    begin_in_lane 1 postgres run_tier postgres "${paths[@]}"
  fi
}

# Runs COMMAND, which counts one tier, beside those that follow, in folders of its own: NAME COMMAND... What it says
# and counts is told by end_beside. Most tests use one CPU.
begin_beside() {
  local name=$1 tally=$SCRATCH/tally-$1
  shift
  mkdir --mode=700 -- "$SCRATCH/beside-$name"
  # shellcheck disable=SC2030,SC2031 # sums of its own, which end_beside adds
  (
    SUMMARY=() PASSED=0 FAILED=0 SKIPPED=0 PYTEST_CACHE=$SCRATCH/cache-$name
    use_folders "$SCRATCH/beside-$name"
    "$@"
    printf '%s\n' "$PASSED $FAILED $SKIPPED" "${SUMMARY[@]}" >"$tally"
  ) >"$SCRATCH/said-$name" 2>&1 &
  BESIDE[$name]=$!
}

# Waits for all that begin_beside has begun. What died before it had counted is one failure.
end_beside() {
  local name passed failed skipped lines
  LAST=()
  for name in $(printf '%s\n' "${!BESIDE[@]}" | sort); do
    wait "${BESIDE[$name]}" || true
    unset "BESIDE[$name]"
    cat -- "$SCRATCH/said-$name"
    lines=()
    if ! mapfile -t lines 2>/dev/null <"$SCRATCH/tally-$name"; then
      count "$name" 0 1 0
      continue
    fi
    read -r passed failed skipped <<<"${lines[0]}"
    # shellcheck disable=SC2031 # as above
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    # shellcheck disable=SC2031 # as above
    SUMMARY+=("${lines[@]:1}")
  done
}

# Where tiers that touch devices, or run in the virtual machine, are asked for: sets REFUSALS and MACHINE_REFUSALS, else
# installs what they need and begins to build the guest beside the other tiers.
prepare_device_tiers() {
  [[ -n $ROOT$MACHINE ]] || return 0
  REFUSALS=$(refusals_of_device_tests "$(root_device)" "$CACHE/loop-devices" "$EUID")
  MACHINE_REFUSALS=$(refusals_of_machine_tests "$EUID")
  if [[ -z $REFUSALS ]]; then
    if [[ -n $ROOT ]] || plays_covering_matrix; then provide_system_packages disks; fi
    [[ $ROOT != matrix ]] || provide_system_packages matrix
    ! plays_covering_matrix || export PGFOOTING_MATRIX=here
  fi
  if [[ -n $MACHINE && -z $MACHINE_REFUSALS ]]; then
    provide_system_packages machine
    XDG_CACHE_HOME=$(dirname -- "$CACHE") nice "$CHECKOUT/tests/machine/build-guest" \
      >"$SCRATCH/guest-folder" 2>"$SCRATCH/build-guest.log" &
    GUEST_BUILD=$!
  fi
}

# Ends what runs beside and nobody waits for any more: the guest's build, a tier, the checks of --quick.
end_background() {
  local pid
  for pid in $GUEST_BUILD "${BESIDE[@]}"; do
    pkill --parent "$pid" || true
    kill "$pid" 2>/dev/null || true
    wait "$pid" || true
  done
}

# Waits for the guest, shows what its build has said, and tells the tests its folder: their cache is not the user's.
wait_for_guest() {
  local status=0
  wait "$GUEST_BUILD" || status=$?
  GUEST_BUILD=""
  cat -- "$SCRATCH/build-guest.log"
  ((status == 0)) || return "$status"
  PGFOOTING_GUEST_FOLDER=$(<"$SCRATCH/guest-folder")
  export PGFOOTING_GUEST_FOLDER
}

# Runs every tier that is asked for. Not more of them at once than there are CPUs, which is what the lanes are for: tests
# that wait for an answer fail on a machine that is short of CPU, and all would take as long.
run_tiers() {
  local covering="" paths
  [[ $MACHINE != short || -n $ROOT$ONLY ]] || ! plays_covering_matrix || covering=asked
  # The tests of servers wait more than they compute: a lane of their own takes little from the others. No other campaign
  # of this machine measures beside them: those of the virtual machine are not of this machine, and the matrix has none.
  if [[ -n $covering || -z $ROOT$MACHINE$ONLY ]] && can_measure_apart; then begin_process 0 postgres run_apart; fi
  if wants lint; then begin_in_lane 1 lint run_lint; fi
  if wants bus; then
    mapfile -t paths < <(paths_of bus)
    begin_in_lane "$(processes_of_tiers)" bus run_tier bus "${paths[@]}"
  fi
  if [[ -n $covering ]]; then
    run_beside_guest "$(processes_of_tiers)" $(($(processes_of_tiers) / 2))
  else
    if wants unit; then begin_unit; fi
    if wants gui; then begin_tier gui; fi
    if [[ -d $SCRATCH/skipped ]]; then begin_skipped; fi
    # What touches devices, or the guest, runs beside servers alone.
    [[ -z $ROOT$MACHINE ]] || end_beside
    if wants disks; then run_device_tier disks --root "$ROOT"; fi
    if wants postgres; then begin_servers; fi
    if wants disks && plays_covering_matrix; then run_matrix --covering --quiet; fi
    if wants machine; then run_device_tier machine --machine "$MACHINE"; fi
  fi
  end_beside
  [[ -n $ONLY || $MACHINE == whole ]] || leave_for longest --machine
  [[ -n $ONLY$ALL || $MACHINE == whole ]] || leave_for long --all
  [[ -n $ONLY ]] || leave_for bench --bench
}

# Runs all tiers in LANES, HALF of which are the guests': LANES HALF. What cannot be shared out comes first: layouts, guests
# and the matrix. All lanes share in the rest as soon as they have ended; tests of units look at what devices there are, so
# they wait for the matrix.
run_beside_guest() {
  local lane
  leave_for disks --root
  run_layouts
  begin_in_lane "$1" matrix run_matrix --covering --quiet
  for ((lane = 1; lane <= $1; lane++)); do LAST[lane]=${BESIDE[matrix]}; done
  FIRST_LANE=$(($2 + 1)) begin_unit
  FIRST_LANE=$(($2 + 1)) begin_tier gui
  PGFOOTING_GUESTS=$(($1 - $2)) run_device_tier machine --machine "$MACHINE"
  PROCESSES=$2 begin_tier unit while_runs "${BESIDE[unit$1]}" as_user
  begin_skipped
  PROCESSES=$2 begin_tier gui while_runs "${BESIDE[gui$1]}"
  begin_servers
}

# A tier that touches devices: TIER OPTION ASKED. Its tests demand PGFOOTING_DEVICE_TESTS, which names the folder for
# the files of their loop devices and is set here alone.
run_device_tier() {
  local tier=$1 option=$2 asked=$3 refusals excluded=()
  if [[ -z $asked ]]; then
    leave_for "$tier" "$option"
    return
  fi
  heading "$tier"
  refusals=$REFUSALS
  [[ $tier != machine ]] || refusals=$MACHINE_REFUSALS
  if is_refused "$tier" "$refusals"; then return; fi
  [[ $tier != machine ]] || wait_for_guest || { count machine 0 1 0 && return; }
  [[ $tier != disks ]] || COMMAND_PREFIX=("$CHECKOUT/tests/system/in-namespace")
  if [[ $tier == machine ]]; then leave_out_container; fi
  PGFOOTING_DEVICE_TESTS=$CACHE/loop-devices PGFOOTING_MACHINE_TESTS=$MACHINE \
    run_pytest "$tier" -o faulthandler_timeout=1200 "${excluded[@]}" -m "$(expression_of "$tier")"
}

# Counts TIER as a failure where there are REASONS against it: TIER REASONS.
is_refused() {
  [[ -n $2 ]] || return 1
  printf 'Tests that touch devices may not run here:\n%s\n' "$2"
  count "$1" 0 1 0
}

# Adds to `excluded` of the caller what is no virtual machine: the container shares the kernel, and so the devices, of the
# host, whose systemd-udevd it would wake.
leave_out_container() {
  [[ -n $REFUSALS ]] || return 0
  excluded+=(--ignore=tests/machine/test_container.py)
  leave_out container "it has the kernel of this machine, where ${REFUSALS//$'\n'/; }"
}

# Whether some combinations of the matrix are played on loop devices beside other tiers: wherever those are asked for, and
# in the short form of the machine tier where devices may be touched; it plays a few in the guest where not.
plays_covering_matrix() {
  [[ $ROOT == asked || ($MACHINE == short && -e $LOOP_CONTROL && -z $REFUSALS) ]]
}

# Makes and unmakes, on loop devices, each level and preset of what this kernel has. The short form of the machine tier
# leaves out what was proved so: an emulated processor takes half a minute for what takes a second here.
run_layouts() {
  export PGFOOTING_COVERED=$SCRATCH/covered
  heading layouts
  COMMAND_PREFIX=("$CHECKOUT/tests/system/in-namespace")
  PGFOOTING_DEVICE_TESTS=$CACHE/loop-devices \
    run_pytest layouts -m disks tests/disks/test_layout.py -k test_a_layout_is_made_and_unmade
}

# Plays combinations of the matrix (python -m tests.disks.matrix): ARGUMENTS... Each counts as one test.
run_matrix() {
  local status=0 lines=() green red tally=$SCRATCH/matrix-tally
  heading matrix
  if is_refused matrix "$REFUSALS"; then return; fi
  COMMAND_PREFIX=("$CHECKOUT/tests/system/in-namespace")
  python -m tests.disks.matrix --tally "$tally" "$@" || status=$?
  COMMAND_PREFIX=()
  mapfile -t lines < <(cat -- "$tally" 2>/dev/null || echo 0 1)
  read -r green red <<<"${lines[0]}"
  if ((status != 0 && red == 0)); then red=1; fi
  count matrix "$green" "$red" 0
  name_red "${lines[@]:1}"
}

# One pytest with the caller's own arguments; devices stay out of reach unless asked for and allowed as above.
run_selection() {
  local chosen=() excluded=() expression refusals=""
  [[ -n $ROOT ]] || chosen+=("not disks")
  [[ -n $MACHINE ]] || chosen+=("not machine")
  if [[ -n $ROOT$MACHINE ]]; then
    [[ -z $ROOT ]] || refusals=$REFUSALS
    [[ -z $MACHINE ]] || refusals=${refusals:-$MACHINE_REFUSALS}
    [[ -z $refusals ]] || fail "Tests that touch devices may not run here: ${refusals//$'\n'/; }."
    [[ -z $MACHINE ]] || leave_out_container
    export PGFOOTING_DEVICE_TESTS=$CACHE/loop-devices PGFOOTING_MACHINE_TESTS=$MACHINE
  fi
  expression=$(printf ' and %s' "${chosen[@]}")
  heading selection
  [[ -z $ROOT ]] || COMMAND_PREFIX=("$CHECKOUT/tests/system/in-namespace")
  [[ -z $GUEST_BUILD ]] || wait_for_guest || fail "The guest cannot be built."
  run_pytest selection "${excluded[@]}" ${chosen[@]:+-m "${expression# and }"} "$@"
}

scripts() {
  find "$CHECKOUT"/{packaging,.ci,tests/machine,tests/mutations,tests/system} -type f -print0 |
    while IFS= read -r -d '' file; do
      if [[ $file == *.sh || $(head --lines=1 -- "$file") == '#!'*bash ]]; then printf '%s\0' "$file"; fi
    done
}

check_scripts() {
  local files
  mapfile -d '' -t files < <(scripts)
  shellcheck --external-sources --source-path=SCRIPTDIR -- "${files[@]}"
}

# Each check counts as one test.
run_lint() {
  local check passed=0 red=()
  heading lint
  for check in "ruff format" "ruff check" mypy lint-imports shellcheck; do
    printf -- '-- %s\n' "$check"
    if run_check "$check"; then passed=$((passed + 1)); else red+=("$check"); fi
  done
  count lint "$passed" "${#red[@]}" 0
  name_red "${red[@]}"
}

# What one wants to know before every commit: lint, beside the unit tests that are not marked slow.
run_quick() {
  begin_in_lane 1 lint run_lint
  begin_tier unit
  end_beside
  leave_for "slow tests and every other tier"
}

run_check() {
  case $1 in
    "ruff format") python -m ruff format --check . ;;
    "ruff check") python -m ruff check . ;;
    # The environment's numpy is the newest for its own Python; its stubs use that Python's syntax.
    mypy) python -m mypy --python-version "$PYTHON_VERSION" ;;
    lint-imports) "$ENVIRONMENT/bin/lint-imports" --no-logo --cache-dir "$ENVIRONMENT/caches/import-linter" </dev/null ;;
    shellcheck) check_scripts ;;
  esac
}

# Runs the named benches, else all; a file whose name begins with _ is a part of others.
run_benches() {
  local bench name names=("$@")
  if ((${#names[@]} == 0)); then
    for bench in tests/bench/[!_]*.py; do [[ ! -e $bench ]] || names+=("$(basename -- "$bench" .py)"); done
  fi
  ((${#names[@]} > 0)) || leave_out bench "no benches yet"
  for name in "${names[@]}"; do
    name=$(basename -- "$name" .py)
    heading "bench $name"
    if python "tests/bench/$name.py"; then count "$name" 1 0 0; else count "$name" 0 1 0; fi
  done
  leave_for "every tier"
}

# Takes out the checks of FILES, else of all that root executes, for MUTATIONS minutes at most.
run_mutations() {
  local folders=(--cache "$CACHE/mutations" --scratch "$SCRATCH")
  heading mutations
  if python -m tests.mutations "${folders[@]}" --minutes "$MUTATIONS" -- "$@"; then
    count mutations 1 0 0
  else
    count mutations 0 1 0
  fi
  leave_for "every tier"
}

print_summary() {
  printf '\n== summary\n'
  printf '%s\n' "${SUMMARY[@]}"
  printf '\n%d passed, %d failed' "$PASSED" "$FAILED"
  if ((SKIPPED > 0)); then printf ', %d skipped' "$SKIPPED"; fi
  printf '\n'
  print_rest
}

# Two lines: what was not asked for, and how to run it.
print_rest() {
  ((${#REST[@]} > 0)) || return 0
  list "Left out" "${!REST[@]}"
  list "To run them" "${REST[@]}"
}

# Prints, as one line, what stands before it and the words, each once: HEAD WORDS...
list() {
  printf '%s: %s.\n' "$1" "$(printf '%s\n' "${@:2}" | sort --unique | paste --serial --delimiters=, | sed 's/,/, /g')"
}

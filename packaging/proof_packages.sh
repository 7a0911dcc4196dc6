#!/bin/bash
# What prove-debian does inside the fresh root for the Debian packages, as its root. The clone is mounted read-only and
# its path has spaces; standard input is /dev/null; there is no display.
#
# Two versions are built of the clone with the Python of the release: this one, and an older one that has a file more.
# They are installed, upgraded, downgraded, removed and purged, put over packaging/helper and the other way round, and dpkg
# is killed at every step, the disk is full, and there is no network; then the whole root has to be as it was before.
set -euo pipefail

# It kills what it started, wherever that hides; it must never do so outside of its own process namespace.
(($$ == 1)) || { echo "proof_packages.sh is started by packaging/prove-debian alone." >&2 && exit 2; }

CLONE="/srv/a clone with spaces"
ID=org.pgfooting.Footing
PACKAGES=(pgfooting pgfooting-helper)
WORK=/srv/proof
BROKEN=0
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root

step() {
  printf '\n#### %s\n' "$*"
}

# Runs COMMAND... and tells whether it did what NAME says: NAME COMMAND...
try() {
  local name=$1 status=0
  shift
  "$@" || status=$?
  if ((status == 0)); then
    printf '#### proved: %s\n' "$name"
  else
    printf '#### NOT PROVED: %s: status %d\n' "$name" "$status"
    BROKEN=$((BROKEN + 1))
  fi
}

as_user() {
  (cd /home/dba && setpriv --reuid=dba --regid=dba --init-groups env HOME=/home/dba USER=dba "$@")
}

by_apt() {
  apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
}

# Prints every file, link and folder of the root with its mode, owner and content. What dpkg and apt write about
# themselves, logs, caches and the accounts' own files are not what a package leaves behind.
snapshot() {
  (
    cd /
    find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./srv -o -path ./home \
      -o -path ./root -o -path ./var/log -o -path ./var/cache -o -path ./var/tmp -o -path './var/lib/dpkg/*-old' \
      -o -path ./var/lib/apt \) -prune -o ! -type d -printf '%p %M %U %G %l\n' -o -printf '%p %M %U %G\n' | sort
    find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./srv -o -path ./home \
      -o -path ./root -o -path ./var/log -o -path ./var/cache -o -path ./var/tmp -o -path './var/lib/dpkg/*-old' \
      -o -path ./var/lib/apt -o -path ./var/lib/dpkg/status -o -path ./var/lib/dpkg/diversions \) -prune \
      -o -type f -exec sha256sum {} + | sort --key=2
  )
}

# Whether the root is as FILE says that it was, but for lines with PATTERN: FILE [PATTERN].
is_as_in() {
  snapshot | grep --invert-match --extended-regexp -- "${2:-^$}" >"$WORK/now"
  diff --unified=0 -- "$1" "$WORK/now"
}

# Whether all packages of ours are there whole.
is_whole() {
  [[ -z $(dpkg --audit) && -z $(dpkg --verify "${PACKAGES[@]}") ]] &&
    [[ $(dpkg-query --show --showformat='${db:Status-Status} ' "${PACKAGES[@]}") == "installed installed " ]]
}

# Builds both packages of TREE, committed at second WHEN, into FOLDER: TREE WHEN FOLDER.
build() {
  git config --global --replace-all safe.directory '*'
  SOURCE_DATE_EPOCH=$2 PYTHON=/usr/bin/python3 "$1/packaging/deb" "$3" >"$WORK/build.log" 2>&1 || { cat "$WORK/build.log" && return 1; }
}

install_what_packages_depend_on() {
  local depends
  depends=$(sed --quiet 's/^Depends: //p' "$CLONE"/packaging/debian/*.control | sed 's/([^)]*)//g; s/,/ /g')
  # shellcheck disable=SC2086 # names
  "$CLONE/packaging/install-debian-packages" $depends postgresql git lintian appstream desktop-file-utils shared-mime-info \
    xdg-utils man-db mount >"$WORK/apt.log" 2>&1 || { tail --lines=20 "$WORK/apt.log" && return 1; }
}

build_versions() {
  local now=1790000000
  build "$CLONE" "$now" "$WORK/new"
  build "$CLONE" "$now" "$WORK/again"
  cp --archive -- "$CLONE" "$WORK/older-tree"
  echo '"""A module that the newer version has no more."""' >"$WORK/older-tree/app/gone.py"
  echo '# older' >>"$WORK/older-tree/app/cli/main.py"
  build "$WORK/older-tree" $((now - 86400)) "$WORK/old"
  try "two builds are the same bytes" diff --recursive -- "$WORK/new" "$WORK/again"
}

is_valid() {
  local folder=$WORK/unpacked
  dpkg-deb --extract "$WORK"/new/pgfooting_*.deb "$folder"
  desktop-file-validate "$folder"/usr/share/applications/*.desktop
  appstreamcli validate --no-net "$folder"/usr/share/metainfo/*.xml
}

# lintian says nothing at all: what it would say is overridden with the reason.
lintian_is_silent() {
  lintian --allow-root --display-info --pedantic "$WORK"/new/*.deb >"$WORK/lintian" 2>&1 || true
  cat -- "$WORK/lintian"
  [[ ! -s $WORK/lintian ]]
}

# The command works for a user, from a folder of that user's, and a run file is opened by it.
program_works() {
  local status=0 command
  for command in --version list recipes manual "manual verdicts"; do
    # shellcheck disable=SC2086 # words
    as_user pgfooting $command >"$WORK/said" || { echo "pgfooting $command" && return 1; }
    [[ -s $WORK/said || $command == list ]] || { echo "pgfooting $command says nothing" && return 1; }
  done
  as_user env QT_QPA_PLATFORM=offscreen timeout 15 pgfooting open >"$WORK/window.log" 2>&1 || status=$?
  if ((status != 124 && status != 0)) || [[ -s $WORK/window.log ]]; then
    cat -- "$WORK/window.log"
    return 1
  fi
  [[ $(as_user xdg-mime query default application/x-pgfooting-run) == "$ID.desktop" ]]
}

# What is not there is told with a reason; there is no bus, and nobody's disks, in this root.
doctor_works() {
  as_user pgfooting doctor
}

# Whether manual pages, completions, menu entry and icon are found by those who look for them.
is_in_place() {
  local page name share=/usr/share
  for page in 1:pgfooting 5:pgfooting-campaign 5:pgfooting-run; do
    name=$(man --where "${page%%:*}" "${page#*:}") && man --warnings --local-file "$name" 2>&1 >"$WORK/page" | tee "$WORK/man" || return 1
    [[ -s $WORK/page && ! -s $WORK/man ]] || { echo "$name" && return 1; }
  done
  bash -c "complete -p pgfooting 2>/dev/null; . $share/bash-completion/completions/pgfooting && complete -p pgfooting" || return 1
  ls -l -- "$share/zsh/vendor-completions/_pgfooting" "$share/fish/vendor_completions.d/pgfooting.fish" \
    "$share/applications/$ID.desktop" "$share/icons/hicolor/48x48/apps/$ID.png" "$share/mime/application/x-pgfooting-run.xml"
}

# A campaign of SECONDS a run in a folder, by an ordinary user.
tiny_campaign() {
  printf '%s\n' 'name = "tiny"' 'repeats = 1' '[workload]' 'script = "tpcb-like"' 'size = "small"' 'clients = 2' \
    "duration = \"$1s\"" 'warmup = "1s"' '[[configuration]]' 'name = "folder"' 'target.folder.path = "/home/dba/bench"' >/home/dba/tiny.toml
  mkdir --parents /home/dba/bench
  chown --recursive dba: /home/dba/bench /home/dba/tiny.toml
  as_user pgfooting run /home/dba/tiny.toml
}

prove_life() {
  step "install, upgrade, downgrade, remove, purge"
  try "install the older version, by apt" by_apt install "$WORK"/old/*.deb
  try "it is whole" is_whole
  try "the program works" program_works
  try "the doctor works" doctor_works
  try "manual pages, completions, menu entry, icon and type are in place" is_in_place
  try "a run in a folder" tiny_campaign 3
  step "a run in progress while the package is upgraded"
  tiny_campaign 20 >"$WORK/campaign.log" 2>&1 &
  local campaign=$!
  until grep --quiet measuring "$WORK/campaign.log" || ! kill -0 "$campaign" 2>/dev/null; do sleep 0.2; done
  try "upgrade" dpkg --install "$WORK"/new/*.deb
  try "the run ends well" wait "$campaign"
  tail --lines=4 "$WORK/campaign.log"
  try "it is whole" is_whole
  try "what the newer version has no more is gone, with its byte code" test ! -e /usr/share/pgfooting/app/gone.py -a \
    -z "$(find /usr/share/pgfooting -name 'gone*')"
  try "the program works" program_works
  try "downgrade" dpkg --install "$WORK"/old/*.deb
  try "it is whole" is_whole
  try "remove" dpkg --remove "${PACKAGES[@]}"
  try "nothing is left but what dpkg notes for the purge" is_as_in "$WORK/before" '/var/lib/dpkg/info/pgfooting(-helper)?\.(list|postrm)'
  try "install the newer version, by apt" by_apt install "$WORK"/new/*.deb
  try "purge, by apt" by_apt purge "${PACKAGES[@]}"
  try "nothing is left after purge" is_as_in "$WORK/before"
  try "root's part can be installed alone" dpkg --install "$WORK"/new/pgfooting-helper_*.deb
  try "and taken away" dpkg --purge pgfooting-helper
  try "nothing is left of it" is_as_in "$WORK/before"
}

# COMMAND... fails, and says TEXT: TEXT COMMAND...
refuses() {
  local text=$1 status=0 said
  shift
  said=$("$@" 2>&1) || status=$?
  printf '%s\n' "$said"
  [[ $status -ne 0 && $said == *"$text"* ]]
}

prove_helper() {
  step "the package over packaging/helper, and the other way round"
  try "packaging/helper install" "$CLONE/packaging/helper" install
  snapshot >"$WORK/with-helper"
  try "the package refuses and says what to do" refuses "sudo packaging/helper uninstall" dpkg --install "$WORK"/new/pgfooting-helper_*.deb
  try "the installed copy is untouched" is_as_in "$WORK/with-helper"
  try "packaging/helper status" "$CLONE/packaging/helper" status
  try "packaging/helper uninstall" "$CLONE/packaging/helper" uninstall
  try "nothing is left" is_as_in "$WORK/before"
  try "now the package can be installed" dpkg --install "$WORK"/new/*.deb
  snapshot >"$WORK/with-package"
  try "packaging/helper install refuses" refuses "belongs to the package pgfooting-helper" "$CLONE/packaging/helper" install
  try "packaging/helper uninstall has nothing to do" "$CLONE/packaging/helper" uninstall
  try "the package is untouched" is_as_in "$WORK/with-package"
  try "purge" dpkg --purge "${PACKAGES[@]}"
  try "nothing is left" is_as_in "$WORK/before"
}

# Starts COMMAND... and kills it with all its processes as soon as CONDITION (a command line) is true: CONDITION COMMAND...
kill_when() {
  local condition=$1 child status=0
  shift
  setsid "$@" >"$WORK/killed.log" 2>&1 &
  child=$!
  until eval "$condition"; do
    kill -0 "$child" 2>/dev/null || { echo "it ended before: $(tail --lines=3 "$WORK/killed.log")" && return 1; }
  done
  kill -KILL -- "-$child" 2>/dev/null || true
  wait "$child" || status=$?
  printf 'killed (%d); dpkg --audit says:\n%s\n' "$status" "$(dpkg --audit)"
}

# What an administrator does next: the same once more.
recovers() {
  dpkg --configure --pending || true
  dpkg --install "$WORK"/new/*.deb && is_whole && program_works
}

prove_kills() {
  local tree=/usr/share/pgfooting
  step "dpkg is killed"
  try "killed while it unpacks the first time" kill_when "compgen -G '$tree/*' >/dev/null" dpkg --install "$WORK"/new/*.deb
  try "the same again goes on" recovers
  try "purge" dpkg --purge "${PACKAGES[@]}"
  try "killed while it unpacks root's part" kill_when "compgen -G '/usr/lib/pgfooting/helper/app/*/*' >/dev/null" dpkg --install "$WORK"/new/*.deb
  try "packaging/helper install refuses" refuses "belongs to the package pgfooting-helper" "$CLONE/packaging/helper" install
  try "the same again goes on" recovers
  try "downgrade" dpkg --install "$WORK"/old/*.deb
  try "killed while an upgrade unpacks" kill_when "compgen -G '$tree/app/*.dpkg-new' >/dev/null" dpkg --install "$WORK"/new/*.deb
  try "the same again goes on" recovers
  try "purge" dpkg --purge "${PACKAGES[@]}"
  try "killed while it configures" kill_when "[[ -n \$(find $tree -name '*.pyc' -print -quit 2>/dev/null) ]]" dpkg --install "$WORK"/new/*.deb
  try "the same again goes on" recovers
  try "killed while it removes" kill_when "[[ ! -e /usr/bin/pgfooting || ! -e $tree/ui/__main__.py ]]" dpkg --purge "${PACKAGES[@]}"
  try "purging again goes on" dpkg --purge "${PACKAGES[@]}"
  try "nothing is left" is_as_in "$WORK/before"
}

# As dpkg leaves it that is killed in the moment in which it unpacks the program.
leave_half_installed() {
  sed --in-place '/^Package: pgfooting$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/' /var/lib/dpkg/status
  rm --recursive --force -- /usr/share/pgfooting/ui
  [[ -n $(dpkg --audit) ]]
}

prove_halves() {
  step "half of a package"
  try "unpacked only" dpkg --unpack "$WORK"/new/*.deb
  try "configuring goes on" dpkg --configure --pending
  try "it is whole" is_whole
  try "half installed" leave_half_installed
  try "apt goes on" by_apt --reinstall install "$WORK"/new/*.deb
  try "it is whole" is_whole
  try "half installed" leave_half_installed
  try "it can be purged" dpkg --purge --force-remove-reinstreq "${PACKAGES[@]}"
  try "nothing is left" is_as_in "$WORK/before"
}

# dpkg with SIZE of room where TREE is.
in_little_room() {
  local tree=$1 size=$2 status=0
  mkdir --parents -- "$tree"
  mount -t tmpfs -o "size=$size" tmpfs "$tree"
  refuses "No space left on device" dpkg --install "$WORK"/new/*.deb || status=$?
  umount -- "$tree"
  return "$status"
}

prove_needs() {
  step "a full disk, no network, what a wrong release lacks"
  try "too little room for the program is told" in_little_room /usr/share/pgfooting 1M
  try "the same again goes on" recovers
  try "purge" dpkg --purge "${PACKAGES[@]}"
  try "too little room for root's part is told" in_little_room /usr/lib/pgfooting 200K
  try "the same again goes on" recovers
  try "purge, by apt, without network" unshare --net apt-get -qq -y -o Dpkg::Use-Pty=0 purge "${PACKAGES[@]}"
  try "nothing is left" is_as_in "$WORK/before"
  try "what is there already suffices without network" unshare --net \
    apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$WORK"/new/*.deb
  try "it is whole" is_whole
  try "purge" dpkg --purge "${PACKAGES[@]}"
  try "a release that lacks what the program needs is told, and nothing is configured" prove_wrong_release
  try "nothing is left" is_as_in "$WORK/before"
}

# The package as it were where PySide6 is too old.
prove_wrong_release() {
  local folder=$WORK/wrong
  dpkg-deb --raw-extract "$WORK"/new/pgfooting_*.deb "$folder"
  sed --in-place 's/python3-pyside6.qtcore (>= [^)]*)/python3-pyside6.qtcore (>= 99)/' "$folder/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$folder" "$folder.deb" >/dev/null
  # The solver of apt 3.1 tells whichever contradiction it met first; the older one, which it still has, what is lacking.
  refuses "E: " apt-get -qq -y install "$folder.deb" &&
    refuses "python3-pyside6.qtcore" apt-get -y -o APT::Solver=internal install "$folder.deb"
}

mkdir --parents -- "$WORK"
try "what they depend on is in this release" install_what_packages_depend_on
build_versions
try "lintian -I --pedantic is silent" lintian_is_silent
try "desktop entry and metainfo are valid" is_valid
snapshot >"$WORK/before"
prove_life
prove_helper
prove_halves
prove_needs
prove_kills
printf '#### %d things are not proved of the packages\n' "$BROKEN"
((BROKEN == 0))

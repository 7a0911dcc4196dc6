# shellcheck shell=bash
# The command pgfooting and its entry in the desktop's menu, of one account, from this checkout.
#
# Sourced by packaging/run after common.sh. What is put in place is listed with checksums in $STATE/installed; only what
# still is as it was put there is taken away again.

APPLICATION=org.pgfooting.Footing

# Sets BIN, DATA and STATE: where the account keeps commands, files of applications, and what pgFooting remembers.
find_own_folders() {
  local home
  home=$(home_folder)
  BIN=$home/.local/bin DATA=${XDG_DATA_HOME:-} STATE=${XDG_STATE_HOME:-}
  [[ $DATA == /* ]] || DATA=$home/.local/share
  [[ $STATE == /* ]] || STATE=$home/.local/state
  STATE=$STATE/pgfooting
}

command_text() {
  printf '%s\n' '#!/bin/bash' "# Made by pgFooting; packaging/run --uninstall-command takes it away." \
    "PGFOOTING_COMMAND=pgfooting exec $(quoted "$CHECKOUT/packaging/run") \"\$@\""
}

# The desktop does not know the folder of the account's commands, so its entry names the file.
desktop_text() {
  local quoted=${BIN//\\/\\\\\\\\}
  quoted=${quoted//\"/\\\\\"}
  quoted=${quoted//\$/\\\\\$}
  quoted=${quoted//\`/\\\\\`}
  quoted=${quoted//%/%%}
  while IFS= read -r line; do
    [[ $line != "Exec=pgfooting "* ]] || line="Exec=\"$quoted/pgfooting\" ${line#Exec=pgfooting }"
    printf '%s\n' "$line"
  done <"$CHECKOUT/packaging/$APPLICATION.desktop"
}

own_files() {
  printf '%s\n' "$BIN/pgfooting" "$DATA/applications/$APPLICATION.desktop" "$DATA/mime/packages/$APPLICATION.xml" \
    "$DATA/icons/hicolor/scalable/apps/$APPLICATION.svg"
}

# Prints what belongs into the file.
own_text() {
  case $1 in
    */bin/pgfooting) command_text ;;
    *.desktop) desktop_text ;;
    *.xml) cat -- "$CHECKOUT/packaging/$APPLICATION.mime.xml" ;;
    *.svg) cat -- "$CHECKOUT/resources/icons/$APPLICATION.svg" ;;
  esac
}

# Whether the file is as it was put there.
is_own_file() {
  [[ -f $STATE/installed && -f $1 && ! -L $1 ]] && sha256sum -- "$1" | grep --quiet --line-regexp --fixed-strings --file=- -- "$STATE/installed"
}

# The databases of menu and file types, where the desktop has them.
tell_desktop() {
  if command -v update-mime-database >/dev/null && [[ -d $DATA/mime ]]; then update-mime-database "$DATA/mime" >&2 || true; fi
  if command -v update-desktop-database >/dev/null && [[ -d $DATA/applications ]]; then
    update-desktop-database --quiet "$DATA/applications" >&2 || true
  fi
}

# Writes FILE with MODE from standard input. The name is random and new: no link that waits there is followed.
write_file() {
  local new=$1.$SRANDOM$SRANDOM.new
  if ! { (set -o noclobber && umask 077 && cat >"$new") && chmod "$2" -- "$new" && mv --force --no-target-directory -- "$new" "$1"; }; then
    rm --force -- "$new"
    return 1
  fi
}

remember() {
  echo "$1" | write_file "$STATE/command" 644
}

can_write() {
  mkdir --parents -- "$STATE" "$BIN" 2>/dev/null && [[ -w $BIN && -w $STATE ]]
}

install_command() {
  local file
  find_own_folders
  while IFS= read -r file; do
    [[ ! -e $file && ! -L $file ]] || is_own_file "$file" ||
      fail "$file is there and was not made by pgFooting. Nothing was changed." "Move it away, and start this again."
  done < <(own_files)
  can_write ||
    fail "Cannot write to $BIN or $STATE, so there is no command pgfooting. Nothing was changed." \
      "packaging/run does the same without it:  $(quoted "$CHECKOUT/packaging/run")"
  put_own_files || fail "The command pgfooting could not be put in place: the lines above say why." \
    "packaging/run --uninstall-command takes away what is there."
  remember installed
  tell_desktop
  say "pgfooting is in $BIN, in the desktop's menu, and opens *.footing. packaging/run --uninstall-command takes it away."
  [[ :$PATH: == *":$BIN:"* ]] ||
    say "$BIN is not on your PATH: log in anew (Debian adds it then), or add it:  export PATH=$(quoted "$BIN"):\"\$PATH\""
}

# Listed before it is there: an installation that is interrupted is taken away as a whole, too.
put_own_files() {
  local file sum mode
  while IFS= read -r file; do
    mkdir --parents -- "$(dirname -- "$file")" || return 1
    sum=$(own_text "$file" | sha256sum)
    {
      if [[ -f $STATE/installed ]]; then cat -- "$STATE/installed"; fi
      printf '%s  %s\n' "${sum%% *}" "$file"
    } | write_file "$STATE/installed" 644 || return 1
    mode=644
    [[ $file != "$BIN"/* ]] || mode=755
    own_text "$file" | write_file "$file" "$mode" || return 1
  done < <(own_files)
}

uninstall_command() {
  local sum file kept=0
  find_own_folders
  if [[ -f $STATE/installed ]]; then
    while read -r sum file; do
      : "$sum"
      if is_own_file "$file"; then
        rm --force -- "$file"
      elif [[ -e $file ]]; then
        kept=$((kept + 1))
        say "Kept, because it was changed: $file"
      fi
    done < <(sort --unique --key=2 -- "$STATE/installed")
    rm --force -- "$STATE/installed"
    tell_desktop
    ((kept > 0)) || say "The command pgfooting and its menu entry are gone. packaging/run --install-command puts them back."
  else
    say "There is no command pgfooting that packaging/run made."
  fi
  if mkdir --parents -- "$STATE" 2>/dev/null; then remember declined; fi
}

# Asks once, on a terminal, and remembers the answer.
offer_command() {
  local answer
  [[ -t 0 && -t 2 ]] || return 0
  find_own_folders
  [[ ! -e $STATE/command ]] && ! command -v pgfooting >/dev/null || return 0
  can_write || return 0
  printf '%s: Put the command pgfooting into %s, and pgFooting into the menu of the desktop? [y/N] ' "$PROGRAM" "$BIN" >&2
  IFS= read -r answer || answer=""
  if [[ ${answer,,} == y || ${answer,,} == yes ]]; then
    # In a shell of its own: what cannot be put in place is told, and pgFooting starts all the same.
    (install_command) || remember declined
  else
    remember declined
    say "Not asked again; packaging/run --install-command does it."
  fi
}

#!/bin/bash
# Records what one version of pgbench prints and logs, against a server of the same version.
#
#   record.sh BIN_DIRECTORY OUTPUT_DIRECTORY
#
# Run as an ordinary user (not root) with a C locale. Makes a throw-away cluster with a private socket in a
# temporary folder and removes it. README.md says which build each folder here was recorded with.
# Every scenario NAME leaves NAME.out (stdout), NAME.err (stderr) and, with -l, NAME.log and NAME.log.N
# (N: thread number); its exit status and arguments are a line of scenarios.tsv.
set -u
export LC_ALL=C TZ=UTC
bin=$1
out=$2
major=$("$bin/pgbench" --version | sed -E 's/.*\) ([0-9]+).*/\1/')
work=$(mktemp -d /tmp/record.XXXXXX)
mkdir -p "$out" "$work/scripts" "$work/log"
rm -f "$out"/*.out "$out"/*.err "$out"/*.log* "$out"/scenarios.tsv

"$bin/initdb" -D "$work/data" -U pgfooting -A trust --no-sync >/dev/null || exit 1
"$bin/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c fsync=off >"$work/server.log" 2>&1 &
server=$!
trap 'kill -INT $server; wait $server; rm -rf "$work"' EXIT
until "$bin/psql" -h "$work" -U pgfooting -d postgres -c 'SELECT 1' >/dev/null 2>&1; do
    kill -0 $server || { cat "$work/server.log"; exit 1; }
    sleep 0.1
done

scenario() { # NAME ARGUMENTS...: runs pgbench and keeps everything it left
    local name=$1
    shift
    rm -f "$work"/log/*
    (cd "$work/scripts" && timeout 30 "$bin/pgbench" -h "$work" -p 5432 -U pgfooting "$@" postgres \
        >"$out/$name.out" 2>"$out/$name.err")
    printf '%s\t%s\t%s\n' "$name" "$?" "${*//$work/DIRECTORY}" >>"$out/scenarios.tsv"
    sed -i "s#$work#DIRECTORY#g; s#$bin/#BIN/#g" "$out/$name.out" "$out/$name.err"
    local file tail
    for file in "$work"/log/*; do
        [ -e "$file" ] || continue
        tail=${file##*/log/pgbench.}
        case $tail in
            *.*) cp "$file" "$out/$name.log.${tail##*.}" ;;
            *) cp "$file" "$out/$name.log" ;;
        esac
    done
}

cat >"$work/scripts/script1" <<'SQL'
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SQL
cat >"$work/scripts/slow" <<'SQL'
\sleep 20 ms
SELECT 1;
SQL
cat >"$work/scripts/conflict" <<'SQL'
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM pgbench_branches;
\sleep 3 ms
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
END;
SQL
cat >"$work/scripts/deadlock" <<'SQL'
\set first 1 + :client_id % 2
\set second 2 - :client_id % 2
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = :first;
\sleep 30 ms
UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = :second;
END;
SQL
cat >"$work/scripts/one_client_fails" <<'SQL'
\sleep 50 ms
\if :client_id = 0
SELECT 1 / 0;
\endif
SELECT 1;
SQL
echo 'SELECT 1 / 0;' >"$work/scripts/all_clients_fail"
echo 'SELECT pg_terminate_backend(pg_backend_pid());' >"$work/scripts/backend_killed"
echo '\sett aid 1' >"$work/scripts/syntax_error"
echo 'SELECT pg_sleep(2.5);' >"$work/scripts/stall"

log=(-l "--log-prefix=$work/log/pgbench")
run=(-n -c 2 -j 2 --random-seed=42 -M prepared)

scenario init -i -s 2 -I dtgvp
scenario init_quiet -i -q -s 2 -I dtgvp
scenario init_server_side -i -s 2 -I dtGvp
scenario plain "${run[@]}" -P 1 -T 3 -S
scenario timestamp "${run[@]}" -P 1 --progress-timestamp -T 3 -b simple-update
scenario tpcb "${run[@]}" -T 2
scenario transactions "${run[@]}" -t 30 -S "${log[@]}"
scenario reconnect "${run[@]}" -C -t 20 -S -P 1
scenario rate "${run[@]}" -P 1 --progress-timestamp -T 3 -R 20 -S "${log[@]}"
scenario rate_limit "${run[@]}" -P 1 -T 3 -R 120 -L 25 -f slow "${log[@]}"
scenario limit "${run[@]}" -P 1 -T 2 -L 5 -f slow
scenario scripts "${run[@]}" -t 40 -b tpcb-like@1 -b select-only@2 -f script1@3 "${log[@]}"
scenario scripts_timed "${run[@]}" -T 2 -P 1 -S -f script1@3
scenario statements "${run[@]}" -r -T 2 -P 1 -b tpcb-like -f script1
scenario sampled "${run[@]}" -t 400 -S --sampling-rate=0.1 "${log[@]}"
scenario aggregate "${run[@]}" -T 3 -S --aggregate-interval=1 "${log[@]}"
scenario aggregate_rate "${run[@]}" -T 3 -S --aggregate-interval=1 -R 50 "${log[@]}"
scenario aggregate_rate_limit "${run[@]}" -T 3 -f slow --aggregate-interval=1 -R 120 -L 25 "${log[@]}"
scenario stall "${run[@]}" -P 1 --progress-timestamp -T 3 -f stall
scenario one_client_aborted "${run[@]}" -P 1 -T 2 -f one_client_fails "${log[@]}"
scenario all_clients_aborted "${run[@]}" -P 1 -T 2 -f all_clients_fail "${log[@]}"
scenario backend_killed "${run[@]}" -P 1 -T 2 -f backend_killed
scenario syntax_error "${run[@]}" -T 2 -f syntax_error
scenario unknown_option "${run[@]}" -T 2 --no-such-option
scenario no_database "${run[@]}" -T 2 -S --host="$work/nowhere"
if [ "$major" -ge 15 ]; then
    run=(-n -c 4 -j 2 --random-seed=42 -M simple)
    scenario failures "${run[@]}" -P 1 -t 15 -f conflict "${log[@]}"
    scenario failures_detailed "${run[@]}" -P 1 -T 2 -f deadlock -f conflict@4 --failures-detailed "${log[@]}"
    scenario retries "${run[@]}" -P 1 --progress-timestamp -T 3 -f conflict --max-tries=2 "${log[@]}"
    scenario retries_statements "${run[@]}" -r -T 2 -f conflict --max-tries=2
    scenario failures_statements "${run[@]}" -r -T 2 -f conflict --failures-detailed
    scenario everything "${run[@]}" -P 1 -T 3 -R 300 -L 20 -f conflict --max-tries=3 --failures-detailed "${log[@]}"
    scenario aggregate_everything "${run[@]}" -T 3 -R 300 -L 20 -f conflict --max-tries=3 \
        --failures-detailed --aggregate-interval=1 "${log[@]}"
fi
if [ "$major" -ge 17 ]; then
    scenario exit_on_abort "${run[@]}" -P 1 -T 2 -f one_client_fails --exit-on-abort
fi
# Long runs repeat themselves: a few lines of each log are kept.
for file in "$out"/*.log "$out"/*.log.[0-9]*; do
    [ "$(wc -l <"$file")" -le 60 ] || { head -n 60 "$file" >"$file.cut" && mv "$file.cut" "$file"; }
done

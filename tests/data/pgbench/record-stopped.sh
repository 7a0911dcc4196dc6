#!/bin/bash
# Records what pgbench prints and logs while all processes of the server stand still for three of eight seconds.
#
#   record-stopped.sh BIN_DIRECTORY OUTPUT_DIRECTORY
#
# Run as an ordinary user. `closed`: as fast as two clients can; `rate`: 100 a second; `rate_limit`: with a
# latency limit of 100 ms too. Each leaves NAME.out, NAME.err and NAME.log, whole.
set -u
export LC_ALL=C TZ=UTC
bin=$1
out=$2
work=$(mktemp -d /tmp/record.XXXXXX)
mkdir -p "$out"
"$bin/initdb" -D "$work/data" -U pgfooting -A trust --no-sync >/dev/null || exit 1
"$bin/postgres" -D "$work/data" -k "$work" -c listen_addresses= -c fsync=off >"$work/server.log" 2>&1 &
server=$!
trap 'kill -CONT $server; kill -INT $server; wait $server; rm -rf "$work"' EXIT
until "$bin/psql" -h "$work" -U pgfooting -d postgres -c 'SELECT 1' >/dev/null 2>&1; do sleep 0.1; done
printf '\\sleep 20 ms\nSELECT 1;\n' >"$work/slow"
echo 'SELECT 1;' >"$work/quick"
scenario() { # NAME ARGUMENTS...
    local name=$1 backends
    shift
    (cd "$work" && exec "$bin/pgbench" -h "$work" -U pgfooting -n -c 2 -j 1 --random-seed=42 -P 1 \
        --progress-timestamp -T 8 -l --log-prefix="$work/log" "$@" postgres >"$out/$name.out" 2>"$out/$name.err") &
    local bench=$!
    sleep 2.5
    backends=$(pgrep -P $server)
    kill -STOP $backends
    sleep 3
    kill -CONT $backends
    wait $bench
    mv "$work"/log.* "$out/$name.log"
}
scenario closed -f slow
scenario rate -f quick -R 100
scenario rate_limit -f quick -R 100 -L 100

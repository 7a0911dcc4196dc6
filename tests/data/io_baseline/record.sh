#!/bin/sh
# How the output in this folder was recorded: fio 3.33 and pg_test_fsync of PostgreSQL 15 and 18, on ext4 on virtio.
# Usage: record.sh FOLDER-ON-A-DISK PG_TEST_FSYNC
set -eu
there=$1
job() {
  name=$1
  shift
  fio --output-format=json --eta=never --thread --fallocate=none --refill_buffers --name="$name" \
    --filename="$there/$name" "$@" >"$name.json"
}
job sequential-write --rw=write --bs=1M --size=512M --direct=1 --ioengine=libaio --iodepth=8 --end_fsync=1 --runtime=5
job random-read --rw=randread --bs=8k --size=512M --direct=1 --ioengine=psync --runtime=2 --time_based
job random-read-deep --rw=randread --bs=8k --size=512M --direct=1 --ioengine=libaio --iodepth=32 --runtime=2 --time_based
job sync-append --rw=write --bs=8k --size=512M --direct=0 --ioengine=psync --fdatasync=1 --runtime=2
# no-space.txt: --rw=write of 64M in a tmpfs of 16M; no-direct.txt: --direct=1 in a ramfs, which has none.
# pg_test_fsync-18-ended.txt was ended in its second section.
"$2" --secs-per-test=1 --filename="$there/synced" >pg_test_fsync.txt

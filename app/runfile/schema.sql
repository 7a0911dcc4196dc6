-- A pgFooting run file: one measured execution of one configuration. Format 1.
--
-- Read it with any sqlite3, also while it grows:
--   sqlite3 -readonly RUN.footing "SELECT t_ms / 1000.0, value FROM samples WHERE metric = 'pgbench.tps'"
--
-- Every t_ms is milliseconds of the monotonic clock since the run began. `run.started_epoch_s` is the
-- wall clock at t_ms = 0. Only what lies inside the phase `measure` counts as measured.

-- 0x5047464F = 'PGFO'
PRAGMA application_id = 1346848335;
PRAGMA user_version = 1;

-- What the run is: key and JSON value. Keys: id, name, campaign, campaign_folder, number, repeat, repeats,
-- place (1-based, of the configuration in the campaign),
-- attempt (more than 1: measured again because others disturbed it), order and order_seed (how the runs of the
-- campaign follow each other), design (fixed or sequential: after each round what cannot win any more is left
-- out) and rivals (names of the configurations that compete in a sequential campaign), seed,
-- remarks (of the campaign: sentences that belong to the result), question (that the campaign answers) and figures
-- (names in the table summary of those that answer it),
-- state (running, done, stopped, failed, incomplete), error, started_epoch_s, ended_epoch_s,
-- program_version, account, configuration, campaign_file, target (with the plan of what was made of which
-- disks), workload, installation, postgresql, settings, scale, data_bytes,
-- io_baseline (what fio and pg_test_fsync measured on this storage before the first run on it; null: not asked),
-- data_set (whether the data was loaded there or copied, and how long that took),
-- stored (what the loaded tables take where the filesystem compresses), sampled (pieces of them through zstd -3),
-- cached (of tables and indexes, after the caches were emptied; only where they were),
-- transaction_log_one_in (1 = every transaction, n = one in n), tps_one_in (the same where TPS by the second
-- are counted in that log), imported (what a run of others was read from), running_command (pgbench or a
-- program of root while it runs: phase and argv), storage_step (how far root was last), pgbench (figures as it
-- printed them), figure_definitions (number of what some figures of the table summary mean; files of before have
-- none); phases (of a workload with several: format 2, schema_phases.sql); and what people wrote later: tags, note,
-- measured_name and measured_campaign (what name and campaign were before they were renamed). Described by
-- app/runfile/metadata/run_metadata.py.
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- baseline (of the first run on a storage, where it is measured), prepare, initdb, load, settle, warm-up, measure,
-- collect, teardown; ended_ms is NULL while it lasts.
CREATE TABLE phase (
    name TEXT PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER
);

-- Checkpoints, warnings, suspends, missed ticks ...; data is JSON.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    t_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    data TEXT NOT NULL DEFAULT '{}'
);

-- Every program that was executed; argv is a JSON array; output is cut in the middle where it is long.
CREATE TABLE command (
    id INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    account TEXT NOT NULL,
    argv TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    stdout TEXT NOT NULL,
    stderr TEXT NOT NULL
);

-- One line of a chart: a metric and what it belongs to (a device ...; '' for the machine or server).
CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    metric TEXT NOT NULL,
    instance TEXT NOT NULL,
    unit TEXT NOT NULL,
    label TEXT NOT NULL,
    source TEXT NOT NULL,
    UNIQUE (metric, instance)
);

-- Samples of a finished run, clustered by series. t_ms is the end of the interval the value describes.
CREATE TABLE sample (
    series INTEGER NOT NULL,
    t_ms INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (series, t_ms)
) WITHOUT ROWID;

-- One row a second: when the sampler ran. `live` holds the samples of that second while the run lasts,
-- a JSON array of [series, t_ms, value]; it is NULL once they are in `sample`. A negative number: no
-- tick of the sampler, only what pgbench said last.
CREATE TABLE tick (
    number INTEGER PRIMARY KEY,
    t_ms INTEGER NOT NULL,
    lateness_us INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    live TEXT
);

-- Every sample, whether the run still lasts or not.
CREATE VIEW samples AS
SELECT series.metric, series.instance, sample.t_ms, sample.value
FROM sample JOIN series ON series.id = sample.series
UNION ALL
SELECT series.metric, series.instance,
       json_extract(entry.value, '$[1]'), json_extract(entry.value, '$[2]')
FROM tick, json_each(tick.live) AS entry
JOIN series ON series.id = json_extract(entry.value, '$[0]')
WHERE tick.live IS NOT NULL;

-- Latencies of the transactions that ended in the second that begins at t_ms, from pgbench's transaction
-- log; buckets as in app/postgres/pgbench/histogram.py. partial = 1: lines of this second may be missing (pgbench
-- had not written its buffer yet, or never did because it was killed). The percentiles of each second stand
-- as series latency.p50, latency.p95, latency.p99 in a finished file, for those who do not want to decode.
CREATE TABLE histogram (
    t_ms INTEGER PRIMARY KEY,
    transactions INTEGER NOT NULL,
    latency_sum_us INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    buckets BLOB NOT NULL
);

-- Facts of the environment, moment 'before' or 'after'; value is JSON. Moment 'whole' holds what the kernel's
-- counters say of the whole measured phase: its seconds, the CPUs, and means by metric and instance.
CREATE TABLE fact (
    moment TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (moment, name)
) WITHOUT ROWID;

-- What programs printed, verbatim: measure.stdout, measure.stderr, warm-up.stdout, server.log ...; of imported runs
-- pgbench.stdout, pgbench.stderr
CREATE TABLE output (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;

-- Sources of samples that do not exist here or failed, and why.
CREATE TABLE unavailable (
    id INTEGER PRIMARY KEY,
    t_ms INTEGER NOT NULL,
    source TEXT NOT NULL,
    reason TEXT NOT NULL
);

-- Labels that belong to the number wherever it is shown: unsafe, client-bound, suspended ...
CREATE TABLE mark (
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (kind, reason)
) WITHOUT ROWID;

-- The figures of the run; definitions in app/runfile/summary.py. NULL where there is nothing to say.
CREATE TABLE summary (
    name TEXT PRIMARY KEY,
    value REAL
) WITHOUT ROWID;

-- What format 2 adds to format 1 (schema.sql, which is read before): runs whose workload has several phases.
--
-- Key `phases` of table run has them in the workload's order: number, name, what pgbench did, whether it counts, what
-- was done before it (`maintenance`) and beside it (`background`), the figures that pgbench printed. `workload` and
-- `pgbench` of table run, and table summary, are those of the phase `measure` alone. In table phase the others are
-- `phase:1`, `phase:2` ... by their number in `phases`; `maintenance:2` is before number 2.

PRAGMA user_version = 2;

-- The figures of table summary, for the other phases of the workload, by their number in `phases` of table run.
CREATE TABLE phase_figure (
    phase INTEGER NOT NULL,
    name TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (phase, name)
) WITHOUT ROWID;

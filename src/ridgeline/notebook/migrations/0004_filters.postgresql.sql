-- What the log filters by and shows besides; what was kept before is filled in from the documents (backfill.py).
ALTER TABLE ridgeline_runs ADD COLUMN machine_name TEXT NOT NULL DEFAULT '';
ALTER TABLE ridgeline_runs ADD COLUMN threads INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ridgeline_runs ADD COLUMN p99_s DOUBLE PRECISION;
ALTER TABLE ridgeline_runs ADD COLUMN batched_s DOUBLE PRECISION;
ALTER TABLE ridgeline_runs ADD COLUMN processes INTEGER;
ALTER TABLE ridgeline_runs ADD COLUMN samples INTEGER;
-- A row of a B-tree holds 2704 bytes at the most, and a target may be a long command line.
DROP INDEX ridgeline_runs_target;
-- Two versions held against each other.
CREATE TABLE ridgeline_comparisons (
    id TEXT NOT NULL PRIMARY KEY,
    at TEXT NOT NULL,
    a_run TEXT,
    b_run TEXT,
    target TEXT NOT NULL,
    verdict TEXT NOT NULL,
    ratio DOUBLE PRECISION,
    document TEXT NOT NULL
);

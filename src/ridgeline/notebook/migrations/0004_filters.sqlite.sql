-- What the log filters by and shows besides; what was kept before is filled in from the documents (backfill.py).
ALTER TABLE ridgeline_runs ADD COLUMN machine_name TEXT NOT NULL DEFAULT '';
ALTER TABLE ridgeline_runs ADD COLUMN threads INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ridgeline_runs ADD COLUMN p99_s DOUBLE PRECISION;
ALTER TABLE ridgeline_runs ADD COLUMN batched_s DOUBLE PRECISION;
ALTER TABLE ridgeline_runs ADD COLUMN processes INTEGER;
ALTER TABLE ridgeline_runs ADD COLUMN samples INTEGER;
-- All that the log reads, in its order: these columns stand behind the document in a row, and reading past a document is slow.
CREATE INDEX ridgeline_runs_log ON ridgeline_runs (
    id, verb, at, target, target_digest, machine, bound, cause, median_s, commit_id, machine_name, threads, p99_s, batched_s, processes, samples
);
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
CREATE INDEX ridgeline_comparisons_log ON ridgeline_comparisons (id, at, a_run, b_run, target, verdict, ratio);

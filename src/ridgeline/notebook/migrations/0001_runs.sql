-- One row a run; the columns beside the document are what the log filters and shows.
CREATE TABLE ridgeline_runs (
    id TEXT NOT NULL PRIMARY KEY,
    verb TEXT NOT NULL,
    at TEXT NOT NULL,
    target TEXT NOT NULL,
    target_digest TEXT NOT NULL,
    machine TEXT NOT NULL,
    bound TEXT,
    cause TEXT,
    median_s DOUBLE PRECISION,
    commit_id TEXT,
    document TEXT NOT NULL
);
CREATE INDEX ridgeline_runs_target ON ridgeline_runs (target, id);
CREATE INDEX ridgeline_runs_digest ON ridgeline_runs (target_digest, machine, id);

-- Promises and what came of them.
CREATE TABLE ridgeline_experiments (
    id TEXT NOT NULL PRIMARY KEY,
    diagnosis TEXT NOT NULL,
    action TEXT NOT NULL,
    verdict TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX ridgeline_experiments_diagnosis ON ridgeline_experiments (diagnosis, id);

-- Long columns by the digest of their content, compressed.
CREATE TABLE ridgeline_blobs (digest TEXT NOT NULL PRIMARY KEY, data BYTEA NOT NULL);

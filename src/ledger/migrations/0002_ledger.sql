-- One row per up to 256 entries: lines that end with a line feed, `first` a multiple of 256. A row that is not full grows;
-- what is in it never changes. In SQL:  SELECT value FROM bundles, json_each('[' || replace(rtrim(body, char(10)), char(10), ',') || ']')
-- `digest` is the SHA-256 of `body` in hex.
CREATE TABLE bundles (
  shard TEXT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  body TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (shard, first)
) WITHOUT ROWID;

-- The leaf hashes of every full bundle, one behind the other in hex, and the root over them: proofs go on working when
-- the bundle has been pruned.
CREATE TABLE hashes (
  shard TEXT NOT NULL,
  first INTEGER NOT NULL,
  leaves TEXT NOT NULL,
  root TEXT NOT NULL,
  PRIMARY KEY (shard, first)
) WITHOUT ROWID;

-- Signed notes. `root` in hex, `at` in milliseconds.
CREATE TABLE checkpoints (
  shard TEXT NOT NULL,
  size INTEGER NOT NULL,
  root TEXT NOT NULL,
  note TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (shard, size)
) WITHOUT ROWID;

-- One row per effect; `reported` is 1 where an origin told of it and 0 for the gateway's own dispatches. `version` is the sequence, in the effect's stream, of the last entry that is in the row; `flagged` counts
-- entries that contradict it. Times in milliseconds; null: not known.
CREATE TABLE effects (
  effect_id TEXT NOT NULL,
  stream TEXT NOT NULL,
  reported INTEGER NOT NULL DEFAULT 0,
  shard TEXT NOT NULL,
  attempt INTEGER,
  capability TEXT NOT NULL,
  state TEXT NOT NULL,
  target TEXT,
  cost TEXT,
  digest TEXT,
  code TEXT,
  intent_at INTEGER,
  changed_at INTEGER NOT NULL,
  flagged INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL,
  PRIMARY KEY (effect_id, stream, reported)
) WITHOUT ROWID;

CREATE INDEX effects_open ON effects (changed_at, effect_id, stream, reported) WHERE state IN ('intent', 'unknown');

-- What was deleted under which entry: bundles with entries before `until`. `entry` is the index of the prune entry.
CREATE TABLE prunes (
  shard TEXT NOT NULL,
  until INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  bundles INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (shard, until)
) WITHOUT ROWID;

INSERT INTO schema_version (version) VALUES (2);

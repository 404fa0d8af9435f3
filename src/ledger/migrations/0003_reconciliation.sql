-- The name of the key object that an effect belongs to; null in rows older than this column. Entries don't hold it.
ALTER TABLE effects ADD COLUMN operation TEXT;

-- What a scan for the gateway's own open dispatches reads. Effects that origins leave open for ever are not in its way.
CREATE INDEX effects_unclosed ON effects (changed_at, effect_id, stream) WHERE state IN ('intent', 'unknown') AND reported = 0;

-- Who may work under a name until when. `token` is the SHA-256 of the holder's token in hex, empty where nobody holds it. The place where a
-- scan goes on, (cursor_at, cursor_id), outlives its holders; null: from the start. Times in milliseconds.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  token TEXT NOT NULL,
  until INTEGER NOT NULL,
  cursor_at INTEGER,
  cursor_id TEXT
) WITHOUT ROWID;

-- What is known of open effects that were asked about. `id` is the effect's id, a space and its stream. `code` says what was learned last;
-- `failures` counts how often in a row nothing was; nobody asks again before `due_at`.
CREATE TABLE findings (
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  operation TEXT,
  failures INTEGER NOT NULL,
  code TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (name, id)
) WITHOUT ROWID;

CREATE INDEX findings_quarantined ON findings (name, due_at, id) WHERE failures >= 3;

-- The last runs, of which `id` counts. `ended` says why a run ended; null: it runs, or it died.
CREATE TABLE runs (
  name TEXT NOT NULL,
  id INTEGER NOT NULL,
  owner TEXT NOT NULL,
  started_by TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  ended TEXT,
  pages INTEGER NOT NULL DEFAULT 0,
  scanned INTEGER NOT NULL DEFAULT 0,
  handled INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (name, id)
) WITHOUT ROWID;

INSERT INTO schema_version (version) VALUES (3);

-- Times are microseconds since 1970 in UTC, but for "until" and "clock", which
-- count on the store's own steady clock. JSON is as package event writes it.

-- The one row about the file as a whole.
CREATE TABLE store (
	key        INTEGER PRIMARY KEY CHECK (key = 1),
	-- Who opened the file last, and how often the owner has changed. A
	-- lease of an earlier generation is void.
	owner      TEXT    NOT NULL,
	generation INTEGER NOT NULL,
	-- Where the steady clock stood, and what the wall clock said then.
	clock      INTEGER NOT NULL,
	wall       INTEGER NOT NULL
) STRICT;

-- A conversation, the fence before its log, and the lease on it.
CREATE TABLE conversation (
	key        INTEGER PRIMARY KEY,
	id         TEXT    NOT NULL UNIQUE,
	tenant     TEXT    NOT NULL,
	-- How many runs were admitted, and how many of them have ended. Runs end
	-- in the order of their turns, so the run of turn "ended" + 1 is the head.
	turns      INTEGER NOT NULL DEFAULT 0,
	ended      INTEGER NOT NULL DEFAULT 0,
	last       INTEGER NOT NULL DEFAULT 0,
	epoch      INTEGER NOT NULL DEFAULT 0,
	-- The run that the last lease was given for, and when that runs out: NULL
	-- once it was given back.
	holder     INTEGER REFERENCES run (key),
	until      INTEGER,
	-- The generation that made the conversation, or gave its last lease.
	generation INTEGER NOT NULL DEFAULT 0,
	-- The steps of the head that are open: a JSON array, NULL for none.
	steps      TEXT
) STRICT;

CREATE TABLE run (
	key          INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	conversation INTEGER NOT NULL REFERENCES conversation (key),
	turn         INTEGER NOT NULL,
	tenant       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	agent        TEXT    NOT NULL,
	-- Messages as a JSON text sequence (RFC 7464).
	input        BLOB,
	-- The caller's key, "" for none.
	idem         TEXT    NOT NULL,
	executor     TEXT    NOT NULL,
	metadata     TEXT,
	new_session  INTEGER NOT NULL,
	status       TEXT    NOT NULL,
	wake         INTEGER,
	cancelled    INTEGER NOT NULL DEFAULT 0,
	admitted     INTEGER NOT NULL,
	-- When the run may be due as far as its own row says: 0 is now, NULL is
	-- not by time.
	due          INTEGER,
	-- The Seq of its first event, and its session: NULL before that.
	first        INTEGER,
	session      INTEGER,
	UNIQUE (conversation, turn)
) STRICT;

CREATE UNIQUE INDEX run_idem ON run (conversation, idem) WHERE idem <> '';
CREATE INDEX run_due ON run (due) WHERE due IS NOT NULL;

-- A commit's events stand in one row, so that a commit costs one. Rows are
-- numbered in the order of writing: a key of (conversation, last) would split
-- pages all over the file.
CREATE TABLE log (
	key          INTEGER PRIMARY KEY,
	conversation INTEGER NOT NULL REFERENCES conversation (key),
	first        INTEGER NOT NULL,
	last         INTEGER NOT NULL,
	epoch        INTEGER NOT NULL,
	-- Events as a JSON text sequence (RFC 7464).
	events       BLOB    NOT NULL,
	UNIQUE (conversation, last)
) STRICT;

-- Which stretches of a log are replaced by a summary in what a model sees.
CREATE TABLE compaction (
	conversation INTEGER NOT NULL REFERENCES conversation (key),
	seq          INTEGER NOT NULL,
	first        INTEGER NOT NULL,
	last         INTEGER NOT NULL,
	PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE mail (
	key     INTEGER PRIMARY KEY,
	run     INTEGER NOT NULL REFERENCES run (key),
	id      TEXT    NOT NULL,
	kind    TEXT    NOT NULL,
	token   TEXT    NOT NULL,
	value   BLOB,
	sender  TEXT    NOT NULL,
	message TEXT,
	posted  INTEGER NOT NULL,
	-- A letter that was consumed stays, without its content, so that
	-- it does not come twice.
	read    INTEGER NOT NULL DEFAULT 0,
	UNIQUE (run, id)
) STRICT;

-- State as the log leaves it. The owner is "app", "user/" and a user, or
-- "conversation/" and a conversation.
CREATE TABLE state (
	tenant TEXT NOT NULL,
	owner  TEXT NOT NULL,
	name   TEXT NOT NULL,
	value  BLOB NOT NULL,
	PRIMARY KEY (tenant, owner, name)
) STRICT, WITHOUT ROWID;

-- "user" is a word that PostgreSQL keeps for itself.
ALTER TABLE conversation RENAME COLUMN user TO person;
-- The turn from which on a new session is wanted; 0 is none, and -1 the next one, whichever it is.
ALTER TABLE conversation RENAME COLUMN fresh TO since;
UPDATE conversation SET since = -since;
-- The agent and its version that answer; '' and 0 where nothing was pinned.
ALTER TABLE conversation ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN agent_version INTEGER NOT NULL DEFAULT 0;

-- Conversations that were kept no longer: that they were there is all that is known of them.
CREATE TABLE expired (
	tenant TEXT    NOT NULL,
	id     TEXT    NOT NULL,
	at     INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What is open in a row (doc) is JSON. Columns are what is looked for, ordered by,
-- or held against.
CREATE TABLE tenant (
	id       TEXT    NOT NULL PRIMARY KEY,
	status   TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	doc      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agent (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	-- The newest version.
	version  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Versions are added and never changed.
CREATE TABLE agent_version (
	tenant   TEXT    NOT NULL,
	agent    TEXT    NOT NULL,
	version  INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	doc      TEXT    NOT NULL,
	PRIMARY KEY (tenant, agent, version)
) STRICT, WITHOUT ROWID;

-- The tenant '' is all of them.
CREATE TABLE model (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	doc      TEXT    NOT NULL,
	-- The key for the provider, encrypted; NULL for none.
	secret   BLOB,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What a model may be called: its id and its aliases.
CREATE TABLE model_name (
	tenant   TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL UNIQUE,
	-- SHA-256 of the whole key.
	hash     BLOB    NOT NULL UNIQUE,
	person   TEXT    NOT NULL,
	expires  INTEGER NOT NULL,
	revoked  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	doc      TEXT    NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- What was made under a key of the caller's choice.
CREATE TABLE idempotency (
	tenant   TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	digest   BLOB    NOT NULL,
	object   TEXT    NOT NULL,
	created  INTEGER NOT NULL,
	PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_created ON idempotency (tenant, created);

-- The end of each tenant's chain of entries.
CREATE TABLE audit_head (
	tenant   TEXT    NOT NULL PRIMARY KEY,
	seq      INTEGER NOT NULL,
	hash     BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
	tenant   TEXT    NOT NULL,
	seq      INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	action   TEXT    NOT NULL,
	object   TEXT    NOT NULL,
	-- Who did it.
	by_tenant TEXT   NOT NULL,
	key      TEXT    NOT NULL,
	person   TEXT    NOT NULL,
	operator INTEGER NOT NULL,
	detail   TEXT    NOT NULL,
	hash     BLOB    NOT NULL,
	PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID

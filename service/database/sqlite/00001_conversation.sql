-- Times are microseconds since 1970.
CREATE TABLE conversation (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	user     TEXT    NOT NULL,
	title    TEXT    NOT NULL,
	archived INTEGER NOT NULL,
	fresh    INTEGER NOT NULL,
	metadata TEXT,
	origin   TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	history  TEXT,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_created ON conversation (tenant, archived, created DESC, id DESC)

-- Conversations that were removed for good, by their lives: what is on its way to one of them comes
-- too late. A row stays a day.
CREATE TABLE buried (
	tenant       TEXT    NOT NULL,
	conversation TEXT    NOT NULL,
	life         TEXT    NOT NULL,
	at           INTEGER NOT NULL,
	PRIMARY KEY (tenant, conversation, life)
) STRICT, WITHOUT ROWID;
CREATE INDEX buried_at ON buried (tenant, at);

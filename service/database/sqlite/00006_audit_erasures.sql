-- An audit that is erased leaves a record of it.
CREATE TABLE audit_erasure (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant  TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	entries INTEGER NOT NULL,
	-- The hash of the last entry.
	head    BLOB    NOT NULL
) STRICT;
CREATE INDEX audit_erasure_tenant ON audit_erasure (tenant, id)

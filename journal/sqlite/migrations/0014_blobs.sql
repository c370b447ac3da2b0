-- Stored bytes, as package blob describes them.
--
-- A blob without references cannot be reached: it is being stored, or it is garbage. refs counts the references, and the
-- triggers do that. A blob whose last reference goes loses its digest at once, so that the same bytes may be stored anew while
-- its pieces are removed, some with each transaction.
CREATE TABLE blob (
	-- A key is never given again: a reader that is slow may still have it.
	key    INTEGER PRIMARY KEY AUTOINCREMENT,
	tenant TEXT    NOT NULL,
	-- The SHA-256 of the bytes, NULL while it cannot be reached.
	digest BLOB,
	size   INTEGER NOT NULL,
	refs   INTEGER NOT NULL DEFAULT 0,
	-- When its last piece was stored, in microseconds; 0 for garbage.
	at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX blob_digest ON blob (tenant, digest) WHERE digest IS NOT NULL;
CREATE INDEX blob_loose ON blob (at) WHERE refs = 0;
CREATE INDEX blob_loose_tenant ON blob (tenant) WHERE refs = 0;

CREATE TABLE blob_piece (
	blob  INTEGER NOT NULL,
	-- The offset of the piece in the blob.
	first INTEGER NOT NULL,
	-- The SHA-256 of blob, first and data.
	sum   BLOB    NOT NULL,
	data  BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX blob_piece_first ON blob_piece (blob, first);

CREATE TABLE blob_ref (
	tenant       TEXT    NOT NULL,
	-- The owner's id, '' for the tenant.
	conversation TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	blob         INTEGER NOT NULL REFERENCES blob (key),
	PRIMARY KEY (tenant, conversation, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER blob_ref_made AFTER INSERT ON blob_ref BEGIN
	UPDATE blob SET refs = refs + 1 WHERE key = new.blob;
END;
CREATE TRIGGER blob_ref_moved AFTER UPDATE OF blob ON blob_ref WHEN new.blob <> old.blob BEGIN
	UPDATE blob SET refs = refs + 1 WHERE key = new.blob;
	UPDATE blob SET refs = refs - 1 WHERE key = old.blob;
END;
CREATE TRIGGER blob_ref_removed AFTER DELETE ON blob_ref BEGIN
	UPDATE blob SET refs = refs - 1 WHERE key = old.blob;
END;

-- The bytes of a tenant are those that can be reached.
CREATE TRIGGER blob_reached AFTER UPDATE OF refs ON blob WHEN old.refs = 0 BEGIN
	INSERT INTO storage VALUES (new.tenant, new.size) ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER blob_lost AFTER UPDATE OF refs ON blob WHEN new.refs = 0 BEGIN
	UPDATE storage SET bytes = bytes - old.size WHERE tenant = old.tenant;
	UPDATE blob SET digest = NULL, at = 0 WHERE key = new.key;
END;

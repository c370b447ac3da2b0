-- Stored bytes, as package blob describes them.
--
-- The search path of whoever runs this is the journal's schema and nothing else.

-- +goose Up

-- A blob without references cannot be reached: it is being stored, or it is garbage. refs counts the references, and
-- triggers do that. A blob whose last reference goes loses its digest at once, so that the same bytes may be stored anew while
-- its pieces are removed, some with each transaction. Whoever changes a reference holds the tenant's advisory lock.
CREATE TABLE blob (
	key    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant text    COLLATE "C" NOT NULL,
	-- The SHA-256 of the bytes, NULL while it cannot be reached.
	digest bytea,
	size   bigint  NOT NULL,
	refs   integer NOT NULL DEFAULT 0,
	-- When its last piece was stored; 0 for garbage.
	at     bigint  NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX blob_digest ON blob (tenant, digest) WHERE digest IS NOT NULL;
CREATE INDEX blob_loose ON blob (at) WHERE refs = 0;
CREATE INDEX blob_loose_tenant ON blob (tenant, at) WHERE refs = 0;

CREATE TABLE blob_piece (
	blob   bigint NOT NULL,
	-- The offset of the piece in the blob.
	first  bigint NOT NULL,
	tenant text   COLLATE "C" NOT NULL,
	-- The SHA-256 of blob, first and data.
	sum    bytea  NOT NULL,
	data   bytea  NOT NULL,
	PRIMARY KEY (blob, first)
);
-- Most files are compressed already, and the others are read in parts.
ALTER TABLE blob_piece ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE blob_ref (
	tenant       text   COLLATE "C" NOT NULL,
	-- The owner's id, '' for the tenant.
	conversation text   COLLATE "C" NOT NULL,
	kind         text   COLLATE "C" NOT NULL,
	name         text   COLLATE "C" NOT NULL,
	blob         bigint NOT NULL,
	PRIMARY KEY (tenant, conversation, kind, name)
);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['blob', 'blob_piece', 'blob_ref'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION blob_ref_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	IF TG_OP <> 'DELETE' THEN
		UPDATE blob SET refs = refs + 1 WHERE key = new.blob;
	END IF;
	IF TG_OP <> 'INSERT' THEN
		UPDATE blob SET refs = refs - 1 WHERE key = old.blob;
	END IF;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER blob_ref_made AFTER INSERT OR DELETE ON blob_ref FOR EACH ROW EXECUTE FUNCTION blob_ref_changed();
CREATE TRIGGER blob_ref_moved AFTER UPDATE OF blob ON blob_ref FOR EACH ROW
	WHEN (new.blob <> old.blob) EXECUTE FUNCTION blob_ref_changed();

-- +goose StatementBegin
CREATE FUNCTION blob_lost() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	new.digest := NULL;
	new.at := 0;
	RETURN new;
END $$;
-- +goose StatementEnd
CREATE TRIGGER blob_lost BEFORE UPDATE OF refs ON blob FOR EACH ROW
	WHEN (old.refs > 0 AND new.refs = 0) EXECUTE FUNCTION blob_lost();

-- The bytes of a tenant are those that can be reached. It runs with the owner's rights: a store cannot change a sum
-- otherwise. Blobs have a part of the sum of their own, so that nobody waits for them who writes logs.
-- +goose StatementBegin
CREATE FUNCTION blob_counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	INSERT INTO storage AS s VALUES (new.tenant, -1, CASE WHEN new.refs = 0 THEN -new.size ELSE new.size END)
		ON CONFLICT (tenant, part) DO UPDATE SET bytes = s.bytes + excluded.bytes;
	RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER blob_counted AFTER UPDATE OF refs ON blob FOR EACH ROW
	WHEN ((old.refs = 0) <> (new.refs = 0)) EXECUTE FUNCTION blob_counted();

-- Which tenants have garbage, and nothing else about it.
CREATE POLICY lookup ON blob FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION tenants_with_loose_blobs(upload_time bigint, how_many bigint) RETURNS TABLE (tenant text)
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT DISTINCT b.tenant FROM blob b WHERE b.refs = 0 AND b.at <= (SELECT store_clock()) - upload_time LIMIT how_many
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION tenants_with_loose_blobs(bigint, bigint) FROM PUBLIC;

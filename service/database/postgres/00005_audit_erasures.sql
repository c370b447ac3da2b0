-- An audit that is erased leaves a record of it. Only erase_audit writes here: the servers' role may
-- read, and neither add, change nor remove rows.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE audit_erasure (
	id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant  text   COLLATE "C" NOT NULL,
	at      bigint NOT NULL,
	entries bigint NOT NULL,
	-- The hash of the last entry.
	head    bytea  NOT NULL
);
CREATE INDEX audit_erasure_tenant ON audit_erasure (tenant, id);
CREATE POLICY tenant ON audit_erasure USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));
-- The operator's own audit is verified against all of them.
CREATE POLICY operator ON audit_erasure FOR SELECT USING (current_setting('braid.tenant', true) = '=');
ALTER TABLE audit_erasure ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_erasure FORCE ROW LEVEL SECURITY;

-- The one way in which entries of an audit go: all of a tenant that is inactive and the transaction's,
-- together with the tenant's row. The hash comes from the entry and not from audit_head, which the
-- servers' role can write.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION erase_audit(wanted text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	gone bigint;
	last bytea;
BEGIN
	IF wanted = '' OR current_setting('braid.tenant', true) IS DISTINCT FROM '=' || wanted
			OR NOT EXISTS (SELECT FROM tenant t WHERE t.id = wanted AND t.status = 'inactive') THEN
		RAISE insufficient_privilege;
	END IF;
	SELECT a.hash INTO last FROM audit a WHERE a.tenant = wanted ORDER BY a.seq DESC LIMIT 1;
	DELETE FROM audit a WHERE a.tenant = wanted;
	GET DIAGNOSTICS gone = ROW_COUNT;
	DELETE FROM audit_head h WHERE h.tenant = wanted;
	DELETE FROM tenant t WHERE t.id = wanted;
	IF gone > 0 THEN
		INSERT INTO audit_erasure (tenant, at, entries, head)
			VALUES (wanted, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, gone, last);
	END IF;
	RETURN gone;
END $$;
-- +goose StatementEnd

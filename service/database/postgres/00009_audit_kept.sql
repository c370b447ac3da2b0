-- The audit of an erased tenant is kept where only the owner of the tables reaches it: the servers' role can
-- move it there, and neither read, change nor remove it.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE audit_kept (
	-- The audit_erasure of which it is.
	erasure   bigint  NOT NULL,
	tenant    text    COLLATE "C" NOT NULL,
	seq       bigint  NOT NULL,
	at        bigint  NOT NULL,
	action    text    COLLATE "C" NOT NULL,
	object    text    COLLATE "C" NOT NULL,
	by_tenant text    COLLATE "C" NOT NULL,
	key       text    COLLATE "C" NOT NULL,
	person    text    COLLATE "C" NOT NULL,
	operator  boolean NOT NULL,
	detail    text    NOT NULL,
	hash      bytea   NOT NULL,
	PRIMARY KEY (erasure, seq)
);
ALTER TABLE audit_kept ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_kept FORCE ROW LEVEL SECURITY;
-- Row-level security binds the owner, too.
CREATE POLICY owner ON audit_kept TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY owner ON audit_erasure FOR SELECT TO CURRENT_USER USING (true);

-- The one way in which entries leave an audit: all of a tenant that is inactive and the transaction's, together
-- with the tenant's row. The hash comes from the entry and not from audit_head, which the servers' role can write.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION erase_audit(wanted text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	gone bigint;
	last bytea;
	erased bigint;
BEGIN
	IF wanted = '' OR current_setting('braid.tenant', true) IS DISTINCT FROM '=' || wanted
			OR NOT EXISTS (SELECT FROM tenant t WHERE t.id = wanted AND t.status = 'inactive') THEN
		RAISE insufficient_privilege;
	END IF;
	SELECT count(*) INTO gone FROM audit a WHERE a.tenant = wanted;
	IF gone > 0 THEN
		SELECT a.hash INTO last FROM audit a WHERE a.tenant = wanted ORDER BY a.seq DESC LIMIT 1;
		INSERT INTO audit_erasure (tenant, at, entries, head)
			VALUES (wanted, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, gone, last) RETURNING id INTO erased;
		INSERT INTO audit_kept (erasure, tenant, seq, at, action, object, by_tenant, key, person, operator, detail, hash)
			SELECT erased, a.tenant, a.seq, a.at, a.action, a.object, a.by_tenant, a.key, a.person, a.operator, a.detail, a.hash
			FROM audit a WHERE a.tenant = wanted;
		DELETE FROM audit a WHERE a.tenant = wanted;
	END IF;
	DELETE FROM audit_head h WHERE h.tenant = wanted;
	DELETE FROM tenant t WHERE t.id = wanted;
	RETURN gone;
END $$;
-- +goose StatementEnd

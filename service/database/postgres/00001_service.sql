-- What the file of SQLite holds (its comments are there), for many processes. Times are
-- microseconds since 1970; what is open (doc) is JSON in text, and not jsonb, which
-- would write it anew.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE conversation (
	tenant        text    COLLATE "C" NOT NULL,
	id            text    COLLATE "C" NOT NULL,
	person        text    COLLATE "C" NOT NULL,
	title         text    COLLATE "C" NOT NULL,
	archived      boolean NOT NULL,
	since         integer NOT NULL,
	agent         text    COLLATE "C" NOT NULL,
	agent_version integer NOT NULL,
	metadata      text,
	origin        text    COLLATE "C" NOT NULL,
	at            bigint  NOT NULL,
	history       text,
	created       bigint  NOT NULL,
	updated       bigint  NOT NULL,
	PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);
CREATE INDEX conversation_created ON conversation (tenant, archived, created DESC, id DESC);

-- Conversations that were kept no longer: that they were there is all that is known of them.
CREATE TABLE expired (
	tenant text   COLLATE "C" NOT NULL,
	id     text   COLLATE "C" NOT NULL,
	at     bigint NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE TABLE tenant (
	id       text   COLLATE "C" NOT NULL PRIMARY KEY,
	status   text   COLLATE "C" NOT NULL,
	revision bigint NOT NULL,
	created  bigint NOT NULL,
	updated  bigint NOT NULL,
	doc      text   NOT NULL
);

CREATE TABLE agent (
	tenant   text    COLLATE "C" NOT NULL,
	id       text    COLLATE "C" NOT NULL,
	status   text    COLLATE "C" NOT NULL,
	version  integer NOT NULL,
	revision bigint  NOT NULL,
	created  bigint  NOT NULL,
	updated  bigint  NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE TABLE agent_version (
	tenant   text    COLLATE "C" NOT NULL,
	agent    text    COLLATE "C" NOT NULL,
	version  integer NOT NULL,
	created  bigint  NOT NULL,
	doc      text    NOT NULL,
	PRIMARY KEY (tenant, agent, version)
);

CREATE TABLE model (
	tenant   text   COLLATE "C" NOT NULL,
	id       text   COLLATE "C" NOT NULL,
	status   text   COLLATE "C" NOT NULL,
	revision bigint NOT NULL,
	created  bigint NOT NULL,
	updated  bigint NOT NULL,
	doc      text   NOT NULL,
	secret   bytea,
	PRIMARY KEY (tenant, id)
);

CREATE TABLE model_name (
	tenant   text COLLATE "C" NOT NULL,
	name     text COLLATE "C" NOT NULL,
	model    text COLLATE "C" NOT NULL,
	PRIMARY KEY (tenant, name)
);

CREATE TABLE api_key (
	tenant   text   COLLATE "C" NOT NULL,
	id       text   COLLATE "C" NOT NULL UNIQUE,
	hash     bytea  NOT NULL UNIQUE,
	person   text   COLLATE "C" NOT NULL,
	expires  bigint NOT NULL,
	revoked  bigint NOT NULL,
	revision bigint NOT NULL,
	created  bigint NOT NULL,
	updated  bigint NOT NULL,
	doc      text   NOT NULL,
	PRIMARY KEY (tenant, id)
);

CREATE TABLE idempotency (
	tenant   text   COLLATE "C" NOT NULL,
	key      text   COLLATE "C" NOT NULL,
	digest   bytea  NOT NULL,
	object   text   COLLATE "C" NOT NULL,
	created  bigint NOT NULL,
	PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_created ON idempotency (tenant, created);

CREATE TABLE audit_head (
	tenant   text   COLLATE "C" NOT NULL PRIMARY KEY,
	seq      bigint NOT NULL,
	hash     bytea  NOT NULL
);

CREATE TABLE audit (
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
	PRIMARY KEY (tenant, seq)
);

-- How often the directory was changed, so that a process knows when what it remembers is old.
CREATE TABLE change (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	n   bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO change (n) VALUES (1);

-- A transaction sees the rows of the one tenant that it has named ("=" and its id), and whoever
-- has named none sees nothing.
-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['conversation', 'expired', 'agent', 'agent_version', 'model', 'model_name', 'api_key', 'idempotency',
			'audit_head', 'audit'] LOOP
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
	FOREACH name IN ARRAY ARRAY['conversation', 'expired', 'tenant', 'agent', 'agent_version', 'model', 'model_name', 'api_key', 'idempotency',
			'audit_head', 'audit', 'change'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
	END LOOP;
END $$;
-- +goose StatementEnd

CREATE POLICY tenant ON tenant USING ('=' || id = current_setting('braid.tenant', true))
	WITH CHECK ('=' || id = current_setting('braid.tenant', true));
-- The operator looks at them all.
CREATE POLICY operator ON tenant FOR SELECT USING (current_setting('braid.tenant', true) = '*');
-- What all share, every tenant sees and none writes.
CREATE POLICY shared ON model FOR SELECT USING (tenant = '' AND current_setting('braid.tenant', true) LIKE '=%');
CREATE POLICY shared ON model_name FOR SELECT USING (tenant = '' AND current_setting('braid.tenant', true) LIKE '=%');
-- A number is nobody's.
CREATE POLICY everybody ON change USING (true) WITH CHECK (true);

-- Whose a key is, in the form of the setting: the one look across tenants. The owner may look.
CREATE POLICY lookup ON api_key FOR SELECT TO CURRENT_USER USING (true);
-- +goose StatementBegin
CREATE FUNCTION tenant_of_key(wanted text) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS
	$$ BEGIN RETURN (SELECT '=' || k.tenant FROM api_key k WHERE k.id = wanted); END $$;
-- +goose StatementEnd

-- The one way in which entries of an audit go: all of a tenant that is not active, and is the
-- transaction's.
-- +goose StatementBegin
CREATE FUNCTION erase_audit(wanted text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	gone bigint;
BEGIN
	IF wanted = '' OR NOT EXISTS (SELECT FROM tenant t WHERE t.id = wanted AND t.status = 'inactive') THEN
		RAISE insufficient_privilege;
	END IF;
	DELETE FROM audit a WHERE a.tenant = wanted;
	GET DIAGNOSTICS gone = ROW_COUNT;
	DELETE FROM audit_head h WHERE h.tenant = wanted;
	RETURN gone;
END $$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION tenant_of_key(text), erase_audit(text) FROM PUBLIC;

-- MCP servers of tenants. Only the newest version has secrets and a document.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE mcp_server (
	tenant   text    COLLATE "C" NOT NULL,
	id       text    COLLATE "C" NOT NULL,
	life     text    COLLATE "C" NOT NULL,
	status   text    COLLATE "C" NOT NULL,
	-- The newest version.
	version  integer NOT NULL,
	revision bigint  NOT NULL,
	created  bigint  NOT NULL,
	updated  bigint  NOT NULL,
	-- The values of secret headers, encrypted; NULL for none.
	secret   bytea,
	PRIMARY KEY (tenant, id)
);

-- Versions are added and never changed.
CREATE TABLE mcp_server_version (
	tenant   text    COLLATE "C" NOT NULL,
	server   text    COLLATE "C" NOT NULL,
	version  integer NOT NULL,
	created  bigint  NOT NULL,
	doc      text    NOT NULL,
	PRIMARY KEY (tenant, server, version)
);

-- OpenAPI documents, compressed.
CREATE TABLE mcp_document (
	tenant   text    COLLATE "C" NOT NULL,
	server   text    COLLATE "C" NOT NULL,
	-- SHA-256 of the document in hexadecimal.
	digest   text    COLLATE "C" NOT NULL,
	data     bytea   NOT NULL,
	PRIMARY KEY (tenant, server)
);

-- +goose StatementBegin
DO $$
DECLARE
	name text;
	rule text := $rule$ '=' || tenant = current_setting('braid.tenant', true) $rule$;
BEGIN
	FOREACH name IN ARRAY ARRAY['mcp_server', 'mcp_server_version', 'mcp_document'] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY tenant ON %I USING (%s) WITH CHECK (%s)', name, rule, rule);
	END LOOP;
END $$;
-- +goose StatementEnd

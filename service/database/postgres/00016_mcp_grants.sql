-- What users have granted to MCP servers, and sign-ins that are under way.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

CREATE TABLE mcp_grant (
	tenant  text   COLLATE "C" NOT NULL,
	-- A digest of server and person.
	id      text   COLLATE "C" NOT NULL,
	server  text   COLLATE "C" NOT NULL,
	person  text   COLLATE "C" NOT NULL,
	-- The life of the server.
	life    text   COLLATE "C" NOT NULL,
	-- Never used twice.
	version bigint NOT NULL,
	created bigint NOT NULL,
	updated bigint NOT NULL,
	-- What is no secret, as JSON.
	doc     text   NOT NULL,
	-- The tokens and the state of the sign-in, encrypted.
	secret  bytea  NOT NULL,
	PRIMARY KEY (tenant, id)
);

ALTER TABLE mcp_grant ENABLE ROW LEVEL SECURITY;
ALTER TABLE mcp_grant FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON mcp_grant USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

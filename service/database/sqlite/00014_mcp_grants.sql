-- What users have granted to MCP servers, and sign-ins that are under way.
CREATE TABLE mcp_grant (
	tenant  TEXT    NOT NULL,
	-- A digest of server and person.
	id      TEXT    NOT NULL,
	server  TEXT    NOT NULL,
	person  TEXT    NOT NULL,
	-- The life of the server.
	life    TEXT    NOT NULL,
	-- Never used twice.
	version INTEGER NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	-- What is no secret, as JSON.
	doc     TEXT    NOT NULL,
	-- The tokens and the state of the sign-in, encrypted.
	secret  BLOB    NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

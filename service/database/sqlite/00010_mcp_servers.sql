-- MCP servers of tenants. Only the newest version has secrets and a document.
CREATE TABLE mcp_server (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	life     TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	-- The newest version.
	version  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	-- The values of secret headers, encrypted; NULL for none.
	secret   BLOB,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Versions are added and never changed.
CREATE TABLE mcp_server_version (
	tenant   TEXT    NOT NULL,
	server   TEXT    NOT NULL,
	version  INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	doc      TEXT    NOT NULL,
	PRIMARY KEY (tenant, server, version)
) STRICT, WITHOUT ROWID;

-- OpenAPI documents, compressed.
CREATE TABLE mcp_document (
	tenant   TEXT    NOT NULL,
	server   TEXT    NOT NULL,
	-- SHA-256 of the document in hexadecimal.
	digest   TEXT    NOT NULL,
	data     BLOB    NOT NULL,
	PRIMARY KEY (tenant, server)
) STRICT

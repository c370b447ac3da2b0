-- Skills of tenants. Their bytes are in the journal's store of bytes.
CREATE TABLE skill (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	life     TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	-- The newest version.
	version  INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	updated  INTEGER NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

-- Versions are added and never changed.
CREATE TABLE skill_version (
	tenant   TEXT    NOT NULL,
	skill    TEXT    NOT NULL,
	version  INTEGER NOT NULL,
	created  INTEGER NOT NULL,
	-- The name of the bytes in the store.
	place    TEXT    NOT NULL,
	doc      TEXT    NOT NULL,
	PRIMARY KEY (tenant, skill, version)
) STRICT, WITHOUT ROWID;

-- Places whose bytes no version names: of uploads under way, and of removed skills.
CREATE TABLE skill_loose (
	tenant   TEXT    NOT NULL,
	place    TEXT    NOT NULL,
	since    INTEGER NOT NULL,
	PRIMARY KEY (tenant, place)
) STRICT, WITHOUT ROWID

-- +goose Up

-- Conversations that were removed for good, by their lives: what is on its way to one of them comes
-- too late. A row stays a day.
CREATE TABLE buried (
	tenant       text   COLLATE "C" NOT NULL,
	conversation text   COLLATE "C" NOT NULL,
	life         text   COLLATE "C" NOT NULL,
	at           bigint NOT NULL,
	PRIMARY KEY (tenant, conversation, life)
);
CREATE INDEX buried_at ON buried (tenant, at);
ALTER TABLE buried ENABLE ROW LEVEL SECURITY;
ALTER TABLE buried FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON buried USING ('=' || tenant = current_setting('braid.tenant', true))
	WITH CHECK ('=' || tenant = current_setting('braid.tenant', true));

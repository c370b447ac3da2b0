-- What the sweep of retention looks for, by indexes of its own.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

-- Those that were not changed for the longest come first.
CREATE INDEX conversation_updated ON conversation (tenant, archived, updated, id);
CREATE INDEX expired_at ON expired (tenant, at);

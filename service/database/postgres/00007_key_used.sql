-- When a key was last used, to the minute; 0 is never.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

ALTER TABLE api_key ADD COLUMN used bigint NOT NULL DEFAULT 0;

-- The user whose run it was: NULL for none, and in rows that were written before.
ALTER TABLE usage_logs ADD COLUMN person TEXT;
CREATE INDEX usage_logs_person ON usage_logs (tenant, person, at, key) WHERE person IS NOT NULL;

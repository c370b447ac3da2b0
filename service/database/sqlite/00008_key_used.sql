-- When a key was last used, to the minute; 0 is never.
ALTER TABLE api_key ADD COLUMN used INTEGER NOT NULL DEFAULT 0

-- Whether a conversation was made without files.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

ALTER TABLE conversation ADD COLUMN no_files boolean NOT NULL DEFAULT false;

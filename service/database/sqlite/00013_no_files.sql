-- Whether a conversation was made without files.
ALTER TABLE conversation ADD COLUMN no_files INTEGER NOT NULL DEFAULT 0

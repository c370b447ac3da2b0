-- Lists of one user's conversations have an index of their own.
CREATE INDEX conversation_person ON conversation (tenant, person, archived, created DESC, id DESC);
-- Whose an expired conversation was; '' where that is not known.
ALTER TABLE expired ADD COLUMN person TEXT NOT NULL DEFAULT ''

-- A letter that a run did not read goes to the next one: there it is early, and
-- stands before the run's own. Where it was, "read" is 2 and its content is gone.
ALTER TABLE mail ADD COLUMN early INTEGER NOT NULL DEFAULT 0;

-- What tells a repeat of a letter from another one with its id. NULL where the
-- letter came before there were digests.
ALTER TABLE mail ADD COLUMN digest BLOB;

-- A message no longer wakes a run that waits.
UPDATE run SET due = wake WHERE status = 'waiting' AND due = 0
	AND NOT EXISTS (SELECT 1 FROM mail m WHERE m.run = run.key AND m.read = 0 AND m.kind <> 'message');

-- The key of the conversation's newest run: keys are given in the order of admission.
ALTER TABLE conversation ADD COLUMN newest INTEGER NOT NULL DEFAULT 0;
UPDATE conversation SET newest =
	ifnull((SELECT r.key FROM run r WHERE r.conversation = conversation.key ORDER BY r.turn DESC LIMIT 1), 0);
CREATE INDEX conversation_newest ON conversation (tenant, newest);

-- How many drivers a run has lost since it got on last.
ALTER TABLE run ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;

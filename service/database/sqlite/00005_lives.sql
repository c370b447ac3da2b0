-- What people choose the id of can be removed and made again under it. Its life tells the two apart:
-- whatever is remembered of one is bound to its life.
ALTER TABLE tenant ADD COLUMN life TEXT NOT NULL DEFAULT '';
UPDATE tenant SET life = lower(hex(randomblob(16)));
ALTER TABLE agent ADD COLUMN life TEXT NOT NULL DEFAULT '';
UPDATE agent SET life = lower(hex(randomblob(16)));
ALTER TABLE model ADD COLUMN life TEXT NOT NULL DEFAULT '';
UPDATE model SET life = lower(hex(randomblob(16)))

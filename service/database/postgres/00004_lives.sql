-- What people choose the id of can be removed and made again under it. Its life tells the two apart:
-- whatever is remembered of one is bound to its life. The default is for rows that an older server makes
-- while this version is rolled out.
--
-- The search path of whoever runs this is the service's schema and nothing else.

-- +goose Up

ALTER TABLE tenant ADD COLUMN life text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text;
ALTER TABLE agent ADD COLUMN life text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text;
ALTER TABLE model ADD COLUMN life text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text;

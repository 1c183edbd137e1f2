-- The token in the DNS record of a domain, as last found: it outlives the key that it was made with.
ALTER TABLE verified_domains ADD COLUMN token TEXT;

-- Check the records now: the token is not known yet.
UPDATE verified_domains SET due_at = now() AT TIME ZONE 'UTC' WHERE due_at IS NOT NULL AND missing_since IS NULL;

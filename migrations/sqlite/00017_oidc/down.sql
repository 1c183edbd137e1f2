-- The constraint on the types of actors is not restored: entries of newer types stay.
DROP TABLE oidc_requests;
DROP TABLE oidc_providers;

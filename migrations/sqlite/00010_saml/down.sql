ALTER TABLE sessions DROP COLUMN not_after;
DROP TABLE saml_trials;
DROP TABLE saml_assertions;
DROP TABLE saml_requests;
DROP TABLE verified_domains;
DROP TABLE saml_provider_domains;
DROP TABLE saml_providers;

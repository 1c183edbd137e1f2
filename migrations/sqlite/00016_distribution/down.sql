DROP TABLE dispatchers;
DROP TABLE tenant_slugs;

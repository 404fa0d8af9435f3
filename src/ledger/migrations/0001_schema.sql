-- One row per applied step of the schema: the health check reads the highest one.
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
INSERT INTO schema_version (version) VALUES (1);

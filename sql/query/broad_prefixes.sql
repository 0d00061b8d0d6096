-- Upper bounds of the documents of those prefixes in the JSON list ?1 that are broad.
SELECT prefix, documents FROM prefixes WHERE prefix IN (SELECT value FROM json_each(?1))

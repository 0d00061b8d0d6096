-- What the vocabulary says for the keys in the JSON list ?1, in its own order.
SELECT key, pattern, source FROM vocabulary WHERE key IN (SELECT value FROM json_each(?1)) ORDER BY rowid

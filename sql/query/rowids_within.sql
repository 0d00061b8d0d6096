-- Those of the rowids in the JSON list ?1 that the index finds for ?2.
SELECT j.value
FROM json_each(?1) AS j CROSS JOIN documents_fts AS f ON f.rowid = j.value
WHERE f.documents_fts MATCH ?2

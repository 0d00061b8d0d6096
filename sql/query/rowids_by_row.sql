-- The rowids of the documents that the index finds for ?1 and further conditions let through, ?2 at most, as a JSON list.
SELECT json_group_array(rowid) FROM (
SELECT f.rowid
FROM documents_fts AS f CROSS JOIN documents AS d ON d.rowid = f.rowid
WHERE f.documents_fts MATCH ?1
ORDER BY f.rowid LIMIT ?2)

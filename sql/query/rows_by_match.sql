-- The documents that the index finds for ?1, best static rank first, ?2 at most. CROSS JOIN keeps the index
-- as the outer loop: it yields rowids in order, so that LIMIT ends the walk.
SELECT d.rowid, d.id, d.title, d.url, d.id_lc, d.title_lc, d.keywords_lc
FROM documents_fts AS f CROSS JOIN documents AS d ON d.rowid = f.rowid
WHERE f.documents_fts MATCH ?1
ORDER BY f.rowid LIMIT ?2

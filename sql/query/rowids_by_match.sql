-- The rowids that the index finds for ?1, ?2 at most.
SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?1 ORDER BY rowid LIMIT ?2

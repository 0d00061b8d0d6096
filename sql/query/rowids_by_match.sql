-- The rowids that the index finds for ?1, ?2 at most, as a JSON list.
SELECT json_group_array(rowid) FROM (
  SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?1 ORDER BY rowid LIMIT ?2
)

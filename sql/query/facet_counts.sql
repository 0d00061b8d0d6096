-- How many of the documents that the index finds for ?1, or whose id is ?2, have each value of the metadata at
-- the JSON path ?3; a list counts for each of its items.
WITH found(rowid) AS (
  SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?1
  UNION SELECT rowid FROM documents WHERE id = ?2
)
SELECT j.value, count(*)
FROM found CROSS JOIN documents AS d ON d.rowid = found.rowid, json_each(d.metadata, ?3) AS j
WHERE j.value IS NOT NULL
GROUP BY j.value ORDER BY count(*) DESC, j.value

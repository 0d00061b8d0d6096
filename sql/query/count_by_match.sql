-- How many documents the index finds for ?1, counting to ?2.
SELECT count(*) FROM (SELECT 1 FROM documents_fts AS f WHERE f.documents_fts MATCH ?1 LIMIT ?2)

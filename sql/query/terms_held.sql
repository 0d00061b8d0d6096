-- Which of the FTS5 queries in the JSON list ?1 find something, as (number, ''), and which of the documents whose ids
-- are in the JSON list ?2 they find, as (number, id).
SELECT t.key AS term, '' AS id
FROM json_each(?1) AS t
WHERE EXISTS (SELECT 1 FROM documents_fts AS f WHERE f.documents_fts MATCH t.value)
UNION ALL
SELECT t.key, d.id
FROM json_each(?1) AS t CROSS JOIN json_each(?2) AS j CROSS JOIN documents AS d ON d.id = j.value
WHERE EXISTS (SELECT 1 FROM documents_fts AS f WHERE f.documents_fts MATCH t.value AND f.rowid = d.rowid)

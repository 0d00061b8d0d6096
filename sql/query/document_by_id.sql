-- The document whose id is ?1, whole.
SELECT rowid, id, title, url, text, keywords, metadata, path, heading, first_line, last_line
FROM documents WHERE id = ?1

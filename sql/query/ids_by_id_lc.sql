-- Ids whose normal form is ?1.
SELECT id FROM documents WHERE id_lc = ?1 ORDER BY rowid LIMIT 5

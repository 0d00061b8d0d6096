-- Ids that begin with ?1; ?2 is ?1 with the last code point behind it.
SELECT id FROM documents WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 100

-- Tier 1 of the strict order: the title's normal form is ?1. The first ?2, after those a condition lets through.
SELECT d.rowid, d.id, d.title, d.url, d.id_lc, d.title_lc, d.keywords_lc
FROM documents AS d
WHERE d.title_lc = ?1 AND ?1 <> ''
ORDER BY d.rowid LIMIT ?2

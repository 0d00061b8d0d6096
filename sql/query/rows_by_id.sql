-- Tier 0 of the strict order: id is ?1, or its normal form is ?2.
SELECT d.rowid, d.id, d.title, d.url, d.id_lc, d.title_lc, d.keywords_lc
FROM documents AS d
WHERE (d.id = ?1 OR (d.id_lc = ?2 AND ?2 <> ''))
ORDER BY d.rowid

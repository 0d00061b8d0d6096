-- The documents whose rowids are in the JSON list ?1, in its order, with their text in normal form.
SELECT d.rowid, d.id, d.title, d.url, d.id_lc, d.title_lc, d.keywords_lc, d.text_lc
FROM json_each(?1) AS j CROSS JOIN documents AS d ON d.rowid = j.value
ORDER BY j.key

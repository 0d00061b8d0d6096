-- What the order needs of the documents whose ids are in the JSON list ?1, in that list's order.
SELECT d.rowid, d.id, d.title, d.url, d.id_lc, d.title_lc, d.keywords_lc
FROM json_each(?1) AS j CROSS JOIN documents AS d ON d.id = j.value
ORDER BY j.key

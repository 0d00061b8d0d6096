-- Text and keywords of the documents whose rowids are in the JSON list ?1.
SELECT d.rowid, d.text, d.keywords, d.text_lc
FROM json_each(?1) AS j CROSS JOIN documents AS d ON d.rowid = j.value

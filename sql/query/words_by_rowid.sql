-- The words whose rowids are in the JSON list ?1, in its order.
SELECT w.word, w.documents FROM json_each(?1) AS j CROSS JOIN words AS w ON w.rowid = j.value ORDER BY j.key

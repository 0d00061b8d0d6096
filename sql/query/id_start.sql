-- Whether letters that a word of an id begins with lie from ?1 on and before ?2.
SELECT 1 FROM id_starts WHERE start >= ?1 AND start < ?2 LIMIT 1

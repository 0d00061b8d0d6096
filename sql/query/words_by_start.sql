-- The words from ?1 on and before ?2, ?3 at most.
SELECT word, documents FROM words WHERE word >= ?1 AND word < ?2 LIMIT ?3

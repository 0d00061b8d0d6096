-- The words whose singular is ?1.
SELECT word, documents FROM words WHERE singular = ?1

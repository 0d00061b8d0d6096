-- Whether a word of an id begins with the three characters ?1.
SELECT 1 FROM id_starts WHERE start = ?1

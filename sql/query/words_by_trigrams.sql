-- The 60 words that share most of the trigrams in the JSON list ?1.
SELECT w.word, w.documents
FROM (
  SELECT word FROM trigrams WHERE trigram IN (SELECT value FROM json_each(?1))
  GROUP BY word ORDER BY count(*) DESC, word LIMIT 60
) AS near
JOIN words AS w ON w.rowid = near.word

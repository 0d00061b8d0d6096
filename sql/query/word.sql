-- How many documents hold the word ?1.
SELECT documents FROM words WHERE word = ?1

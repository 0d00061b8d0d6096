-- In how many words each of the trigrams in the JSON list ?1 occurs, rarest first.
SELECT words, trigram FROM trigram_counts WHERE trigram IN (SELECT value FROM json_each(?1)) ORDER BY 1, 2

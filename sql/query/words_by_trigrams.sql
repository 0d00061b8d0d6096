-- The rowids of the words that have the trigrams in the JSON list ?1, each once a trigram, as a JSON list.
SELECT json_group_array(word) FROM trigrams WHERE trigram IN (SELECT value FROM json_each(?1))

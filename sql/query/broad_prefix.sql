-- An upper bound of the documents of the word start ?1, if it is broad.
SELECT documents FROM prefixes WHERE prefix = ?1

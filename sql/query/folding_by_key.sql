-- The signs of the code points, and pairs of them, in the JSON list ?1.
SELECT key, signs FROM folding WHERE key IN (SELECT value FROM json_each(?1))

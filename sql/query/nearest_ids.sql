-- Five ids at most that are near to ?1, whose normal form is ?2: of the same normal form, then with the longest common
-- start, in whatever case, of a third of its first 100 characters at least.
WITH RECURSIVE
form(start) AS (
  SELECT substr(?1, 1, 100) UNION SELECT upper(substr(?1, 1, 100)) UNION SELECT lower(substr(?1, 1, 100))
),
size(size) AS (
  SELECT min(length(?1), 100) WHERE length(?1) > 0
  UNION ALL
  SELECT size - 1 FROM size WHERE 3 * (size - 1) >= min(length(?1), 100)
)
SELECT id FROM (
  SELECT * FROM (SELECT 0 AS place, id FROM documents WHERE id_lc = ?2 AND ?2 <> '' ORDER BY rowid LIMIT 5)
  UNION ALL
  SELECT * FROM (
    SELECT 101 - size, d.id
    FROM size CROSS JOIN form CROSS JOIN documents AS d
      ON d.id >= substr(form.start, 1, size) AND d.id < substr(form.start, 1, size) || char(0x10ffff)
    LIMIT 100))
GROUP BY id ORDER BY min(place), id LIMIT 5

-- The whole search as one statement with one parameter: ?1, the question as it was typed.
--
-- Returns the first ten rows, best first: id, title, url, relaxed (1 when no document holds every term and these
-- are the nearest), and translated, a JSON list of {"asked", "source"}: which words were also searched as which.
-- The strict rows are those of `Catalog.search`, in its order; the relaxed ones follow a simpler rule: fewest
-- terms left out, then the sum of the weights of the terms held, then rowid.
--
-- Everything it needs is in the database: folding, spellings, rules, stopwords, vocabulary, words, catalog.
-- It stays inside Cloudflare D1's limits: five terms of a compound, no function of the newest SQLite.
WITH RECURSIVE

-- 1. Fold: the question to its first NUL and 1,000 characters, code point by code point, pairs first.
question(raw, size) AS MATERIALIZED (
  SELECT substr(CAST(?1 AS TEXT), 1, min(length(CAST(?1 AS TEXT)), 1000)), min(length(CAST(?1 AS TEXT)), 1000)
),
folded(place, signs) AS (
  SELECT 1, ' '
  UNION ALL
  SELECT place + iif(pair.key IS NULL, 1, 2), folded.signs || coalesce(pair.signs, one.signs, iif(
      unicode(substr(raw, place, 1)) BETWEEN 13312 AND 42191 OR unicode(substr(raw, place, 1)) BETWEEN 44032 AND 55203
      OR unicode(substr(raw, place, 1)) BETWEEN 63744 AND 64255 OR unicode(substr(raw, place, 1)) BETWEEN 131072 AND 205743,
      printf(' u%x ', unicode(substr(raw, place, 1))), ' '))
  FROM folded CROSS JOIN question
  LEFT JOIN folding AS pair ON pair.key = substr(raw, place, 2) AND place < size
  LEFT JOIN folding AS one ON one.key = substr(raw, place, 1)
  WHERE place <= size
),
-- ^ stands after a letter only, once.
signed(signs) AS MATERIALIZED (
  SELECT replace(replace(replace(replace(replace(carets, ' ^', ' '), '-^', '-'), '.^', '.'), '+^', '+'), '#^', '#') || ' '
  FROM (
    SELECT replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
      signs, '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^'), '^^', '^') AS carets
    FROM folded ORDER BY place DESC LIMIT 1
  )
),

-- 2. Words of the marked form, 64 at most. A word of signs that is a spelling is rewritten, in others + and # are
--    spaces and a dot joins.
spelled(signs, rest) AS (
  SELECT '', (SELECT ltrim(signs) FROM signed)
  UNION ALL
  SELECT
    signs || ' ' || coalesce(
      (SELECT s.spelled FROM spellings AS s WHERE s.word = rtrim(ltrim(substr(rest, 1, instr(rest, ' ') - 1), '-'), '-.')),
      replace(replace(replace(rtrim(ltrim(substr(rest, 1, instr(rest, ' ') - 1), '-'), '-.'), '+', ' '), '#', ' '), '.', '-')),
    ltrim(substr(rest, instr(rest, ' ') + 1))
  FROM spelled WHERE rest <> ''
),
-- Runs of hyphens become one: each pass halves them, and a question has at most 1,000.
hyphened(signs) AS MATERIALIZED (
  SELECT replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
    signs, '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-'), '--', '-') || ' '
  FROM spelled WHERE rest = ''
),
split(n, marked, rest) AS (
  SELECT 0, '', ltrim(signs) FROM hyphened
  UNION ALL
  SELECT
    n + (trim(substr(rest, 1, instr(rest, ' ') - 1), '-') <> ''),
    trim(substr(rest, 1, instr(rest, ' ') - 1), '-'),
    ltrim(substr(rest, instr(rest, ' ') + 1))
  FROM split WHERE rest <> '' AND n < 64
),
-- Without its elision and then its possessive; see catalog_search/language.py for what they leave alone.
cut(n, marked, bare) AS MATERIALIZED (
  SELECT n, marked, coalesce((
    SELECT substr(marked, length(form) + 1) FROM rules
    WHERE kind = 'elision' AND instr(marked, '-') AND substr(marked, 1, length(form)) = form
      AND length(marked) - length(form) > 1 AND substr(marked, length(form) + 1, 1) IN ('a', 'e', 'i', 'o', 'u', 'y', 'h')
      AND substr(marked, length(form) + 2, 1) <> '-'
    ORDER BY position LIMIT 1), marked)
  FROM split WHERE n > 0 AND marked <> ''
),
word(n, marked, bare, stop) AS MATERIALIZED (
  SELECT n, marked, bare, EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word IN (marked, bare))
  FROM (
    SELECT n, marked, coalesce((
      SELECT substr(bare, 1, length(bare) - length(form)) FROM rules
      WHERE kind = 'possessive' AND instr(bare, '-') AND substr(bare, -length(form)) = form
        AND length(bare) - length(form) > 1 AND substr(bare, -length(form) - 2, 1) <> '-'
      ORDER BY position LIMIT 1), bare) AS bare
    FROM cut
  )
),
asked(text) AS MATERIALIZED (
  SELECT coalesce(group_concat(replace(replace(marked, '-', ' '), '^', ''), ' '), '') FROM (SELECT marked FROM word ORDER BY n)
),

-- 3. Singulars, part by part of a compound.
part(n, i, part, rest) AS (
  SELECT n, 0, '', replace(replace(bare, '-', ' '), '^', '') || ' ' FROM word
  UNION ALL
  SELECT n, i + 1, substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) FROM part WHERE rest <> ''
),
-- The joined form of a compound, unless the join stands between two digits.
form(n, i, form) AS MATERIALIZED (
  SELECT n, i, part FROM part WHERE i > 0
  UNION ALL
  SELECT n, 0, replace(replace(bare, '-', ''), '^', '') FROM word
  WHERE instr(bare, '-') AND bare NOT GLOB '*[0-9]-[0-9]*'
),
single(n, i, form, singular) AS MATERIALIZED (
  SELECT n, i, form, coalesce(
    (SELECT replacement FROM rules WHERE kind = 'word' AND rules.form = form.form),
    iif(form GLOB '*[^a-z]*', form, (
      SELECT substr(form.form, 1, length(form.form) - length(r.form)) || r.replacement FROM rules AS r
      WHERE r.kind = 'ending' AND length(form.form) >= r.least AND r.form IN (
        substr(form.form, -1), substr(form.form, -2), substr(form.form, -3), substr(form.form, -4),
        substr(form.form, -5), substr(form.form, -6), substr(form.form, -7), substr(form.form, -8))
      ORDER BY r.position LIMIT 1)),
    form)
  FROM form
),
-- Each word: its normal form, that with its last part in the singular, its key, its parts.
item(n, stop, own, ending, key, parts, compound, compound_key) AS MATERIALIZED (
  SELECT word.n, word.stop, replace(replace(bare, '-', ' '), '^', ''),
    (SELECT substr(o, 1, length(o) - length(last.form)) || last.singular
     FROM (SELECT replace(replace(bare, '-', ' '), '^', '') AS o)),
    (SELECT group_concat(singular, ' ') FROM (SELECT singular FROM single WHERE single.n = word.n AND i > 0 ORDER BY i)),
    last.i, joined.form, joined.singular
  FROM word
  JOIN (SELECT n, max(i) AS i, form, singular FROM single WHERE i > 0 GROUP BY n) AS last ON last.n = word.n
  LEFT JOIN single AS joined ON joined.n = word.n AND joined.i = 0
),

-- 4. Phrases of the vocabulary, longest first and then leftmost, that do not overlap.
stretch(n, words, parts, key) AS (
  SELECT n, 1, parts, key FROM item
  UNION ALL
  SELECT stretch.n, words + 1, stretch.parts + item.parts, stretch.key || ' ' || item.key
  FROM stretch CROSS JOIN item ON item.n = stretch.n + words
  WHERE stretch.parts + item.parts <= (SELECT CAST(value AS INTEGER) FROM catalog WHERE catalog.key = 'longest_asked')
),
phrase(rank, n, words, mask) AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY parts DESC, n), n, words, ((1 << (words - 1)) | ((1 << (words - 1)) - 1)) << (n - 1)
  FROM stretch WHERE words > 1 AND EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key = stretch.key)
),
chosen(rank, used, n, words) AS (
  SELECT 0, 0, 0, 0
  UNION ALL
  SELECT p.rank, used | iif(used & p.mask, 0, p.mask), iif(used & p.mask, 0, p.n), p.words
  FROM chosen CROSS JOIN phrase AS p ON p.rank = chosen.rank + 1
),
-- A slot is a word that a term needs: a term of one word has one, a phrase one for each of its words.
slot(term, n, phrase) AS MATERIALIZED (
  SELECT coalesce(c.n, item.n), item.n, c.n IS NOT NULL
  FROM item LEFT JOIN chosen AS c ON c.n > 0 AND item.n BETWEEN c.n AND c.n + c.words - 1
),
needed(term, n, phrase) AS MATERIALIZED (
  SELECT term, slot.n, phrase FROM slot JOIN item ON item.n = slot.n
  WHERE NOT stop
    OR EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key IN (item.key, item.compound_key))
    OR (phrase AND NOT EXISTS (
      SELECT 1 FROM slot AS s JOIN item AS w ON w.n = s.n
      WHERE s.term = slot.term AND (NOT w.stop OR EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key IN (w.key, w.compound_key)))))
    OR (NOT phrase AND NOT EXISTS (SELECT 1 FROM item AS w WHERE NOT w.stop))
),

-- 5. Patterns, with their class: 0 the word itself, 1 singular or joined, 2 the vocabulary's. Slot 0 of a phrase
--    holds what the vocabulary says for the whole of it.
pattern(term, slot, class, text) AS MATERIALIZED (
  SELECT term, slot, min(class), text FROM (
    SELECT needed.term, item.n AS slot, 0 AS class, own AS text FROM needed JOIN item ON item.n = needed.n
    UNION ALL
    SELECT needed.term, item.n, 1, e.value
    FROM needed JOIN item ON item.n = needed.n JOIN json_each(json_array(ending, compound, compound_key)) AS e
    UNION ALL
    SELECT needed.term, item.n, 2, v.pattern
    FROM needed JOIN item ON item.n = needed.n JOIN vocabulary AS v ON v.key IN (item.key, item.compound_key)
    UNION ALL
    SELECT stretch.n, 0, 2, v.pattern
    FROM chosen JOIN stretch ON stretch.n = chosen.n AND stretch.words = chosen.words JOIN vocabulary AS v ON v.key = stretch.key
    WHERE chosen.n > 0
  ) WHERE text <> '' GROUP BY term, slot, text
),

-- 6. The condition as FTS5 query strings, for patterns up to each class: as whole words, as starts of words, and
--    as starts where the id is searched too (a number matches whole words, and in the id the start of one).
shape(term, slot, class, whole, start, any) AS MATERIALIZED (
  SELECT term, slot, class, '"' || text || '"',
    '"' || text || iif(length(text) = 1 OR substr(text, -2, 1) = ' ' OR is_number, '"', '"*'),
    CASE
      WHEN length(text) = 1 OR substr(text, -2, 1) = ' ' THEN '"' || text || '"'
      WHEN is_number THEN '({title_lc keywords_lc text_lc} : "' || text || '" OR id_lc : "' || text || '"*)'
      ELSE '"' || text || '"*'
    END
  FROM (SELECT *, replace(text, rtrim(text, '0123456789abcdefghijklmnopqrstuvwxyz'), '') NOT GLOB '*[^0-9]*' AS is_number FROM pattern)
),
level(limit_) AS MATERIALIZED (SELECT 0 UNION SELECT class FROM pattern),
slots(term, slot, limit_, whole, start, any) AS MATERIALIZED (
  SELECT term, slot, limit_, '(' || group_concat(whole, ' OR ') || ')', '(' || group_concat(start, ' OR ') || ')', '(' || group_concat(any, ' OR ') || ')'
  FROM shape JOIN level ON class <= limit_ GROUP BY term, slot, limit_
),
terms(term, limit_, whole, start, any) AS MATERIALIZED (
  SELECT term, limit_,
    '((' || group_concat(iif(slot > 0, whole, NULL), ' AND ') || ')' || coalesce(' OR ' || max(iif(slot = 0, whole, NULL)), '') || ')',
    '((' || group_concat(iif(slot > 0, start, NULL), ' AND ') || ')' || coalesce(' OR ' || max(iif(slot = 0, start, NULL)), '') || ')',
    '((' || group_concat(iif(slot > 0, any, NULL), ' AND ') || ')' || coalesce(' OR ' || max(iif(slot = 0, any, NULL)), '') || ')'
  FROM slots GROUP BY term, limit_
),
condition(limit_, whole, start, any) AS MATERIALIZED (
  SELECT limit_, group_concat(whole, ' AND '), group_concat(start, ' AND '), group_concat(any, ' AND ') FROM terms GROUP BY limit_
),

-- 7. The strict answer, tier by tier and class by class: a step is taken only if no step before it filled a page.
step(n, score, match) AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY tier, limit_), 3 * tier + limit_, CASE tier
      WHEN 2 THEN 'title_lc : "' || text || '"'
      WHEN 3 THEN 'title_lc : (' || whole || ')'
      WHEN 4 THEN 'title_lc : (' || start || ')'
      WHEN 5 THEN '{title_lc keywords_lc} : (' || start || ')'
      ELSE any END
  FROM condition CROSS JOIN asked CROSS JOIN (
    SELECT 2 AS tier UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6)
  WHERE tier > 2 OR limit_ = 0
),
walk(n, score, rows) AS (
  SELECT 0, 0, (
    SELECT json_group_array(rowid) FROM (
      SELECT rowid FROM documents WHERE rowid IN (
        SELECT rowid FROM documents WHERE id = trim(raw, char(9, 10, 11, 12, 13, 32))
        UNION SELECT rowid FROM documents WHERE id_lc = text AND text <> '')
      ORDER BY rowid LIMIT 10))
  FROM question CROSS JOIN asked
  UNION ALL
  SELECT step.n, step.score, (
    SELECT json_group_array(rowid) FROM (
      SELECT f.rowid FROM documents_fts AS f WHERE f.documents_fts MATCH step.match ORDER BY f.rowid LIMIT 10))
  FROM walk CROSS JOIN step ON step.n = walk.n + 1
  WHERE json_array_length(walk.rows) < 10
),
strict(score, rowid) AS MATERIALIZED (
  SELECT min(score), rowid FROM (
    SELECT walk.score, j.value AS rowid FROM walk CROSS JOIN json_each(walk.rows) AS j
    UNION ALL
    SELECT * FROM (
      SELECT 3, d.rowid FROM asked CROSS JOIN documents AS d ON d.title_lc = asked.text AND asked.text <> ''
      ORDER BY d.rowid LIMIT 10)
  ) GROUP BY rowid ORDER BY 1, 2 LIMIT 10
),

-- 8. The relaxed answer, only when that is empty: rows of the three rarest terms, by the terms they leave out.
weighed(term, any, weight) AS MATERIALIZED (
  SELECT terms.term, any, min(w.weight)
  FROM terms JOIN pattern ON pattern.term = terms.term JOIN words AS w ON w.word = pattern.text
  WHERE limit_ = 2 - NOT EXISTS (SELECT 1 FROM level WHERE limit_ = 2) - NOT EXISTS (SELECT 1 FROM level WHERE limit_ > 0)
    AND NOT EXISTS (SELECT 1 FROM strict)
  GROUP BY terms.term ORDER BY 3 DESC, 1 LIMIT 3
),
relaxed(left_out, weight, rowid) AS MATERIALIZED (
  SELECT -count(*), sum(weight), rowid FROM (
    SELECT weight, j.value AS rowid
    FROM weighed CROSS JOIN json_each((
      SELECT json_group_array(rowid) FROM (
        SELECT f.rowid FROM documents_fts AS f WHERE f.documents_fts MATCH weighed.any ORDER BY f.rowid LIMIT 100))) AS j
  ) GROUP BY rowid ORDER BY 1, 2 DESC, 3 LIMIT 10
),
said(translated) AS MATERIALIZED (
  SELECT coalesce(json_group_array(json_object('asked', asked, 'source', source)), '[]') FROM (
    SELECT DISTINCT v.asked, v.source FROM vocabulary AS v
    WHERE v.key IN (SELECT key FROM needed JOIN item ON item.n = needed.n UNION SELECT compound_key FROM needed JOIN item ON item.n = needed.n
      UNION SELECT stretch.key FROM chosen JOIN stretch ON stretch.n = chosen.n AND stretch.words = chosen.words WHERE chosen.n > 0)
    ORDER BY v.rowid)
)
SELECT d.id, d.title, d.url, found.relaxed, said.translated
FROM (
  SELECT score AS one, 0 AS two, rowid, 0 AS relaxed FROM strict
  UNION ALL SELECT left_out, -weight, rowid, 1 FROM relaxed
) AS found
CROSS JOIN said
JOIN documents AS d ON d.rowid = found.rowid
ORDER BY found.one, found.two, found.rowid

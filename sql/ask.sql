-- The whole search as one statement with one parameter: the question, as it was typed.
--
-- Returns the first ten documents, best first:
--   id, title, url
--   relaxed      1 if no document holds every term of the question and these are the nearest, else 0
--   translated   JSON list of {"asked", "source"}: what was asked, and what the source calls it
-- The strict answer is that of Catalog.search, ids and order. The relaxed one follows a simpler rule: fewest terms
-- left out, then the sum of the weights of the terms held, then rowid.
--
-- All it needs is in the database, this statement too:
--   sqlite3      .param set ?1 "'labor force'"      then the statement
--   JavaScript   env.DB.prepare(sql).bind(question).all()                  Cloudflare D1
--   Go           db.Query(sql, question)
--   Datasette    `catalog-search sql DB --ask --named`, whose parameter is :question
--
-- How it is written: each stage is one row, takes the row before it once, and hands on lists as JSON. SQLite copies
-- a WITH table at every mention, so two mentions a stage would double the statement at every stage. It keeps to
-- SQLite 3.40 and to the limits of Cloudflare D1: five terms of a compound SELECT, GLOB patterns of 50 bytes.
WITH RECURSIVE

-- 1. Fold ------------------------------------------------------------------------------------------------------

-- The question, to its first NUL, and what folds to itself in lower case.
question(typed, easy) AS MATERIALIZED (
  SELECT CAST(?1 AS TEXT), 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 '
),
-- Its first 1,000 characters folded to signs: at each step one code point or a pair, then all that is easy. A letter
-- that the table does not have is a word of its own: the ranges are LETTERS of catalog_search/text.py.
folded(raw, easy, signs, rest) AS (
  SELECT substr(typed, 1, min(length(typed), 1000)), easy, '', ' ' || substr(typed, 1, min(length(typed), 1000))
  FROM question
  UNION ALL
  SELECT
    raw, easy,
    folded.signs || coalesce(pair.signs, one.signs, iif(
        unicode(rest) BETWEEN 0x3400 AND 0x4DBF OR unicode(rest) BETWEEN 0x4E00 AND 0xA48F
        OR unicode(rest) BETWEEN 0xA4D0 AND 0xA95F OR unicode(rest) BETWEEN 0xA980 AND 0xD7AF
        OR unicode(rest) BETWEEN 0xF900 AND 0xFAFF OR unicode(rest) BETWEEN 0x10000 AND 0x1BCFF
        OR unicode(rest) BETWEEN 0x1CCF0 AND 0x1CCF9 OR unicode(rest) BETWEEN 0x1D2C0 AND 0x1D2FF
        OR unicode(rest) BETWEEN 0x1D360 AND 0x1D37F OR unicode(rest) BETWEEN 0x1DF00 AND 0x1EFFF
        OR unicode(rest) BETWEEN 0x1FBF0 AND 0x1FBFF OR unicode(rest) BETWEEN 0x20000 AND 0x3FFFF,
        printf(' u%x ', unicode(rest)), ' '))
      || lower(substr(rest, 1 + coalesce(length(pair.key), 1),
        length(rest) - coalesce(length(pair.key), 1) - length(ltrim(substr(rest, 1 + coalesce(length(pair.key), 1)), easy)))),
    ltrim(substr(rest, 1 + coalesce(length(pair.key), 1)), easy)
  FROM folded
  LEFT JOIN folding AS pair ON pair.key = substr(rest, 1, 2)
  LEFT JOIN folding AS one ON one.key = substr(rest, 1, 1)
  WHERE rest <> ''
),
-- ^ stands after a letter only, and once.
signed(raw, signs) AS MATERIALIZED (
  SELECT raw, replace(replace(replace(replace(replace(
    replace(replace(replace(signs, '^', '^~'), '~^', ''), '~', ''),
    ' ^', ' '), '-^', '-'), '.^', '.'), '+^', '+'), '#^', '#')
  FROM folded WHERE rest = ''
),
-- Words that are a spelling are rewritten; in others + and # are spaces and a dot joins.
spelled(raw, signs) AS MATERIALIZED (
  SELECT raw, iif(signs GLOB '*[.+#]*', (
      SELECT group_concat(coalesce(
        (SELECT s.spelled FROM spellings AS s WHERE s.word = rtrim(ltrim(w.value, '-'), '-.')),
        replace(replace(replace(rtrim(ltrim(w.value, '-'), '-.'), '+', ' '), '#', ' '), '.', '-')), ' ')
      FROM json_each('["' || replace(signs, ' ', '","') || '"]') AS w), signs)
  FROM signed
),
-- The marked form: one hyphen inside a word, none around it.
hyphened(raw, signs) AS MATERIALIZED (
  SELECT raw, replace(replace(
    ' ' || replace(replace(replace(signs, '-', '-~'), '~-', ''), '~', '') || ' ', ' -', ' '), '- ', ' ')
  FROM spelled
),
marked(raw, marked) AS MATERIALIZED (
  SELECT raw, trim(replace(replace(replace(signs, ' ', ' ~'), '~ ', ''), '~', '')) FROM hyphened
),

-- 2. Words -----------------------------------------------------------------------------------------------------

-- words: of each of the first 64 words
--   own       its normal form without elision and possessive
--   stop      whether it is a stop word
--   key       the singulars of its parts, under which a vocabulary has it
--   parts     how many parts it has
--   others    its other patterns of the same word: last part in the singular, joined form, singular of that
--   sources   what the vocabulary says for it: list of [pattern, source]
split(raw, marked, words) AS MATERIALIZED (
  SELECT raw, marked, (
    WITH
    -- Without elision, then without possessive; catalog_search/language.py says what they leave alone.
    unelided(n, marked, bare) AS MATERIALIZED (
      SELECT w.key, w.value, coalesce((
          SELECT substr(w.value, length(form) + 1) FROM rules
          WHERE kind = 'elision' AND instr(w.value, '-') AND substr(w.value, 1, length(form)) = form
            AND length(w.value) - length(form) > 1 AND substr(w.value, length(form) + 1, 1) GLOB '[aeiouyh]'
            AND substr(w.value, length(form) + 2, 1) <> '-'
          ORDER BY position LIMIT 1), w.value)
      FROM json_each(iif(marked.marked = '', '[]', '["' || replace(marked.marked, ' ', '","') || '"]')) AS w
      WHERE w.key < 64
    ),
    bared(n, marked, bare) AS MATERIALIZED (
      SELECT n, marked, coalesce((
          SELECT substr(bare, 1, length(bare) - length(form)) FROM rules
          WHERE kind = 'possessive' AND instr(bare, '-') AND substr(bare, -length(form)) = form
            AND length(bare) - length(form) > 1 AND substr(bare, -length(form) - 2, 1) <> '-'
          ORDER BY position LIMIT 1), bare)
      FROM unelided
    ),
    -- The parts, and after them the joined form, unless the join stands between two digits.
    formed(n, stop, own, parts, forms) AS MATERIALIZED (
      SELECT n,
        EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word IN (marked, bare)),
        replace(replace(bare, '-', ' '), '^', ''),
        1 + length(bare) - length(replace(bare, '-', '')),
        '["' || replace(replace(bare, '^', ''), '-', '","') || '"' || iif(
          instr(bare, '-') AND bare NOT GLOB '*[0-9]-[0-9]*', ',"' || replace(replace(bare, '-', ''), '^', '') || '"', '') || ']'
      FROM bared
    ),
    singled(n, stop, own, parts, forms, singulars) AS MATERIALIZED (
      SELECT n, stop, own, parts, forms, (
        SELECT json_group_array(coalesce(
          (SELECT replacement FROM rules WHERE kind = 'word' AND form = f.value),
          (SELECT substr(f.value, 1, length(f.value) - length(form)) || replacement FROM rules
           WHERE kind = 'ending' AND length(f.value) >= least AND f.value NOT GLOB '*[^a-z]*' AND form IN (
             substr(f.value, -1), substr(f.value, -2), substr(f.value, -3), substr(f.value, -4),
             substr(f.value, -5), substr(f.value, -6), substr(f.value, -7), substr(f.value, -8))
           ORDER BY position LIMIT 1),
          f.value))
        FROM json_each(forms) AS f)
      FROM formed
    ),
    keyed(n, stop, own, parts, ending, joined, singular, key) AS MATERIALIZED (
      SELECT n, stop, own, parts,
        substr(own, 1, length(own) - length(forms ->> (parts - 1))) || (singulars ->> (parts - 1)),
        forms ->> parts,
        singulars ->> parts,
        (SELECT group_concat(s.value, ' ') FROM json_each(singulars) AS s WHERE s.key < parts)
      FROM singled
    ),
    sourced(n, stop, own, parts, ending, joined, singular, key, sources) AS MATERIALIZED (
      SELECT n, stop, own, parts, ending, joined, singular, key, (
        SELECT json_group_array(json_array(pattern, source)) FROM (
          SELECT pattern, source FROM vocabulary AS v WHERE v.key IN (keyed.key, singular) ORDER BY v.rowid))
      FROM keyed
    )
    SELECT json_group_array(json_object('own', own, 'stop', stop, 'key', key, 'parts', parts,
      'others', json_array(ending, joined, singular), 'sources', json(sources)))
    FROM sourced)
  FROM marked
),

-- 3. Phrases of the vocabulary ---------------------------------------------------------------------------------

-- phrases: those chosen, longest first and then leftmost, that do not overlap
--   first, last   which words
--   own           their normal form
--   sources       what the vocabulary says for them
phrased(raw, text, words, phrases) AS MATERIALIZED (
  SELECT raw, replace(replace(marked, '-', ' '), '^', ''), words, (
    WITH RECURSIVE
    -- Stretches of words with which a key of the vocabulary begins.
    stretch(first, last, parts, own, key) AS (
      SELECT w.key, w.key, w.value ->> 'parts', w.value ->> 'own', w.value ->> 'key' FROM json_each(words) AS w
      UNION ALL
      SELECT first, last + 1, parts + (words ->> ('$[' || (last + 1) || '].parts')),
        own || ' ' || (words ->> ('$[' || (last + 1) || '].own')), key || ' ' || (words ->> ('$[' || (last + 1) || '].key'))
      FROM stretch
      WHERE EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key > stretch.key || ' ' AND v.key < stretch.key || '!')
        AND last + 1 < json_array_length(words)
    ),
    -- mask: a bit for each of its words
    candidate(phrases) AS MATERIALIZED (
      SELECT json_group_array(json_object(
        'first', first, 'last', last, 'own', own, 'key', key, 'mask', ~(-1 << (last - first + 1)) << first, 'sources', json(sources)))
      FROM (
        SELECT first, last, own, key, (
            SELECT json_group_array(json_array(pattern, source)) FROM (
              SELECT pattern, source FROM vocabulary AS v WHERE v.key = stretch.key ORDER BY v.rowid)) AS sources
        FROM stretch
        WHERE last > first AND EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key = stretch.key)
        ORDER BY parts DESC, first)
    ),
    chosen(phrases, n, taken, phrase) AS (
      SELECT phrases, 0, 0, NULL FROM candidate
      UNION ALL
      SELECT phrases, n + 1,
        iif(taken & (phrases ->> ('$[' || n || '].mask')), taken, taken | (phrases ->> ('$[' || n || '].mask'))),
        iif(taken & (phrases ->> ('$[' || n || '].mask')), NULL, phrases -> n)
      FROM chosen WHERE n < json_array_length(phrases)
    )
    SELECT json_group_array(json(phrase)) FROM chosen WHERE phrase IS NOT NULL)
  FROM split
),

-- 4. Terms -----------------------------------------------------------------------------------------------------

-- terms: of each term that must be met and each class of patterns (0 itself, 1 singular and joined form too, 2 the
-- vocabulary's too)
--   class
--   asked     the term's normal form
--   key       the singulars of its parts
--   sources   what the vocabulary says for it
--   fts       its patterns up to that class, as an FTS5 query
-- A phrase is met by all its words, or by what the vocabulary says for the whole. Stop words leave: a phrase, unless it
-- has no other words; the question, unless it has nothing else or the vocabulary has them.
termed(raw, text, terms) AS MATERIALIZED (
  SELECT raw, text, (
    WITH
    -- A place in a term is one of its words, or, without number, the whole of a phrase.
    placed(term, n, phrase, good, asked, key, sources, others) AS MATERIALIZED (
      SELECT coalesce(p.value ->> 'first', w.key), w.key, p.key IS NOT NULL,
        NOT (w.value ->> 'stop') OR (w.value -> 'sources') <> '[]',
        w.value ->> 'own', w.value ->> 'key', w.value -> 'sources', w.value -> 'others'
      FROM json_each(words) AS w
      LEFT JOIN json_each(phrases) AS p ON w.key BETWEEN p.value ->> 'first' AND p.value ->> 'last'
      UNION ALL
      SELECT p.value ->> 'first', NULL, 1, 1, p.value ->> 'own', p.value ->> 'key', p.value -> 'sources', NULL FROM json_each(phrases) AS p
    ),
    -- A pattern must start a word; one whose last word is one sign or a number must match whole, but a number for
    -- the start of an id.
    worded(term, n, phrase, good, asked, key, sources, class, fts) AS MATERIALIZED (
      SELECT term, n, phrase, good, asked, placed.key, sources, c.value, (
        SELECT group_concat(CASE
            WHEN ' ' || text GLOB '* ?' THEN '"' || text || '"'
            WHEN ' ' || rtrim(text, '0123456789') GLOB '* ' THEN '"' || text || '" OR id_lc : "' || text || '"*'
            ELSE '"' || text || '"*'
          END, ' OR ')
        FROM (
          SELECT asked AS text WHERE n IS NOT NULL
          UNION SELECT o.value FROM json_each(others) AS o WHERE c.value > 0 AND o.value <> ''
          UNION SELECT s.value ->> 0 FROM json_each(sources) AS s WHERE c.value > 1))
      FROM placed CROSS JOIN json_each('[0, 1, 2]') AS c
    ),
    met(term, class, asked, key, sources, fts) AS MATERIALIZED (
      SELECT term, class,
        coalesce(max(asked) FILTER (WHERE n IS NULL), max(asked)),
        coalesce(max(key) FILTER (WHERE n IS NULL), max(key)),
        coalesce(max(sources) FILTER (WHERE n IS NULL), max(sources)),
        '(' || coalesce(group_concat('(' || fts || ')', ' AND ') FILTER (WHERE good AND n IS NOT NULL),
          group_concat('(' || fts || ')', ' AND ') FILTER (WHERE n IS NOT NULL)) || ')'
          || coalesce(' OR ' || max(fts) FILTER (WHERE n IS NULL), '')
      FROM worded
      GROUP BY term, class
      HAVING max(good AND n IS NOT NULL) OR phrase
        OR NOT EXISTS (SELECT 1 FROM json_each(words) AS w WHERE NOT (w.value ->> 'stop'))
    )
    SELECT json_group_array(json_object('class', class, 'asked', asked, 'key', key, 'sources', json(sources), 'fts', fts))
    FROM (SELECT * FROM met ORDER BY term, class))
  FROM phrased
),

-- 5. The strict answer -----------------------------------------------------------------------------------------

-- conditions: the whole question as FTS5 queries, one for each class.
conditioned(raw, text, terms, conditions) AS MATERIALIZED (
  SELECT raw, text, terms, (
    SELECT json_group_array(fts) FROM (
      SELECT group_concat('(' || (t.value ->> 'fts') || ')', ' AND ') AS fts
      FROM json_each(terms) AS t GROUP BY t.value ->> 'class' ORDER BY t.value ->> 'class'))
  FROM termed
),
-- steps: what to look for from tier 2 on, best first, as {"score", "fts"}; nothing if the last finds nothing. The
-- score is 3 · tier + class; a class that adds no pattern is passed over.
stepped(raw, text, terms, steps) AS MATERIALIZED (
  SELECT raw, text, terms, (
    SELECT json_group_array(json_object('score', score, 'fts', fts)) FROM (
      SELECT 3 * tier.value + c.key AS score, CASE tier.value
          WHEN 2 THEN 'title_lc : "' || text || '"'
          WHEN 3 THEN 'title_lc : (' || replace(c.value, '"*', '"') || ')'
          WHEN 4 THEN 'title_lc : (' || c.value || ')'
          WHEN 5 THEN '{title_lc keywords_lc} : (' || c.value || ')'
          ELSE c.value
        END AS fts
      FROM json_each(iif(
          EXISTS (SELECT 1 FROM documents_fts AS f WHERE f.documents_fts MATCH coalesce(conditions ->> 2, '""')),
          '[2, 3, 4, 5, 6]', '[]')) AS tier
      CROSS JOIN json_each(conditions) AS c
      WHERE c.key = 0 OR (tier.value > 2 AND c.value <> conditions ->> (c.key - 1))
      ORDER BY 1))
  FROM conditioned
),
-- strict: the first ten, as a list of rowids. A step is taken unless one before it has filled the page.
strictly(raw, text, terms, strict) AS MATERIALIZED (
  SELECT raw, text, terms, (
    WITH RECURSIVE walk(n, found) AS (
      SELECT 0, '[]'
      UNION ALL
      SELECT n + 1, (
        SELECT json_group_array(rowid) FROM (
          SELECT f.rowid FROM documents_fts AS f
          WHERE f.documents_fts MATCH (steps ->> ('$[' || n || '].fts')) ORDER BY f.rowid LIMIT 10))
      FROM walk WHERE n < json_array_length(steps) AND json_array_length(found) < 10
    )
    SELECT json_group_array(rowid) FROM (
      SELECT min(score) AS score, rowid FROM (
        SELECT steps ->> ('$[' || (n - 1) || '].score') AS score, j.value AS rowid FROM walk CROSS JOIN json_each(found) AS j
        UNION ALL
        SELECT 0, rowid FROM documents WHERE id = trim(raw, char(
          9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201,
          8202, 8232, 8233, 8239, 8287, 12288))
        UNION ALL
        SELECT * FROM (SELECT 0, rowid FROM documents WHERE id_lc = text AND text <> '' ORDER BY rowid LIMIT 10)
        UNION ALL
        SELECT * FROM (SELECT 3, rowid FROM documents WHERE title_lc = text AND text <> '' ORDER BY rowid LIMIT 10))
      GROUP BY rowid ORDER BY score, rowid LIMIT 10))
  FROM stepped
),

-- 6. The relaxed answer, if that is empty ------------------------------------------------------------------------

-- nearest: the six weightiest terms, as {"fts", "weight"}; the weight of a term is that of its rarest word. For a term
-- that occurs nowhere stands the weightiest of its words, and for such a word, if it occurs nowhere, the first that
-- there is of: the words of the same singular; those that it begins; those with the longest common start, of four
-- letters and half of both words at least; the one that shares most trigrams. Of stop words only, themselves.
neared(raw, text, terms, strict, nearest) AS MATERIALIZED (
  SELECT raw, text, terms, strict, iif(strict <> '[]' OR terms = '[]', '[]', (
    WITH RECURSIVE
    term(asked, key, sources, fts) AS MATERIALIZED (
      SELECT t.value ->> 'asked', t.value ->> 'key', t.value -> 'sources',
        '{title_lc keywords_lc text_lc} : (' || (t.value ->> 'fts') || ')'
      FROM json_each(terms) AS t WHERE t.value ->> 'class' = 2
    ),
    stood(found) AS MATERIALIZED (
      SELECT iif(
        EXISTS (SELECT 1 FROM documents_fts AS f WHERE f.documents_fts MATCH term.fts),
        json_array(fts, coalesce((
          SELECT min(weight) FROM (
            SELECT max((SELECT w.weight FROM words AS w WHERE w.word >= p.value AND w.word < p.value || '{' ORDER BY w.word LIMIT 1)) AS weight
            FROM (SELECT asked AS text UNION SELECT s.value ->> 0 FROM json_each(sources) AS s) AS pattern
            CROSS JOIN json_each('["' || replace(pattern.text, ' ', '","') || '"]') AS p
            GROUP BY pattern.text)), 0)),
        (SELECT near.value FROM (
          SELECT coalesce(
            (SELECT json_array('"' || p.value || '"', w.weight) FROM words AS w WHERE w.word = p.value),
            iif(EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = p.value), NULL, coalesce(
              (SELECT json_array(group_concat('"' || w.word || '"', ' OR '), min(w.weight)) FROM words AS w
               WHERE w.singular = '["' || replace(term.key, ' ', '","') || '"]' ->> p.key HAVING count(*) > 0),
              iif(length(p.value) < 2 OR p.value NOT GLOB '*[^0-9]*', NULL, coalesce(
                (SELECT json_array('"' || p.value || '"*', w.weight) FROM words AS w
                 WHERE w.word >= p.value AND w.word < p.value || '{' ORDER BY w.word LIMIT 1),
                (WITH RECURSIVE start(size) AS (
                   SELECT length(p.value) - 1 WHERE length(p.value) > 4
                   UNION ALL SELECT size - 1 FROM start WHERE size > 4 AND 2 * (size - 1) >= length(p.value))
                 SELECT json_array('"' || substr(p.value, 1, size) || '"*', w.weight)
                 FROM start CROSS JOIN words AS w ON w.word >= substr(p.value, 1, size) AND w.word < substr(p.value, 1, size) || '{'
                 WHERE length(w.word) <= 2 * size LIMIT 1),
                (WITH RECURSIVE
                 place(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < length(p.value)),
                 gram(grams) AS MATERIALIZED (
                   SELECT json_group_array(DISTINCT substr('_' || p.value || '_', n, 3)) FROM place),
                 rare(grams, trigram, upto) AS MATERIALIZED (
                   SELECT grams, c.trigram, sum(c.words) OVER (ORDER BY c.words, c.trigram) - c.words
                   FROM gram CROSS JOIN json_each(grams) AS g JOIN trigram_counts AS c ON c.trigram = g.value),
                 sharing(grams, word) AS MATERIALIZED (
                   SELECT grams, t.word FROM rare CROSS JOIN trigrams AS t ON t.trigram = rare.trigram
                   WHERE upto < 300 GROUP BY t.word ORDER BY count(*) DESC, t.word LIMIT 20),
                 counted(word, weight, shared, both_) AS MATERIALIZED (
                   SELECT w.word, w.weight,
                     (SELECT count(*) FROM json_each(grams) AS g WHERE instr('_' || w.word || '_', g.value)),
                     json_array_length(grams) + length(w.word)
                   FROM sharing JOIN words AS w ON w.rowid = sharing.word
                   WHERE NOT instr(substr(w.word, 2), p.value))
                 SELECT json_array('"' || word || '"', weight) FROM counted WHERE 8 * shared >= both_
                 ORDER BY 1000 * shared / both_ DESC, weight, word LIMIT 1)))))) AS value
          FROM json_each('["' || replace(asked, ' ', '","') || '"]') AS p) AS near
         WHERE near.value IS NOT NULL
         ORDER BY near.value ->> 1 DESC LIMIT 1))
      FROM term
    )
    SELECT json_group_array(json(found)) FROM (
      SELECT found FROM stood WHERE found IS NOT NULL ORDER BY found ->> 1 DESC LIMIT 6)))
  FROM strictly
),
-- If nothing is known but stop words, these.
known(raw, text, terms, strict, nearest) AS MATERIALIZED (
  SELECT raw, text, terms, strict, iif(nearest <> '[]' OR strict <> '[]' OR terms = '[]', nearest, (
    SELECT json_group_array(json(found)) FROM (
      SELECT json_array('"' || w.word || '"', w.weight) AS found
      FROM json_each('["' || replace(text, ' ', '","') || '"]') AS t JOIN words AS w ON w.word = t.value
      GROUP BY w.word ORDER BY w.weight DESC, w.word LIMIT 6)))
  FROM neared
),
-- tries: every set of these terms, best first, as an FTS5 query.
tried(terms, strict, tries) AS MATERIALIZED (
  SELECT terms, strict, (
    WITH RECURSIVE choice(n, held, weight, fts) AS (
      SELECT 0, 0, 0, '' WHERE nearest <> '[]'
      UNION ALL
      SELECT n + 1, held + taken.value, weight + iif(taken.value, nearest ->> ('$[' || n || '][1]'), 0),
        fts || iif(taken.value, iif(fts = '', '', ' AND ') || '(' || (nearest ->> ('$[' || n || '][0]')) || ')', '')
      FROM choice CROSS JOIN json_each('[0, 1]') AS taken
      WHERE n < json_array_length(nearest)
    )
    SELECT json_group_array(fts) FROM (
      SELECT fts FROM choice WHERE n = json_array_length(nearest) AND held > 0 ORDER BY held DESC, weight DESC, fts))
  FROM known
),
-- found: the first ten, as a list of rowids.
answered(terms, relaxed, found) AS MATERIALIZED (
  SELECT terms, strict = '[]', iif(strict <> '[]', strict, (
    WITH RECURSIVE walk(n, found) AS (
      SELECT 0, '[]'
      UNION ALL
      SELECT n + 1, (
        SELECT json_group_array(rowid) FROM (
          SELECT f.rowid FROM documents_fts AS f
          WHERE f.documents_fts MATCH (tries ->> n) ORDER BY f.rowid LIMIT 10))
      FROM walk WHERE n < json_array_length(tries) AND json_array_length(found) < 10
    )
    SELECT json_group_array(rowid) FROM (
      SELECT min(n), j.value AS rowid FROM walk CROSS JOIN json_each(found) AS j
      GROUP BY j.value ORDER BY 1, 2 LIMIT 10)))
  FROM tried
)

-- 7. The documents -----------------------------------------------------------------------------------------------
SELECT d.id, d.title, d.url, answered.relaxed, (
    SELECT json_group_array(json_object('asked', asked, 'source', source)) FROM (
      SELECT DISTINCT t.value ->> 'asked' AS asked, s.value ->> 1 AS source
      FROM json_each(terms) AS t CROSS JOIN json_each(t.value -> 'sources') AS s WHERE t.value ->> 'class' = 0)) AS translated
FROM answered CROSS JOIN json_each(found) AS place CROSS JOIN documents AS d ON d.rowid = place.value
ORDER BY place.key

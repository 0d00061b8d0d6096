-- The whole search as one statement with one parameter: the question, as it was typed.
--
-- Returns the first ten documents, best first:
--   id, title, url
--   relaxed      1 if no document holds every term of the question and these are the nearest, else 0
--   translated   JSON list of {"asked", "source"}: what was asked, and what the source calls it
-- The strict answer is that of Catalog.search, ids and order. The relaxed one follows a simpler rule: fewest terms
-- left out, then the sum of the weights of the terms held, then rowid.
--
-- All it needs is in the database, this statement too, in the table statements:
--   sqlite3      .once ask.sql
--                SELECT sql || ';' FROM statements WHERE name = 'ask';
--                .param set ?1 "'labor force'"
--                .read ask.sql
--   JavaScript   await env.DB.prepare(sql).bind(question).all()     (Cloudflare D1)
--   Go           rows, err := db.Query(sql, question)
--   Python       connection.execute(sql, (question,))
--   Datasette    with :question in the place of ?1, which `catalog-search sql DB --ask --named` prints
-- The question is text without lone surrogates, which no SQLite takes.
--
-- How it is written: each stage is one row, takes the row before it once, and hands on lists as JSON. SQLite copies
-- a WITH table at every mention, so that two mentions a stage would double the statement at every stage. LIMIT -1 is no
-- limit: it keeps SQLite from merging a stage into the next, which would repeat its expressions. The statement needs
-- SQLite 3.40 and keeps to the limits of Cloudflare D1: five terms of a compound SELECT, GLOB patterns of 50 bytes.
WITH RECURSIVE

-- 1. Fold ------------------------------------------------------------------------------------------------------

-- The question, to its first NUL, and what folds to itself in lower case.
question(typed, easy) AS (
  SELECT CAST(?1 AS TEXT), 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ' LIMIT -1
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
        length(rest) - coalesce(length(pair.key), 1)
          - length(ltrim(substr(rest, 1 + coalesce(length(pair.key), 1)), easy)))),
    ltrim(substr(rest, 1 + coalesce(length(pair.key), 1)), easy)
  FROM folded
  LEFT JOIN folding AS pair ON pair.key = substr(rest, 1, 2)
  LEFT JOIN folding AS one ON one.key = substr(rest, 1, 1)
  WHERE rest <> ''
),
-- ^ stands after a letter only, and once.
signed(raw, signs) AS (
  SELECT raw, replace(replace(replace(replace(replace(
    replace(replace(replace(signs, '^', '^~'), '~^', ''), '~', ''),
    ' ^', ' '), '-^', '-'), '.^', '.'), '+^', '+'), '#^', '#')
  FROM folded WHERE rest = '' LIMIT -1
),
-- Words that are a spelling are rewritten; in others + and # are spaces and a dot joins.
spelled(raw, signs) AS (
  SELECT raw, iif(signs GLOB '*[.+#]*', (
      SELECT group_concat(coalesce(
        (SELECT s.spelled FROM spellings AS s WHERE s.word = rtrim(ltrim(w.value, '-'), '-.')),
        replace(replace(replace(rtrim(ltrim(w.value, '-'), '-.'), '+', ' '), '#', ' '), '.', '-')), ' ')
      FROM json_each('["' || replace(signs, ' ', '","') || '"]') AS w), signs)
  FROM signed LIMIT -1
),
-- The marked form: one hyphen inside a word, none around it.
hyphened(raw, signs) AS (
  SELECT raw, replace(replace(
    ' ' || replace(replace(replace(signs, '-', '-~'), '~-', ''), '~', '') || ' ', ' -', ' '), '- ', ' ')
  FROM spelled LIMIT -1
),
squeezed(raw, marked) AS (
  SELECT raw, trim(replace(replace(replace(signs, ' ', ' ~'), '~ ', ''), '~', '')) FROM hyphened LIMIT -1
),
-- Its first 64 words, as a JSON list too.
marked(raw, marked, list) AS (
  SELECT raw, marked, iif(marked = '', '[]', '["' || replace(marked, ' ', '","') || '"]')
  FROM (
    SELECT raw, iif(length(marked) - length(replace(marked, ' ', '')) < 64, marked, (
        SELECT group_concat(w.value, ' ') FROM json_each('["' || replace(marked, ' ', '","') || '"]') AS w
        WHERE w.key < 64)) AS marked
    FROM squeezed LIMIT -1)
  LIMIT -1
),

-- 2. Words -----------------------------------------------------------------------------------------------------

-- words: of each word
--   own       its normal form without elision and possessive
--   stop      whether it is a stop word
--   key       the singulars of its parts, under which a vocabulary has it
--   parts     how many parts it has
--   others    its other patterns of the same word: last part in the singular, joined form, singular of that
--   sources   what the vocabulary says for it: list of [pattern, source]
split(raw, marked, words) AS (
  SELECT raw, marked, (
    WITH
    -- Without elision, then without possessive; catalog_search/language.py says what they leave alone.
    unelided(n, marked, bare) AS (
      SELECT w.key, w.value, coalesce(iif(instr(w.value, '-'), (
          SELECT substr(w.value, length(form) + 1) FROM rules
          WHERE kind = 'elision' AND substr(w.value, 1, length(form)) = form
            AND length(w.value) - length(form) > 1 AND substr(w.value, length(form) + 1, 1) GLOB '[aeiouyh]'
            AND substr(w.value, length(form) + 2, 1) <> '-'
          ORDER BY position LIMIT 1), NULL), w.value)
      FROM json_each(list) AS w LIMIT -1
    ),
    bared(n, marked, bare) AS (
      SELECT n, marked, coalesce(iif(instr(bare, '-'), (
          SELECT substr(bare, 1, length(bare) - length(form)) FROM rules
          WHERE kind = 'possessive' AND substr(bare, -length(form)) = form
            AND length(bare) - length(form) > 1 AND substr(bare, -length(form) - 2, 1) <> '-'
          ORDER BY position LIMIT 1), NULL), bare)
      FROM unelided LIMIT -1
    ),
    -- The parts, and after them the joined form, unless the join stands between two digits.
    formed(n, stop, own, parts, forms) AS (
      SELECT n,
        EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word IN (marked, bare)),
        replace(replace(bare, '-', ' '), '^', ''),
        1 + length(bare) - length(replace(bare, '-', '')),
        '["' || replace(replace(bare, '^', ''), '-', '","') || iif(
          instr(bare, '-') AND bare NOT GLOB '*[0-9]-[0-9]*',
          '","' || replace(replace(bare, '-', ''), '^', ''), '') || '"]'
      FROM bared LIMIT -1
    ),
    singled(n, stop, own, parts, forms, singulars) AS (
      SELECT n, stop, own, parts, forms, (
        SELECT json_group_array(coalesce(
          (SELECT replacement FROM rules WHERE kind = 'word' AND form = f.value),
          (SELECT substr(f.value, 1, length(f.value) - length(form)) || replacement FROM rules
           WHERE kind = 'ending' AND length(f.value) >= least AND f.value NOT GLOB '*[^a-z]*' AND form IN (
             substr(f.value, -1), substr(f.value, -2), substr(f.value, -3), substr(f.value, -4),
             substr(f.value, -5), substr(f.value, -6), substr(f.value, -7), substr(f.value, -8),
             substr(f.value, -9), substr(f.value, -10), substr(f.value, -11), substr(f.value, -12))
           ORDER BY position LIMIT 1),
          f.value))
        FROM json_each(forms) AS f)
      FROM formed LIMIT -1
    ),
    keyed(n, stop, own, parts, ending, joined, singular, key) AS (
      SELECT n, stop, own, parts,
        substr(own, 1, length(own) - length(forms ->> (parts - 1))) || (singulars ->> (parts - 1)),
        forms ->> parts,
        singulars ->> parts,
        (SELECT group_concat(s.value, ' ') FROM json_each(singulars) AS s WHERE s.key < parts)
      FROM singled LIMIT -1
    ),
    sourced(n, stop, own, parts, ending, joined, singular, key, sources) AS (
      SELECT n, stop, own, parts, ending, joined, singular, key, (
        SELECT json_group_array(json_array(pattern, source)) FROM (
          SELECT pattern, source FROM vocabulary AS v WHERE v.key IN (keyed.key, singular) ORDER BY v.rowid))
      FROM keyed LIMIT -1
    )
    SELECT json_group_array(json_object(
      'own', own, 'stop', stop, 'key', key, 'parts', parts, 'sources', json(sources),
      'others', json(CASE WHEN joined IS NOT NULL THEN json_array(ending, joined, singular)
        WHEN ending <> own THEN json_array(ending) ELSE '[]' END)))
    FROM sourced)
  FROM marked LIMIT -1
),

-- 3. Phrases of the vocabulary ---------------------------------------------------------------------------------

-- phrases: those chosen, longest first and then leftmost, that do not overlap
--   first, last   which words
--   own, key      their normal form, and its singulars
--   sources       what the vocabulary says for them
phrased(raw, plain, words, phrases) AS (
  SELECT raw, replace(replace(marked, '-', ' '), '^', ''), words, (
    WITH RECURSIVE
    -- Stretches of words with which a key of the vocabulary begins.
    stretch(first, last, parts, own, key) AS (
      SELECT w.key, w.key, w.value ->> 'parts', w.value ->> 'own', w.value ->> 'key' FROM json_each(words) AS w
      UNION ALL
      SELECT first, last + 1, parts + (words ->> ('$[' || (last + 1) || '].parts')),
        own || ' ' || (words ->> ('$[' || (last + 1) || '].own')),
        key || ' ' || (words ->> ('$[' || (last + 1) || '].key'))
      FROM stretch
      WHERE EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key > stretch.key || ' ' AND v.key < stretch.key || '!')
        AND last + 1 < json_array_length(words)
    ),
    -- mask: a bit for each of its words
    candidate(phrases) AS (
      SELECT json_group_array(json_object(
        'first', first, 'last', last, 'mask', ~(-1 << (last - first + 1)) << first,
        'own', own, 'key', key, 'sources', json(sources)))
      FROM (
        SELECT first, last, own, key, (
            SELECT json_group_array(json_array(pattern, source)) FROM (
              SELECT pattern, source FROM vocabulary AS v WHERE v.key = stretch.key ORDER BY v.rowid)) AS sources
        FROM stretch
        WHERE last > first AND EXISTS (SELECT 1 FROM vocabulary AS v WHERE v.key = stretch.key)
        ORDER BY parts DESC, first) LIMIT -1
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
  FROM split LIMIT -1
),

-- 4. Terms -----------------------------------------------------------------------------------------------------

-- terms: of each term that must be met
--   asked     its normal form
--   key       the singulars of its parts
--   sources   what the vocabulary says for it
--   fts       its patterns as FTS5 queries: of class 0, itself; of classes 0 and 1, singular and joined form too; of
--             all, the vocabulary's too
-- A phrase is met by all its words, or by what the vocabulary says for the whole. Stop words leave: a phrase, unless it
-- has no other words; the question, unless it has nothing else or the vocabulary has them.
termed(raw, plain, terms) AS (
  SELECT raw, plain, (
    WITH
    -- A place in a term is one of its words, or, without number, the whole of a phrase.
    placed(term, n, phrase, good, asked, key, sources, others) AS (
      SELECT coalesce(p.value ->> 'first', w.key), w.key, p.key IS NOT NULL,
        NOT (w.value ->> 'stop') OR (w.value -> 'sources') <> '[]',
        w.value ->> 'own', w.value ->> 'key', w.value -> 'sources', w.value -> 'others'
      FROM json_each(words) AS w
      LEFT JOIN json_each(phrases) AS p ON w.key BETWEEN p.value ->> 'first' AND p.value ->> 'last'
      UNION ALL
      SELECT p.value ->> 'first', NULL, 1, 1, p.value ->> 'own', p.value ->> 'key', p.value -> 'sources', NULL
      FROM json_each(phrases) AS p
      LIMIT -1
    ),
    -- A pattern must start a word; one whose last word is one sign or a number must match whole, but a number for
    -- the start of an id.
    worded(term, n, phrase, good, asked, key, sources, fts) AS (
      SELECT term, n, phrase, good, asked, key, sources, (
        SELECT json_array(
          group_concat(fts, ' OR ') FILTER (WHERE class = 0),
          group_concat(fts, ' OR ') FILTER (WHERE class < 2),
          group_concat(fts, ' OR '))
        FROM (
          SELECT class, CASE
              WHEN ' ' || text GLOB '* ?' THEN '"' || text || '"'
              WHEN ' ' || rtrim(text, '0123456789') GLOB '* ' THEN '"' || text || '" OR id_lc : "' || text || '"*'
              ELSE '"' || text || '"*'
            END AS fts
          FROM (
            SELECT 0 AS class, asked AS text WHERE n IS NOT NULL
            UNION ALL SELECT 1, o.value FROM json_each(others) AS o
            UNION ALL SELECT 2, s.value ->> 0 FROM json_each(sources) AS s)))
      FROM placed LIMIT -1
    ),
    met(term, asked, key, sources, own, singular, any) AS (
      SELECT term,
        coalesce(max(asked) FILTER (WHERE n IS NULL), max(asked)),
        coalesce(max(key) FILTER (WHERE n IS NULL), max(key)),
        coalesce(max(sources) FILTER (WHERE n IS NULL), max(sources)),
        coalesce(group_concat('(' || (fts ->> 0) || ')', ' AND ') FILTER (WHERE good),
          group_concat('(' || (fts ->> 0) || ')', ' AND ')),
        coalesce(group_concat('(' || (fts ->> 1) || ')', ' AND ') FILTER (WHERE good AND n IS NOT NULL),
          group_concat('(' || (fts ->> 1) || ')', ' AND ') FILTER (WHERE n IS NOT NULL)),
        coalesce(group_concat('(' || (fts ->> 2) || ')', ' AND ') FILTER (WHERE good AND n IS NOT NULL),
          group_concat('(' || (fts ->> 2) || ')', ' AND ') FILTER (WHERE n IS NOT NULL))
          || coalesce(' OR ' || max(fts ->> 2) FILTER (WHERE n IS NULL), '')
      FROM worded
      GROUP BY term
      HAVING max(good AND n IS NOT NULL) OR phrase
        OR NOT EXISTS (SELECT 1 FROM json_each(words) AS w WHERE NOT (w.value ->> 'stop'))
    )
    SELECT json_group_array(json_object(
      'asked', asked, 'key', key, 'sources', json(sources), 'fts', json_array(own, singular, any)))
    FROM (SELECT * FROM met ORDER BY term))
  FROM phrased LIMIT -1
),

-- 5. The strict answer -----------------------------------------------------------------------------------------

-- conditions: the whole question as FTS5 queries, up to each class of patterns.
conditioned(raw, plain, terms, conditions) AS (
  SELECT raw, plain, terms, (
    SELECT json_array(
      group_concat('(' || (t.value ->> '$.fts[0]') || ')', ' AND '),
      group_concat('(' || (t.value ->> '$.fts[1]') || ')', ' AND '),
      group_concat('(' || (t.value ->> '$.fts[2]') || ')', ' AND '))
    FROM json_each(terms) AS t)
  FROM termed LIMIT -1
),
-- steps: what to look for from tier 2 on, best first, as {"score", "fts"}; nothing if the last finds nothing. The
-- score is 3 · tier + class; a class that adds no pattern is passed over.
stepped(raw, plain, terms, steps) AS (
  SELECT raw, plain, terms, (
    SELECT json_group_array(json_object('score', score, 'fts', fts)) FROM (
      SELECT 3 * tier.value + c.key AS score, CASE tier.value
          WHEN 2 THEN 'title_lc : "' || plain || '"'
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
  FROM conditioned LIMIT -1
),
-- strict: the first ten, as a list of rowids. A step is taken unless one before it has filled the page.
strictly(raw, plain, terms, strict) AS (
  SELECT raw, plain, terms, (
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
        SELECT steps ->> ('$[' || (n - 1) || '].score') AS score, j.value AS rowid
        FROM walk CROSS JOIN json_each(found) AS j
        UNION ALL
        SELECT 0, rowid FROM documents WHERE id = trim(raw, char(
          9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200,
          8201, 8202, 8232, 8233, 8239, 8287, 12288))
        UNION ALL
        SELECT * FROM (SELECT 0, rowid FROM documents WHERE id_lc = plain AND plain <> '' ORDER BY rowid LIMIT 10)
        UNION ALL
        SELECT * FROM (SELECT 3, rowid FROM documents WHERE title_lc = plain AND plain <> '' ORDER BY rowid LIMIT 10))
      GROUP BY rowid ORDER BY score, rowid LIMIT 10))
  FROM stepped LIMIT -1
),

-- 6. The relaxed answer, if that is empty ------------------------------------------------------------------------

-- nearest: the six weightiest terms, as [FTS5 query, weight]; the weight of a term is that of its rarest word. For a
-- term that occurs nowhere stands the weightiest of its words, and for such a word, if it occurs nowhere, the first
-- that there is of: words of the same singular; those that it begins; those with the longest common start, of four
-- letters and half of both words at least; the one that shares most trigrams. Stop words have no such likeness.
neared(raw, plain, terms, strict, nearest) AS (
  SELECT raw, plain, terms, strict, iif(strict <> '[]' OR terms = '[]', '[]', (
    WITH RECURSIVE
    -- found: a term or word that occurs, as [FTS5 query, weight].
    term(n, asked, key, found) AS (
      SELECT t.key, t.value ->> 'asked', t.value ->> 'key', iif(
        EXISTS (
          SELECT 1 FROM documents_fts AS f
          WHERE f.documents_fts MATCH '{title_lc keywords_lc text_lc} : (' || (t.value ->> '$.fts[2]') || ')'),
        json_array('{title_lc keywords_lc text_lc} : (' || (t.value ->> '$.fts[2]') || ')', coalesce((
          SELECT min((
            SELECT max((
              SELECT w.weight FROM words AS w
              WHERE w.word >= p.value AND w.word < p.value || '{' ORDER BY w.word LIMIT 1))
            FROM json_each('["' || replace(pattern.text, ' ', '","') || '"]') AS p))
          FROM (
            SELECT t.value ->> 'asked' AS text
            UNION ALL SELECT s.value ->> 0 FROM json_each(t.value -> 'sources') AS s) AS pattern), 0)),
        NULL)
      FROM json_each(terms) AS t LIMIT -1
    ),
    part(n, word, singular, alone, found) AS (
      SELECT n, p.value, '["' || replace(term.key, ' ', '","') || '"]' ->> p.key,
        EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = p.value),
        coalesce(found, (SELECT json_array('"' || w.word || '"', w.weight) FROM words AS w WHERE w.word = p.value))
      FROM term LEFT JOIN json_each(iif(found IS NULL, '["' || replace(asked, ' ', '","') || '"]', '[]')) AS p
      LIMIT -1
    ),
    same_singular(n, word, found) AS (
      SELECT n, iif(alone OR length(word) < 2 OR word NOT GLOB '*[^0-9]*', NULL, word),
        coalesce(found, iif(alone, NULL, (
          SELECT json_array(group_concat('"' || w.word || '"', ' OR '), min(w.weight)) FROM words AS w
          WHERE w.singular = part.singular AND NOT EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = w.word)
          HAVING count(*) > 0)))
      FROM part LIMIT -1
    ),
    begun(n, word, found) AS (
      SELECT n, word, coalesce(found, (
          SELECT json_array('"' || p.word || '"*', w.weight) FROM words AS w
          WHERE w.word >= p.word AND w.word < p.word || '{'
            AND NOT EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = w.word)
          ORDER BY w.word LIMIT 1))
      FROM same_singular AS p LIMIT -1
    ),
    common_start(n, word, found) AS (
      SELECT n, word, coalesce(found, (
          WITH RECURSIVE start(size) AS (
            SELECT length(p.word) - 1 WHERE length(p.word) > 4
            UNION ALL
            SELECT size - 1 FROM start WHERE size > 4 AND 2 * (size - 1) >= length(p.word)
          )
          SELECT json_array('"' || substr(p.word, 1, size) || '"*', w.weight)
          FROM start CROSS JOIN words AS w
            ON w.word >= substr(p.word, 1, size) AND w.word < substr(p.word, 1, size) || '{'
          WHERE length(w.word) <= 2 * size
            AND NOT EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = w.word)
          LIMIT 1))
      FROM begun AS p LIMIT -1
    ),
    -- The rarest trigrams bring 60 words; of these one must share a quarter of all, and not hold the asked one inside.
    alike(n, found) AS (
      SELECT n, coalesce(found, (
          WITH RECURSIVE
          place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < length(p.word)),
          gram(grams) AS (
            SELECT json_group_array(DISTINCT substr('_' || p.word || '_', i, 3)) FROM place WHERE p.word IS NOT NULL
          ),
          rare(grams, trigram, before) AS (
            SELECT grams, c.trigram, sum(c.words) OVER (ORDER BY c.words, c.trigram) - c.words
            FROM gram CROSS JOIN json_each(grams) AS g CROSS JOIN trigram_counts AS c ON c.trigram = g.value LIMIT -1
          ),
          sharing(grams, word) AS (
            SELECT grams, t.word FROM rare CROSS JOIN trigrams AS t ON t.trigram = rare.trigram
            WHERE before < 300 GROUP BY t.word ORDER BY count(*) DESC, t.word LIMIT 60
          ),
          counted(word, weight, shared, sum) AS (
            SELECT w.word, w.weight,
              (SELECT count(*) FROM json_each(grams) AS g WHERE instr('_' || w.word || '_', g.value)),
              json_array_length(grams) + length(w.word)
            FROM sharing CROSS JOIN words AS w ON w.rowid = sharing.word
            WHERE NOT instr(substr(w.word, 2), p.word)
              AND NOT EXISTS (SELECT 1 FROM stopwords AS s WHERE s.word = w.word)
            LIMIT -1
          )
          SELECT json_array('"' || word || '"', weight) FROM counted WHERE 8 * shared >= sum
          ORDER BY 1000 * shared / sum DESC, weight, word LIMIT 1))
      FROM common_start AS p LIMIT -1
    )
    SELECT json_group_array(json(found)) FROM (
      SELECT found, max(found ->> 1) AS weight FROM alike WHERE found IS NOT NULL GROUP BY n
      ORDER BY weight DESC, n LIMIT 6)))
  FROM strictly LIMIT -1
),
-- If none of them is known, the question's stop words.
known(raw, plain, terms, strict, nearest) AS (
  SELECT raw, plain, terms, strict, iif(nearest <> '[]' OR strict <> '[]' OR terms = '[]', nearest, (
    SELECT json_group_array(json(found)) FROM (
      SELECT json_array('"' || w.word || '"', w.weight) AS found
      FROM json_each('["' || replace(plain, ' ', '","') || '"]') AS p CROSS JOIN words AS w ON w.word = p.value
      GROUP BY w.word ORDER BY w.weight DESC, w.word LIMIT 6)))
  FROM neared LIMIT -1
),
-- tries: every set of these terms, best first, as an FTS5 query.
tried(terms, strict, tries) AS (
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
  FROM known LIMIT -1
),
-- found: the first ten, as a list of rowids.
answered(terms, relaxed, found) AS (
  SELECT terms, strict = '[]', iif(strict <> '[]', strict, (
    WITH RECURSIVE fall(n, found) AS (
      SELECT 0, '[]'
      UNION ALL
      SELECT n + 1, (
        SELECT json_group_array(rowid) FROM (
          SELECT f.rowid FROM documents_fts AS f
          WHERE f.documents_fts MATCH (tries ->> n) ORDER BY f.rowid LIMIT 10))
      FROM fall WHERE n < json_array_length(tries) AND json_array_length(found) < 10
    )
    SELECT json_group_array(rowid) FROM (
      SELECT min(n), j.value AS rowid FROM fall CROSS JOIN json_each(found) AS j
      GROUP BY j.value ORDER BY 1, 2 LIMIT 10)))
  FROM tried LIMIT -1
)

-- 7. The documents -----------------------------------------------------------------------------------------------
SELECT d.id, d.title, d.url, answered.relaxed, (
    SELECT json_group_array(json_object('asked', asked, 'source', source)) FROM (
      SELECT DISTINCT t.value ->> 'asked' AS asked, s.value ->> 1 AS source
      FROM json_each(terms) AS t CROSS JOIN json_each(t.value -> 'sources') AS s
      WHERE s.value ->> 0 <> t.value ->> 'asked')) AS translated
FROM answered CROSS JOIN json_each(found) AS place CROSS JOIN documents AS d ON d.rowid = place.value
ORDER BY place.key

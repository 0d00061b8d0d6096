-- The format of a catalogue's database, version 1. One database is one catalogue is one collection.
--
-- It answers alone: what folds, splits and translates a question is in its tables, and a program that opens it
-- uses those. A change here that an older program would misread raises FORMAT_VERSION in database.py.

-- One row a document. rowid is its static rank, made from the document alone, smaller is better:
--   priority (at most 19 bits) · title length (10 bits: characters of title_lc, at most 1,023) · 24 bits of
--   BLAKE2b(id), the next free number on collision. Columns ending in _lc are normal form: words of [a-z0-9]+
--   joined by single spaces. The long columns come last, so that a reader of the others does not pass them.
--   Where every url is made of the id alone, url is a generated column and takes no room.
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  title TEXT NOT NULL,
  url TEXT NOT NULL,              -- absolute http(s), or '' when the document has none
  id_lc TEXT NOT NULL,
  title_lc TEXT NOT NULL,
  keywords_lc TEXT NOT NULL,      -- keywords by single spaces, then joined forms of compounds (e-mail: email)
  facets_lc TEXT NOT NULL,        -- JSON object: facet → normal form of its value, or a list of them
  keywords TEXT NOT NULL,         -- JSON list
  metadata TEXT NOT NULL,         -- JSON object: name → text, or what the source nests
  path TEXT,                      -- where in the source it is, for sources that are files of text
  heading TEXT,
  first_line INTEGER,
  last_line INTEGER,
  text_lc TEXT NOT NULL,
  text TEXT NOT NULL
);

-- The index over the normal forms. The tokenizer finds the same words in them as a split at spaces does; it is
-- this one so that a question typed with accents, by Datasette say, finds them too.
CREATE VIRTUAL TABLE documents_fts USING fts5(
  id_lc, title_lc, keywords_lc, text_lc,
  content="documents", content_rowid='rowid',
  tokenize='unicode61 remove_diacritics 2', prefix='2 3 4', columnsize=0
);

-- Every word of titles, keywords and texts. weight = round(1000 · ln(2^32 / documents)): the rarer, the weightier,
-- whatever else the catalogue holds.
CREATE TABLE words (
  rowid INTEGER PRIMARY KEY,
  word TEXT NOT NULL,
  documents INTEGER NOT NULL,
  weight INTEGER NOT NULL,
  singular TEXT NOT NULL
);

-- The trigrams of each word between two underscores (_w, for wage: _wa wag age ge_), for the nearest words. A
-- trigram of more than 2,000 words tells nothing, and is left out.
CREATE TABLE trigrams (
  trigram TEXT NOT NULL,
  word INTEGER NOT NULL,          -- words.rowid
  PRIMARY KEY (trigram, word)
) WITHOUT ROWID;

CREATE TABLE trigram_counts (trigram TEXT PRIMARY KEY, words INTEGER NOT NULL) WITHOUT ROWID;

-- Broad prefixes: every start of a word whose words occur in more than 1,000 documents, counted word by word.
-- A prefix that is not here occurs in 1,000 documents at most.
CREATE TABLE prefixes (prefix TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID;

-- The letters, six at most, that the words of ids begin with: where a question's word can begin none of them, the words
-- of the table `words` that it begins are all there are.
CREATE TABLE id_starts (start TEXT PRIMARY KEY) WITHOUT ROWID;

-- One row for each asked word and each of the source's words it leads to.
CREATE TABLE vocabulary (
  rowid INTEGER PRIMARY KEY,
  key TEXT NOT NULL,              -- the singulars of asked's words: what is looked up
  asked TEXT NOT NULL,            -- as the vocabulary writes it
  pattern TEXT NOT NULL,          -- normal form of the source's word or phrase: what is searched
  source TEXT NOT NULL,           -- as the vocabulary writes it
  asked_documents INTEGER NOT NULL,
  source_documents INTEGER NOT NULL,
  gain INTEGER NOT NULL,          -- documents with a source pattern and without the asked one
  verdict TEXT NOT NULL,          -- ok, dead, needless, self, duplicate, ambiguous
  detail TEXT NOT NULL,           -- what the verdict rests on
  line INTEGER NOT NULL,          -- of the pair in the vocabulary's file
  reverse INTEGER NOT NULL        -- 1 for the way back of a pair that holds both ways
);

-- One or two code points → signs over [a-z0-9], space and - . + # ^; see catalog_search/text.py. Longer keys
-- first. A code point that is not here folds to a space.
CREATE TABLE folding (key TEXT PRIMARY KEY, signs TEXT NOT NULL) WITHOUT ROWID;

-- Words, in marked form, that leave the AND of a question unless nothing else is left.
CREATE TABLE stopwords (word TEXT PRIMARY KEY) WITHOUT ROWID;

-- What the language takes off or changes. Kinds: possessive and elision (off the marked form of a word), word
-- (a whole word's singular) and ending (the first that fits a word of at least `least` letters).
CREATE TABLE rules (
  position INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  form TEXT NOT NULL,
  replacement TEXT NOT NULL,
  least INTEGER NOT NULL
);

-- The sentences of notes and errors, in the catalogue's language, with {placeholders}.
CREATE TABLE messages (key TEXT PRIMARY KEY, sentence TEXT NOT NULL) WITHOUT ROWID;

-- Whole words that are nothing but a letter without their signs (c++), and what stands for them.
CREATE TABLE spellings (word TEXT PRIMARY KEY, spelled TEXT NOT NULL) WITHOUT ROWID;

-- The statements a search runs, by name.
CREATE TABLE statements (name TEXT PRIMARY KEY, sql TEXT NOT NULL) WITHOUT ROWID;

-- What the catalogue is: name, title, language, publisher, licence, source_url, revision, retrieved_at,
-- format_version, content_hash, licence_notes, documents, facets and figures that a search needs.
CREATE TABLE catalog (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

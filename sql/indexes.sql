-- The indexes of a catalogue's database, made after its rows. Those of facets are made by the builder.
CREATE UNIQUE INDEX documents_id ON documents(id);
CREATE INDEX documents_id_lc ON documents(id_lc);
CREATE INDEX documents_title_lc ON documents(title_lc);
CREATE UNIQUE INDEX words_word ON words(word);
CREATE INDEX words_singular ON words(singular);
CREATE INDEX vocabulary_key ON vocabulary(key);
CREATE INDEX rules_form ON rules(kind, form);

-- Text and keywords of the document with rowid ?1.
SELECT text, keywords, text_lc FROM documents WHERE rowid = ?1

"""A catalogue in Cloudflare D1, checked by samples: a look at all of it would read, and bill, every row many times."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from catalog_search.checking import Checked, counts_of, normal_forms_of
from catalog_search.database import COUNTED
from catalog_search.remote import PAGE, connect

if TYPE_CHECKING:
    from catalog_search.remote import RemoteCatalog

SAMPLED = 20
"""Documents at either end, and words, at which a check looks."""

QUESTIONS = 4
"""Titles, and words, that a check asks for."""

_COUNTED = """
SELECT w.word, w.documents,
  (SELECT count(*) FROM documents_fts AS f WHERE f.documents_fts MATCH '"' || w.word || '"') AS indexed
FROM json_each(?1) AS j CROSS JOIN words AS w ON w.rowid = j.value ORDER BY w.rowid"""


_ENDS = [
    "SELECT id, title, keywords, text, id_lc, title_lc, keywords_lc, text_lc FROM documents "
    f"ORDER BY rowid {way} LIMIT {SAMPLED}"
    for way in ("ASC", "DESC")
]


def check(address: str) -> Checked:
    """Check a catalogue in D1 by samples.

    Its numbers of rows, for which D1 reads each table once; the normal forms of the first and last documents, the
    index's counts of some words, and that search and the index give the same answers.

    Raises:
        DatabaseError: it cannot be opened at all, or D1 could not be asked.
    """
    with connect(address) as catalog, catalog.database.errors():
        return _checked(catalog)


def _checked(catalog: RemoteCatalog) -> Checked:
    found = Checked([f"format version {catalog.info['format_version']}"], [])
    counts = [(f"SELECT count(*) AS n FROM {table}", ()) for table in ("documents", *COUNTED)]
    documents, *numbers = (rows[0][0] for rows in catalog.batch(counts, "1i"))
    counts_of(documents, numbers, catalog.info, found)
    words = numbers[COUNTED.index("words")]
    rows = list(dict.fromkeys(row for rows in catalog.batch([(sql, ()) for sql in _ENDS], "sslsssss") for row in rows))
    folding, _ = catalog.folding_of(" ".join(part for row in rows for part in row[:4]))
    normal_forms_of(rows, folding, found, f"the normal forms of {len(rows)} documents")
    places = json.dumps(sorted({1 + words * share // SAMPLED for share in range(SAMPLED)}))
    counted = catalog.batch([(_COUNTED, (places,))], "sii")[0]
    for word, stated, indexed in counted:
        if stated != indexed:
            found.faults.append(f'the index has {indexed:,} documents with the word "{word}", the table {stated:,}')
    if all(stated == indexed for _, stated, indexed in counted):
        found.checked.append(f"counts of {len(counted)} words in the index")
    questions = [
        *(row[1] for row in rows[:QUESTIONS]),
        *(word for word, *_ in counted[:QUESTIONS]),
        *(row[0] for row in rows[:2]),
    ]
    _same_answers(catalog, list(dict.fromkeys(questions)), found)
    return found


def _same_answers(catalog: RemoteCatalog, questions: list[str], found: Checked) -> None:
    compiled = [catalog.statement(question, "fts") for question in questions]
    asked = catalog.batch([(catalog.ask_statement(), (question,)) for question in questions])
    pages = [(f"SELECT id FROM ({query.sql} LIMIT {PAGE})", query.parameters) for query in compiled]
    indexed = catalog.batch(pages, "s")
    faults = 0
    for question, rows, others in zip(questions, asked, indexed, strict=True):
        ids, other = [id for id, _, _, relaxed, _ in rows if not relaxed], [id for (id,) in others]
        if ids != other:
            faults += 1
            found.faults.append(f"search and the index answer “{question}” otherwise: {ids[:3]}… and {other[:3]}…")
    if not faults:
        found.checked.append(
            f"search and the index give the same answers in the same order ({len(questions)} questions)"
        )

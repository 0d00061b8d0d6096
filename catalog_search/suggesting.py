"""`vocab suggest`: candidate pairs from every way there is, each measured, none applied.

    spelling     other spellings of the catalogue's words
    forms        plurals that their singular does not find, compounds joined and split
    aliases      a field of the documents that holds other names for them
    thesaurus    a SKOS file or a CSV: altLabel → prefLabel
    log          questions that were asked: their words that occur nowhere, what was clicked, what was asked next
    judged       questions with known answers: their words that occur nowhere
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catalog_search import proposing
from catalog_search.candidates import Lexicon
from catalog_search.errors import QueryError
from catalog_search.trial import Trial

if TYPE_CHECKING:
    from catalog_search.candidates import Candidate

WITHOUT_FILE = ("spelling", "forms")


def suggest(database: str, origin: str | None = None, file: str | None = None) -> list[Candidate]:
    """Return candidate pairs for a catalogue, the largest gain first."""
    with Trial.open(database) as catalog:
        lexicon = Lexicon(catalog)
        proposals = []
        for one in (origin,) if origin else WITHOUT_FILE:
            if one == "spelling":
                proposals += proposing.spelling_of_words(lexicon)
            elif one == "forms":
                proposals += proposing.forms_of_words(lexicon)
            else:
                raise QueryError(f"there is no way called {one}")
        return lexicon.measured(proposals)

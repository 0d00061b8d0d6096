"""`vocab suggest`: candidate pairs from every way there is, each measured, none applied.

spelling     other spellings of the catalogue's words, and words of other countries
forms        plurals that their singular does not find, compounds joined and split
aliases      a field of the documents that holds other names for them
thesaurus    a SKOS file or a table: altLabel → prefLabel, or the names of a concept that the catalogue uses
log          questions that were asked: spelling, forms, stems and single letters of their words, what was asked
             next, what was clicked
judged       the same for the words of questions with known answers, and what each way does to those answers
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catalog_search import harvesting, proposing
from catalog_search.candidates import Lexicon
from catalog_search.errors import QueryError
from catalog_search.judging import Change, Ranks
from catalog_search.questionlog import BadLine, Logged, read_log, without_question
from catalog_search.relevance import read_judged
from catalog_search.thesaurus import concepts
from catalog_search.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from catalog_search.candidates import Candidate, Proposal

WAYS = ("spelling", "forms", "aliases", "thesaurus", "log", "judged")
NAMED = 1_000
"""So many bad lines are named; the others are counted."""
ADOPTED_GAIN, ADOPTED_LOSS = 2, 0.2
"""A way is worth adopting on a catalogue if it gains so many judged questions, and loses that share of them at most."""


class Suggestions(NamedTuple):
    """Candidate pairs, the largest gain first, and what the judged questions say of the ways they come from."""

    candidates: list[Candidate]
    ways: dict[str, Change]
    """Way → what its candidates do to judged questions, where there are any."""
    bad: int = 0
    """Lines of the log without a question that can be used."""
    bad_lines: Sequence[BadLine] = ()
    """The first of them."""


def suggest(
    database: str,
    way: str | None = None,
    file: str | None = None,
    field: str | None = None,
    progress: Callable[[float | None, int], None] | None = None,
) -> Suggestions:
    """Return candidate pairs for a catalogue.

    Args:
        database: a catalogue's database; only read.
        way: one of WAYS; those that need no file by default.
        file: the thesaurus, the log or the judged set.
        field: of aliases: `keywords`, or a name of the documents' metadata.
        progress: called now and then with the share of the log that is read and the number of lines.

    Raises:
        QueryError: the way needs a file, or a field, that is not named or not there.
        SourceError: the file cannot be read.
    """
    if way is not None and way not in WAYS:
        raise QueryError(f'there is no way "{way}". Known: {", ".join(WAYS)}.')
    if (file is not None) != (way in ("thesaurus", "log", "judged")):
        needs = "needs a FILE" if file is None else "reads no FILE"
        raise QueryError(f"--from {way} {needs}" if way else "a FILE goes with --from thesaurus, log or judged")
    if (field is not None) != (way == "aliases"):
        raise QueryError("--from aliases and --field NAME go together: the field that holds the other names")
    with Trial.open(database) as catalog, catalog.errors():
        lexicon = Lexicon(catalog)
        if way == "judged":
            return _judged(lexicon, str(file))
        if way == "log":
            return _logged(lexicon, str(file), progress)
        return Suggestions(lexicon.measured(_proposals(lexicon, way, file, field)), {})


def _proposals(lexicon: Lexicon, way: str | None, file: str | None, field: str | None) -> Iterable[Proposal]:
    if way in ("spelling", None):
        yield from proposing.spelling_of_words(lexicon)
    if way in ("forms", None):
        yield from proposing.forms_of_words(lexicon)
    if way == "aliases":
        yield from harvesting.aliases(lexicon, str(field))
    if way == "thesaurus":
        yield from harvesting.from_thesaurus(lexicon, concepts(str(file), lexicon.language.tag))


def _logged(lexicon: Lexicon, file: str, progress: Callable[[float | None, int], None] | None) -> Suggestions:
    bad: list[BadLine] = []
    number = read = 0

    def questions() -> Iterator[Logged]:
        nonlocal number, read
        for one in read_log(file, progress=progress):
            if isinstance(one, Logged):
                read += 1
                yield one
                continue
            number += 1
            if len(bad) < NAMED:
                bad.append(one)

    proposals = harvesting.from_log(lexicon, questions())
    if bad and not read:
        raise without_question(file, number, bad[0])
    return Suggestions(_one_way(lexicon, lexicon.measured(proposals)), {}, number, bad)


def _judged(lexicon: Lexicon, file: str) -> Suggestions:
    judged = list(read_judged(file))
    asked = harvesting.asked_words(lexicon, (one.query for one in judged))
    ways = harvesting.from_words(lexicon, asked)
    candidates = _one_way(lexicon, lexicon.measured(one for proposals in ways.values() for one in proposals))
    # Several ways may find one pair: it counts for each of them.
    measured = {way: _one_way(lexicon, lexicon.measured(proposals)) for way, proposals in sorted(ways.items())}
    return Suggestions(candidates, ways_judged(Ranks(lexicon.catalog, judged), measured))


def _one_way(lexicon: Lexicon, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates without those that lead back what one of a larger gain leads: where both words are asked."""
    kept: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        asked, source = lexicon.key(one.asked), lexicon.key(one.source)
        if (source, asked) not in kept:
            kept[asked, source] = one
    return list(kept.values())


def ways_judged(
    ranks: Ranks, ways: Mapping[str, Sequence[Candidate]], places: Iterable[int] | None = None
) -> dict[str, Change]:
    """Return what the candidates of each way, all together, do to judged questions.

    Args:
        ranks: of the questions.
        ways: way → its candidates.
        places: of the questions that count; all by default.
    """
    places = None if places is None else list(places)
    return {way: ranks.change(candidates, places) for way, candidates in ways.items()}


def is_adopted(change: Change) -> bool:
    """Tell whether a way is worth adopting: it gains two judged questions, and loses at most a fifth of them.

    >>> is_adopted(Change(100, 50, 5, 1)), is_adopted(Change(100, 50, 5, 2)), is_adopted(Change(100, 50, 1, 0))
    (True, False, False)
    """
    return change.gained >= ADOPTED_GAIN and change.lost <= ADOPTED_LOSS * change.gained


def as_json(found: Suggestions) -> Mapping[str, object]:
    """Return suggestions as `vocab suggest --json` prints them."""
    ways = {way: {**change.as_json(), "adopted": is_adopted(change)} for way, change in found.ways.items()}
    return {
        "candidates": [one.as_json() for one in found.candidates],
        "ways": ways,
        "bad": found.bad,
        "bad_lines": [one._asdict() for one in found.bad_lines],
    }

"""Rows → documents: the templates filled in, the normal forms made, the static rank computed."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote as percent_encode

from catalog_search.template import url_problem
from catalog_search.text import fold, full_folding, joined, mark, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catalog_search.formats import Place, Row, Value
    from catalog_search.settings import Priority, Settings
    from catalog_search.template import Template
    from catalog_search.text import Folding

_NOWHERE = (None, None, None, None)
LONGEST_TITLE = 1_023
LAST_PRIORITY = (1 << 19) - 1


class Draft(NamedTuple):
    """A document on its way into the database: its columns there, but for rowid, and where it came from."""

    line: int
    rank: int
    id: str
    title: str
    url: str
    id_lc: str
    title_lc: str
    keywords_lc: str
    facets_lc: str
    keywords: str
    metadata: str
    path: str | None
    heading: str | None
    first_line: int | None
    last_line: int | None
    text_lc: str
    text: str


class NormalForms(NamedTuple):
    """The searched columns of a document."""

    id_lc: str
    title_lc: str
    keywords_lc: str
    text_lc: str


def normal_forms(id: str, title: str, keywords: Sequence[str], text: str, folding: Folding) -> NormalForms:
    """Return the normal form of each field; to the keywords the joined forms of compounds are added.

    >>> normal_forms("A.1", "E-mail, U.S.", ["net pay"], "", full_folding()).keywords_lc
    'net pay email us'
    """
    id_lc, text_lc = fold(id, folding), text and fold(text, folding)
    marked = [mark(title, folding)]
    if not keywords and "-" not in marked[0]:  # most documents
        return NormalForms(id_lc, plain(marked[0]), "", text_lc)
    marked += [mark(keyword, folding) for keyword in keywords]
    compounds = dict.fromkeys(form for one in marked if "-" in one for word in one.split(" ") if (form := joined(word)))
    words = [plain(one) for one in marked[1:] if one]
    return NormalForms(id_lc, plain(marked[0]), " ".join([*words, *compounds]), text_lc)


class BadRow(ValueError):
    """A row that cannot be a document; its text is the reason."""


class DocumentMaker:
    """Makes a document of each row.

    Args:
        settings: which columns become what.
    """

    def __init__(self, settings: Settings) -> None:
        self._documents = settings.documents
        self._folding = full_folding()
        self.rare: set[str] = set()
        """Code points from U+3400 on that were met; the folding table must hold them."""

    def make(self, row: Row) -> Draft:
        """Return the document of a row.

        Raises:
            BadRow: the row has no id or no title, an unsafe url, a priority that is no number, or a problem
                of its own.
        """
        if row.problem:
            raise BadRow(row.problem)
        parts = self._documents
        id = parts.id.render(row.text)
        title = parts.title.render(row.text)
        if not id.strip():
            raise BadRow("missing id")
        if not title.strip():
            raise BadRow("missing title")
        url = self._url(parts.url, row) if parts.url else ""
        if problem := url_problem(url):
            raise BadRow(problem)
        keywords = [keyword for column in parts.keywords for keyword in column.keywords(row.get(column.column))]
        text = parts.text.render(row.text) if parts.text else ""
        metadata = {}
        for column in parts.metadata:
            value = row.get(column.column)
            if value not in (None, "", [], {}):
                metadata[column.name] = value
        return self.draft(
            row.line, _priority(parts.priority, row) if parts.priority else 0,
            id, title, url, keywords, text, metadata, row.place,
        )  # fmt: skip

    @staticmethod
    def _url(template: Template, row: Row) -> str:
        if row.place is None:
            return template.render_url(row.text)
        # A path keeps its slashes; what stands before the first heading has no name to lead to.
        return template.render(lambda column: percent_encode(row.text(column), safe="/")).removesuffix("#")

    def draft(
        self, line: int, priority: int, id: str, title: str, url: str,
        keywords: list[str], text: str, metadata: Mapping[str, Value], place: Place | None = None,
    ) -> Draft:  # fmt: skip
        """Return a document from its parts, with the normal forms and the rank made."""
        folding = self._folding
        forms = normal_forms(id, title, keywords, text, folding)
        facets: dict[str, str | list[str]] = {}
        for name in self._documents.facets:
            value = metadata.get(name)
            if isinstance(value, list):
                facets[name] = [fold(_text(item), folding) for item in value]
            elif value is not None:
                facets[name] = fold(_text(value), folding)
        for part in (id, title, text, *keywords, *[_text(metadata[name]) for name in facets]):
            if not part.isascii():
                self.rare.update(rare_characters(part))
        path, heading, first_line, last_line = place or _NOWHERE
        return Draft(
            line, static_rank(priority, forms.title_lc, id),
            id, title, url, forms.id_lc, forms.title_lc, forms.keywords_lc,
            _json(facets), _json(keywords), _json(metadata), path, heading, first_line, last_line, forms.text_lc, text,
        )  # fmt: skip


def rare_characters(text: str) -> set[str]:
    """Return the code points of a text that the folding table holds only if they are used.

    >>> sorted(rare_characters("GDP, 人口"))
    ['人', '口']
    """
    return {character for character in set(text) if character >= "\u3400"}


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _json(value: object) -> str:
    return _encode(value) if value else ("[]" if value == [] else "{}")


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _priority(priority: Priority, row: Row) -> int:
    value = row.text(priority.column).strip()
    if not value:
        return LAST_PRIORITY
    try:
        number = float(value) if "_" not in value else float("nan")
    except ValueError:
        number = float("nan")
    if number != number:
        raise BadRow(f'the priority "{value[:40]}" (column {priority.column}) is no number')
    return rank_of(-number if priority.descending else number)


def rank_of(number: float) -> int:
    """Return 19 bits that grow with a number: the first bits of its 32-bit floating point form.

    >>> [rank_of(number) < rank_of(number + 1) for number in (-2000, -1, 0, 1, 2000)]
    [True, True, True, True, True]
    """
    limit = 3.4e38
    (bits,) = struct.unpack(">I", struct.pack(">f", max(-limit, min(limit, number)) + 0.0))
    bits = bits ^ 0xFFFFFFFF if bits & 0x80000000 else bits | 0x80000000
    return min(int(bits) >> 13, LAST_PRIORITY - 1)


def static_rank(priority: int, title_lc: str, id: str) -> int:
    """Return a document's rank: 53 bits, from the document alone, smaller is better.

    Priority (19 bits), length of the title (10 bits), three bytes of BLAKE2b of the id: a changed catalogue
    moves only its changed documents.
    """
    start = int.from_bytes(blake2b(id.encode(), digest_size=8).digest()[:3], "big")
    return (priority << 34) | (min(len(title_lc), LONGEST_TITLE) << 24) | start


def merged(drafts: Iterable[Draft], maker: DocumentMaker) -> Draft:
    """Unite the documents of one id, in the order of their lines.

    The first wins title, url and rank; other titles become keywords, lists unite in order, texts are joined
    by a blank line; of metadata the first value of each name stays, and lists unite.
    """
    first, *others = drafts
    keywords = dict.fromkeys(json.loads(first.keywords))
    texts = dict.fromkeys([first.text] if first.text else [])
    metadata = json.loads(first.metadata)
    for other in others:
        if other.title != first.title:
            keywords.setdefault(other.title)
        keywords.update(dict.fromkeys(json.loads(other.keywords)))
        if other.text:
            texts.setdefault(other.text)
        for name, value in json.loads(other.metadata).items():
            known = metadata.setdefault(name, value)
            if isinstance(known, list) and isinstance(value, list):
                metadata[name] = known + [item for item in value if item not in known]
    return maker.draft(
        first.line,
        first.rank >> 34,
        first.id,
        first.title,
        first.url,
        list(keywords),
        "\n\n".join(texts),
        metadata,
    )

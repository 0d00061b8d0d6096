"""Documents, a vocabulary and questions for the benchmark of speed; all from a fixed seed."""

from __future__ import annotations

import bisect
import csv
import itertools
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from catalog_search import load_language, normalize

csv.field_size_limit(2**31 - 1)

SEED = 20261130
CLASSES = (
    "one common word", "one rare word", "2-4 words", "stem of 3-5 letters", "phrase", "sentence of 8-12 words",
    "no hit", "vocabulary phrase",
)  # fmt: skip

JOINED = {
    # catalogue: the letter put before its ids, and the column that becomes the description
    "mesh_terms_large": ("m", "descriptor"),
    "geonames_cities1000": ("g", "country"),
    "wordnet31_synsets": ("w", "gloss"),
    "icd10cm_2026": ("i", "inclusion_terms"),
    "worldbank_indicators": ("b", "description"),
}
"""The catalogues of the large corpus. A letter, and not a word, keeps their ids apart: a word before every id would
be a word that every document holds."""

CONTENT = (
    "id, title and description. Titles and ids are searched; the description is kept as metadata, not searched. "
    "Descriptions are those of worldbank_indicators, the glosses of wordnet31_synsets, the inclusion terms of "
    "icd10cm_2026, the preferred terms of mesh_terms_large and the country codes of geonames_cities1000."
)
GENERATED = "id, title and description, of made-up words. Titles and ids are searched; the description is metadata."


class Question(NamedTuple):
    """A question and what kind it is."""

    kind: str
    text: str


def write_joined(path: Path, catalogues: Path) -> int:
    """Write the large catalogues as one CSV; return its number of rows. Of a repeated id the first row stays."""
    count = 0
    with open(path, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["id", "title", "description"])
        for name, (letter, description) in JOINED.items():
            seen = set()
            with open(catalogues / f"{name}.csv", encoding="utf-8-sig", newline="") as file:
                for row in csv.DictReader(file):
                    if row["id"] not in seen and row["title"].strip():
                        seen.add(row["id"])
                        rows.writerow([letter + row["id"], row["title"], row[description]])
            count += len(seen)
    return count


def write_generated(path: Path, size: int) -> int:
    """Write a CSV of made-up documents: titles of 2 to 12 words, which are as frequent as Zipf's law has them."""
    chance = random.Random(SEED)
    syllables = [first + second for first in "bcdfghjklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "er")]
    words = dict.fromkeys(["of", "and", "the", "in", "for", "by", "with"])
    while len(words) < 60_000:
        words.setdefault("".join(chance.choices(syllables, k=chance.choice((2, 2, 3, 3, 4)))))
    known = list(words)
    weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(known))))
    with open(path, "w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["id", "title", "description"])
        for number in range(size):
            title = chance.choices(known, cum_weights=weights, k=chance.randint(2, 12))
            description = chance.choices(known, cum_weights=weights, k=chance.choice((0, 0, 5, 15)))
            rows.writerow([f"z{number:07}", " ".join(title).capitalize(), " ".join(description)])
    return size


def read_titles(path: Path) -> list[str]:
    """Return the titles of a CSV in normal form."""
    with open(path, encoding="utf-8", newline="") as file:
        return [normalize(row["title"]) for row in csv.DictReader(file)]


def sample(path: Path, size: int, to: Path) -> None:
    """Write so many rows of a CSV, chosen by chance, as another."""
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    chosen = sorted(random.Random(SEED).sample(range(len(rows)), min(size, len(rows))))
    with open(to, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([head, *(rows[place] for place in chosen)])


class Maker:
    """Makes a vocabulary and questions from titles in normal form."""

    def __init__(self, titles: Sequence[str]) -> None:
        self._chance = random.Random(SEED)
        self._stop = load_language("en").stop_words
        self._titles = titles
        counts = Counter(word for title in titles for word in set(title.split(" ")))
        self._sorted = sorted(counts)
        ranked = sorted(
            (word for word in counts if len(word) > 2 and word.isalpha() and word not in self._stop),
            key=lambda word: (-counts[word], word),
        )
        self._common = ranked[:200]
        self._medium = ranked[200:2_000]
        self._rare = [word for word in ranked if counts[word] <= 5]

    def vocabulary(self, size: int = 20) -> list[dict[str, object]]:
        """Return pairs that ask by two words of the titles, and lead to a word and to a phrase of them."""
        pairs = {}
        while len(pairs) < size:
            asked = " ".join(self._chance.sample(self._medium, 2))
            pairs[asked] = [self._chance.choice(self._medium), self._phrase(2)]
        return [{"asked": asked, "source": source} for asked, source in pairs.items()]

    def questions(self, vocabulary: Iterable[dict[str, object]], number: int) -> list[Question]:
        """Return so many questions of each class, mixed."""
        phrases = [str(pair["asked"]) for pair in vocabulary]
        makers = dict(
            zip(
                CLASSES,
                (
                    lambda: self._chance.choice(self._common),
                    lambda: self._chance.choice(self._rare),
                    lambda: " ".join(self._some(self._chance.randint(2, 4))),
                    self._stem,
                    lambda: self._phrase(self._chance.randint(2, 3)),
                    self._sentence,
                    self._nothing,
                    lambda: self._chance.choice(phrases) + self._chance.choice(("", f" {self._medium_word()}")),
                ),
                strict=True,
            )
        )
        made = [Question(kind, make()) for kind, make in makers.items() for _ in range(number)]
        self._chance.shuffle(made)
        return made

    def _title(self, least: int) -> list[str]:
        while True:
            words = self._chance.choice(self._titles).split(" ")
            if len(words) >= least:
                return words

    def _content(self, title: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(word for word in title if word not in self._stop and len(word) > 1))

    def _some(self, number: int) -> list[str]:
        """Return words of one title, in any order."""
        while len(words := self._content(self._title(number))) < number:
            pass
        return self._chance.sample(words, number)

    def _stem(self) -> str:
        while len(word := self._chance.choice(self._content(self._title(1)) or [""])) < 6 or not word.isalpha():
            pass
        return word[: self._chance.randint(3, 5)]

    def _phrase(self, number: int) -> str:
        """Return words of a title that follow each other; the first and the last are no stop words."""
        while True:
            words = self._title(number)
            start = self._chance.randint(0, len(words) - number)
            found = words[start : start + number]
            if not {found[0], found[-1]} & self._stop and all(len(word) > 1 for word in (found[0], found[-1])):
                return " ".join(found)

    def _medium_word(self) -> str:
        return self._chance.choice(self._medium)

    def _sentence(self) -> str:
        """Return a question of 8 to 12 words about what two titles name."""
        start = self._chance.choice(("what is the", "show me all the", "how many of the", "where can i find the"))
        first, second = self._some(2), self._some(2)
        sentence = (
            f"{start} {' '.join(first)} {self._chance.choice(('in', 'of', 'for the', 'with'))} {' '.join(second)}"
        )
        while len(sentence.split()) < 8:
            sentence += f" {self._medium_word()}"
        return " ".join(sentence.split()[:12])

    def _nothing(self) -> str:
        """Return a word or two with which no word of the titles begins."""
        made = []
        for _ in range(self._chance.randint(1, 2)):
            while True:
                word = "".join(self._chance.choices("bcdfghjklmnpqrstvwxz", k=3)) + self._chance.choice(self._rare)
                place = bisect.bisect_left(self._sorted, word)
                if place == len(self._sorted) or not self._sorted[place].startswith(word):
                    made.append(word)
                    break
        return " ".join(made)


def write_settings(folder: Path, source: Path, pairs: Sequence[dict[str, object]]) -> Path:
    """Write the settings of a catalogue and its vocabulary; return the path of the settings."""
    vocabulary = {"language": "en", "source_name": "the catalogues", "pairs": list(pairs)}
    (folder / "vocabulary.yaml").write_text(yaml.safe_dump(vocabulary), "utf-8")
    settings = {
        "name": "joined",
        "language": "en",
        "source": {"path": str(source)},
        "documents": {
            "id": "{id}",
            "title": "{title}",
            "url": "https://example.org/{id}",
            "metadata": ["description"],
        },
        "vocabulary": "vocabulary.yaml",
    }
    path = folder / "catalog.yaml"
    path.write_text(yaml.safe_dump(settings), "utf-8")
    return path


def documents_of(path: Path) -> list[tuple[int, str, str, str, str, str, str, str]]:
    """Return rowid, id, title, url and the four columns in normal form of a catalogue's documents."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute(
            "SELECT rowid, id, title, url, id_lc, title_lc, keywords_lc, text_lc FROM documents ORDER BY rowid"
        ).fetchall()
    finally:
        connection.close()

"""Cut the data files of this folder from unpacked registry packages; nothing is downloaded here.

    pip download --no-deps openbb-oecd==2.0.0
    python -m zipfile -e openbb_oecd-2.0.0-py3-none-any.whl UNPACKED
    python data/make.py oecd UNPACKED

    apt-get download scowl=2020.12.07-2 && dpkg -x scowl_2020.12.07-2_all.deb UNPACKED
    python data/make.py spellings UNPACKED

Equal packages give equal bytes. Each README says which package, version and file.
"""

from __future__ import annotations

import csv
import gettext
import html
import json
import lzma
import re
import shutil
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ICD_CHAPTERS = {"4", "9", "10", "18"}
# iso-codes translates the official name of Afghanistan as that of Pakistan; it is left out.
WRONG_OFFICIAL_NAMES = {"AF"}


def main() -> None:
    makers = {"oecd": oecd, "icd10cm": icd10cm, "countries-pt": countries_pt, "spellings": spellings}
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        sys.exit(f"usage: python data/make.py {'|'.join(makers)} UNPACKED_PACKAGE")
    makers[sys.argv[1]](Path(sys.argv[2]))


def oecd(package: Path) -> None:
    """Every dataflow of the cache, with the start of its description and the names of its categories."""
    cache = json.loads(lzma.decompress(one(package, "openbb_oecd/assets/oecd_cache.json.xz").read_bytes()))
    names = cache["category_names"]
    rows = []
    for key, flow in cache["dataflows"].items():
        paths = cache["df_to_categories"].get(key, [])
        categories = dict.fromkeys(plain(names[path]) for path in paths)
        about = textwrap.shorten(plain(flow["description"]), 300, placeholder=" …", break_on_hyphens=False)
        title = plain(flow["name"])
        rows.append((key, flow["agency_id"], flow["version"], title, about, "|".join(categories)))
    header = ("id", "agency", "version", "title", "description", "categories")
    write(HERE / "oecd" / "dataflows.csv", header, rows)


def icd10cm(package: Path) -> None:
    """Four chapters of the tabular list; inclusion terms are separated by |."""
    root = ElementTree.parse(one(package, "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml")).getroot()
    rows: list[tuple[str, ...]] = []

    def add(code: ElementTree.Element, parent: str, chapter: str) -> None:
        name = plain(code.findtext("name", ""))
        terms = [plain(note.text or "") for note in code.findall("inclusionTerm/note")]
        rows.append((name, plain(code.findtext("desc", "")), parent, chapter, "|".join(terms)))
        for child in code.findall("diag"):
            add(child, name, chapter)

    for chapter in root.findall("chapter"):
        if chapter.findtext("name") in ICD_CHAPTERS:
            for code in chapter.findall("section/diag"):
                add(code, "", plain(chapter.findtext("desc", "")))
    write(HERE / "icd10cm" / "codes.csv", ("id", "title", "parent", "chapter", "inclusion_terms"), rows)


def countries_pt(package: Path) -> None:
    """The countries of ISO 3166-1 with their names in Brazilian Portuguese, and the licence text."""
    path = one(package, "pycountry/locales/pt_BR/LC_MESSAGES/iso3166-1.mo")
    with path.open("rb") as file:
        translated = gettext.GNUTranslations(file).gettext
    entries = json.loads(one(package, "pycountry/databases/iso3166-1.json").read_text("utf-8"))["3166-1"]
    rows = []
    for entry in sorted(entries, key=lambda entry: entry["alpha_2"]):
        code, title = entry["alpha_2"], translated(entry["name"])
        official = translated(entry["official_name"]) if "official_name" in entry else ""
        common = translated(entry["common_name"]) if "common_name" in entry else ""
        if code in WRONG_OFFICIAL_NAMES or official == title:
            official = ""
        if common == title or (common == entry.get("common_name") and common not in title):  # or untranslated
            common = ""
        rows.append((code, title, common, official, entry["alpha_3"], entry["numeric"], entry["name"]))
    header = ("id", "title", "common_name", "official_name", "iso3", "numeric", "english")
    write(HERE / "countries-pt" / "countries.csv", header, rows)
    shutil.copyfile(one(package, "licenses/LICENSE.txt"), HERE / "countries-pt" / "LGPL-2.1.txt")


def spellings(package: Path) -> None:
    """The words of SCOWL that are British or American only, or a variant, in pairs, to size 70."""
    from catalog_search.spelling import load_spellings

    def words(*kinds: str) -> set[str]:
        found: set[str] = set()
        for kind in kinds:
            for size in (10, 20, 35, 40, 50, 55, 60, 70):
                path = one(package, f"dict/scowl/{kind}-words.{size}")
                found |= {word for word in path.read_text("latin-1").split() if re.fullmatch("[a-z]{3,}", word)}
        return found

    rules = load_spellings("en")
    common, american, british = words("english"), words("american"), words("british", "british_z")
    variants = words("variant_1", "variant_2", "british_variant_1", "british_variant_2")
    known = common | american | british
    pairs: set[tuple[str, str]] = set()
    for word in sorted((american | british | variants) - common):
        # A word of one side alone has its counterpart on the other, or, if that is a word of both, among the common.
        other_side = british - american if word in american else known
        found = [other for other in rules.by_rules(word) if other in other_side] or [
            other for other in rules.by_rules(word) if other in known
        ]
        pairs |= {tuple(sorted((word, other))) for other in found if other[-1] == word[-1] or len(found) == 1}
    paired = {word for pair in pairs for word in pair}
    # What no rule explains: a word that differs by one letter within it, if it is the only one.
    for word in sorted(british - american - common - paired):
        near = [
            other for other in sorted(american - british) if one_letter_apart(word, other, 4) and other[-1] == word[-1]
        ]
        if len(near) == 1:
            pairs.add(tuple(sorted((word, near[0]))))
    by_shape: dict[tuple[int, str, str], list[str]] = {}
    for word in known:
        by_shape.setdefault((len(word), word[0], word[-1]), []).append(word)
    for word in sorted((american | british | variants) - common - paired):
        near = [
            other
            for size in (-1, 0, 1)
            for other in by_shape.get((len(word) + size, word[0], word[-1]), ())
            if one_letter_apart(word, other)
        ]
        if len(near) == 1:
            pairs.add(tuple(sorted((word, near[0]))))
    # A plural is found by its singular.
    listed = sorted(pair for pair in pairs if not ({tuple(sorted(word[:-1] for word in pair))} <= pairs and
                                                   all(word.endswith("s") for word in pair)))  # fmt: skip
    licence = one(package, "doc/scowl/copyright").read_text("utf-8")
    path = HERE.parent / "vocab" / "spellings" / "en-scowl.yaml"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(
            "# English words that are written in two ways. Modified: paired, and only those two ways, of the word\n"
        )
        file.write("# lists of SCOWL, Debian package scowl 2020.12.07-2, by data/make.py. Its licence:\n#\n")
        file.writelines(f"# {line}".rstrip() + "\n" for line in licence.splitlines())
        file.write("\nlanguage: en\npairs:\n")
        file.writelines(f"  - {first} / {second}\n" for first, second in listed)


def one_letter_apart(word: str, other: str, least: int = 5) -> bool:
    """Tell whether words differ by one letter that is hardly heard: one too many, or, of so many, one of like sound."""
    short, long = sorted((word, other), key=len)
    if len(long) - len(short) > 1 or len(short) < 4 or short == long or word.endswith("s"):
        return False  # a plural is compared by its singular
    same = next((place for place, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) < len(long):
        more, before = long[same], long[same - 1]
        silent = (more == "u" and before in "ao") or (len(short) > 4 and (more in "aeiouyh" or more == before))
        return silent and long[same + 1 :] == short[same:]
    alike = any({short[same], long[same]} <= set(sounds) for sounds in ("ae", "ei", "iy", "csz", "ckq"))
    return alike and len(short) >= least and long[same + 1 :] == short[same + 1 :]


def one(package: Path, path: str) -> Path:
    """The one file of the unpacked package whose path ends so."""
    found = [file for file in package.rglob(Path(path).name) if file.as_posix().endswith(path)]
    if len(found) != 1:
        sys.exit(f"{package}: expected one {path}, found {len(found)}")
    return found[0]


def plain(text: str) -> str:
    """Text without markup, entities, line breaks and doubled blanks."""
    return " ".join(html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", " ", text)).split())


def write(path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()

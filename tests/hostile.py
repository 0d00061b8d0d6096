"""Questions that nobody means well with: always the same 5,000, made from fixed pieces by a fixed generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

PIECES = [
    # operators and syntax of FTS5, GLOB, LIKE, SQL, JSON, shells, Markdown
    "AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR(a b, 3)", "a NEAR/2 b", "^", "^wages", "+", "-", "-wages", ":",
    "title_lc :",
    "title:wages", "{title_lc text_lc} : wages", "- {id_lc} : a", "(", ")", "((", "))", "()", "*", "**", "wage*",
    "*wage",
    '"', '""', '"wages', 'wages"', "'", "''", "'--", "'; DROP TABLE documents; --", "\\", "\\\\", "%", "_",
    "%wage%", "w_ge",
    "[", "]", "[a-z]", "[^a-z0-9]", "[*]", "[]]", "?", "?1", "?2", ":question", "@a", "$a", "#", "/", "//", "/*",
    "*/", "--",
    ";", ",", ".", "...", "&", "&&", "|", "||", "!", "!=", "=", "==", "<", ">", "<=>", "~", "`", "```",
    "<script>", "&amp;",
    "{", "}", "{}", '{"a": 1}', "null", "NULL", "true", "[1, 2]", "x'00'", "1e309", "-1", "0", "00", "9" * 60, "0x10",
    # words, codes, compounds
    "wages", "Wage", "WAGES", "labour", "labor", "force", "women's", "woman", "women", "consumer", "price",
    "prices", "index",
    "cpi", "cost of living", "cost", "of", "living", "the", "who", "what", "is", "in", "a", "b", "1", "3361",
    "2024", "336111",
    "covid-19", "e-mail", "email", "U.S.", "us", "R&D", "rd", "C++", "c#", ".NET", "F#", "igp-m", "l'emploi",
    "d'eau", "thé",
    "up-to-date", "38.101", "a_b", "x" * 45, "y" * 120, "tax", "taxes", "receipts", "value", "added", "vat",
    "series", "gas",
    # scripts, composed and decomposed, and what cannot be seen
    "İstanbul", "ışık", "Straße", "ẞ", "Økonomi", "Łódź", "đường bộ", "Население", "населённые", "ЁЛКА", "βιομηχανία",
    "السُكّان", "السكـــان", "إحصاءات", "אוכלוסייה", "שָׁלוֹם", "जनसंख्या", "জনসংখ্যা", "மக்கள்", "ประชากร", "ປະຊາກອນ", "လူဦးရေ",
    "მოსახლეობა", "բնակչություն", "ህዝብ", "人口統計", "2024年GDP", "人口", "ガス", "ｶﾞｽ", "がス", "인구", "인구",
    "ᄋ", "𞤀𞤣", "𐐀", "𠀀", "ﬁnance",
    "ＧＤＰ", "①", "½", "²", "Ⅳ", "℃", "€", "™", "🌍", "👩‍👩‍👧", "🇧🇷", "e\u0301", "\u0301", "\u0308\u0308",
    "a\u0300\u0301\u0302", "\u00ad",
    "la\u00adbour", "\u200b", "\u200d", "\u200e", "\u202e", "\u2028", "\u2029", "\u00a0", "\u3000", "\ufeff",
    "\ufffd", "\uffff",
    "\ud800", "\udfff", "\ud83d", "\U0010ffff", "\ue000", "\x00", "\x01", "\x07", "\x1a", "\x1b[31m", "\x7f",
    "\x85", "\t", "\n", "\r\n",
    "’", "‘", "“", "”", "«", "»", "—", "–", "−", "‐", "‑", "…", "·", "ʼ", "ʻ", "´", "¿", "¡", "§", "№", "1º", "2ª",
]  # fmt: skip

JOINTS = [
    "",
    " ",
    "  ",
    "-",
    "'",
    "’",
    ".",
    ", ",
    "/",
    "_",
    "&",
    " AND ",
    " OR ",
    "\n",
    "\u00a0",
    '"',
    "*",
    "(",
    ")",
    "\u200b",
]


def hostile(number: int = 5_000) -> Iterator[str]:
    """Yield so many questions, none twice in a row; the first are the pieces themselves."""
    yield from PIECES[:number]
    # random() is the same in every version of Python; choice() is not.
    draw = random.Random(20_261_001).random

    def of(pieces: list[str]) -> str:
        return pieces[int(draw() * len(pieces))]

    def sequence() -> str:
        return "".join(of(PIECES) + of(JOINTS) for _ in range(1 + int(draw() * 6)))

    def any_character() -> str:
        code = int(draw() * (0x11_0000 if draw() < 0.3 else 0x3000 if draw() < 0.6 else 0x80))
        return chr(code)

    def characters() -> str:
        return "".join(any_character() for _ in range(1 + int(draw() * 12)))

    def long() -> str:
        return (of(PIECES) + of(JOINTS)) * int(20 + draw() * 300)

    def repeated() -> str:
        return of(JOINTS).join(of(PIECES) for _ in range(70))

    kinds: list[Callable[[], str]] = [sequence] * 12 + [characters] * 6 + [long, repeated]
    for _ in range(max(0, number - len(PIECES))):
        yield kinds[int(draw() * len(kinds))]()

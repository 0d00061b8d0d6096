"""Which encoding a text file has, and what to say when it is another.

A mark at the file's start (BOM) decides; else the stated encoding holds, else UTF-8. Nothing is guessed:
bytes that do not fit stop the reading, and the message names the encodings they would fit.
"""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import IO

from catalog_search.errors import SourceError

# the longer mark of UTF-32 begins with that of UTF-16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CANDIDATES = ("utf-8", "cp1252", "latin-1", "utf-16-le", "utf-16-be")
_CHUNK = 1 << 16


def encoding_of(head: bytes, stated: str | None, path: object) -> tuple[str, str | None]:
    """Return the encoding of a file and a sentence when its mark overrules the stated one.

    Args:
        head: the file's first bytes, some thousands.
        stated: the encoding that the settings name, or None.
        path: the file's name for messages.

    Raises:
        SourceError: no encoding is stated and the file is UTF-16 without a mark.

    >>> encoding_of(b"\\xff\\xfei\\x00d\\x00", None, "a.csv")
    ('utf-16', None)
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            family = encoding.removesuffix("-sig")
            agrees = stated is None or codecs.lookup(stated).name.startswith(family)
            note = f"{path} begins with the mark of {family} and is read so, not as {stated}."
            return encoding, None if agrees else note
    # every second byte of Latin text in UTF-16 is zero
    if stated is None and head.count(0) * 4 > len(head):
        order = "le" if head[1::2].count(0) >= head[::2].count(0) else "be"
        raise SourceError(
            f"holds zero bytes, like UTF-16 without a mark; set source: {{encoding: utf-16-{order}}}",
            path=path,
        )
    return stated or "utf-8", None


def decoding_error(binary: IO[bytes], encoding: str, stated: str | None, path: object) -> SourceError:
    """Read a file again up to the bytes that are not text and say where they are and what they may be.

    Args:
        binary: the file, at its start.
        encoding: the encoding that failed.
        stated: the encoding that the settings name, or None.
        path: the file's name for messages.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    offset, line = 0, 1
    while True:
        chunk = binary.read(_CHUNK)
        state = decoder.getstate()
        try:
            line += newlines.decode(decoder.decode(chunk, not chunk)).count("\n")
        except UnicodeDecodeError as problem:
            # what the decoder was given ends with the chunk; a mark at the start may have been taken off
            start = problem.start + len(chunk) - len(problem.object)
            decoder.setstate(state)
            line += newlines.decode(decoder.decode(chunk[: max(0, start)])).count("\n")
            bad = problem.object[problem.start : problem.start + 1]
            likely = likely_encodings(problem.object)
            return _error(bad, offset + start, line, likely, encoding, stated, path)
        except UnicodeError as problem:
            return SourceError(f"is not {encoding}: {problem}; correct source.encoding", path=path, line=line)
        offset += len(chunk)
        if not chunk:
            return SourceError(f"is not {encoding}; correct source.encoding", path=path)


def likely_encodings(sample: bytes) -> list[str]:
    """Return the encodings in which bytes are plausible text, the likeliest first.

    >>> likely_encodings("Café, 3 €".encode("cp1252"))
    ['cp1252']
    """
    return [encoding for encoding in _CANDIDATES if _plausible(sample, encoding)]


def _plausible(sample: bytes, encoding: str) -> bool:
    if encoding.startswith("utf-16") != (sample.count(0) * 4 > len(sample)):
        return False
    try:
        # a sample may end inside a character
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeError:
        return False
    return not any(unicodedata.category(letter) in ("Cc", "Cn", "Co") for letter in set(text) - set("\t\r\n\f"))


def _error(
    bad: bytes, at: int, line: int, likely: list[str], encoding: str, stated: str | None, path: object
) -> SourceError:
    shown = f"byte 0x{bad.hex()} at offset {at}" if bad else f"the end of the file at offset {at}"
    which = "the encoding of source.encoding" if stated else "the encoding assumed"
    guess = f"likely {' or '.join(likely)}; " if likely else ""
    remedy = f"set source: {{encoding: {next(iter(likely), 'cp1252')}}}"
    return SourceError(
        f"{shown} is not {encoding.removesuffix('-sig')}, {which}; {guess}{remedy}",
        path=path,
        line=line,
    )

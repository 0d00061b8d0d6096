"""The contract's texts in five languages: titles of tools, descriptions of members, messages.

They are `vocab/contract.yaml`. Messages about documents (notes, what was not found) are the catalogue's own and
stand in its database; these here are about tools and calls.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from catalog_search.errors import SettingsError
from catalog_search.yamlfile import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCALES = ("en", "pt-BR", "es", "fr", "de")
"""The languages that the texts are in."""


class Texts:
    """The texts in one language.

    >>> Texts("pt-BR").say("search_title", corpus="CNAE")
    'Pesquisar em CNAE'
    """

    def __init__(self, locale: str = "en") -> None:
        self.locale = locale_of(locale)

    def say(self, key: str, /, **values: object) -> str:
        """Return a text with its values filled in."""
        return _all()[key][self.locale].format(**values)

    def all(self) -> dict[str, str]:
        """Return every text by its key, with the names of its values in braces."""
        return {key: texts[self.locale] for key, texts in _all().items()}


def locale_of(tag: str) -> str:
    """Return the one of LOCALES that a language tag asks for.

    Raises:
        SettingsError: the texts are in no such language.

    >>> locale_of("pt"), locale_of("DE-at")
    ('pt-BR', 'de')
    """
    wanted = tag.replace("_", "-").lower()
    for length in (len(wanted), wanted.find("-")):
        for locale in LOCALES:
            if wanted[:length] in (locale.lower(), locale.partition("-")[0]):
                return locale
    raise SettingsError(f"the tools speak no “{tag}”; they speak {', '.join(LOCALES)}", key="locale")


def nearest_locale(language: str) -> str:
    """Return the locale for a catalogue's language, English if the texts are in no such language.

    >>> nearest_locale("fr"), nearest_locale("ja")
    ('fr', 'en')
    """
    try:
        return locale_of(language)
    except SettingsError:
        return "en"


@cache
def _all() -> Mapping[str, Mapping[str, str]]:
    return parse((files("catalog_search.vocab") / "contract.yaml").read_text("utf-8"), SettingsError, "contract.yaml")

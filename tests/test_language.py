"""Language packs: singulars never deceive, stop words are no content, no sentence is missing."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from catalog_search import yamlfile
from catalog_search.errors import VocabularyError
from catalog_search.language import Language, Rule
from catalog_search.packs import MESSAGES, known_languages, load_language, parse_language
from catalog_search.text import fold, full_folding, mark, normalize

ROOT = Path(__file__).parents[1]
CASES = yamlfile.read(ROOT / "tests" / "cases" / "singular.yaml", VocabularyError)
CATALOGUES = ROOT.parent / "shared" / "data" / "catalogues"
LANGUAGES = ["de", "en", "es", "fr", "pt-BR"]


def marked(word: str) -> str:
    return mark(word, full_folding())


def rules(language: Language, kind: str) -> list[Rule]:
    return [rule for rule in language.rules if rule.kind == kind]


def test_the_five_languages_ship() -> None:
    assert known_languages() == ("de", "en", "es", "fr", "pt-BR")
    assert [load_language(tag).tag for tag in LANGUAGES] == LANGUAGES
    assert [load_language(tag).name for tag in LANGUAGES] == [
        "Deutsch",
        "English",
        "Español",
        "Français",
        "Português (Brasil)",
    ]


# --- singulars


@pytest.mark.parametrize(("tag", "word", "singular"), [(tag, *case) for tag, cases in CASES.items() for case in cases])
def test_singular_is_the_right_word(tag: str, word: str, singular: str) -> None:
    language = load_language(tag)
    assert language.singular(normalize(word)) == normalize(singular)
    assert language.singular(normalize(singular)) == normalize(singular)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_each_language_has_sixty_cases_about_half_of_them_negative(tag: str) -> None:
    cases = CASES[tag]
    stay = [word for word, singular in cases if word == singular]
    assert len(cases) >= 60
    assert 0.4 <= len(stay) / len(cases) <= 0.6
    assert len({normalize(word) for word, _ in cases}) >= len(cases) - 2  # pais, país


@pytest.mark.parametrize("tag", LANGUAGES)
def test_every_exception_says_what_the_endings_do_not(tag: str) -> None:
    language = load_language(tag)
    endings = tuple(rules(language, "ending"))
    bare = Language(tag, language.name, frozenset(), endings, {})
    needless = [rule.form for rule in rules(language, "word") if bare.singular(rule.form) == rule.replacement]
    assert needless == []


@pytest.mark.parametrize("tag", LANGUAGES)
def test_a_listed_singular_is_its_own_singular(tag: str) -> None:
    language = load_language(tag)
    listed = [rule.replacement for rule in rules(language, "word")]
    assert [word for word in listed if language.singular(word) != word] == []


@pytest.mark.parametrize("tag", LANGUAGES)
def test_singular_is_the_same_as_trying_the_rules_in_order(tag: str) -> None:
    language = load_language(tag)
    words = {rule.form: rule.replacement for rule in rules(language, "word")}
    endings = rules(language, "ending")

    def by_the_rules(word: str) -> str:
        if word in words:
            return words[word]
        for rule in endings:
            if word.isalpha() and word.endswith(rule.form) and len(word) >= rule.least:
                return word.removesuffix(rule.form) + rule.replacement
        return word

    listed = [normalize(word) for case in CASES[tag] for word in case] + list(words)
    tried = listed + [f"{start}{rule.form}" for rule in endings for start in ("", "b", "tr", "abo", "trans")]
    assert [word for word in tried if language.singular(word) != by_the_rules(word)] == []


@pytest.mark.parametrize("word", ["", "s", "es", "1990s", "b2bs", "42", "x" * 1000 + "s"])
@pytest.mark.parametrize("tag", LANGUAGES)
def test_no_word_becomes_empty_and_words_with_digits_stay(tag: str, word: str) -> None:
    singular = load_language(tag).singular(word)
    assert bool(singular) == bool(word)
    if not word.isalpha():
        assert singular == word


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("en", "uis_indicators oecd_dataflows worldbank_indicators ilostat_indicators_2022 naics2017"),
        ("en", "icd10cm_2026_titles_only esco_occupations_en harmonized_system mesh_descriptors"),
        ("pt-BR", "cid10_pt ibge_sidra_agregados cnae_subclasses bcb_sgs_curated countries_ptbr"),
    ],
)
def test_a_singular_is_its_own_singular_over_real_catalogues(tag: str, names: str) -> None:
    if not CATALOGUES.is_dir():
        pytest.skip(f"the shared catalogues are not there: {CATALOGUES}")
    language, folding = load_language(tag), full_folding()
    words: set[str] = set()
    for name in names.split():
        with open(CATALOGUES / f"{name}.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                words.update(fold(row["title"], folding).split())
    assert len(words) > 1_000
    twice = [word for word in words if language.singular(language.singular(word)) != language.singular(word)]
    assert twice == []
    assert [word for word in words if not re.fullmatch(r"[a-z0-9]+", language.singular(word))] == []


# --- stop words, possessives, elisions


@pytest.mark.parametrize("tag", LANGUAGES)
def test_each_language_has_a_hundred_and_fifty_stop_words_in_marked_form(tag: str) -> None:
    words = load_language(tag).stop_words
    assert len(words) >= 150
    assert [word for word in words if not re.fullmatch(r"[a-z0-9^]+(-[a-z0-9^]+)*", word)] == []
    assert [word for word in words if not re.search("[a-z]", word)] == []


@pytest.mark.parametrize(
    ("tag", "question", "left"),
    [
        ("en", "What's the unemployment rate of women, please?", "unemployment rate women"),
        ("en", "Why does the US import tea, and how much of it?", "us import tea"),
        ("en", "Show me how many thé drinkers don’t smoke", "the^ drinkers smoke"),
        ("en", "no tax in May without need", "no tax may without need"),
        ("pt-BR", "Quais são as taxas de câmbio, por favor?", "taxas ca^mbio"),
        ("pt-BR", "quais sao os precos da carne ate hoje", "precos carne hoje"),
        ("pt-BR", "população sem instrução no Pará", "populac^a^o sem instruc^a^o para^"),
        ("es", "¿Cuál es la tasa de desempleo de las mujeres?", "tasa desempleo mujeres"),
        ("es", "por favor, muéstrame cuántos niños hay en México", "nin^os me^xico"),
        ("fr", "Qu’est-ce que c'est que l'emploi d'un été ?", "l-emploi e^te^"),
        ("fr", "Combien y a-t-il d'enfants sans vitamine D ?", "d-enfants sans vitamine d"),
        ("de", "Wie viele Frauen gibt's in der Landwirtschaft, bitte?", "frauen landwirtschaft"),
        ("de", "Zeige mir die Einfuhr von Waren ohne Öl", "einfuhr waren ohne o^l"),
    ],
)
def test_stop_words_leave_a_question_and_content_stays(tag: str, question: str, left: str) -> None:
    language = load_language(tag)
    assert " ".join(word for word in marked(question).split() if not language.is_stop(word)) == left


@pytest.mark.parametrize(
    ("tag", "content"),
    [
        ("en", "us uk no may mine need mean own second without under over out other data list number total"),
        ("pt-BR", "sem segundo caso casa bem demais menos fora sim encontro lista dados total número ano"),
        ("es", "sin vía muestra poder caso bien menos fuera bajo lista datos total número año"),
        ("fr", "sans hors sous moins cas or car montre été personne liste données total nombre année d c"),
        ("de", "ohne unter über außer waren arten zahl selbst weiß liste daten summe nummer jahr"),
    ],
)
def test_no_stop_word_is_what_catalogues_are_about(tag: str, content: str) -> None:
    assert [word for word in content.split() if load_language(tag).is_stop(marked(word))] == []


@pytest.mark.parametrize(
    ("tag", "word", "stripped"),
    [
        ("en", "women's", "women"),
        ("en", "WOMEN’S", "women"),
        ("en", "e-commerce's", "e-commerce"),
        ("en", "café's", "cafe^"),
        ("en", "what's", "what"),
        ("en", "U.S.", "u-s"),
        ("en", "I.R.S.", "i-r-s"),
        ("en", "covid-19", "covid-19"),
        ("en", "boss", "boss"),
        ("pt-BR", "d'água", "a^gua"),
        ("pt-BR", "D-dímero", "d-di^mero"),
        ("es", "e-mail", "e-mail"),
        ("fr", "l'emploi", "emploi"),
        ("fr", "L’École", "e^cole"),
        ("fr", "d'œuvre", "oe^uvre"),
        ("fr", "jusqu'à", "a^"),
        ("fr", "lorsqu'elle", "elle"),
        ("fr", "aujourd'hui", "aujourd-hui"),
        ("fr", "t-shirt", "t-shirt"),
        ("fr", "D-dimères", "d-dime^res"),
        ("fr", "L.O.A.", "l-o-a"),
        ("fr", "d'1", "d-1"),
        ("de", "Alzheimer's", "alzheimer"),
        ("de", "Schüler_innen", "schu^ler"),
        ("de", "E-Mail", "e-mail"),
    ],
)
def test_strip_takes_off_what_is_no_part_of_the_word(tag: str, word: str, stripped: str) -> None:
    assert load_language(tag).strip(marked(word)) == stripped


@pytest.mark.parametrize("tag", LANGUAGES)
def test_strip_never_leaves_nothing(tag: str) -> None:
    language = load_language(tag)
    forms = [rule.form for rule in language.rules if rule.kind in ("possessive", "elision")]
    for word in ["", "-", *forms, *(form + end for form in forms for end in ("a", "-a", "a-s", "^", "h-s"))]:
        stripped = language.strip(word)
        assert bool(stripped) == bool(word)
        assert stripped in word


# --- messages


@pytest.mark.parametrize("tag", LANGUAGES)
def test_every_sentence_is_there_with_its_placeholders(tag: str) -> None:
    language = load_language(tag)
    assert list(language.messages) == list(MESSAGES)
    for key, placeholders in MESSAGES.items():
        assert set(re.findall(r"\{(\w*)\}", language.messages[key])) == placeholders
        said = language.say(key, **{name: f"<{name}>" for name in placeholders})
        assert "{" not in said
        assert all(f"<{name}>" in said for name in placeholders)


def test_sentences_are_ended_and_labels_are_not() -> None:
    labels = ("kind_", "field_", "tier_", "label_", "list_")
    for tag in LANGUAGES:
        for key, sentence in load_language(tag).messages.items():
            assert sentence.endswith(".") != key.startswith(labels), (tag, key)


def test_values_are_put_in_as_they_are() -> None:
    english = load_language("en")
    assert "missing" in english.say("explain_missing", term="x", patterns="x")
    assert english.say("no_match", question="{term} \\1 {question}") == (
        "Nothing was found for “{term} \\1 {question}”."
    )


def test_an_unknown_message_names_the_nearest() -> None:
    with pytest.raises(VocabularyError, match='Did you mean "relaxed"'):
        load_language("en").say("relaxd")


# --- finding a pack


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("pt-BR", "pt-BR"),
        ("PT_br", "pt-BR"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("en-US", "en"),
        ("EN", "en"),
        (" fr-CA ", "fr"),
    ],
)
def test_the_nearest_pack_is_found(asked: str, found: str) -> None:
    assert load_language(asked).tag == found


@pytest.mark.parametrize("asked", ["", "xx", "../en", "english", "e"])
def test_an_unknown_language_names_the_known_ones(asked: str) -> None:
    with pytest.raises(VocabularyError, match="de, en, es, fr, pt-BR"):
        load_language(asked)


# --- malformed packs

ENGLISH = (ROOT / "vocab" / "languages" / "en.yaml").read_text("utf-8")
SMALL = (
    "language: xx\nname: X\nstop_words: [a, été]\npossessive: [-s]\nelision: [l-]\n"
    "singular:\n  words: {feet: foot}\n  unchanged: [news]\n  endings:\n    - {ending: ies, singular: y}\n"
    "    - {ending: s, singular: '', least: 4}\n" + ENGLISH[ENGLISH.index("messages:") :]
)


def test_a_small_pack_is_read() -> None:
    language = parse_language(SMALL)
    assert language.stop_words == {"a", "e^te^"}
    assert language.rules == (
        Rule("possessive", "-s", "", 0),
        Rule("elision", "l-", "", 0),
        Rule("word", "feet", "foot", 0),
        Rule("word", "news", "news", 0),
        Rule("ending", "ies", "y", 5),
        Rule("ending", "s", "", 4),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: X\n", "", "x.yaml, line 1, key name: the key is missing"),
        ("possessive:", "posessive:", 'line 4, key posessive: unknown key. Did you mean "possessive"?'),
        ("name: X", "name: [X]", "x.yaml, line 2, key name: must be a text"),
        ("stop_words: [a, été]", "stop_words: a", "x.yaml, line 3, key stop_words: must be a list"),
        ("été]", "[b]]", "line 3, key stop_words: every item of the list must be a text"),
        ("été]", "'à cause']", 'line 3, key stop_words: "à cause" is not one word'),
        ("été]", "'?!']", 'line 3, key stop_words: "?!" is not one word'),
        ("été]", "A]", 'line 3, key stop_words: "A" is given twice, the first time as "a"'),
        ("[-s]", '["\'s"]', 'line 4, key possessive: "\'s" is not in marked form'),
        ("[l-]", "[l-, l-]", 'line 5, key elision: "l-" is given twice'),
        ("{feet: foot}", "{feet: foot, féet: foot}", "line 7, key féet: the word is given twice"),
        ("{feet: foot}", "{feet: foot, news: new}", "line 8, key news: the word is given twice"),
        ("{feet: foot}", "{feet: }", "line 7, key feet: must be one word of letters"),
        ("{feet: foot}", "{two feet: foot}", "line 7, key two feet: must be one word of letters"),
        ("{feet: foot}", "[feet]", "line 7, key words: must be a mapping"),
        ("ending: ies, singular", "ending: ies, singuler", 'unknown key. Did you mean "singular"?'),
        ("least: 4", "least: four", "line 11, key least: must be a number of letters"),
        ("least: 4", "least: 1", "line 11, key least: is so short that nothing may be left of a word"),
        ("{ending: ies, singular: y}", "{ending: s, singular: s}", 'line 11, key ending: "s" is never'),
        ("  list_or:", "  list_oder:", 'key list_oder: unknown key. Did you mean "list_or"?'),
        ("leaves out {dropped}.", "leaves out.", "key relaxed: the placeholders must be: {dropped}"),
        ("The question is empty.", "{question} is empty.", "key empty_query: the placeholders must be: none"),
    ],
)
def test_a_malformed_pack_names_file_line_and_key(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(VocabularyError) as caught:
        parse_language(SMALL.replace(old, new, 1), path="x.yaml")
    assert message in str(caught.value)
    assert caught.value.path == "x.yaml"
    assert caught.value.line
    assert caught.value.key


def test_a_language_is_made_of_the_rows_of_a_database() -> None:
    pack = load_language("fr")
    rows = [tuple(rule) for rule in pack.rules]
    again = Language(
        pack.tag,
        pack.name,
        frozenset(sorted(pack.stop_words)),
        tuple(Rule(*row) for row in rows),
        dict(pack.messages),
    )
    assert (again.rules, again.stop_words, again.messages) == (pack.rules, pack.stop_words, pack.messages)
    assert [again.singular(word) for word in ("travaux", "femmes")] == ["travail", "femme"]
    assert again.is_stop("d-un") and not again.is_stop("l-emploi")

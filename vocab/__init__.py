"""Vocabularies and language packs, as data: installed as `catalog_search.vocab`."""

"""`python -m catalog_search` is `catalog-search`."""

from catalog_search.cli import main

main()

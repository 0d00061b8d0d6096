"""The SQL, one statement a file, as data: installed as `catalog_search.sql`."""

"""The arguments and options that many commands have."""

from __future__ import annotations

import click

as_json = click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
database = click.argument("database", metavar="DB", type=click.Path())

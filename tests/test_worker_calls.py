"""Calls and messages of any form, sent to the exported Worker: the tests of the server in Python, over one more wire."""

# ruff: noqa: F811, F401
from __future__ import annotations

from collections.abc import Iterator

import pytest
import test_teaching
from edge import over_worker
from test_teaching import (
    database,
    test_a_call_in_any_shape_is_answered_as_the_canonical_one,
    test_a_collection_that_is_not_there_is_ignored_and_that_is_said,
    test_a_long_document_is_read_to_its_end_by_fetch_alone,
    test_a_message_of_any_form_is_answered_if_an_answer_is_owed,
    test_an_id_that_is_unknown_is_an_error_that_teaches_too,
    test_an_id_that_looks_like_a_part_is_itself_if_there_is_such_a_document,
    test_an_option_is_honoured_and_that_is_said,
    test_lines_are_counted_whatever_ends_them,
    test_several_messages_at_once_are_each_answered,
    test_the_answer_says_how_it_was_read_what_was_ignored_and_the_canonical_form,
    test_the_calls_seen_in_the_wild_are_answered,
    test_the_results_come_first_and_the_warnings_last,
    test_without_a_text_the_answer_teaches_by_an_example_that_has_an_answer,
)
from wires import Wire


@pytest.fixture(scope="module")
def wire(database: str) -> Iterator[Wire]:
    test_teaching.SCHEMAS.clear()
    with over_worker(database) as opened_wire:
        yield opened_wire

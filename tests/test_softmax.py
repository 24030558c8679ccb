"""softmax against the definition, row by row."""

import numpy as np
import pytest

from attnlib import softmax
from tests.checks.attention_checks import CHECKS
from tests.oracle import numbers


@pytest.mark.parametrize("check", CHECKS["softmax"].values(), ids=CHECKS["softmax"])
def test_softmax(check):
    check(softmax)


def test_weights_worked_by_hand():
    assert np.allclose(softmax(np.log([1, 2, 5])), [0.125, 0.25, 0.625], atol=1e-15)


def test_a_number_common_to_a_row_changes_nothing():
    x = np.round(numbers(3, 5))
    assert np.array_equal(softmax(x + 1e9), softmax(x))


def test_only_differences_count_not_ratios():
    assert not np.allclose(softmax(2 * numbers(5)), softmax(numbers(5)), atol=0.01)


def test_answer_is_a_new_array():
    x = numbers(3, 5)
    assert not np.shares_memory(softmax(x), x)

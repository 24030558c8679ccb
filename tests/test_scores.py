"""project and score_table against loops."""

import numpy as np
import pytest

from attnlib import attention, project, score_table, softmax
from tests.checks.attention_checks import CHECKS, same
from tests.oracle import numbers, tables


@pytest.mark.parametrize("check", CHECKS["project"].values(), ids=CHECKS["project"])
def test_project(check):
    check(project)


@pytest.mark.parametrize("check", CHECKS["score_table"].values(), ids=CHECKS["score_table"])
def test_score_table(check):
    check(score_table)


def test_the_parts_make_the_whole():
    Q, K, V = tables()
    weights = softmax(score_table(Q, K) / np.sqrt(4))
    same("output", attention(Q, K, V), weights @ V)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_stay_visible_in_scores_and_views(bad):
    Q, K, _ = tables()
    Q[1, 2] = bad
    for table in (score_table(Q, K), project(Q, numbers(4, 2))):
        assert not np.isfinite(table[1]).any() and np.isfinite(table[[0, 2]]).all()


def test_arguments_are_not_written_to():
    H, W, b = numbers(3, 4), numbers(4, 5), numbers(5)
    for array in (H, W, b):
        array.flags.writeable = False
    project(H, W, b)
    before = H.copy()
    score_table(H, W.T)
    assert np.array_equal(H, before)


def test_no_token_gives_no_row():
    assert score_table(numbers(0, 4), numbers(5, 4)).shape == (0, 5)
    assert score_table(numbers(3, 4), numbers(0, 4)).shape == (3, 0)
    assert project(numbers(3, 4), numbers(4, 0)).shape == (3, 0)

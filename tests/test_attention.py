"""attention against the three-loop oracle, and inputs that are hard in other ways."""

import inspect

import numpy as np
import pytest

from attnlib import attention
from tests import oracle
from tests.checks.attention_checks import CHECKS, agree, same
from tests.oracle import SEEDS, bool_mask, float_mask, numbers, tables


@pytest.mark.parametrize("check", CHECKS["attention"].values(), ids=CHECKS["attention"])
def test_attention(check):
    check(attention)


def test_the_oracle_gives_the_numbers_worked_by_hand():
    output, weights = oracle.attention([[2.0]], [[0.0], [np.log(3) / 2]], [[4.0], [8.0]])
    assert np.allclose(weights, [[0.25, 0.75]], atol=1e-15)
    assert np.allclose(output, [[7.0]], atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_inputs_of_the_checks_are_not_saturated(seed):
    weights = oracle.attention(*tables(seed=seed))[1]
    assert weights.min() > 0.001 and weights.max() < 0.95
    assert np.ptp(weights, axis=-1).min() > 0.1


def test_options_are_keywords_with_the_defaults_of_the_contract():
    parameters = inspect.signature(attention).parameters
    options = {name: p.default for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert options == dict(
        attn_mask=None, is_causal=False, scale=None, empty="raise", return_weights=False
    )
    assert list(parameters)[:3] == ["Q", "K", "V"]


def test_output_and_weights_are_new_arrays_that_may_be_written():
    Q, K, V = tables()
    for array in attention(Q, K, V, attn_mask=bool_mask(2, 3, 5), return_weights=True):
        assert array.flags.writeable and array.flags.owndata
        assert not any(np.shares_memory(array, given) for given in (Q, K, V))


def test_plain_arrays_come_back_from_subclasses():
    class Own(np.ndarray):
        pass

    Q, K, V = tables()
    mask = float_mask(3, 5)
    got = attention(*(x.view(Own) for x in (Q, K, V, mask)[:3]), attn_mask=mask.view(Own))
    assert type(got) is np.ndarray
    same("output", got, oracle.attention(Q, K, V, attn_mask=mask)[0])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("make", [bool_mask, float_mask])
def test_matrix_objects_are_read_as_arrays(make):
    Q, K, V = tables()
    right = oracle.attention(Q, K, V, attn_mask=make(3, 5))[0]
    same("output", attention(np.matrix(Q), np.matrix(K), V, attn_mask=make(3, 5)), right)
    same("output", attention(Q, K, V, attn_mask=np.matrix(make(3, 5))), right)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d_k", [4, 16, 256])
def test_sums_that_overflow_on_the_way_are_right_or_refused(dtype, d_k):
    big = np.sqrt(np.finfo(dtype).max) * dtype(0.8)
    Q, K = np.full((1, d_k), big), np.zeros((3, d_k), dtype)
    K[0, : d_k // 2], K[0, d_k // 2 :] = -big, big
    try:
        weights = attention(Q, K, np.eye(3, dtype=dtype), scale=1, return_weights=True)[1]
    except ValueError as error:
        assert "range" in str(error)
    else:
        same("weights", weights, np.full((1, 3), 1 / 3), dtype)


@pytest.mark.parametrize(
    ("q", "k", "scale"),
    [
        pytest.param(1e30, 1e30, 1e-60, id="scale below the range"),
        pytest.param(1e-30, 1e-30, 1e60, id="scale above the range"),
        pytest.param(1e38, 1e-38, 10, id="query times scale above the range"),
        pytest.param(3e-38, 3e38, 1e-8, id="query times scale below the range"),
        pytest.param(1e-38, 1e38, 0.7, id="query times scale below the normal range"),
    ],
)
def test_extreme_scales_are_right_or_refused(q, k, scale):
    """The scaled scores are moderate in each case: silence about a wrong row is the mistake."""
    Q, K = np.array([[q]], np.float32), np.array([[k], [k / 2]], np.float32)
    try:
        agree(attention, Q, K, np.eye(2, dtype=np.float32), np.float32, scale=scale)
    except ValueError as error:
        assert "range" in str(error)


def test_subnormal_inputs():
    tiny = np.finfo(np.float32).smallest_subnormal
    Q, K = np.array([[3 * tiny]], np.float32), np.array([[3e38], [1e38]], np.float32)
    agree(attention, Q, K, np.array([[tiny], [2 * tiny]]), np.float32)
    V = np.full((5, 2), np.finfo(np.float64).smallest_subnormal)
    Q, K, _ = tables()
    assert (np.abs(attention(Q, K, V)) <= V[0, 0]).all()


def test_longdouble_is_computed_with_its_own_scale():
    """1/sqrt(3) in float64 would limit the weights to 16 digits."""
    if np.finfo(np.longdouble).eps == np.finfo(np.float64).eps:
        pytest.skip("longdouble is float64 here")
    Q, K, V = np.array([[1, 0, 0]]), np.eye(2, 3), np.eye(2)
    got = attention(*(x.astype(np.longdouble) for x in (Q, K, V)))[0, 0]
    root = np.sqrt(np.longdouble(3))
    assert abs(got - 1 / (1 + np.exp(-1 / root))) < 1e-18


def test_many_candidates_share_the_budget():
    for dtype, tolerance in ((np.float16, 2e-3), (np.float32, 1e-5), (np.float64, 1e-12)):
        Q, K, V = tables((3, 4), (3000, 4), (3000, 2), dtype=dtype)
        output, weights = attention(Q, K, V, return_weights=True)
        same("output", output, oracle.attention(Q, K, V)[0], dtype, tolerance)
        assert np.allclose(weights.astype(float).sum(axis=-1), 1, atol=tolerance)


def test_self_attention_of_one_array():
    H = numbers(2, 3, 4)
    agree(attention, H, H, H)


def test_a_mask_with_more_axes_than_the_inputs_widens_output_and_weights():
    Q, K, V = tables()
    output, weights = attention(Q, K, V, attn_mask=bool_mask(6, 1, 3, 5), return_weights=True)
    assert output.shape == (6, 1, 3, 2) and weights.shape == (6, 1, 3, 5)


def test_mask_of_a_wider_type_does_not_widen_the_output():
    mask = float_mask(3, 5, dtype=np.longdouble)
    assert attention(*tables(dtype=np.float16), attn_mask=mask).dtype == np.float16

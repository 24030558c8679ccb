"""What mutation testing (``make mutants``) found unguarded: each test is named by what broke.

tests/mutants/EQUIVALENT.md lists the mutants that break nothing.
"""

import sys

import numpy as np
import pytest

from attnlib import (
    attention,
    attention_vjp,
    project,
    score_table,
    softmax,
    softmax_jacobian,
    softmax_vjp,
    streaming_attention,
)
from attnlib.checks import promote
from attnlib.palette import color
from tests import oracle
from tests.checks.attention_checks import same
from tests.oracle import bool_mask, numbers, tables

Q, K, V = tables()
LIMIT = np.finfo(np.float64).max
READS = pytest.mark.parametrize("read", [attention, streaming_attention])


def of_two_kinds(rows, cols):
    return np.ones((len(rows), len(cols)), bool if cols[0] == 0 else float)


TABLE = "{0} has shape {1}; expected (…, {2})"
ROW = TABLE + ": one vector is a table of one row, {0}[None, :]"
PRODUCTS = "{}: the products exceed the range of float64; pass a wider dtype"
DTYPE = "{} has dtype <U1; expected float, integer or bool"
MASK = (
    "attn_mask has shape (5,); expected (…, 3, 5), one row a requester. A padding mask "
    "(batch, n_k) becomes one by np.broadcast_to(mask[:, None, :], (batch, n_q, n_k))"
)
NOBODY = (
    "requester row 0 may read nobody (attn_mask, is_causal or n_k = 0 leave no candidate): "
    "pass empty='zero' for an output row of zeros"
)
MESSAGES = [
    (lambda: attention(Q[0], K, V), ROW.format("Q", (4,), "n_q, d_k")),
    (lambda: attention(1, K, V), TABLE.format("Q", (), "n_q, d_k")),
    (lambda: attention(Q, 1, V), TABLE.format("K", (), "n_k, d_k")),
    (lambda: attention(Q, K, 1), TABLE.format("V", (), "n_k, d_v")),
    (lambda: score_table(1, K), TABLE.format("Q", (), "n_q, d_k")),
    (lambda: score_table(Q, 1), TABLE.format("K", (), "n_k, d_k")),
    (lambda: project(1, K), TABLE.format("H", (), "n, d_model")),
    (
        lambda: attention(*(np.stack([x, x]) for x in (Q, K, V.T))),
        "V has 2 rows, K has 5: did you pass V transposed? (V (2, 2, 5), K (2, 5, 4))",
    ),
    (
        lambda: attention(Q, K, V[:4]),
        "V has 4 rows, K has 5; each candidate needs one value (V (4, 2), K (5, 4))",
    ),
    (
        lambda: score_table(Q, K.T),
        "K has 5 columns, Q has 4: did you pass K transposed? (Q (3, 4), K (4, 5))",
    ),
    (
        lambda: score_table(Q, numbers(2, 5, 3)),
        "K has 3 columns, Q has 4; both need the same width d_k (Q (3, 4), K (2, 5, 3))",
    ),
    (
        lambda: attention(numbers(2, 3, 4), numbers(6, 5, 4), V),
        "leading axes do not broadcast together: Q (2,), K (6,), V ()",
    ),
    (
        lambda: attention(Q, K, V, is_causal=bool_mask(3, 5)),
        "is_causal is an array: a mask goes to attn_mask; expected True or False",
    ),
    (
        lambda: attention(Q, K, V, scale=10**400),
        "scale is inf in float64; expected a finite number in its range, or None for 1/sqrt(d_k)",
    ),
    (
        lambda: attention(Q * 1e200, K * 1e200, V),
        "scores of Q and K exceed the range of float64; pass a wider dtype or a smaller scale",
    ),
    (lambda: attention(Q, K[:0], V[:0]), NOBODY),
    (
        lambda: attention(Q, K, V, attn_mask=np.full((3, 5), 2)),
        "attn_mask holds integers; pass bool (True = may be read) or float",
    ),
    (
        lambda: attention(Q, K, V, attn_mask=np.full((3, 5), np.nan)),
        "attn_mask holds nan or +inf; expected finite numbers or -inf",
    ),
    (lambda: attention(Q, K, V, attn_mask=np.ones(5, bool)), MASK),
    (
        lambda: streaming_attention(Q, K, V, attn_mask=of_two_kinds, block=2),
        "attn_mask(rows, cols) is bool for some blocks and float for others",
    ),
    (
        lambda: streaming_attention(Q, K, V, block=0),
        "block is 0; expected an integer from 1 on, or two: (queries, keys)",
    ),
    (lambda: softmax([np.nan]), "x holds nan or +inf; scores must be finite, or -inf"),
    (
        lambda: project(Q, numbers(2, 4)),
        "W has shape (2, 4); expected (4, d), as H has 4 columns; is W stored (out, in)? pass W.T",
    ),
    (
        lambda: project(Q, numbers(4)),
        "W has shape (4,); expected (4, d), as H has 4 columns",
    ),
    (lambda: score_table(Q * 1e200, K * 1e200), PRODUCTS.format("Q and K")),
    (lambda: project(Q * 1e200, K.T * 1e200), PRODUCTS.format("H and W")),
    (lambda: project(Q * 1e200, K.T * 1e200, numbers(5)), PRODUCTS.format("H, W and b")),
    (lambda: attention_vjp([["a"]], Q, K, V), DTYPE.format("grad_output")),
    (lambda: softmax_vjp(["a"], [1.0]), DTYPE.format("grad")),
    (lambda: softmax_vjp([1.0], ["a"]), DTYPE.format("weights")),
    (lambda: softmax_jacobian(["a"]), DTYPE.format("weights")),
    (
        lambda: attention_vjp(numbers(2, 2), Q, K, V),
        "grad_output has shape (2, 2); expected (3, 2), as the output",
    ),
    (
        lambda: softmax_vjp([1.0], [0.5, 0.5]),
        "grad has shape (1,); expected (2,), that of weights",
    ),
    (lambda: softmax_jacobian([[1.0]]), "weights has shape (1, 1); expected one row, (n,)"),
    (
        lambda: project(Q, numbers(4, 2), numbers(4)),
        "b has shape (4,); expected (2,), the columns of W",
    ),
    (
        lambda: streaming_attention(Q, K, V, attn_mask=lambda rows, cols: np.ones(2, bool)),
        "attn_mask(rows, cols) has shape (2,); expected (3, 5)",
    ),
    (
        lambda: color("Q"),
        "unknown role 'Q'; there are: query, key, value, score, weight, output, state",
    ),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_is_whole(call, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        call()
    assert str(raised.value) == message


def test_a_block_of_no_size_is_a_wrong_value_and_a_fraction_a_wrong_type():
    for block, error in ((0, ValueError), ((2, -1), ValueError), (2.0, TypeError)):
        with pytest.raises(error, match=r"^block is "):
            streaming_attention(Q, K, V, block=block)


def test_progress_counts_blocks_under_the_name_of_the_function(monkeypatch):
    tqdm, asked = pytest.importorskip("tqdm"), []
    monkeypatch.setattr(tqdm, "tqdm", lambda steps, **given: asked.append(given) or steps)
    streaming_attention(Q, K, V, progress=True)
    assert asked == [{"desc": "streaming_attention", "unit": "block"}]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError) as raised:
        streaming_attention(Q, K, V, progress=True)
    assert str(raised.value) == "progress=True needs tqdm: pip install tqdm"


# ---- numbers near the largest float ---------------------------------------------------------


@READS
@pytest.mark.parametrize("axes", [(), (1,)])
def test_a_sum_of_products_that_overflows_is_refused(read, axes):
    """Each product is 0.3 of the largest float; only their number takes the score beyond it."""
    half = np.full((*axes, 1, 4), np.sqrt(0.3) * np.sqrt(LIMIT))
    with pytest.raises(ValueError, match="exceed the range"):
        read(half, np.concatenate([half, -half], axis=-2), np.zeros((*axes, 2, 1)), scale=1)


@READS
def test_scores_that_overflow_are_refused_only_where_they_may_be_read(read):
    keys, values = np.concatenate([1e-10 * K, np.full((1, 4), 1e300)]), np.concatenate([V, V[:1]])
    keep, right = np.arange(6) < [[5]] * 3, oracle.attention(Q, K, V, scale=1)[0]
    same("output", read(1e10 * Q, keys, values, attn_mask=keep, scale=1), right)
    keep[1, 5] = True
    with pytest.raises(ValueError, match="exceed the range"):
        read(1e10 * Q, keys, values, attn_mask=keep, scale=1)


@READS
@pytest.mark.parametrize(("q", "k", "scale"), [(1e38, 1e-38, 10), (3e38, 0.0, 3), (1e30, 1e30, 1)])
def test_an_overflow_on_the_way_gives_no_warning(read, q, k, scale):
    given = [np.array(x, np.float32) for x in ([[q]], [[k], [0]], [[1], [2]])]
    with pytest.raises(ValueError, match="exceed the range"):
        read(*given, scale=scale)


@READS
@pytest.mark.parametrize("sign", [1, -1])
def test_a_blend_of_the_largest_floats_is_right(read, sign):
    """Four of five stand on one side: their sum alone is 4 times the largest float."""
    values = sign * np.array([1, 1, 1, 1, -1])[:, None] * LIMIT
    got = read(np.zeros((1, 1)), np.zeros((5, 1)), values)
    assert got[0, 0] / LIMIT == pytest.approx(0.6 * sign)
    assert read(np.zeros((1, 1)), np.zeros((5, 1)), np.full((5, 1), sign * LIMIT)) == sign * LIMIT


def test_rounding_takes_no_huge_value_out_of_its_column_or_table():
    """In each column all values are equal, so the blend is that value, to the last digit."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.1, 1, (2, 1, 40)) * LIMIT
    output = attention(rng.normal(size=(2, 7, 3)), rng.normal(size=(9, 3)), rows.repeat(9, axis=1))
    assert np.array_equal(output, rows.repeat(7, axis=1))


@READS
def test_who_may_read_nobody_gets_zeros_without_a_sign_beside_huge_values(read):
    keep = np.array([[True, True], [False, False]])
    for size in (1.0, LIMIT):
        values = np.full((2, 2), size)
        output = read(np.ones((2, 2)), np.ones((2, 2)), values, attn_mask=keep, empty="zero")
        assert np.array_equal(output, [[size] * 2, [0] * 2]) and not np.signbit(output).any()


def test_nobody_has_weights_without_a_sign():
    output, weights = attention(Q, K[:0], V[:0], empty="zero", return_weights=True)
    assert weights.shape == (3, 0) and not output.any()
    keep = np.zeros((3, 5), bool)
    weights = attention(Q, K, V, attn_mask=keep, empty="zero", return_weights=True)[1]
    assert not weights.any() and not np.signbit(weights).any()


# ---- nan and inf in one table of a batch ----------------------------------------------------


@pytest.mark.parametrize("name", ["Q", "K", "V"])
def test_nan_in_one_table_of_a_batch_spoils_what_it_spoils_alone(name):
    arrays = {"Q": numbers(2, 3, 4), "K": numbers(2, 5, 4), "V": numbers(2, 5, 2)}
    arrays[name][1, 2, 1] = np.nan
    keep = bool_mask(3, 5)
    whole = attention(*arrays.values(), attn_mask=keep, return_weights=True)
    for i in range(2):
        one = attention(*(x[i] for x in arrays.values()), attn_mask=keep, return_weights=True)
        for got, wanted in zip(whole, one, strict=True):
            np.testing.assert_allclose(got[i], wanted, atol=1e-15)


def test_infinite_gradients_give_nan_and_no_warning():
    assert np.isnan(softmax_vjp([np.inf, 1.0], [0.5, 0.5])).any()
    with np.errstate(all="raise"):
        assert not np.isfinite(softmax_vjp([1e308, -1e308], [1.5, 2.5])).all()


# ---- types ----------------------------------------------------------------------------------


def test_half_precision_is_computed_in_single():
    assert promote(np.zeros(1, np.float16)) == (np.float16, np.float32)


@pytest.mark.parametrize(("one", "other"), [("f4", "f8"), ("f8", "f4")])
def test_softmax_vjp_has_the_wider_type_of_its_two_arrays(one, other):
    assert softmax_vjp(np.ones(2, one), np.ones(2, other)).dtype == np.float64


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="longdouble has no more digits")
def test_longdouble_keeps_its_digits_everywhere():
    """Each answer is known, and differs from the one of inputs rounded to float64."""
    fine = np.longdouble(1) + np.longdouble(2) ** -60
    one, third, eye = np.longdouble([[1]]), 1 / np.longdouble(3), np.eye(2, dtype=np.longdouble)
    assert score_table(fine * one, one) == fine and score_table(one, fine * one) == fine
    assert project(fine * one, one, [0]) == fine
    thirds = np.array([third, 2 * third])
    near = np.testing.assert_allclose
    near(softmax_jacobian(thirds), 2 / np.longdouble(9) * (2 * eye - 1), rtol=0, atol=1e-18)
    near(softmax_vjp([1, 0], thirds) * 9, np.longdouble([2, -2]), rtol=0, atol=1e-17)
    near(softmax_vjp(thirds, [0.5, 0.5]), thirds[:1] / 4 * [-1, 1], rtol=0, atol=1e-19)
    # Two equal keys, values 0 and 1/3, d_k = 2: dK = ±1/4 · 1/3 · 1/√2.
    zeros, values = np.zeros((2, 2), np.longdouble), np.array([[0], [third]])
    dK = attention_vjp([[1]], [[1, 0]], zeros, values)[1]
    root = np.sqrt(np.longdouble(2))
    near(dK[:, 0] * 12, [-1 / root, 1 / root], rtol=0, atol=1e-18)
    mask = np.array([[0, np.log(np.longdouble(2))]])
    for read in (attention, streaming_attention):
        near(read(one, 0 * eye[:, :1], eye, attn_mask=mask)[0], thirds, rtol=0, atol=1e-18)

"""What right gradients do, as functions of the implementation, in the form of attention_checks.

Oracle: central differences of the three-loop oracle, in float64.
"""

from functools import cache

import numpy as np

from tests import oracle
from tests.checks.attention_checks import refused, same
from tests.oracle import bool_mask, float_mask, numbers, tables

CHECKS = {"attention_vjp": {}, "softmax_vjp": {}, "softmax_jacobian": {}}
NOBODY = np.array([[True, False, True, True, False], [False] * 5, [True] * 5])

ONE = ((3, 4), (5, 4), (5, 2))
WIDE_V = ((3, 2), (5, 2), (5, 7))
MORE_REQUESTERS = ((5, 4), (3, 4), (3, 2))
BATCH = ((2, 3, 4), (2, 5, 4), (2, 5, 7))
SPREAD = ((2, 1, 3, 4), (6, 5, 4), (5, 7))
CASES = {
    "the formula": (ONE, {}),
    "a given scale": (ONE, {"scale": 0.3}),
    "a negative scale": (ONE, {"scale": -1.25}),
    "d_v above d_k": (WIDE_V, {}),
    "a bool mask": (ONE, {"attn_mask": bool_mask(3, 5)}),
    "a float mask": (ONE, {"attn_mask": float_mask(3, 5)}),
    "causal": (ONE, {"is_causal": True}),
    "causal with more requesters": (MORE_REQUESTERS, {"is_causal": True, "scale": 0.7}),
    "causal and a mask": (WIDE_V, {"attn_mask": NOBODY, "is_causal": True, "empty": "zero"}),
    "a requester with nobody": (ONE, {"attn_mask": NOBODY, "empty": "zero"}),
    "leading axes": (BATCH, {"attn_mask": bool_mask(2, 3, 5)}),
    "broadcast leading axes": (SPREAD, {"attn_mask": float_mask(6, 3, 5)}),
    "leading axes of the mask": (ONE, {"attn_mask": bool_mask(2, 3, 5)}),
    "square tables": (((4, 4), (4, 4), (4, 4)), {}),
}


def check(target):
    """Enter the function in ``CHECKS[target]``, under its name without ``check_``."""

    def enter(function):
        CHECKS[target][function.__name__.removeprefix("check_")] = function
        return function

    return enter


def slopes(function, x, step=1e-5):
    """Return the central differences of a number that depends on the array ``x``."""
    grad = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        grad[i] = (function(up) - function(down)) / (2 * step)
    return grad


@cache
def case(name):
    """Return ``(G, (Q, K, V), options, gradients)`` of one of CASES."""
    shapes, options = CASES[name]
    given = tables(*shapes)

    def read(tables):
        return oracle.attention(*tables, **options)[0]

    G = numbers(*read(given).shape, seed=11)
    gradients = tuple(
        slopes(lambda x, i=i: np.sum(G * read((*given[:i], x, *given[i + 1 :]))), given[i])
        for i in range(3)
    )
    return G, given, options, gradients


def agree(got, wanted, dtype=np.float64, tolerance=1e-6):
    assert isinstance(got, tuple) and len(got) == 3, "dQ, dK and dV are returned"
    for what, g, w in zip(("dQ", "dK", "dV"), got, wanted, strict=True):
        same(what, g, w, dtype, tolerance)


def enter_case(name):
    @check("attention_vjp")
    def check_case(vjp):
        G, given, options, gradients = case(name)
        agree(vjp(G, *given, **options), gradients)

    CHECKS["attention_vjp"][name.replace(" ", "_")] = CHECKS["attention_vjp"].pop("case")


for name in CASES:
    enter_case(name)


@check("attention_vjp")
def check_dtype_follows_the_inputs(vjp):
    G, given, options, gradients = case("a float mask")
    for dtype, tolerance in ((np.float16, 4e-3), (np.float32, 4e-6), (np.longdouble, 1e-6)):
        arrays = [x.astype(dtype) for x in (G, *given)]
        agree(vjp(*arrays, **options), gradients, dtype, tolerance)
        agree(
            vjp(arrays[0], given[0], *arrays[2:], **options),
            gradients,
            np.result_type(dtype, np.float64),
        )
        agree(vjp(G, *arrays[1:], **options), gradients, np.result_type(dtype, np.float64))
    whole = [np.round(x * 2).astype(np.int8) for x in (G, *given)]
    agree(vjp(*whole), vjp(*(x.astype(float) for x in whole)), tolerance=0)
    agree(vjp(*(x.tolist() for x in (G, *given)), **options), gradients)


@check("attention_vjp")
def check_dtype_of_the_scale(vjp):
    """1/√2 of float32 is no better than float32, although G asks for float64."""
    G, given, options, _ = case("d_v above d_k")
    narrow = [x.astype(np.float32) for x in given]
    agree(vjp(G, *narrow, **options), vjp(G, *given, **options), tolerance=1e-12)


@check("attention_vjp")
def check_half_precision_is_computed_in_float32(vjp):
    """Σ A ∘ dA lies between two numbers of half precision, and dS is what is left over."""
    arrays = np.ones((1, 1)), np.ones((1, 4)), np.eye(3, 4), np.array([[1000], [1001], [1003]])
    got = vjp(*(x.astype(np.float16) for x in arrays))
    agree(got, vjp(*arrays), np.float16, 2e-3)


@check("attention_vjp")
def check_inputs_are_only_read(vjp):
    G, given, options, gradients = case("leading axes")
    arrays = [np.asfortranarray(x) for x in (G, *given, options["attn_mask"])]
    for x in arrays:
        x.flags.writeable = False
    agree(vjp(*arrays[:4], attn_mask=arrays[4]), gradients)


@check("attention_vjp")
def check_a_grad_output_with_stride_0(vjp):
    _, given, options, _ = case("leading axes")
    ones = np.ones((2, 3, 7))
    agree(vjp(np.broadcast_to(1.0, ones.shape), *given, **options), vjp(ones, *given, **options))


@check("attention_vjp")
def check_scores_up_to_the_floating_range(vjp):
    G, V = numbers(1, 2), numbers(3, 2, seed=1)
    for dtype in (np.float32, np.float64):
        big = np.sqrt(np.finfo(dtype).max) * dtype(0.9)
        Q, K = np.array([[big]]), np.array([[big], [0], [-big]])
        dQ, dK, dV = vjp(G.astype(dtype), Q, K.astype(dtype), V.astype(dtype))
        agree((dQ, dK, dV), ([[0]], np.zeros((3, 1)), [G[0], 0 * G[0], 0 * G[0]]), dtype)


@check("attention_vjp")
def check_a_common_bias_of_minus_1e9(vjp):
    G, given, _, gradients = case("the formula")
    agree(vjp(G, *given, attn_mask=np.full((3, 5), -1e9)), gradients)


@check("attention_vjp")
def check_nan_that_is_masked_out_reaches_nobody(vjp):
    G, (Q, K, V), _, _ = case("the formula")
    keep = bool_mask(3, 5)
    keep[:, 2] = False
    K, V = K.copy(), V.copy()
    K[2] = V[2] = 0
    wanted = vjp(G, Q, K, V, attn_mask=keep)
    for bad in (np.nan, np.inf):
        K[2] = V[2] = bad
        agree(vjp(G, Q, K, V, attn_mask=keep), wanted)
    keep[1], Q = False, Q.copy()
    K[2] = V[2] = 0
    wanted = vjp(G, Q, K, V, attn_mask=keep, empty="zero")
    Q[1] = np.nan
    agree(vjp(G, Q, K, V, attn_mask=keep, empty="zero"), wanted)


@check("attention_vjp")
def check_nan_that_is_read_reaches_who_reads_it(vjp):
    G, (Q, K, V), _, _ = case("the formula")
    keep = np.array(
        [[True, True, False, True, True], [False, False, True, True, False], [True] * 5]
    )
    Q, K, V = Q.copy(), K.copy(), V.copy()
    K[4] = np.nan
    dQ, dK, dV = vjp(G, Q, K, V, attn_mask=keep)
    assert np.isnan(dQ).any(axis=-1).tolist() == [True, False, True], "dQ: rows 0 and 2 read it"
    K[4], V[0] = 0, np.nan
    dQ, dK, dV = vjp(G, Q, K, V, attn_mask=keep)
    assert np.isnan(dQ).any(axis=-1).tolist() == [True, False, True], "dQ: rows 0 and 2 read it"
    assert np.isfinite(dV).all(), "dV does not depend on V"
    keep[2] = [False, False, True, True, False]
    dQ, dK, dV = vjp(G, Q, K, V, attn_mask=keep)
    assert np.isnan(dK).any(axis=-1).tolist() == [True, True, False, True, True], (
        "not 2, unread by 0"
    )


@check("attention_vjp")
def check_no_requester_no_candidate_no_column(vjp):
    agree(
        vjp(np.ones((0, 2)), *tables((0, 4), (5, 4), (5, 2))),
        [np.zeros(s) for s in ((0, 4), (5, 4), (5, 2))],
    )
    agree(
        vjp(np.ones((3, 0)), *tables((3, 4), (5, 4), (5, 0))),
        [np.zeros(s) for s in ((3, 4), (5, 4), (5, 0))],
    )
    got = vjp(np.ones((3, 2)), *tables((3, 4), (0, 4), (0, 2)), empty="zero")
    agree(got, [np.zeros(s) for s in ((3, 4), (0, 4), (0, 2))])


@check("attention_vjp")
def check_bad_input_is_refused_by_name(vjp):
    G, given, _, _ = case("the formula")
    for wrong in (G.T, G[0], G[None], G[:1], np.float64(1)):
        refused(
            lambda x=wrong: vjp(x, *given), ValueError, "grad_output", str(wrong.shape), "(3, 2)"
        )
    refused(lambda: vjp(G + 1j, *given), TypeError, "grad_output", "complex")
    refused(lambda: vjp([["a", "b"]] * 3, *given), TypeError, "grad_output")
    refused(lambda: vjp(G, given[0], given[1].T, given[2]), ValueError, "K")
    refused(lambda: vjp(G, *given, attn_mask=NOBODY), ValueError, "row 1", "nobody")
    refused(lambda: vjp(G, *given, scale="1"), TypeError, "scale")
    refused(lambda: vjp(G, *given, is_causal=1), TypeError, "is_causal")
    refused(lambda: vjp(G, *given, empty="nan"), ValueError, "empty")


@check("attention_vjp")
def check_gradients_above_the_floating_range_are_refused(vjp):
    G, given, _, _ = case("the formula")
    big = [x.astype(np.float32) * np.float32(1e30) for x in (G, given[2])]
    Q, K = (x.astype(np.float32) for x in given[:2])
    refused(lambda: vjp(big[0], Q, K, big[1]), ValueError, "gradients", "float32")


def right_softmax_vjp(grad, weights):
    return np.array([(np.diag(w) - np.outer(w, w)) @ g for g, w in zip(grad, weights, strict=True)])


@check("softmax_vjp")
def check_is_grad_times_jacobian(vjp):
    G, weights = numbers(3, 5), np.array([oracle.softmax_row(row) for row in numbers(3, 5, seed=1)])
    wanted = right_softmax_vjp(G, weights)
    same("dS", vjp(G, weights), wanted, tolerance=1e-12)
    same("dS", vjp(grad=G, weights=weights, axis=1), wanted, tolerance=1e-12)
    same("dS", vjp(G[0], weights[0]), wanted[0], tolerance=1e-12)
    same("dS", vjp(G.T, weights.T, axis=0), wanted.T, tolerance=1e-12)
    same("dS", vjp(G.T, weights.T, axis=-2), wanted.T, tolerance=1e-12)
    same("dS", vjp(G.T[None], weights.T[None], 1), wanted.T[None], tolerance=1e-12)


@check("softmax_vjp")
def check_slopes_of_softmax(vjp):
    for seed in (0, 1):
        g, s = numbers(5, seed=seed), numbers(5, seed=seed + 2)
        wanted = slopes(lambda s, g=g: g @ oracle.softmax_row(s.tolist()), s)
        same("dS", vjp(g, oracle.softmax_row(s.tolist())), wanted, tolerance=1e-6)


@check("softmax_vjp")
def check_dtype_and_inputs(vjp):
    G, weights = numbers(3, 5), np.full((3, 5), 0.25)
    wanted = vjp(G, weights)
    for dtype, tolerance in ((np.float16, 2e-3), (np.float32, 2e-6)):
        arrays = G.astype(dtype), weights.astype(dtype)
        same("dS", vjp(*arrays), wanted, dtype, tolerance)
        assert (arrays[0] == G.astype(dtype)).all(), "grad is written to"
    same("dS", vjp([1, 2, 3], [0, 1, 0]), [0, 0, 0])


@check("softmax_vjp")
def check_a_weight_of_0_has_no_gradient(vjp):
    same("dS", vjp([np.nan, 1.0, 3.0], [0, 0.5, 0.5]), [0, -0.5, 0.5])
    assert np.isnan(vjp([np.nan, 1.0, 3.0], [0.2, 0.4, 0.4])).all()


@check("softmax_vjp")
def check_bad_input_of_softmax_vjp(vjp):
    G = numbers(3, 5)
    refused(lambda: vjp(G, G[0]), ValueError, "(3, 5)", "(5,)")
    refused(lambda: vjp(G, G, axis=2), ValueError, "axis", "2")
    for axis in (None, True, 1.0, (0, 1)):
        refused(lambda a=axis: vjp(G, G, axis=a), TypeError, "axis")
    refused(lambda: vjp(G * 1j, G), TypeError, "grad")
    refused(lambda: vjp(G, G * 1j), TypeError, "weights")


@check("softmax_jacobian")
def check_slopes_of_every_weight(jacobian):
    s = numbers(5)
    weights = oracle.softmax_row(s.tolist())
    wanted = [slopes(lambda s, i=i: oracle.softmax_row(s.tolist())[i], s) for i in range(5)]
    same("jacobian", jacobian(weights), wanted, tolerance=1e-6)


@check("softmax_jacobian")
def check_numbers_worked_by_hand(jacobian):
    same("jacobian", jacobian([0.25, 0.75]), [[0.1875, -0.1875], [-0.1875, 0.1875]])
    same("jacobian", jacobian([0, 1, 0]), np.zeros((3, 3)))
    for dtype in (np.float16, np.float32):
        same(
            "jacobian",
            jacobian(np.array([0.25, 0.75], dtype)),
            [[0.1875, -0.1875], [-0.1875, 0.1875]],
            dtype,
        )


@check("softmax_jacobian")
def check_one_row_is_asked_for(jacobian):
    for wrong in (np.float64(1), np.ones((1, 2)) / 2):
        refused(lambda w=wrong: jacobian(w), ValueError, "weights", str(wrong.shape))
    refused(lambda: jacobian([1j]), TypeError, "weights")

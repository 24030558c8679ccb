"""What a right attention does, as functions of the implementation.

``CHECKS[target]`` maps a name to a check; each takes an implementation of ``target`` and raises
``AssertionError`` when it is wrong. The tests call them with attnlib's functions, and
``tests/mutants`` with wrong ones. Targets and signatures: ``attention``, ``softmax``,
``project``, ``score_table`` as in attnlib; ``views(head, H)`` as ``Head.views``.
"""

import warnings
from fractions import Fraction

import numpy as np

from attnlib import Head
from tests import oracle
from tests.oracle import SEEDS, bool_mask, float_mask, numbers, tables

CHECKS = {"attention": {}, "softmax": {}, "project": {}, "score_table": {}, "views": {}}

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, bool]
TOLERANCE = {np.float16: 2e-3, np.float32: 4e-6, np.float64: 1e-12, np.longdouble: 1e-12}


def check(target):
    """Enter the function in ``CHECKS[target]``, under its name without ``check_``."""

    def enter(function):
        CHECKS[target][function.__name__.removeprefix("check_")] = function
        return function

    return enter


def same(what, got, wanted, dtype=np.float64, tolerance=None):
    """Assert that ``got`` has the shape, the type and the numbers expected."""
    assert isinstance(got, np.ndarray), f"{what} is a {type(got).__name__}"
    assert got.shape == np.shape(wanted), f"{what} has shape {got.shape}, not {np.shape(wanted)}"
    assert got.dtype == np.dtype(dtype), f"{what} has dtype {got.dtype}, not {np.dtype(dtype)}"
    tolerance = TOLERANCE[np.dtype(dtype).type] if tolerance is None else tolerance
    gap = np.abs(got.astype(np.float64) - wanted)
    good = (gap <= tolerance * (1 + np.abs(wanted))).all()
    assert good, f"{what} is off by up to {np.max(gap)}:\n{got}\ninstead of\n{wanted}"


def agree(attention, Q, K, V, dtype=np.float64, tolerance=None, **options):
    """Assert that output and weights are the oracle's, and the output alone is the same."""
    output, weights = attention(Q, K, V, return_weights=True, **options)
    right_output, right_weights = oracle.attention(Q, K, V, **options)
    same("weights", weights, right_weights, dtype, tolerance)
    same("output", output, right_output, dtype, tolerance)
    alone = attention(Q, K, V, **options)
    assert isinstance(alone, np.ndarray), "without return_weights, the output alone is returned"
    same("output without return_weights", alone, right_output, dtype, tolerance)


def nearest_half(what, got, wanted):
    """Assert that nearly every number is the half next to the right one (a few lie in between)."""
    same(what, got, wanted, np.float16)
    hits = (got == wanted.astype(np.float16)).mean()
    assert hits > 0.99, f"{what}: only {hits:.0%} are the nearest half"


def refused(call, error, *fragments):
    """Assert that ``call`` raises ``error`` with a message that holds all ``fragments``."""
    try:
        answer = call()
    except error as raised:
        for fragment in fragments:
            assert fragment in str(raised), f"the message lacks {fragment!r}: {raised}"
    except Exception as raised:
        raise AssertionError(f"{type(raised).__name__}, not {error.__name__}: {raised}") from raised
    else:
        raise AssertionError(f"no {error.__name__}, but {answer!r}")


# ---- the formula ----------------------------------------------------------------------------


@check("attention")
def check_formula_with_all_sizes_different(attention):
    for seed in SEEDS:
        agree(attention, *tables(seed=seed))


@check("attention")
def check_one_requester_or_one_candidate(attention):
    agree(attention, *tables((1, 4), (5, 4), (5, 2)))
    agree(attention, *tables((3, 4), (1, 4), (1, 2)))
    agree(attention, *tables((3, 1), (5, 1), (5, 2)))


@check("attention")
def check_square_table(attention):
    """n_q = n_k = d_k = d_v: a missing keepdims or transpose raises nothing here."""
    agree(attention, *tables((4, 4), (4, 4), (4, 4)))


@check("attention")
def check_cube(attention):
    """batch = n = d: a transpose of all axes, or a mask on the wrong axis, raises nothing here."""
    Q, K, V = tables((4, 4, 4), (4, 4, 4), (4, 4, 4))
    agree(attention, Q, K, V)
    agree(attention, Q, K, V, attn_mask=bool_mask(4, 4))
    agree(attention, Q, K, V, attn_mask=float_mask(4, 4))
    agree(attention, Q, K, V, attn_mask=bool_mask(4, 4, 4))
    agree(attention, Q, K, V, is_causal=True)


@check("attention")
def check_leading_axes(attention):
    agree(attention, *tables((2, 3, 4), (2, 5, 4), (2, 5, 2)))
    agree(attention, *tables((2, 1, 3, 4), (6, 5, 4), (5, 2)))
    agree(attention, *tables((3, 4), (5, 4), (2, 6, 5, 2)))
    agree(attention, *tables((3, 4), (2, 5, 4), (5, 2)))


@check("attention")
def check_keys_and_values_of_one_width(attention):
    """d_v = d_k: reading keys instead of values raises nothing here."""
    agree(attention, *tables((3, 4), (5, 4), (5, 4)))


@check("attention")
def check_order_of_candidates_does_not_matter(attention):
    Q, K, V = tables()
    order = [3, 0, 4, 2, 1]
    same("output", attention(Q, K[order], V[order]), attention(Q, K, V))
    same("output", attention(Q[[2, 0, 1]], K, V), attention(Q, K, V)[[2, 0, 1]])


# ---- the scale ------------------------------------------------------------------------------


@check("attention")
def check_default_scale_is_one_over_root_of_the_queries_width(attention):
    for d_k in (1, 2, 3, 6, 16):
        agree(attention, *tables((3, d_k), (5, d_k), (5, 7)))


@check("attention")
def check_given_scale_replaces_the_default(attention):
    Q, K, V = tables()
    for scale in (1, 1.0, 0.3, -0.75, np.float32(0.5), np.array(0.25), Fraction(1, 3)):
        agree(attention, Q, K, V, scale=scale)
    agree(attention, Q, K, V, scale=0.3, attn_mask=float_mask(3, 5), is_causal=False)


@check("attention")
def check_scale_zero_gives_equal_weights(attention):
    agree(attention, *tables(), scale=0)
    agree(attention, *tables(), scale=0.0, attn_mask=bool_mask(3, 5))


@check("attention")
def check_score_zero_is_not_weight_zero(attention):
    Q, K, V = tables()
    K[1] = 0
    agree(attention, Q, K, V)


# ---- masks ----------------------------------------------------------------------------------


@check("attention")
def check_bool_mask(attention):
    for seed in SEEDS:
        agree(attention, *tables(seed=seed), attn_mask=bool_mask(3, 5, seed=seed))
    agree(attention, *tables(), attn_mask=np.ones((3, 5), dtype=bool))


@check("attention")
def check_float_mask_is_added_after_the_scale(attention):
    for seed in SEEDS:
        agree(attention, *tables(seed=seed), attn_mask=float_mask(3, 5, seed=seed))
    agree(attention, *tables(), attn_mask=numbers(3, 5), scale=0.3)
    agree(attention, *tables(), attn_mask=np.zeros((3, 5)))


@check("attention")
def check_masks_with_leading_axes(attention):
    Q, K, V = tables((2, 1, 3, 4), (6, 5, 4), (5, 2))
    for make in (bool_mask, float_mask):
        agree(attention, Q, K, V, attn_mask=make(3, 5))
        agree(attention, Q, K, V, attn_mask=make(2, 6, 3, 5))
        agree(attention, Q, K, V, attn_mask=make(2, 1, 3, 5))
        agree(attention, *tables(), attn_mask=make(2, 6, 3, 5))
        agree(attention, *tables(), attn_mask=make(1, 3, 5))


@check("attention")
def check_mask_as_a_list(attention):
    agree(attention, *tables(), attn_mask=bool_mask(3, 5).tolist())
    agree(attention, *tables(), attn_mask=float_mask(3, 5).tolist())


@check("attention")
def check_a_forbidden_candidate_has_weight_zero_whatever_its_score(attention):
    Q, K, V = tables()
    Q[:, 0], K[2, 0] = 1, 40
    keep = np.ones((3, 5), dtype=bool)
    keep[:, 2] = False
    agree(attention, Q, K, V, attn_mask=keep)
    agree(attention, Q, K, V, attn_mask=np.where(keep, 0, -np.inf))
    agree(attention, -Q, K, V, attn_mask=keep)


@check("attention")
def check_a_number_common_to_a_row_of_the_mask_changes_nothing(attention):
    """-1e9 on a whole row forbids nobody more than anybody else, in float32 too."""
    for dtype in (np.float32, np.float64):
        Q, K, V = tables(dtype=dtype)
        for common in (-1e9, 1e9, -1e4, np.finfo(np.float32).min):
            mask = np.zeros((3, 5), dtype=dtype)
            mask[1] = common
            output, weights = attention(Q, K, V, attn_mask=mask, return_weights=True)
            right_output, right_weights = oracle.attention(Q, K, V)
            same("weights", weights, right_weights, dtype)
            same("output", output, right_output, dtype)


@check("attention")
def check_a_number_common_to_the_causal_part_of_a_row_changes_nothing(attention):
    """Row 1 below may read two candidates, both at -1e9: they share as without the mask."""
    for dtype in (np.float32, np.float64):
        Q, K, V = tables(dtype=dtype)
        for common in (-1e9, np.finfo(np.float32).min):
            mask = np.zeros((3, 5), dtype=dtype)
            mask[1, :2] = common
            weights = attention(Q, K, V, attn_mask=mask, is_causal=True, return_weights=True)[1]
            same("weights", weights, oracle.attention(Q, K, V, is_causal=True)[1], dtype)


@check("attention")
def check_a_large_negative_number_in_the_mask_hides_a_candidate(attention):
    for dtype in (np.float32, np.float64):
        Q, K, V = tables(dtype=dtype)
        hide = ~bool_mask(3, 5)
        for number in (-1e9, -1e30, np.finfo(np.float32).min):
            mask = np.where(hide, number, 0).astype(dtype)
            output, weights = attention(Q, K, V, attn_mask=mask, return_weights=True)
            right_output, right_weights = oracle.attention(Q, K, V, attn_mask=~hide)
            same("weights", weights, right_weights, dtype)
            same("output", output, right_output, dtype)


@check("attention")
def check_float_mask_of_another_type_keeps_its_digits(attention):
    """-60.03125 and 61 are exact in half precision, and their difference is not."""
    Q, K, V = np.ones((1, 1)), np.array([[121.0], [0.0]]), np.array([[1.0], [3.0]])
    for kind in (np.float16, np.float32, np.float64, np.longdouble):
        mask = np.array([[-60.03125, 61]], dtype=kind)
        agree(attention, Q, K, V, attn_mask=mask, scale=1)
    agree(attention, Q, K, V, attn_mask=np.array([[-60.03126, 61]], dtype=np.float32), scale=1)
    agree(attention, *tables(dtype=np.float32), dtype=np.float32, attn_mask=float_mask(3, 5))


@check("attention")
def check_a_float_mask_of_zeros_and_ones_is_refused(attention):
    Q, K, V = tables()
    keep = bool_mask(3, 5)
    for mask in (keep.astype(float), keep.astype(np.float16), np.ones((3, 5)), keep.astype(int)):
        fragments = "attn_mask", "may be read", "added"
        refused(lambda m=mask: attention(Q, K, V, attn_mask=m), ValueError, *fragments)
    refused(lambda: attention(Q, K, V, attn_mask=keep.astype(float).tolist()), ValueError, "added")


@check("attention")
def check_the_last_two_axes_of_a_mask_are_exact(attention):
    Q, K, V = tables((3, 3, 4), (3, 5, 4), (3, 5, 2))
    for shape in ((5,), (1, 5), (3, 1), (1, 1), (5, 3), (3, 1, 5), ()):
        keep = np.ones(shape, dtype=bool)
        refused(lambda m=keep: attention(Q, K, V, attn_mask=m), ValueError, "attn_mask", str(shape))


# ---- causal ---------------------------------------------------------------------------------


@check("attention")
def check_causal_on_a_square_table(attention):
    agree(attention, *tables((5, 4), (5, 4), (5, 2)), is_causal=True)


@check("attention")
def check_causal_is_top_left_on_rectangular_tables(attention):
    agree(attention, *tables((3, 4), (5, 4), (5, 2)), is_causal=True)
    agree(attention, *tables((5, 4), (3, 4), (3, 2)), is_causal=True)
    agree(attention, *tables((2, 3, 4), (2, 5, 4), (2, 5, 2)), is_causal=True)


@check("attention")
def check_causal_and_mask_must_both_allow(attention):
    for shape in ((3, 5), (2, 3, 5)):
        keep = bool_mask(*shape)
        keep[..., 0] = True
        agree(attention, *tables(), attn_mask=keep, is_causal=True)
        bias = np.where(keep, numbers(3, 5), -np.inf)
        agree(attention, *tables(), attn_mask=bias, is_causal=True)


# ---- requesters that may read nobody --------------------------------------------------------


@check("attention")
def check_a_requester_that_may_read_nobody_is_named(attention):
    Q, K, V = tables()
    keep = np.ones((3, 5), dtype=bool)
    keep[1] = False
    bias = np.where(keep, 0, -np.inf)
    for mask in (keep, bias, bias.astype(np.float32)):
        refused(lambda m=mask: attention(Q, K, V, attn_mask=m), ValueError, "row 1", "empty='zero'")
    batch = np.ones((2, 6, 3, 5), dtype=bool)
    batch[1, 4, 2] = False
    refused(lambda: attention(Q, K, V, attn_mask=batch), ValueError, "row 2", "(1, 4)")
    upper = ~np.tri(3, 5, k=0, dtype=bool)
    refused(lambda: attention(Q, K, V, attn_mask=upper, is_causal=True), ValueError, "row 0")


@check("attention")
def check_zero_row_when_asked(attention):
    Q, K, V = tables()
    keep = bool_mask(3, 5)
    keep[1] = False
    for mask in (keep, np.where(keep, 0.5, -np.inf), keep & np.ones((2, 3, 5), dtype=bool)):
        agree(attention, Q, K, V, attn_mask=mask, empty="zero")
    agree(attention, Q, K, V, attn_mask=~np.tri(3, 5, dtype=bool), is_causal=True, empty="zero")
    agree(attention, Q, K, V * 1e308, attn_mask=keep, empty="zero", tolerance=1e-9)


@check("attention")
def check_empty_is_decided_on_the_mask_not_on_the_result(attention):
    """Every number in row 1 is finite, so it may read everybody, however small the numbers."""
    Q, K, V = tables(dtype=np.float32)
    for empty in ("raise", "zero"):
        for low in (-1e9, -3e38):
            mask = np.zeros((3, 5), dtype=np.float32)
            mask[1] = low
            got = attention(Q, K, V, attn_mask=mask, empty=empty)
            same("output", got, oracle.attention(Q, K, V)[0], np.float32)


# ---- nan and inf ----------------------------------------------------------------------------


@check("attention")
def check_nan_or_inf_that_is_masked_out_reaches_nobody(attention):
    for bad in (np.nan, np.inf, -np.inf):
        for name in ("K", "V"):
            Q, K, V = tables((3, 4), (5, 4), (5, 2))
            right = oracle.attention(Q, K[:4], V[:4])[0]
            (K if name == "K" else V)[4, 1] = bad
            keep = np.ones((3, 5), dtype=bool)
            keep[:, 4] = False
            for mask in (keep, np.where(keep, 0, -np.inf)):
                output, weights = attention(Q, K, V, attn_mask=mask, return_weights=True)
                same("output", output, right)
                assert (weights[:, 4] == 0).all(), "a forbidden candidate has weight 0"
            Q, K, V = tables((3, 4), (3, 4), (3, 2))
            right = oracle.attention(Q, K, V, is_causal=True)[0]
            (K if name == "K" else V)[2, 1] = bad
            same("output of rows 0, 1", attention(Q, K, V, is_causal=True)[:2], right[:2])


@check("attention")
def check_nan_in_the_query_of_an_empty_row_reaches_nobody(attention):
    Q, K, V = tables()
    keep = bool_mask(3, 5)
    keep[1] = False
    right = oracle.attention(Q, K, V, attn_mask=keep, empty="zero")[0]
    Q[1, 2] = np.nan
    same("output", attention(Q, K, V, attn_mask=keep, empty="zero"), right)


@check("attention")
def check_nan_that_may_be_read_is_seen_by_its_readers_only(attention):
    keep = np.array([[1, 1, 0, 1, 0], [1, 0, 1, 1, 1], [0, 1, 0, 1, 1]], dtype=bool)
    for name, readers in (("Q", [1]), ("K", [1]), ("V", [1])):
        Q, K, V = tables()
        right = oracle.attention(Q, K, V, attn_mask=keep)[0]
        dict(Q=Q[1], K=K[2], V=V[2])[name][1] = np.nan
        output = attention(Q, K, V, attn_mask=keep)
        assert np.isnan(output[readers, 1]).all(), f"nan in {name} is hidden from who reads it"
        others = [i for i in range(3) if i not in readers]
        same("output of the others", output[others], right[others])


# ---- large scores and values ----------------------------------------------------------------


def big_scores():
    """Return Q, K, V whose rows of scores lie near 1e4, -1e4 and 0, and differ by about 1."""
    Q = np.array([[100.0, 1, 0.5, 0], [-100, 0, 1, 0.5], [0, 0.5, 0, 1]])
    K = np.array([[100.0, 1, 0, 2], [100, 0, 1, 1], [100, 2, 2, 0], [100, 1, 1, 1], [100, 0, 0, 2]])
    return Q, K, tables()[2]


@check("attention")
def check_scores_of_ten_thousand(attention):
    """Two rows at ±1e4 at once: neither no maximum nor the maximum of the table survives."""
    for dtype in FLOATS:
        Q, K, V = (x.astype(dtype) for x in big_scores())
        agree(attention, Q, K, V, dtype, scale=1)
        agree(attention, Q, K, V, dtype, scale=1, is_causal=True)
        agree(attention, Q, K, V, dtype, scale=1, attn_mask=bool_mask(3, 5))
    Q, K, V = tables()
    for dtype in (np.float32, np.float64):
        agree(attention, *(x.astype(dtype) for x in (Q * 80, K * 100, V)), dtype, scale=1)


@check("attention")
def check_scores_up_to_the_floating_range(attention):
    for dtype in FLOATS:
        top = np.finfo(dtype).max * dtype(0.9)
        Q, V = np.array([[1], [-1], [0]], dtype), numbers(5, 2, dtype=dtype)
        K = np.array([[top], [top], [top / 2], [0], [-top]], dtype)
        right = np.array([[0.5, 0.5, 0, 0, 0], [0, 0, 0, 0, 1], [0.2] * 5])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            output, weights = attention(Q, K, V, scale=1, return_weights=True)
        same("weights", weights, right, dtype)
        same("output", output, right @ V.astype(np.float64), dtype)


@check("attention")
def check_scores_beyond_half_precision(attention):
    """300·300·4 = 360,000 has no half; the scaled score has none either, and the weights do."""
    Q, K, V = (x.astype(np.float16) for x in tables())
    Q[:, 0], K[:, 0] = 600, 600
    agree(attention, Q, K, V, np.float16, tolerance=0.02)


@check("attention")
def check_long_sums_that_overflow_on_the_way(attention):
    """The score of candidate 0 is 0, and halfway through its sum it is beyond the range."""
    big = np.float32(1.5e19)
    Q, K = np.full((3, 4), big), np.zeros((5, 4), dtype=np.float32)
    K[0] = [-big, -big, big, big]
    try:
        weights = attention(Q, K, np.eye(5, dtype=np.float32), scale=1, return_weights=True)[1]
    except ValueError as error:
        assert "range" in str(error), f"the message lacks 'range': {error}"
    else:
        same("weights", weights, np.full((3, 5), 0.2), np.float32)


@check("attention")
def check_values_up_to_the_floating_range(attention):
    for dtype in FLOATS:
        top = np.finfo(dtype).max
        Q, K = (x.astype(dtype) for x in tables((3, 4), (5, 4))[:2])
        V = np.array(
            [[top, -top, 1], [top, -top, 2], [top, top, 3], [top, 1, 4], [top, 0, 5]], dtype
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            output = attention(Q, K, V)
        assert output.dtype == dtype, f"dtype {output.dtype}"
        assert np.isfinite(output).all(), f"finite values of {dtype.__name__} blend to {output}"
        assert (output <= V.max(axis=0)).all() and (output >= V.min(axis=0)).all(), "left the range"
        right = oracle.attention(Q, K, (V / top).astype(np.float64))[0]
        same("output / max", (output / top).astype(dtype), right, dtype)


@check("attention")
def check_values_of_one_n_th_of_the_floating_range(attention):
    """n equal values whose sum is just the largest number: rounding must not carry it over."""
    for dtype in (np.float32, np.float64):
        for n in range(1, 200):
            V = np.full((n, 1), np.finfo(dtype).max / dtype(n))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                output = attention(np.ones((1, 2), dtype), np.ones((n, 2), dtype), V)
            close = abs(output[0, 0] / V[0, 0] - 1) < 1e-5
            assert close, f"{n} times {V[0, 0]} blends to {output[0, 0]}"


# ---- types ----------------------------------------------------------------------------------


@check("attention")
def check_the_floating_type_is_kept(attention):
    for dtype in FLOATS:
        agree(attention, *tables(dtype=dtype), dtype)
        agree(attention, *tables(dtype=dtype), dtype, attn_mask=bool_mask(3, 5))
        agree(attention, *tables(dtype=dtype), dtype, attn_mask=float_mask(3, 5), scale=0.3)


@check("attention")
def check_half_precision_is_computed_in_single(attention):
    """A half rounds once, at the end: the answer is the nearest half of the right number."""
    Q, K, V = tables((30, 4), (50, 4), (50, 20), dtype=np.float16)
    answers = attention(Q, K, V, return_weights=True)
    for what, got, wanted in zip(
        ("output", "weights"), answers, oracle.attention(Q, K, V), strict=True
    ):
        nearest_half(what, got, wanted)


@check("attention")
def check_types_are_promoted(attention):
    Q, K, V = tables()
    for a in FLOATS:
        for b in FLOATS:
            wanted = np.result_type(a, b).type
            coarse = wanted
            agree(attention, Q.astype(a), K.astype(b), V.astype(a), wanted, TOLERANCE[coarse])
            agree(attention, Q.astype(a), K.astype(a), V.astype(b), wanted, TOLERANCE[coarse])
    agree(attention, Q.astype(np.float32), K.astype(np.float32), np.ones((5, 2), dtype=np.int32))


@check("attention")
def check_integers_and_booleans_are_computed_in_float64(attention):
    Q, K = np.array([[1, 0, 2, 1], [0, 1, 1, 0], [2, 1, 0, 1]]), np.eye(5, 4, dtype=int)
    V = np.array([[0, 1], [1, 1], [1, 0], [0, 0], [1, 0]])
    for dtype in INTEGERS:
        agree(attention, Q.astype(dtype), K.astype(dtype), V.astype(dtype))
    agree(attention, Q.tolist(), K.tolist(), V.tolist())


@check("attention")
def check_small_integers_do_not_wrap(attention):
    """12·12·4 = 576 is 64 in int8 and uint8."""
    for dtype in (np.int8, np.uint8):
        Q = np.array([[12, 12, 12, 12], [12, 11, 12, 12], [1, 2, 0, 1]], dtype)
        K = np.array(
            [[12, 12, 12, 12], [0, 0, 0, 0], [12, 12, 12, 11], [1, 1, 1, 1], [9] * 4], dtype
        )
        agree(attention, Q, K, np.array([[100, 7], [120, 3], [90, 0], [5, 8], [1, 1]], dtype))


@check("attention")
def check_lists_are_accepted(attention):
    Q, K, V = tables()
    same("output", attention(Q.tolist(), K.tolist(), V.tolist()), oracle.attention(Q, K, V)[0])


@check("attention")
def check_other_types_are_refused(attention):
    Q, K, V = tables()
    for name in ("Q", "K", "V"):
        for kind in (complex, object, str, "S8", "datetime64[s]"):
            args = {"Q": Q, "K": K, "V": V}
            args[name] = np.ones(args[name].shape, dtype=int).astype(kind)
            refused(lambda a=args: attention(**a), TypeError, name)


# ---- arrays as they come --------------------------------------------------------------------


@check("attention")
def check_arguments_are_not_written_to(attention):
    for dtype in FLOATS:
        for mask in (None, bool_mask(3, 5), float_mask(3, 5, dtype=dtype)):
            given = [*tables(dtype=dtype), mask]
            before = [None if x is None else x.copy() for x in given]
            Q, K, V, _ = given
            attention(Q, K, V, attn_mask=mask, return_weights=True)
            attention(Q, K, V * 3, attn_mask=mask, is_causal=False, scale=0.5)
            for name, old, new in zip(("Q", "K", "V", "attn_mask"), before, given, strict=True):
                assert old is None or np.array_equal(old, new), f"{name} was changed"
        same(
            "output",
            attention(Q, Q, Q),
            oracle.attention(before[0], before[0], before[0])[0],
            dtype,
        )


def layouts(array):
    """Yield the same numbers in other layouts of memory."""
    frozen = array.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    yield "Fortran order", np.asfortranarray(array)
    wide = np.repeat(array, 2, axis=-1)
    yield "every second column", wide[..., ::2]
    yield "reversed", array[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    yield "big-endian", array.astype(array.dtype.newbyteorder(">"))
    yield "little-endian", array.astype(array.dtype.newbyteorder("<"))


@check("attention")
def check_any_layout_of_memory(attention):
    Q, K, V = tables((2, 3, 4), (2, 5, 4), (2, 5, 2))
    mask = float_mask(2, 3, 5)
    right = oracle.attention(Q, K, V, attn_mask=mask)[0]
    for (label, q), (_, k), (_, v), (_, m) in zip(*map(layouts, (Q, K, V, mask)), strict=True):
        same(f"output, {label}", attention(q, k, v, attn_mask=m), right)
    for label, m in layouts(bool_mask(2, 3, 5)):
        wanted = oracle.attention(Q, K, V, attn_mask=bool_mask(2, 3, 5))[0]
        same(f"output, bool mask {label}", attention(Q, K, V, attn_mask=m), wanted)


@check("attention")
def check_strides_of_zero(attention):
    Q, K, V = tables()
    same_q = np.broadcast_to(Q[1], (6, 3, 4))
    same_k = np.broadcast_to(K[2], (5, 4))
    same_v = np.broadcast_to(V, (6, 5, 2))
    mask = np.broadcast_to(float_mask(3, 5), (6, 3, 5))
    agree(attention, same_q, same_k, same_v)
    agree(attention, same_q, K, same_v, attn_mask=mask)
    agree(attention, Q, same_k, V, is_causal=True)


# ---- axes without entries -------------------------------------------------------------------


@check("attention")
def check_no_requester_gives_an_empty_output(attention):
    agree(attention, *tables((0, 4), (5, 4), (5, 2)))
    agree(attention, *tables((0, 4), (5, 4), (5, 2)), attn_mask=np.ones((0, 5), dtype=bool))
    agree(attention, *tables((0, 4), (5, 4), (5, 2)), is_causal=True)
    agree(attention, *tables((0, 4), (0, 4), (0, 2)))
    agree(attention, *tables((0, 3, 4), (5, 4), (5, 2)))


@check("attention")
def check_no_candidate_counts_as_may_read_nobody(attention):
    Q, K, V = tables((3, 4), (0, 4), (0, 2))
    refused(lambda: attention(Q, K, V), ValueError, "row 0", "empty='zero'")
    for options in ({}, dict(is_causal=True), dict(attn_mask=np.ones((3, 0), dtype=bool))):
        agree(attention, Q, K, V, empty="zero", **options)
    agree(attention, Q, K, V, empty="zero", attn_mask=np.zeros((2, 3, 0)))


@check("attention")
def check_keys_without_columns_are_refused(attention):
    refused(
        lambda: attention(*tables((3, 0), (5, 0), (5, 2))), ValueError, "d_k", "(3, 0)", "(5, 0)"
    )


@check("attention")
def check_values_without_columns_give_an_output_without_columns(attention):
    agree(attention, *tables((3, 4), (5, 4), (5, 0)))
    agree(attention, *tables((2, 3, 4), (2, 5, 4), (5, 0)), attn_mask=bool_mask(3, 5))


# ---- softmax --------------------------------------------------------------------------------


def softmax_rows(x):
    x = np.asarray(x)
    rows = x.reshape(-1, x.shape[-1]).astype(float).tolist()
    return np.reshape([oracle.softmax_row(row) for row in rows], x.shape)


@check("softmax")
def check_softmax_of_the_last_axis(softmax):
    for shape in ((5,), (3, 5), (2, 3, 5), (4, 4), (3, 1)):
        x = numbers(*shape)
        same("softmax", softmax(x), softmax_rows(x))
    same("softmax", softmax([1, 2, 0]), softmax_rows([1, 2, 0]))


@check("softmax")
def check_softmax_of_a_given_axis(softmax):
    x = numbers(2, 3, 5)
    for axis in (0, 1, 2, -1, -2, -3, np.int64(1)):
        moved = np.moveaxis(softmax_rows(np.moveaxis(x, axis, -1)), -1, axis)
        same(f"softmax of axis {axis}", softmax(x, axis=axis), moved)


@check("softmax")
def check_softmax_of_large_scores(softmax):
    shifts = np.array([[1e4], [-1e4], [0]])
    for dtype in FLOATS:
        x = (np.round(numbers(3, 5)) + np.where(np.abs(shifts) > 2000, shifts / 8, 0)).astype(dtype)
        same("softmax", softmax(x), softmax_rows(x), dtype)
        top = np.finfo(dtype).max
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = softmax(np.array([[top, top, 0, -top], [-top, -top, -top, -top]], dtype))
        same("softmax", got, [[0.5, 0.5, 0, 0], [0.25] * 4], dtype)
    same("softmax", softmax(numbers(3, 5) + shifts), softmax_rows(numbers(3, 5)), tolerance=1e-11)


@check("softmax")
def check_softmax_gives_minus_inf_the_weight_zero(softmax):
    x = float_mask(3, 5)
    weights = softmax(x)
    same("softmax", weights, softmax_rows(x))
    assert (weights[np.isinf(x)] == 0).all(), "-inf has the weight 0"


@check("softmax")
def check_softmax_keeps_the_type(softmax):
    for dtype in FLOATS:
        same("softmax", softmax(numbers(3, 5, dtype=dtype)), softmax_rows(numbers(3, 5)), dtype)
    for dtype in INTEGERS:
        x = np.array([[3, 1, 0, 2, 2], [0, 0, 1, 4, 1]]).astype(dtype)
        same("softmax", softmax(x), softmax_rows(x))
    wide = np.array([[-128, 127, 126], [120, -9, 121]], dtype=np.int8)
    same("softmax", softmax(wide), softmax_rows(wide))
    same("softmax", softmax(np.array([[1, 3]], dtype=">f4")), softmax_rows([[1, 3]]), np.float32)


@check("softmax")
def check_softmax_of_half_precision_sums_in_single(softmax):
    x = numbers(20, 50, dtype=np.float16)
    nearest_half("softmax", softmax(x), softmax_rows(x))
    x = np.concatenate([np.zeros(1), np.full(6000, -1.0)]).astype(np.float16)
    nearest_half("softmax", softmax(x), softmax_rows(x))


@check("softmax")
def check_softmax_leaves_its_argument_alone(softmax):
    for dtype in FLOATS:
        x = numbers(3, 5, dtype=dtype)
        before = x.copy()
        softmax(x)
        assert np.array_equal(x, before), "x was changed"
        for label, other in layouts(x):
            same(f"softmax, {label}", softmax(other), softmax_rows(before), dtype)


@check("softmax")
def check_softmax_refuses_rows_without_candidate(softmax):
    bad = np.zeros((3, 5))
    bad[1] = -np.inf
    refused(lambda: softmax(bad), ValueError, "-inf")
    refused(lambda: softmax(np.zeros((3, 0))), ValueError, "(3, 0)")
    for value in (np.nan, np.inf):
        refused(lambda v=value: softmax([[0.0, v], [1.0, 2.0]]), ValueError, "nan or +inf")
    assert softmax(np.zeros((0, 5))).shape == (0, 5), "no row is no error"


# ---- project, score_table, views ------------------------------------------------------------


@check("project")
def check_project_is_states_times_weights(project):
    H, W = numbers(3, 4), numbers(4, 2)
    same("H W", project(H, W), oracle.matmul(H, W))
    same("H W of lists", project(H.tolist(), W.tolist()), oracle.matmul(H, W))


@check("project")
def check_project_with_square_weights(project):
    """d = d_model: weights used the wrong way round raise nothing here."""
    H, W = numbers(3, 4), numbers(4, 4)
    same("H W", project(H, W), oracle.matmul(H, W))
    same("H W", project(numbers(4, 4, seed=1), W), oracle.matmul(numbers(4, 4, seed=1), W))


@check("project")
def check_project_adds_the_bias_to_every_token(project):
    H, W, b = numbers(3, 4), numbers(4, 2), numbers(2)
    same("H W + b", project(H, W, b), oracle.matmul(H, W) + b)
    H, W, b = numbers(4, 4), numbers(4, 4, seed=1), numbers(4)
    same("H W + b, square", project(H, W, b), oracle.matmul(H, W) + b)


@check("project")
def check_project_with_leading_axes(project):
    H, W, b = numbers(2, 6, 3, 4), numbers(4, 5), numbers(5)
    right = np.reshape([oracle.matmul(h, W) + b for h in H.reshape(-1, 3, 4)], (2, 6, 3, 5))
    same("H W + b", project(H, W, b), right)
    same("no tokens", project(numbers(0, 4), W, b), np.zeros((0, 5)))


@check("project")
def check_project_promotes_types(project):
    H, W, b = numbers(3, 4), numbers(4, 2), numbers(2)
    right = oracle.matmul(H, W) + b
    for dtype in FLOATS:
        same("H W + b", project(H.astype(dtype), W.astype(dtype), b.astype(dtype)), right, dtype)
    same("H W + b", project(H.astype(np.float32), W.astype(np.float16), b), right)
    H, W = np.full((3, 4), 12), np.array([[11, 12], [12, 3], [9, 12], [12, 12]])
    for dtype in (np.int8, np.uint8):
        same("H W", project(H.astype(dtype), W.astype(dtype)), oracle.matmul(H, W))


@check("project")
def check_project_never_overflows_silently(project):
    for dtype in (np.float16, np.float32, np.float64):
        H = np.full((3, 4), np.finfo(dtype).max)
        refused(lambda h=H: project(h, np.ones((4, 2), h.dtype)), ValueError, "range")


@check("project")
def check_project_names_weights_stored_the_other_way(project):
    H = numbers(3, 4)
    refused(lambda: project(H, numbers(2, 4)), ValueError, "(2, 4)", "(4, d)", "W.T")
    refused(lambda: project(H, numbers(5, 2)), ValueError, "W has shape (5, 2)", "4 columns")
    refused(lambda: project(H, numbers(4, 2), numbers(3)), ValueError, "b has shape (3,)", "(2,)")
    refused(lambda: project(H, numbers(4, 2), numbers(1)), ValueError, "b has shape (1,)", "(2,)")
    refused(lambda: project(H, numbers(4, 2), numbers(3, 2)), ValueError, "b has shape (3, 2)")


@check("score_table")
def check_score_table_is_unscaled(score_table):
    Q, K, _ = tables()
    same("Q Kᵀ", score_table(Q, K), oracle.matmul(Q, K.T))
    same("Q Kᵀ of lists", score_table(Q.tolist(), K.tolist()), oracle.matmul(Q, K.T))


@check("score_table")
def check_score_table_rows_are_requesters(score_table):
    Q, K = numbers(4, 4), numbers(4, 4, seed=1)
    same("Q Kᵀ", score_table(Q, K), oracle.matmul(Q, K.T))


@check("score_table")
def check_score_table_with_leading_axes(score_table):
    for shape, other in (((4, 4, 4), (4, 4, 4)), ((2, 3, 4), (2, 5, 4)), ((3, 4), (2, 5, 4))):
        Q, K = numbers(*shape), numbers(*other, seed=1)
        wide = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2])
        q, k = (np.broadcast_to(x, wide + x.shape[-2:]) for x in (Q, K))
        right = np.stack([oracle.matmul(a, b.T) for a, b in zip(q, k, strict=True)])
        same("Q Kᵀ", score_table(Q, K), right)


@check("score_table")
def check_score_table_promotes_types(score_table):
    Q, K, _ = tables()
    for dtype in FLOATS:
        same("Q Kᵀ", score_table(Q.astype(dtype), K.astype(dtype)), oracle.matmul(Q, K.T), dtype)
    Q, K = np.full((3, 4), 12), np.full((5, 4), 11)
    for dtype in (np.int8, np.uint8):
        same("Q Kᵀ", score_table(Q.astype(dtype), K.astype(dtype)), oracle.matmul(Q, K.T))


@check("score_table")
def check_score_table_never_overflows_silently(score_table):
    for dtype in (np.float16, np.float32, np.float64):
        big = np.full((3, 4), np.finfo(dtype).max)
        refused(lambda b=big: score_table(b, np.ones((5, 4), b.dtype)), ValueError, "range")
    refused(lambda: score_table(numbers(3, 0), numbers(5, 0)), ValueError, "d_k")


def some_head(d_model=6, d_k=4, d_v=2):
    """Return a head with biases, all of its numbers different from role to role."""
    return Head(
        *(numbers(d_model, d, seed=i) for i, d in enumerate((d_k, d_k, d_v))),
        *(numbers(d, seed=i) for i, d in enumerate((d_k, d_k, d_v), start=3)),
    )


@check("views")
def check_views_use_the_weights_and_bias_of_their_role(views):
    for sizes in ((6, 4, 2), (6, 4, 4), (4, 4, 4)):
        head, H = some_head(*sizes), numbers(3, sizes[0], seed=9)
        for role, view in zip("QKV", views(head, H), strict=True):
            W, b = getattr(head, f"W_{role}"), getattr(head, f"b_{role}")
            same(role, view, oracle.matmul(H, W) + b)


@check("views")
def check_views_without_bias(views):
    full, H = some_head(6, 4, 2), numbers(3, 6, seed=9)
    bare = Head(full.W_Q, full.W_K, full.W_V, b_K=full.b_K)
    Q, K, V = views(bare, H)
    same("Q", Q, oracle.matmul(H, full.W_Q))
    same("K", K, oracle.matmul(H, full.W_K) + full.b_K)
    same("V", V, oracle.matmul(H, full.W_V))


def failure(check, implementation) -> str | None:
    """Return why ``check`` rejects ``implementation``, or ``None`` when it passes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(implementation)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None

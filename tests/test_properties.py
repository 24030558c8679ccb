"""What holds for any input: shapes, types, layouts, order, and numbers that stay in range."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from attnlib import attention, project, score_table, softmax
from tests import oracle
from tests.checks.attention_checks import FLOATS, INTEGERS, TOLERANCE

KINDS = FLOATS + INTEGERS
MODERATE = st.integers(-64, 64).map(lambda i: i / 32)
leading_axes = npst.mutually_broadcastable_shapes(num_shapes=4, max_dims=2, max_side=3, min_side=0)
sizes = st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 4), st.integers(0, 3))


def any_finite(dtype):
    """Return a strategy for every finite number of the type, from subnormal to the largest."""
    if dtype is np.longdouble:
        top = np.finfo(np.longdouble).max
        wide = st.builds(np.longdouble, st.floats(allow_nan=False, allow_infinity=False))
        return wide | st.sampled_from([top, -top, top / 7, np.longdouble(0)])
    if np.dtype(dtype).kind == "f":
        top = float(np.finfo(dtype).max)
        edges = [top, -top, top / 3, top**0.5, -(top**0.5), 0.0, 1.0]
        every = npst.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
        return every | st.sampled_from(edges).map(dtype)
    return npst.from_dtype(np.dtype(dtype))


def filled(shape, dtype, elements):
    return npst.arrays(np.dtype(dtype), shape, elements=elements, fill=st.nothing())


@st.composite
def moderate_inputs(draw, batches=True):
    """Return Q, K, V of one floating type, a mask or None, and options; numbers of size about 1."""
    n_q, n_k, d_k, d_v = draw(sizes)
    axes = draw(leading_axes).input_shapes if batches else [()] * 4
    dtype = draw(st.sampled_from(FLOATS))
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    Q, K, V = (draw(filled(a + s, dtype, MODERATE)) for a, s in zip(axes[:3], shapes, strict=True))
    kind = draw(st.sampled_from([None, bool, float]))
    if kind is None:
        mask = None
    elif kind is bool:
        mask = draw(npst.arrays(bool, axes[3] + (n_q, n_k)))
    else:
        numbers = st.sampled_from([-np.inf, -2.5, -0.5, 0.25, 3.0])
        mask = draw(filled(axes[3] + (n_q, n_k), dtype, numbers))
    options = dict(
        attn_mask=mask,
        is_causal=draw(st.booleans()),
        scale=draw(st.sampled_from([None, 0.25, 1, -0.5])),
        empty="zero",
    )
    return (Q, K, V), options


@st.composite
def any_inputs(draw):
    """Return Q, K, V, each of any supported type, filled with any finite numbers, and options."""
    n_q, n_k, d_k, d_v = draw(sizes)
    shapes = ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    if draw(st.booleans()):
        kinds = [draw(st.sampled_from(KINDS))] * 3
    else:
        kinds = [draw(st.sampled_from(KINDS)) for _ in shapes]
    arrays = [draw(filled(s, t, any_finite(t))) for s, t in zip(shapes, kinds, strict=True)]
    mask = draw(
        st.none()
        | npst.arrays(bool, (n_q, n_k))
        | st.sampled_from([np.float16, np.float32, np.float64]).flatmap(
            lambda t: filled((n_q, n_k), t, any_finite(t) | st.just(-np.inf))
        )
    )
    options = dict(
        attn_mask=mask,
        is_causal=draw(st.booleans()),
        scale=draw(st.none() | st.floats(-1e6, 1e6)),
        empty=draw(st.sampled_from(["raise", "zero"])),
    )
    return arrays, options


def width(dtype):
    """Return the type that computes, whose rounding bounds the error."""
    return np.float64 if np.dtype(dtype).kind != "f" else dtype


@given(moderate_inputs())
def test_the_answer_is_the_definitions(inputs):
    arrays, options = inputs
    output, weights = attention(*arrays, return_weights=True, **options)
    right_output, right_weights = oracle.attention(*arrays, **options)
    dtype = arrays[0].dtype
    tolerance = 4 * TOLERANCE[dtype.type]
    assert output.dtype == weights.dtype == dtype
    tables = [x for x in (*arrays, options["attn_mask"]) if x is not None]
    axes = np.broadcast_shapes(*(x.shape[:-2] for x in tables))
    assert output.shape == (*axes, arrays[0].shape[-2], arrays[2].shape[-1])
    assert weights.shape == (*axes, arrays[0].shape[-2], arrays[1].shape[-2])
    assert np.allclose(weights.astype(float), right_weights, rtol=0, atol=tolerance)
    assert np.allclose(output.astype(float), right_output, rtol=tolerance, atol=tolerance)


@given(moderate_inputs(), st.randoms(use_true_random=False))
def test_renumbering_the_tokens_renumbers_the_answer(inputs, random):
    (Q, K, V), options = inputs
    options["is_causal"] = False
    rows, columns = list(range(Q.shape[-2])), list(range(K.shape[-2]))
    random.shuffle(rows)
    random.shuffle(columns)
    mask = options["attn_mask"]
    moved = None if mask is None else mask[..., rows, :][..., columns]
    before = attention(Q, K, V, **options)[..., rows, :]
    after = attention(
        Q[..., rows, :], K[..., columns, :], V[..., columns, :], **(options | {"attn_mask": moved})
    )
    tolerance = 4 * TOLERANCE[Q.dtype.type]
    assert np.allclose(after.astype(float), before.astype(float), rtol=tolerance, atol=tolerance)


@given(moderate_inputs())
def test_leading_axes_are_read_one_by_one(inputs):
    (Q, K, V), options = inputs
    whole = attention(Q, K, V, **options)
    mask = options.pop("attn_mask")
    axes = whole.shape[:-2]
    spread = [
        None if x is None else np.broadcast_to(x, axes + x.shape[-2:]) for x in (Q, K, V, mask)
    ]
    for index in np.ndindex(*axes):
        q, k, v, m = (None if x is None else x[index] for x in spread)
        one = attention(q, k, v, attn_mask=m, **options)
        tolerance = 4 * TOLERANCE[Q.dtype.type]
        assert np.allclose(
            whole[index].astype(float), one.astype(float), rtol=tolerance, atol=tolerance
        )


@given(moderate_inputs(), st.sampled_from(["F", "step", "reverse", ">", "<", "frozen"]))
def test_the_layout_of_memory_does_not_matter(inputs, layout):
    arrays, options = inputs

    def laid_out(x):
        if x is None or layout == "frozen":
            other = None if x is None else x.copy()
            if x is not None:
                other.flags.writeable = False
            return other
        if layout == "F":
            return np.asfortranarray(x)
        if layout == "step":
            return np.repeat(np.repeat(x, 3, axis=-1), 2, axis=-2)[..., ::2, ::3]
        if layout == "reverse":
            return x[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
        return x if x.dtype == np.longdouble else x.astype(x.dtype.newbyteorder(layout))

    right = attention(*arrays, **options)
    options = options | {"attn_mask": laid_out(options["attn_mask"])}
    got = attention(*map(laid_out, arrays), **options)
    assert got.dtype == right.dtype and got.dtype.isnative
    tolerance = 4 * TOLERANCE[right.dtype.type]
    assert np.allclose(got.astype(float), right.astype(float), rtol=tolerance, atol=tolerance)


BIG = np.finfo(np.float64).max


@given(any_inputs())
@example(([np.ones((1, 1)), np.ones((5, 1)), np.full((5, 1), BIG)], dict(empty="zero")))
def test_any_finite_input_gives_a_blend_inside_the_values_or_a_documented_error(inputs):
    (Q, K, V), options = inputs
    mask = options.get("attn_mask")
    before = [None if x is None else x.copy() for x in (Q, K, V, mask)]
    try:
        output, weights = attention(Q, K, V, return_weights=True, **options)
    except ValueError as error:
        known = "exceed the range", "may read nobody", "holds only 0 and 1"
        assert any(words in str(error) for words in known), error
        return
    finally:
        for old, new in zip(before, (Q, K, V, mask), strict=True):
            assert old is None or np.array_equal(old, new), "an argument was changed"
    wide = np.result_type(*(width(x.dtype) for x in (Q, K, V)))
    assert output.dtype == weights.dtype == wide
    assert output.shape == (Q.shape[-2], V.shape[-1])
    assert np.isfinite(output).all() and np.isfinite(weights).all()
    assert (weights >= 0).all()
    sums = weights.astype(np.longdouble).sum(axis=-1)
    read = sums != 0
    slack = 8 * float(np.finfo(wide).eps) * K.shape[-2]
    assert (np.abs(sums[read] - 1) <= slack).all()
    assert (output[~read] == 0).all()
    values = V.astype(wide).astype(np.longdouble)
    blend = output[read].astype(np.longdouble)
    room = slack * np.abs(values).max(axis=0, initial=0)
    room = room + 2 * K.shape[-2] * np.finfo(wide).smallest_subnormal
    assert (blend / 2 <= values.max(axis=0) / 2 + room).all()
    assert (blend / 2 >= values.min(axis=0) / 2 - room).all()


@given(st.data(), st.sampled_from(KINDS))
def test_softmax_of_any_finite_scores_shares_a_budget_of_one(data, kind):
    shape = data.draw(npst.array_shapes(max_dims=3, max_side=5))
    x = data.draw(filled(shape, kind, any_finite(kind)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    before = x.copy()
    weights = softmax(x, axis=axis)
    assert np.array_equal(x, before)
    assert weights.shape == shape and weights.dtype == width(kind)
    assert (weights >= 0).all() and (weights <= 1).all()
    eps = float(np.finfo(weights.dtype).eps)
    assert (np.abs(weights.astype(np.longdouble).sum(axis=axis) - 1) <= 4 * eps * shape[axis]).all()
    top = np.take_along_axis(weights, np.argmax(x, axis=axis, keepdims=True), axis)
    assert (top == weights.max(axis=axis, keepdims=True)).all(), "the best score weighs most"


@given(st.data(), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_projections_and_scores_of_any_finite_numbers_are_finite_or_refused(data, one, other):
    n, m, d = (data.draw(st.integers(1, 4)) for _ in range(3))
    A = data.draw(filled((n, d), one, any_finite(one)))
    B = data.draw(filled((m, d), other, any_finite(other)))
    for call in (score_table, lambda A, B: project(A, B.T)):
        try:
            table = call(A, B)
        except ValueError as error:
            assert "exceed the range" in str(error)
        else:
            assert np.isfinite(table).all() and table.shape == (n, m)
            assert table.dtype == np.result_type(width(one), width(other))


@given(moderate_inputs(batches=False), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_what_nobody_may_read_does_not_matter(inputs, bad, data):
    (Q, K, V), options = inputs
    j = data.draw(st.integers(0, K.shape[0] - 1))
    mask = options["attn_mask"]
    mask = np.ones((Q.shape[0], K.shape[0]), dtype=bool) if mask is None else mask.copy()
    mask[..., j] = False if mask.dtype == bool else -np.inf
    options["attn_mask"] = mask
    right = attention(Q, K, V, return_weights=True, **options)
    K, V = K.copy(), V.copy()
    K[j], V[j] = bad, bad
    for got, wanted in zip(attention(Q, K, V, return_weights=True, **options), right, strict=True):
        assert np.array_equal(got, wanted)

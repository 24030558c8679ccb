"""What a right streaming read does, as functions of the implementation, as in attention_checks."""

import tracemalloc

import numpy as np

from attnlib.attention import attention
from tests import oracle
from tests.checks.attention_checks import refused, same
from tests.oracle import bool_mask, float_mask, numbers, tables

CHECKS = {"streaming_attention": {}}
SHAPES = [
    ((3, 4), (5, 4), (5, 2)),
    ((7, 2), (4, 2), (4, 3)),
    ((6, 3), (11, 3), (11, 5)),
    ((1, 4), (9, 4), (9, 2)),
    ((9, 2), (1, 2), (1, 3)),
]
BLOCKS = [1, 2, (2, 3), (3, 2), (1, 4), (4, 1), np.int64(5), [5, 4], None]


def check(function):
    """Enter the function in CHECKS, under its name without ``check_``."""
    CHECKS["streaming_attention"][function.__name__.removeprefix("check_")] = function
    return function


def agree(stream, Q, K, V, blocks=BLOCKS, dtype=np.float64, tolerance=None, **options):
    """Assert that every block size gives the oracle's output."""
    wanted = oracle.attention(Q, K, V, **options)[0]
    for block in blocks:
        same(f"block {block}", stream(Q, K, V, block=block, **options), wanted, dtype, tolerance)


def as_function(mask):
    """Return the function of index blocks that stands for an array."""
    return lambda rows, cols: mask[rows[:, None], cols]


def peak_memory(call):
    """Return the bytes that ``call`` holds at most, above its answer."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        answer = call()
        return tracemalloc.get_traced_memory()[1] - before - answer.nbytes
    finally:
        tracemalloc.stop()


@check
def check_every_shape_and_block(stream):
    for shapes in SHAPES:
        agree(stream, *tables(*shapes))


@check
def check_causal(stream):
    for shapes in SHAPES:
        agree(stream, *tables(*shapes), is_causal=True)


@check
def check_scale(stream):
    for scale in (0.3, -1.5, 0):
        agree(stream, *tables(), blocks=[2, None], scale=scale)


@check
def check_masks(stream):
    for shapes in SHAPES[:4]:
        n_q, n_k = shapes[0][0], shapes[1][0]
        for mask in (bool_mask(n_q, n_k), float_mask(n_q, n_k)):
            agree(stream, *tables(*shapes), attn_mask=mask, empty="zero")
            agree(stream, *tables(*shapes), attn_mask=mask, is_causal=True, empty="zero")
    agree(stream, *tables(), attn_mask=float_mask(3, 5).tolist())


@check
def check_a_mask_that_is_a_function(stream):
    for shapes in SHAPES[:4]:
        n_q, n_k = shapes[0][0], shapes[1][0]
        for mask in (bool_mask(n_q, n_k), float_mask(n_q, n_k)):
            for causal in (False, True):
                options = {"is_causal": causal, "empty": "zero", "scale": 0.7}
                wanted = oracle.attention(*tables(*shapes), attn_mask=mask, **options)[0]
                for block in (1, (2, 3), (3, 2), None):
                    options |= {"block": block, "attn_mask": as_function(mask)}
                    same("output", stream(*tables(*shapes), **options), wanted)


@check
def check_some_blocks_of_a_float_mask_hold_only_0_and_1(stream):
    mask = np.array([[0.0, 1, 0.5, -np.inf], [0.25, 0, 1, 1]])
    arrays = tables((2, 3), (4, 3), (4, 5))
    wanted = oracle.attention(*arrays, attn_mask=mask)[0]
    for block in (1, 2, (1, 2), None):
        same("output", stream(*arrays, attn_mask=as_function(mask), block=block), wanted)


@check
def check_what_a_mask_function_is_asked(stream):
    Q, K, V = tables((2, 7, 4), (2, 9, 4), (2, 9, 3))
    asked = np.zeros((7, 9), dtype=int)

    def mask(rows, cols):
        assert rows.dtype.kind == cols.dtype.kind == "i" and len(rows) <= 2 and len(cols) <= 4
        assert (np.diff(rows) == 1).all() and (np.diff(cols) == 1).all()
        asked[np.ix_(rows, cols)] += 1
        return np.ones((len(rows), len(cols)), dtype=bool)

    stream(Q, K, V, attn_mask=mask, block=(2, 4))
    assert (asked == 2).all(), "each entry once a table"
    asked[:] = 0
    stream(Q, K, V, attn_mask=mask, block=(2, 4), is_causal=True)
    lower = np.tri(7, 9, dtype=bool)
    assert (asked[lower] == 2).all() and not asked[:2, 4:].any() and not asked[:4, 8:].any()


@check
def check_leading_axes(stream):
    batch = tables((2, 3, 4), (2, 5, 4), (2, 5, 7))
    spread = tables((2, 1, 3, 4), (3, 5, 4), (5, 7))
    for blocks in [[2, (1, 3), None]]:
        agree(stream, *batch, blocks)
        agree(stream, *batch, blocks, attn_mask=bool_mask(2, 3, 5))
        agree(stream, *batch, blocks, attn_mask=float_mask(3, 5), is_causal=True, empty="zero")
        agree(stream, *spread, blocks, attn_mask=float_mask(2, 1, 3, 5))
        agree(stream, *tables(), blocks, attn_mask=bool_mask(2, 3, 5))
    same("output", stream(*batch, attn_mask=as_function(np.eye(3, 5) == 1)), batch[2][:, :3])


@check
def check_a_larger_score_late_and_early(stream):
    """Scores of 800 and differences of 100: only the largest so far keeps exp in range."""
    Q, V = np.array([[1], [-1], [0.125]]), numbers(6, 3)
    for dtype in (np.float32, np.float64):
        for scores in (
            [0, 1, 2, 800, 801, 799],
            [800, 801, 799, 2, 1, 0],
            [-800, 0, 800, 0, 801, 0],
        ):
            arrays = Q, np.array(scores)[:, None], V
            agree(stream, *(x.astype(dtype) for x in arrays), dtype=dtype, scale=1)


@check
def check_scores_up_to_the_floating_range(stream):
    V = numbers(4, 3)
    for dtype in (np.float32, np.float64):
        big = np.sqrt(np.finfo(dtype).max) * dtype(0.99)
        Q, K = np.array([[big], [-big]]), np.array([[-big], [0], [big], [big / 2]])
        for block in BLOCKS:
            got = stream(Q, K.astype(dtype), V.astype(dtype), block=block, scale=1)
            same("output", got, V[[2, 0]], dtype)


@check
def check_scores_above_the_floating_range(stream):
    Q, K, V = (np.full((4, 2), big, np.float32) for big in (1e30, 1e30, 1))
    for sign in (1, -1):
        for block in (1, 2, None):
            call = lambda b=block, s=sign: stream(Q, s * K, V, block=b)  # noqa: E731
            refused(call, ValueError, "exceed the range")
    mixed = K.copy()
    mixed[1] = 0
    mixed[:, 0] *= -1  # -inf + inf, or -inf where the sum would be 0
    for block in (1, 2, None):
        refused(lambda b=block: stream(Q, mixed, V, block=b), ValueError, "exceed the range")
    K[0] = 0
    refused(lambda: stream(Q, -K, V, block=1), ValueError, "exceed the range")
    keep = np.array([[True, False] * 2] * 4)
    K[1::2] *= -1
    K[::2] = 0
    same("output", stream(Q, K, V, attn_mask=keep, block=1), np.ones((4, 2)), np.float32)


@check
def check_values_up_to_the_floating_range(stream):
    Q, K, _ = tables((40, 4), (7, 4), (7, 2))
    for dtype in (np.float32, np.float64):
        big = np.finfo(dtype).max
        V = np.stack([np.full(7, big), np.full(7, -big), [big, -big] * 3 + [0]], axis=-1).astype(
            dtype
        )
        arrays = Q.astype(dtype), K.astype(dtype), V
        wanted = attention(*arrays) / big
        for block in BLOCKS:
            same("output", stream(*arrays, block=block) / big, wanted, dtype)


@check
def check_a_common_bias_keeps_the_digits(stream):
    """A row whose blocks are biased by -1e9, some by less; and one that only causal leaves so."""
    mask = np.full((3, 6), -1e9)
    mask[0, 4:] = mask[1, :2] = 0.5
    mask[2, 2:4] = -2e9
    for dtype in (np.float32, np.float64):
        arrays = [x.astype(dtype) for x in tables((3, 4), (6, 4), (6, 2))]
        for kind in (np.float32, np.float64):
            agree(stream, *arrays, dtype=dtype, attn_mask=mask.astype(kind))
            lower = np.tri(3, 6, dtype=bool)
            agree(
                stream,
                *arrays,
                dtype=dtype,
                attn_mask=np.where(lower, -1e9, 0.5).astype(kind),
                is_causal=True,
            )
    flip = [x[..., ::-1, :] for x in arrays]
    agree(stream, *flip, attn_mask=mask[::-1, ::-1])


@check
def check_blocks_that_nobody_may_read(stream):
    keep = np.zeros((4, 8), dtype=bool)
    keep[0, 6:] = keep[1, :2] = keep[2, 3] = True
    keep[3, ::5] = True
    for mask in (keep, np.where(keep, 0.25, -np.inf)):
        agree(stream, *tables((4, 3), (8, 3), (8, 5)), attn_mask=mask)


@check
def check_a_requester_that_may_read_nobody(stream):
    keep = np.ones((5, 7), dtype=bool)
    keep[3] = keep[1, 2:] = False
    arrays = tables((5, 4), (7, 4), (7, 2))
    for mask in (keep, np.where(keep, -0.5, -np.inf)):
        agree(stream, *arrays, attn_mask=mask, empty="zero")
        for block in (1, 2, 3, None):
            call = lambda b=block, m=mask: stream(*arrays, attn_mask=m, block=b)  # noqa: E731
            refused(call, ValueError, "row 3 may", "empty='zero'")
    batch, mask = [np.stack([x, x]) for x in arrays], np.stack([np.ones_like(keep), keep])
    refused(lambda: stream(*batch, attn_mask=mask, block=2), ValueError, "row 3 of", "(1,)")
    none = tables((3, 4), (0, 4), (0, 2))
    same("output", stream(*none, empty="zero"), np.zeros((3, 2)))
    refused(lambda: stream(*none), ValueError, "row 0")
    same("output", stream(*tables((0, 4), (5, 4), (5, 2))), np.zeros((0, 2)))
    same("output", stream(*tables((3, 4), (5, 4), (5, 0))), np.zeros((3, 0)))


@check
def check_nan_and_inf_as_in_attention(stream):
    keep = np.array([[1, 1, 0, 1, 1, 0], [0, 0, 1, 1, 0, 1], [1, 1, 1, 0, 0, 0], [0] * 6]) == 1
    for which in range(3):
        for bad in (np.nan, np.inf, -np.inf):
            for spot in ((0, 0), (2, 1), (3, 1)):
                arrays = [x.copy() for x in tables((4, 3), (6, 3), (6, 2))]
                arrays[which][spot] = bad
                for options in (
                    {},
                    {"attn_mask": keep},
                    {"attn_mask": np.where(keep, 0.5, -np.inf), "is_causal": True},
                ):
                    options["empty"] = "zero"
                    wanted = attention(*arrays, **options)
                    for block in (1, (2, 3), (3, 2), None):
                        got = stream(*arrays, block=block, **options)
                        assert (np.isnan(got) == np.isnan(wanted)).all(), f"nan of {got}"
                        same("output", np.nan_to_num(got), np.nan_to_num(wanted))


@check
def check_dtype_follows_the_inputs(stream):
    arrays, mask = tables(), float_mask(3, 5)
    for dtype in (np.float16, np.float32, np.longdouble):
        given = [x.astype(dtype) for x in arrays]
        for block in (2, None):
            for kind in (np.float16, np.float32, np.float64):
                options = {"attn_mask": float_mask(3, 5, dtype=kind), "block": block}
                wanted = oracle.attention(*arrays, attn_mask=mask)[0]
                same("output", stream(*given, **options), wanted, dtype)
            mixed = stream(given[0], arrays[1], given[2], block=block)
            same("output", mixed, oracle.attention(*arrays)[0], np.result_type(dtype, np.float64))
    whole = [np.round(x * 2).astype(np.int8) for x in arrays]
    agree(stream, *whole)
    agree(stream, *(x.tolist() for x in arrays))


@check
def check_inputs_are_only_read(stream):
    arrays = [np.asfortranarray(x) for x in (*tables(), float_mask(3, 5))]
    for x in arrays:
        x.flags.writeable = False
    agree(stream, *arrays[:3], attn_mask=arrays[3])
    got = stream(*arrays[:3])
    assert got.flags.writeable and not any(np.shares_memory(got, x) for x in arrays)


@check
def check_float32_and_float64_over_many_blocks(stream):
    shapes = (40, 16), (300, 16), (300, 24)
    for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-12)):
        arrays = [numbers(*shape, seed=i).astype(dtype) for i, shape in enumerate(shapes)]
        wanted = attention(*(x.astype(np.float64) for x in arrays), is_causal=True)
        for block in (16, (7, 64), None):
            same("output", stream(*arrays, is_causal=True, block=block), wanted, dtype, tolerance)
    same("output", stream(*arrays), attention(*arrays))


@check
def check_memory_does_not_grow_with_the_table(stream):
    """By default, with each kind of mask. Masks of stride 0 hold nothing that could be counted."""

    def band(rows, cols):
        return np.abs(rows[:, None] - cols) < 900

    def used(n, **options):
        arrays = [np.ones((n, 8), np.float32) * np.float32(0.1) for _ in range(3)]
        return peak_memory(lambda: stream(*arrays, **options))

    stream(*tables())
    for make in (
        lambda n: {},
        lambda n: {"is_causal": True},
        lambda n: {"attn_mask": band},
        lambda n: {"attn_mask": np.broadcast_to(True, (n, n))},
        lambda n: {"attn_mask": np.broadcast_to(np.float32(-0.5), (n, n))},
    ):
        small, large = (used(n, **make(n)) for n in (2048, 4096))
        assert large < small + 30_000, f"{small} bytes become {large}"
        assert large < 6e6, f"{large} bytes"
    coarse, fine = (used(512, block=block) for block in (256, 32))
    assert fine < coarse / 4, f"block 32 holds {fine} bytes, block 256 {coarse}"


@check
def check_block_is_one_or_two_integers_from_1_on(stream):
    arrays = tables()
    for block in (0, -1, (0, 2), (2, 0), (1, 2, 3), (), (3,), [[2, 2]]):
        refused(
            lambda b=block: stream(*arrays, block=b), (ValueError, TypeError), "block", str(block)
        )
    for block in (2.0, "2", True, (2, 2.5), 1j):
        refused(lambda b=block: stream(*arrays, block=b), TypeError, "block")


@check
def check_blocks_of_a_mask_function_are_checked(stream):
    arrays, name = tables((3, 4), (5, 4), (5, 2)), "attn_mask"

    def call(answer, **options):
        return lambda: stream(*arrays, attn_mask=answer, **options)

    refused(call(lambda r, c: np.ones((5, 3), bool)), ValueError, name, "(5, 3)", "(3, 5)")
    refused(call(lambda r, c: np.ones((1, 3, 5), bool)), ValueError, name, "(1, 3, 5)", "(3, 5)")
    refused(call(lambda r, c: None), ValueError, name, "()")
    refused(call(lambda r, c: True), ValueError, name, "()")
    for block in (1, (2, 1), None):
        flat = call(lambda r, c: (r[:, None] >= c) * 1.0, block=block)
        refused(flat, ValueError, name, "added", "may be read")
    refused(call(lambda r, c: np.full((3, 5), np.nan)), ValueError, name, "nan")
    refused(call(lambda r, c: np.full((3, 5), 7)), TypeError, name, "integers")
    refused(call(lambda r, c: np.full((3, 5), 1j)), TypeError, name, "complex")

    def mixed(rows, cols):
        return np.full((len(rows), len(cols)), True if cols[0] else -0.5)

    refused(call(mixed, block=2), TypeError, name, "bool", "float")


@check
def check_bad_input_is_refused_as_by_attention(stream):
    Q, K, V = tables()
    wrong = [
        ((Q, K.T, V), {}),
        ((Q, K, V.T), {}),
        ((Q[0], K, V), {}),
        ((Q, K + 1j, V), {}),
        ((Q, K, V), {"attn_mask": np.ones((5, 3), bool)}),
        ((Q, K, V), {"attn_mask": np.tri(3, 5)}),
        ((Q, K, V), {"attn_mask": np.full((3, 5), np.nan)}),
        ((Q, K, V), {"attn_mask": np.full((3, 5), np.inf)}),
        ((Q, K, V), {"is_causal": 1}),
        ((Q, K, V), {"scale": np.nan}),
        ((Q, K, V), {"empty": "nan"}),
    ]
    for arrays, options in wrong:
        try:
            attention(*arrays, **options)
        except (TypeError, ValueError) as error:
            refused(lambda a=arrays, o=options: stream(*a, **o), type(error), str(error))

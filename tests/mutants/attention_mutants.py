"""Wrong versions of attention, softmax, projections and scores, each wrong in one way.

``MUTANTS[target]`` maps the name of a bug to ``(wrong function, the check that must reject it)``.
The wrong functions are as right as can be in everything else: arguments are checked by attnlib
itself, and where the bug cannot be expressed (a square-only bug on a rectangular table), the
right answer is given. So a check that rejects one has seen the bug, and not a crash.
"""

import numpy as np

from attnlib import Head, project, score_table, softmax
from attnlib import attention as right

MUTANTS = {"attention": {}, "softmax": {}, "project": {}, "score_table": {}, "views": {}}


def mutant(name, rejected_by, target="attention"):
    """Enter the function below as the wrong version ``name`` of ``target``."""

    def enter(function):
        MUTANTS[target][name] = function, rejected_by
        return function

    return enter


# ---- a plain attention in stages, each of which can be replaced ------------------------------


def allowed(mask, is_causal, n_q, n_k):
    keep = np.ones((n_q, n_k), dtype=bool)
    if mask is not None:
        keep = keep & (mask if mask.dtype == bool else mask != -np.inf)
    return keep & np.tri(n_q, n_k, dtype=bool) if is_causal else keep


def scored(Q, K, scale):
    """Return the scaled scores; where a sum overflows on the way, it is added up halved."""
    table = (Q * scale) @ K.swapaxes(-1, -2)
    with_care = ((Q * scale)[..., :, None, :] * (K / 2)[..., None, :, :]).sum(axis=-1) * 2
    return np.where(np.isfinite(table), table, with_care)


def masked(table, keep, bias):
    """Add the mask; what is common to a row is taken off first, so that digits are kept."""
    if bias is not None:
        bias = np.where(keep, bias, -np.inf)
        top = bias.max(axis=-1, keepdims=True, initial=-np.inf)
        table = table + np.where(keep, bias - top, 0)
    return np.where(keep, table, -np.inf)


def weighed(table, keep):
    top = table.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(table - np.where(np.isneginf(top), 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def blended(weights, K, V, keep):
    """Return the sum of weight times value, over those who may be read, within their range."""
    parts = weights[..., None] * V[..., None, :, :]
    blend = np.where(keep[..., None], parts, 0).sum(axis=-2)
    if V.shape[-2] == 0 or not np.isfinite(V).all():
        return blend
    inside = blend.clip(V.min(axis=-2, keepdims=True), V.max(axis=-2, keepdims=True))
    return np.where(keep.any(axis=-1, keepdims=True), inside, 0)


def staged(
    *,
    prepare=lambda Q, K, V: (Q, K, V),
    default_scale=lambda Q, K, V: 1 / np.sqrt(Q.shape[-1]),
    given_scale=lambda scale, default: scale,
    allowed=allowed,
    scored=scored,
    masked=masked,
    weighed=weighed,
    blended=blended,
    deliver=lambda answer, dtype: answer.astype(dtype),
):
    """Return an attention made of these stages; without arguments, a right one."""

    def attention(
        Q, K, V, *, attn_mask=None, is_causal=False, scale=None, empty="raise", return_weights=False
    ):
        options = dict(attn_mask=attn_mask, is_causal=is_causal, scale=scale, empty=empty)
        dtype = right(Q, K, V, **options).dtype  # refuses what is to be refused
        mask = None if attn_mask is None else np.asarray(attn_mask)
        bias = None
        if mask is not None and mask.dtype != bool:
            bias = mask.astype(np.result_type(mask, np.float64))
        with np.errstate(all="ignore"):
            Q, K, V = prepare(*(np.asarray(x) for x in (Q, K, V)))
            wide = np.result_type(dtype, np.float64)
            Q, K, V = (x.astype(wide) for x in (Q, K, V))
            default = default_scale(Q, K, V)
            factor = default if scale is None else given_scale(float(scale), default)
            keep = allowed(mask, is_causal, Q.shape[-2], K.shape[-2])
            weights = weighed(masked(scored(Q, K, factor), keep, bias), keep)
            axes = np.broadcast_shapes(weights.shape[:-2], V.shape[:-2], keep.shape[:-2])
            weights = np.broadcast_to(weights, axes + weights.shape[-2:])
            output = deliver(blended(weights, K, V, keep), dtype)
            weights = deliver(weights, dtype)
        return (output, weights) if return_weights else output

    return attention


SCAFFOLD = staged()


def enter(name, rejected_by, **stages):
    """Enter a staged attention with some stages replaced."""
    MUTANTS["attention"][name] = staged(**stages), rejected_by


def square(table):
    return table.shape[-1] == table.shape[-2]


# ---- the normalisation -----------------------------------------------------------------------


def over(axis):
    def weighed(table, keep):
        e = np.exp(table - np.max(table, axis=axis, keepdims=True, initial=-1e300))
        return e / e.sum(axis=axis, keepdims=True)

    return weighed


enter("softmax over requesters", "formula_with_all_sizes_different", weighed=over(-2))
enter("softmax over the whole table", "formula_with_all_sizes_different", weighed=over((-1, -2)))


def sum_without_keepdims(table, keep):
    if table.ndim > 2 or not square(table):
        return weighed(table, keep)
    e = np.exp(table - table.max(axis=-1, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=-1)


def maximum_without_keepdims(table, keep):
    if table.ndim > 2 or not square(table):
        return weighed(table, keep)
    e = np.exp(table - table.max(axis=-1, initial=-np.inf) * 0.5)
    return e / e.sum(axis=-1, keepdims=True)


def no_maximum(table, keep):
    e = np.exp(table)
    return e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)


def maximum_of_the_table(table, keep):
    e = np.exp(table - table.max(axis=(-1, -2), keepdims=True, initial=-1e300))
    return e / np.maximum(e.sum(axis=-1, keepdims=True), 1e-300)


def not_normalised(table, keep):
    top = table.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.exp(table - np.where(np.isneginf(top), 0, top))


def divided_by_the_sum(table, keep):
    table = np.where(np.isneginf(table), 0, table)
    return table / table.sum(axis=-1, keepdims=True)


enter("keepdims missing on the sum", "square_table", weighed=sum_without_keepdims)
enter("keepdims missing on the maximum", "square_table", weighed=maximum_without_keepdims)
enter("no maximum subtracted", "scores_of_ten_thousand", weighed=no_maximum)
enter("maximum of the whole table", "scores_of_ten_thousand", weighed=maximum_of_the_table)
enter("weights not normalised", "formula_with_all_sizes_different", weighed=not_normalised)
enter("scores over their sum", "formula_with_all_sizes_different", weighed=divided_by_the_sum)

# ---- the scale -------------------------------------------------------------------------------

DEFAULT = "default_scale_is_one_over_root_of_the_queries_width"
GIVEN = "given_scale_replaces_the_default"

enter("no scale", DEFAULT, default_scale=lambda Q, K, V: 1)
enter("scale by d_model", DEFAULT, default_scale=lambda Q, K, V: 1 / np.sqrt(12 * Q.shape[-1]))
enter("scale by d_v", DEFAULT, default_scale=lambda Q, K, V: 1 / np.sqrt(max(V.shape[-1], 1)))
enter("scale by n_k", DEFAULT, default_scale=lambda Q, K, V: 1 / np.sqrt(max(K.shape[-2], 1)))
enter("divided by d_k, not its root", DEFAULT, default_scale=lambda Q, K, V: 1 / Q.shape[-1])
enter("multiplied by the root of d_k", DEFAULT, default_scale=lambda Q, K, V: Q.shape[-1] ** 0.5)
enter("given scale ignored", GIVEN, given_scale=lambda scale, default: default)
enter("given scale times the default", GIVEN, given_scale=lambda scale, default: scale * default)
enter("given scale divides", GIVEN, given_scale=lambda scale, default: 1 / scale if scale else 0)
enter("sign of the scale lost", GIVEN, given_scale=lambda scale, default: abs(scale))
enter(
    "scale 0 taken for none",
    "scale_zero_gives_equal_weights",
    given_scale=lambda scale, default: scale or default,
)


@mutant("scale after softmax", "formula_with_all_sizes_different")
def scale_after_softmax(Q, K, V, *, scale=None, return_weights=False, **options):
    given = 1 / np.sqrt(np.shape(Q)[-1]) if scale is None else float(scale)
    output, weights = right(Q, K, V, scale=1, return_weights=True, **options)
    output, weights = (x * x.dtype.type(given) for x in (output, weights))
    return (output, weights) if return_weights else output


# ---- Q, K, V in each other's place -----------------------------------------------------------


def all_axes_turned(Q, K, scale):
    cube = Q.ndim == 3 and Q.shape == K.shape and len(set(K.shape)) == 1
    return (Q * scale) @ K.T if cube else scored(Q, K, scale)


def keys_as_values(weights, K, V, keep):
    return blended(weights, K, K if K.shape == V.shape else V, keep)


def summed_without_weights(weights, K, V, keep):
    return blended(np.where(keep, 1.0, 0.0) + 0 * weights, K, V, keep)


def turned_table(Q, K, scale):
    table = scored(Q, K, scale)
    return table.swapaxes(-1, -2) if square(table) else table


def distances(Q, K, scale):
    gap = Q[..., :, None, :] - K[..., None, :, :]
    return -scale * (gap * gap).sum(axis=-1)


def cosines(Q, K, scale):
    length = [np.linalg.norm(X.astype(float), axis=-1, keepdims=True) for X in (Q, K)]
    q, k = (X / np.where(n == 0, 1, n) for X, n in zip((Q, K), length, strict=True))
    return q @ k.swapaxes(-1, -2)


enter("K.T on a batch", "cube", scored=all_axes_turned)
enter("keys summed instead of values", "keys_and_values_of_one_width", blended=keys_as_values)
enter(
    "values summed unweighted", "formula_with_all_sizes_different", blended=summed_without_weights
)
enter("rows and columns swapped", "square_table", scored=turned_table)
enter("distance instead of product", "formula_with_all_sizes_different", scored=distances)
enter("cosine instead of product", "formula_with_all_sizes_different", scored=cosines)


# ---- masks -----------------------------------------------------------------------------------


def scores_times_mask(table, keep, bias):
    return (
        masked(table, np.ones_like(keep), bias if bias is None else np.where(keep, bias, 0)) * keep
    )


def forbidden_at(number):
    def minus(table, keep, bias):
        table = table if bias is None else table + np.where(keep, bias, 0)
        return np.where(keep, table, number)

    return minus


def mask_forgotten(table, keep, bias):
    return table + np.zeros(keep.shape)


def mask_multiplied(table, keep, bias):
    return np.where(keep, table if bias is None else table * np.where(keep, bias, 0), -np.inf)


def mask_subtracted(table, keep, bias):
    return masked(table, keep, None if bias is None else np.where(keep, -bias, 0))


def bias_forgotten(table, keep, bias):
    return masked(table, keep, None)


def mask_before_the_scale(table, keep, bias):
    return masked(table, keep, None if bias is None else np.where(keep, bias, 0) / 2)


def added_as_it_is(table, keep, bias):
    """Add the mask in float32, so that a common -1e9 takes the digits of the scores with it."""
    if bias is not None:
        table = (table.astype(np.float32) + bias.astype(np.float32)).astype(table.dtype)
    return np.where(keep, table, -np.inf)


def first_mask_for_all(mask, is_causal, n_q, n_k):
    if mask is None or mask.ndim == 2 or 0 in mask.shape:
        return allowed(mask, is_causal, n_q, n_k)
    first = mask[(0,) * (mask.ndim - 2)]
    return np.broadcast_to(allowed(first, is_causal, n_q, n_k), mask.shape)


def inverted(mask, is_causal, n_q, n_k):
    opposite = ~mask if mask is not None and mask.dtype == bool else mask
    return allowed(opposite, is_causal, n_q, n_k)


enter("scores multiplied by the mask", "bool_mask", masked=scores_times_mask)
enter("masked with 0", "bool_mask", masked=forbidden_at(0))
enter(
    "masked with -10",
    "a_forbidden_candidate_has_weight_zero_whatever_its_score",
    masked=forbidden_at(-10),
)
enter("mask forgotten", "bool_mask", masked=mask_forgotten)
enter("inverted mask", "bool_mask", allowed=inverted)
enter("float mask multiplied", "float_mask_is_added_after_the_scale", masked=mask_multiplied)
enter("float mask subtracted", "float_mask_is_added_after_the_scale", masked=mask_subtracted)
enter("float mask read as bool", "float_mask_is_added_after_the_scale", masked=bias_forgotten)
enter(
    "float mask added before the scale",
    "float_mask_is_added_after_the_scale",
    masked=mask_before_the_scale,
)
enter(
    "scores lose their digits beside -1e9",
    "a_number_common_to_a_row_of_the_mask_changes_nothing",
    masked=added_as_it_is,
)
enter("first mask for the whole batch", "masks_with_leading_axes", allowed=first_mask_for_all)


@mutant("mask after softmax, not normalised again", "bool_mask")
def mask_after_softmax(Q, K, V, *, attn_mask=None, return_weights=False, **options):
    output, weights = right(Q, K, V, attn_mask=attn_mask, return_weights=True, **options)
    mask = None if attn_mask is None else np.asarray(attn_mask)
    if mask is not None and mask.dtype == bool and mask.any():
        free = right(Q, K, V, return_weights=True, **options)[1]
        share = (free * mask).sum(axis=-1, keepdims=True)
        output, weights = (x * share.astype(x.dtype) for x in (output, weights))
    return (output, weights) if return_weights else output


def guess(convert):
    """Return an attention that makes something of masks that have to be refused."""

    def attention(Q, K, V, *, attn_mask=None, **options):
        try:
            return right(Q, K, V, attn_mask=attn_mask, **options)
        except ValueError:
            if attn_mask is None:
                raise
            return right(Q, K, V, attn_mask=convert(np.asarray(attn_mask), Q, K), **options)

    return attention


ZERO_ONE = "a_float_mask_of_zeros_and_ones_is_refused"
EXACT = "the_last_two_axes_of_a_mask_are_exact"
# a number common to all entries changes no weight: 2 and 3 are added like 0 and 1
MUTANTS["attention"]["0/1 float mask added"] = guess(lambda m, Q, K: m + 2.0), ZERO_ONE
MUTANTS["attention"]["0/1 float mask read as bool"] = guess(lambda m, Q, K: m != 0), ZERO_ONE
MUTANTS["attention"]["mask broadcast over requesters"] = (
    guess(lambda m, Q, K: np.broadcast_to(m, (np.shape(Q)[-2], np.shape(K)[-2]))),
    EXACT,
)
MUTANTS["attention"]["mask turned until it fits"] = guess(lambda m, Q, K: m.T), EXACT


@mutant("(batch, n) mask broadcast when batch = n", "cube")
def padding_mask_broadcast(Q, K, V, *, attn_mask=None, **options):
    mask = None if attn_mask is None else np.asarray(attn_mask)
    batch = np.shape(Q)[:-2]
    if mask is not None and mask.ndim == 2 and batch == (np.shape(Q)[-2],):
        padding = mask[:, None, :] & np.ones((1, mask.shape[0], 1), dtype=bool)
        attn_mask = padding if mask.dtype == bool else np.where(padding, mask[:, None, :], 0)
    return right(Q, K, V, attn_mask=attn_mask, **options)


# ---- causal ----------------------------------------------------------------------------------


def triangle(causal):
    """Return the stage ``allowed`` with another idea of who comes before whom."""

    def stage(mask, is_causal, n_q, n_k):
        keep = allowed(mask, False, n_q, n_k)
        if not is_causal:
            return keep
        other = keep & causal(n_q, n_k)
        empty = ~other.any(axis=-1, keepdims=True)
        return np.where(empty, allowed(mask, True, n_q, n_k), other)

    return stage


def causal_only_without_mask(mask, is_causal, n_q, n_k):
    return allowed(mask, is_causal and mask is None, n_q, n_k)


def mask_only_without_causal(mask, is_causal, n_q, n_k):
    return allowed(None if is_causal else mask, is_causal, n_q, n_k)


CORNER = "causal_is_top_left_on_rectangular_tables"
BOTH = "causal_and_mask_must_both_allow"
enter("causal bottom-right", CORNER, allowed=triangle(lambda n, m: np.tri(n, m, m - n, dtype=bool)))
enter(
    "causal the other way round",
    "causal_on_a_square_table",
    allowed=triangle(lambda n, m: ~np.tri(n, m, -1, dtype=bool)),
)
enter(
    "causal without oneself",
    "causal_on_a_square_table",
    allowed=triangle(lambda n, m: np.tri(n, m, -1, dtype=bool)),
)
enter(
    "causal forgotten",
    "causal_on_a_square_table",
    allowed=lambda mask, is_causal, n, m: allowed(mask, False, n, m),
)
enter("causal forgotten beside a mask", BOTH, allowed=causal_only_without_mask)
enter("mask forgotten beside causal", BOTH, allowed=mask_only_without_causal)


# ---- requesters that may read nobody ---------------------------------------------------------


def when_empty(answer, empty="raise"):
    """Return an attention that puts ``answer(output, weights, V)`` where ``empty`` applies."""

    def attention(Q, K, V, *, return_weights=False, **options):
        asked = options.pop("empty", "raise")
        if asked != empty:
            return right(Q, K, V, return_weights=return_weights, empty=asked, **options)
        output, weights = right(Q, K, V, return_weights=True, empty="zero", **options)
        none = (weights == 0).all(axis=-1, keepdims=True)
        other = answer(output, weights, np.asarray(V))
        output, weights = (
            np.where(none, x, y) for x, y in zip(other, (output, weights), strict=True)
        )
        return (output, weights) if return_weights else output

    return attention


def uniform(output, weights, V):
    even = np.full_like(weights, 1 / max(weights.shape[-1], 1))
    return (even @ V).astype(output.dtype), even


NAMED = "a_requester_that_may_read_nobody_is_named"
MUTANTS["attention"] |= {
    "fully masked row gives nan": (when_empty(lambda o, w, V: (o * np.nan, w * np.nan)), NAMED),
    "fully masked row gives zeros unasked": (when_empty(lambda o, w, V: (o, w)), NAMED),
    "fully masked row silently uniform": (when_empty(uniform), NAMED),
    "zeros asked, nan given": (
        when_empty(lambda o, w, V: (o * np.nan, w * np.nan), "zero"),
        "zero_row_when_asked",
    ),
    "zeros asked, uniform given": (when_empty(uniform, "zero"), "zero_row_when_asked"),
}


@mutant("fully masked row silently unmasked", NAMED)
def silently_unmasked(Q, K, V, *, attn_mask=None, **options):
    """As when -1e9 is added to the whole row in float64: it drops out of the softmax."""
    try:
        return right(Q, K, V, attn_mask=attn_mask, **options)
    except ValueError as error:
        if "may read nobody" not in str(error) or attn_mask is None:
            raise
        mask = np.asarray(attn_mask)
        keep = mask if mask.dtype == bool else mask != -np.inf
        keep = keep | ~keep.any(axis=-1, keepdims=True)
        return right(Q, K, V, attn_mask=keep, **(options | {"is_causal": False}))


@mutant("-1e9 on a whole row called empty", "empty_is_decided_on_the_mask_not_on_the_result")
def low_numbers_called_empty(Q, K, V, *, attn_mask=None, **options):
    mask = None if attn_mask is None else np.asarray(attn_mask)
    if mask is not None and mask.dtype.kind == "f":
        attn_mask = np.where(mask < -1e8, -np.inf, mask)
    return right(Q, K, V, attn_mask=attn_mask, **options)


@mutant("no candidate gives zeros unasked", "no_candidate_counts_as_may_read_nobody")
def no_candidate_gives_zeros(Q, K, V, *, empty="raise", **options):
    return right(Q, K, V, empty="zero" if np.shape(K)[-2] == 0 else empty, **options)


# ---- nan -------------------------------------------------------------------------------------


def zero_times_nan(weights, K, V, keep):
    return weights @ V if not np.isfinite(V).all() else blended(weights, K, V, keep)


enter(
    "0 times nan reaches the output",
    "nan_or_inf_that_is_masked_out_reaches_nobody",
    blended=zero_times_nan,
)
enter(
    "nan hidden from its readers",
    "nan_that_may_be_read_is_seen_by_its_readers_only",
    prepare=lambda Q, K, V: tuple(
        np.nan_to_num(x) if np.issubdtype(x.dtype, np.floating) else x for x in (Q, K, V)
    ),
)


@mutant("one nan spoils the whole output", "nan_that_may_be_read_is_seen_by_its_readers_only")
def one_nan_spoils_all(Q, K, V, *, return_weights=False, **options):
    answer = right(Q, K, V, return_weights=True, **options)
    answer = tuple(x * np.nan if np.isnan(answer[0]).any() else x for x in answer)
    return answer if return_weights else answer[0]


# ---- types -----------------------------------------------------------------------------------


def in_half(Q, K, V):
    """Build the table in half precision, as it comes: it overflows before it is scaled."""
    if {x.dtype for x in (Q, K, V)} != {np.dtype(np.float16)}:
        return Q, K, V
    with np.errstate(all="ignore"):
        over = ~np.isfinite(Q @ K.swapaxes(-1, -2)).all()
    return (Q * np.float16(0), K, V) if over else (Q, K, V)


def wrapped(kinds):
    """Return the stage in which integers wrap like int8 before they become floats."""

    def prepare(Q, K, V):
        if Q.dtype == K.dtype and Q.dtype in kinds:
            table = Q.astype(Q.dtype) @ K.swapaxes(-1, -2)
            if not np.array_equal(table, Q.astype(int) @ K.astype(int).swapaxes(-1, -2)):
                return Q * 0, K, V
        return Q, K, V

    return prepare


def rounded_to(kind):
    def stage(table, keep):
        return weighed(table, keep).astype(kind).astype(table.dtype)

    return stage


def truncated(Q, K, V, *, return_weights=False, **options):
    output, weights = right(Q, K, V, return_weights=True, **options)
    if all(np.asarray(x).dtype.kind in "biu" for x in (Q, K, V)):
        output, weights = (np.trunc(x) for x in (output, weights))
    return (output, weights) if return_weights else output


def returned_as(convert):
    def attention(Q, K, V, *, return_weights=False, **options):
        answer = tuple(map(convert, right(Q, K, V, return_weights=True, **options)))
        return answer if return_weights else answer[0]

    return attention


def widened(kind, other):
    return returned_as(lambda x: x.astype(other) if x.dtype == kind else x)


KEPT = "the_floating_type_is_kept"
enter("half precision overflows before the scale", "scores_beyond_half_precision", prepare=in_half)
enter(
    "int8 and uint8 wrap",
    "small_integers_do_not_wrap",
    prepare=wrapped([np.dtype(np.int8), np.dtype(np.uint8)]),
)
enter("everything computed in float32", KEPT, weighed=rounded_to(np.float32))
enter("everything computed in half precision", KEPT, weighed=rounded_to(np.float16))
MUTANTS["attention"] |= {
    "integer answers truncated": (truncated, "integers_and_booleans_are_computed_in_float64"),
    "float32 in, float64 out": (widened(np.float32, np.float64), KEPT),
    "half in, float32 out": (widened(np.float16, np.float32), KEPT),
    "float64 in, float32 out": (widened(np.float64, np.float32), KEPT),
    "integers in, float32 out": (
        lambda Q, K, V, **options: right(
            *(
                x.astype(np.float32) if x.dtype.kind in "biu" else x
                for x in map(np.asarray, (Q, K, V))
            ),
            **options,
        ),
        "integers_and_booleans_are_computed_in_float64",
    ),
}


@mutant("half precision computed in half precision", "half_precision_is_computed_in_single")
def blended_in_half(Q, K, V, *, return_weights=False, **options):
    output, weights = right(Q, K, V, return_weights=True, **options)
    if output.dtype == np.float16 and np.isfinite(V).all():
        with np.errstate(all="ignore"):
            output = weights @ np.asarray(V, np.float16)
    return (output, weights) if return_weights else output


@mutant("complex inputs lose their imaginary part", "other_types_are_refused")
def imaginary_part_dropped(Q, K, V, **options):
    Q, K, V = (x.real if np.iscomplexobj(x) else x for x in (Q, K, V))
    return right(Q, K, V, **options)


@mutant("objects and strings are converted", "other_types_are_refused")
def anything_converted(Q, K, V, **options):
    kinds = "OUS"
    Q, K, V = (np.asarray(x, float) if np.asarray(x).dtype.kind in kinds else x for x in (Q, K, V))
    return right(Q, K, V, **options)


# ---- what is done to the arguments -----------------------------------------------------------

UNCHANGED = "arguments_are_not_written_to"


@mutant("the caller's queries are scaled in place", UNCHANGED)
def queries_changed(Q, K, V, *, scale=None, **options):
    answer = right(Q, K, V, scale=scale, **options)
    if isinstance(Q, np.ndarray) and Q.flags.writeable and Q.dtype.kind == "f":
        Q *= Q.dtype.type(1 / np.sqrt(Q.shape[-1]) if scale is None else float(scale))
    return answer


@mutant("the caller's values are changed in place", UNCHANGED)
def values_changed(Q, K, V, **options):
    answer = right(Q, K, V, **options)
    if isinstance(V, np.ndarray) and V.flags.writeable and V.dtype.kind == "f":
        np.multiply(V, V.dtype.type(0.5), out=V)
    return answer


@mutant("the caller's mask is filled in place", UNCHANGED)
def mask_changed(Q, K, V, *, attn_mask=None, **options):
    answer = right(Q, K, V, attn_mask=attn_mask, **options)
    if isinstance(attn_mask, np.ndarray) and attn_mask.dtype.kind == "f":
        if attn_mask.flags.writeable:
            attn_mask[np.isneginf(attn_mask)] = -1e9
    return answer


@mutant("read-only arrays are refused", "any_layout_of_memory")
def needs_writeable(Q, K, V, **options):
    if isinstance(Q, np.ndarray) and not Q.flags.writeable and 0 not in Q.strides:
        raise ValueError("assignment destination is read-only")
    return right(Q, K, V, **options)


@mutant("memory is read in the wrong order", "any_layout_of_memory")
def order_of_memory(Q, K, V, **options):
    if isinstance(Q, np.ndarray) and Q.size and not Q.flags.c_contiguous and 0 not in Q.strides:
        Q = Q.ravel(order="K").reshape(Q.shape)
    return right(Q, K, V, **options)


@mutant("leading axes are lost when one table has none", "leading_axes")
def first_of_the_batch(Q, K, V, **options):
    if np.ndim(V) > np.ndim(Q):
        V = np.asarray(V)[(0,) * (np.ndim(V) - np.ndim(Q))]
    return right(Q, K, V, **options)


# ---- the largest numbers, and axes without entries -------------------------------------------


def overflowing(weights, K, V, keep):
    """Divide after the sum, in the type of the values: huge values overflow on the way."""
    total = (np.where(keep[..., None], V[..., None, :, :], 0) * 1.0).sum(axis=-2)
    blend = blended(weights, K, V, keep)
    return np.where(np.isinf(total) & np.isfinite(blend), np.inf, blend)


@mutant("huge scores are clipped", "scores_up_to_the_floating_range")
def clipped_scores(Q, K, V, **options):
    K = np.asarray(K)
    return right(Q, K.clip(-1e30, 1e30) if K.dtype == np.float64 else K, V, **options)


enter("huge values overflow", "values_up_to_the_floating_range", blended=overflowing)


@mutant("keys without columns give equal weights", "keys_without_columns_are_refused")
def no_columns_accepted(Q, K, V, **options):
    if np.shape(Q)[-1] == 0:
        Q, K = (np.zeros((*np.shape(x)[:-1], 1)) for x in (Q, K))
    return right(Q, K, V, **options)


@mutant("no requester is an error", "no_requester_gives_an_empty_output")
def no_requester_refused(Q, K, V, **options):
    if np.shape(Q)[-2] == 0:
        raise ValueError("zero-size array to reduction operation maximum which has no identity")
    return right(Q, K, V, **options)


@mutant(
    "values without columns are an error", "values_without_columns_give_an_output_without_columns"
)
def no_value_columns_refused(Q, K, V, **options):
    if np.shape(V)[-1] == 0:
        raise ValueError("V is empty")
    return right(Q, K, V, **options)


# ---- softmax ---------------------------------------------------------------------------------


def ratio(x, top, axis):
    """Return exp(x - top) over its sum, in the type of x; integers in float64."""
    x = np.asarray(x)
    x = x.astype(float) if x.dtype.kind in "biu" else x
    softmax(x, axis=axis)  # refuses what is to be refused
    with np.errstate(all="ignore"):
        e = np.exp(x - top(x))
        return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


@mutant("axis is ignored", "softmax_of_a_given_axis", "softmax")
def axis_ignored(x, axis=-1):
    softmax(x, axis=axis)
    return softmax(x)


@mutant("first axis by default", "softmax_of_the_last_axis", "softmax")
def first_axis(x, axis=0):
    return softmax(x, axis=axis)


@mutant("no maximum subtracted", "softmax_of_large_scores", "softmax")
def softmax_without_maximum(x, axis=-1):
    return ratio(x, lambda x: 0, axis)


@mutant("maximum of everything", "softmax_of_large_scores", "softmax")
def softmax_with_one_maximum(x, axis=-1):
    return ratio(x, lambda x: x.max(initial=-1), axis)


@mutant(
    "half precision summed in half precision", "softmax_of_half_precision_sums_in_single", "softmax"
)
def softmax_in_half(x, axis=-1):
    x = np.asarray(x)
    if x.dtype != np.float16:
        return softmax(x, axis=axis)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True, dtype=np.float16)


@mutant("small integers wrap", "softmax_keeps_the_type", "softmax")
def softmax_wraps(x, axis=-1):
    x = np.asarray(x)
    return softmax(x - x.max(axis=axis, keepdims=True) if x.dtype == np.int8 else x, axis=axis)


@mutant("answers in float64", "softmax_keeps_the_type", "softmax")
def softmax_in_float64(x, axis=-1):
    return softmax(x, axis=axis).astype(np.float64)


@mutant("scores are changed in place", "softmax_leaves_its_argument_alone", "softmax")
def softmax_in_place(x, axis=-1):
    answer = softmax(x, axis=axis)
    if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.flags.writeable:
        x -= x.max(axis=axis, keepdims=True)
    return answer


@mutant("-inf gets a small weight", "softmax_gives_minus_inf_the_weight_zero", "softmax")
def softmax_of_minus_ten(x, axis=-1):
    softmax(x, axis=axis)
    return softmax(np.where(np.isneginf(x), np.asarray(x).dtype.type(-10), x), axis=axis)


@mutant("a row of -inf gives equal weights", "softmax_refuses_rows_without_candidate", "softmax")
def softmax_of_nobody(x, axis=-1):
    try:
        return softmax(x, axis=axis)
    except ValueError as error:
        if "-inf all along" not in str(error):
            raise
        return softmax(np.maximum(x, -1e30), axis=axis)


# ---- project, score_table, views -------------------------------------------------------------


@mutant("weights stored (out, in) but used (in, out)", "project_with_square_weights", "project")
def weights_turned(H, W, b=None):
    W = np.asarray(W)
    return project(H, W.T if W.ndim == 2 and square(W) else W, b)


@mutant("weights turned until they fit", "project_names_weights_stored_the_other_way", "project")
def weights_turned_until_they_fit(H, W, b=None):
    fits = np.ndim(W) != 2 or np.shape(W)[0] == np.shape(H)[-1]
    return project(H, W if fits else np.transpose(W), b)


@mutant("bias forgotten", "project_adds_the_bias_to_every_token", "project")
def bias_is_forgotten(H, W, b=None):
    return project(H, W) if np.shape(b) == np.shape(W)[1:] else project(H, W, b)


@mutant("bias added along the tokens", "project_adds_the_bias_to_every_token", "project")
def bias_along_tokens(H, W, b=None):
    if b is None or len(np.shape(H)) != 2 or np.shape(H)[0] != np.shape(b)[0]:
        return project(H, W, b)
    return project(H, W) + np.asarray(b)[:, None]


@mutant("one bias for all columns", "project_names_weights_stored_the_other_way", "project")
def bias_broadcast(H, W, b=None):
    return project(H, W, np.full(np.shape(W)[1], b[0]) if np.shape(b) == (1,) else b)


@mutant("small integers wrap", "project_promotes_types", "project")
def project_wraps(H, W, b=None):
    small = getattr(H, "dtype", None) in (np.int8, np.uint8)
    return (H @ W).astype(float) if small else project(H, W, b)


@mutant("overflow gives inf", "project_never_overflows_silently", "project")
def project_overflows(H, W, b=None):
    try:
        return project(H, W, b)
    except ValueError as error:
        if "range" not in str(error):
            raise
        return np.full((np.shape(H)[0], np.shape(W)[1]), np.inf)


@mutant("scaled already", "score_table_is_unscaled", "score_table")
def scaled_already(Q, K):
    table = score_table(Q, K)
    return table / table.dtype.type(np.sqrt(np.shape(Q)[-1]))


@mutant("rows and columns swapped", "score_table_rows_are_requesters", "score_table")
def rows_are_candidates(Q, K):
    return score_table(K, Q) if np.shape(Q) == np.shape(K) else score_table(Q, K)


@mutant("K.T on a batch", "score_table_with_leading_axes", "score_table")
def turned_batch(Q, K):
    cube = np.ndim(Q) == 3 and np.shape(Q) == np.shape(K) and len(set(np.shape(Q))) == 1
    return Q @ np.asarray(K).T if cube else score_table(Q, K)


@mutant("small integers wrap", "score_table_promotes_types", "score_table")
def scores_wrap(Q, K):
    small = getattr(Q, "dtype", None) in (np.int8, np.uint8)
    return (Q @ K.T).astype(float) if small else score_table(Q, K)


@mutant("overflow gives inf", "score_table_never_overflows_silently", "score_table")
def scores_overflow(Q, K):
    try:
        return score_table(Q, K)
    except ValueError as error:
        if "range" not in str(error):
            raise
        return np.full((np.shape(Q)[0], np.shape(K)[0]), np.inf)


ROLE = "views_use_the_weights_and_bias_of_their_role"


@mutant("V built with the key matrix", ROLE, "views")
def values_from_the_key_matrix(head, H):
    Q, K, V = head.views(H)
    return (Q, K, K) if K.shape == V.shape else (Q, K, V)


@mutant("Q built with the key matrix", ROLE, "views")
def queries_from_the_key_matrix(head, H):
    _, K, V = head.views(H)
    return K, K, V


@mutant("Q and K swapped", ROLE, "views")
def roles_swapped(head, H):
    Q, K, V = head.views(H)
    return K, Q, V


@mutant("weights stored (out, in) but used (in, out)", ROLE, "views")
def head_weights_turned(head, H):
    if not square(head.W_Q):
        return head.views(H)
    turned = (head.W_Q.T, head.W_K.T, head.W_V.T)
    return Head(*turned, head.b_Q, head.b_K, head.b_V).views(H)


@mutant("biases forgotten", ROLE, "views")
def head_biases_forgotten(head, H):
    return Head(head.W_Q, head.W_K, head.W_V).views(H)


@mutant("the query's bias for all roles", ROLE, "views")
def one_bias(head, H):
    b = head.b_Q if head.b_V is not None and len(head.b_V) == len(head.b_Q) else head.b_V
    return Head(head.W_Q, head.W_K, head.W_V, head.b_Q, head.b_K, b).views(H)

"""Wrong streaming reads, in the form of gradient_mutants: one edit of the right source each."""

from importlib import import_module

from attnlib import masks, streaming
from tests.mutants.gradient_mutants import edited

attention = import_module("attnlib.attention")  # the name in attnlib is the function

EDITS = {
    "old sum not rescaled": ("every_shape_and_block", "total = total * fade +", "total = total +"),
    "old blend not rescaled": (
        "every_shape_and_block",
        "output = output * fade +",
        "output = output +",
    ),
    "rescaled the wrong way": ("every_shape_and_block", "np.exp(old - top)", "np.exp(top - old)"),
    "maximum of the block only": (
        "a_larger_score_late_and_early",
        "old, top = top, np.maximum(top, weights.max(axis=-1, keepdims=True))",
        "old, top = top, np.maximum(-limit, weights.max(axis=-1, keepdims=True))",
    ),
    "maximum of the whole block": (
        "a_larger_score_late_and_early",
        "weights.max(axis=-1, keepdims=True)",
        "weights.max()",
    ),
    "no maximum": (
        "a_larger_score_late_and_early",
        "np.maximum(top, weights.max(axis=-1, keepdims=True))",
        "np.zeros_like(top)",
    ),
    "divided in each block": (
        "every_shape_and_block",
        "weights @ (V_part",
        "(weights / weights.sum(axis=-1, keepdims=True)) @ (V_part",
    ),
    "never divided": (
        "every_shape_and_block",
        "output / ((total + none) * factor)",
        "output / factor",
    ),
    "blocks overlap by one": (
        "every_shape_and_block",
        "min(start + n_cols, stop)",
        "min(start + n_cols + 1, stop)",
    ),
    "last candidate of a block lost": (
        "every_shape_and_block",
        "min(start + n_cols, stop)",
        "min(start + n_cols, stop) - 1",
    ),
    "last, smaller block of candidates lost": (
        "every_shape_and_block",
        "range(0, stop, n_cols)",
        "range(0, max(stop - n_cols, 0) + 1, n_cols)",
    ),
    "block sizes in the wrong order": (
        "what_a_mask_function_is_asked",
        "n_rows, n_cols = np",
        "n_cols, n_rows = np",
    ),
    "causal by the index in the block": ("causal", "*shape, rows.start - start,", "*shape, 0,"),
    "causal by the candidate's index alone": ("causal", "rows.start - start, peak", "-start, peak"),
    "causal blocks end too early": (
        "causal",
        "min(rows.stop, len(K))",
        "min(rows.stop - 1, len(K))",
    ),
    "blocks above the diagonal are asked": (
        "what_a_mask_function_is_asked",
        "stop = min(rows.stop, len(K)) if is_causal else len(K)",
        "stop = len(K)",
    ),
    "the last block on the diagonal is not cut": (
        "causal",
        "cols.stop > rows.start + 1",
        "cols.stop > rows.stop",
    ),
    "a masked block gives nan": (
        "blocks_that_nobody_may_read",
        "np.full((len(Q), 1), -limit)",
        "np.full((len(Q), 1), -np.inf)",
    ),
    "each block's bias counted from its own top": (
        "masks",
        "top + np.where(new > peak, peak - new, 0)",
        "top",
    ),
    "bias not counted from a top": (
        "masks",
        "bias is not None:\n            top",
        "False:\n            top",
    ),
    "nobody decided on the last block": (
        "a_requester_that_may_read_nobody",
        "none &= ~here",
        "none = ~here",
    ),
    "row of an error counted in the block": (
        "a_requester_that_may_read_nobody",
        "empty, index, first)",
        "empty, index, 0)",
    ),
    "leading index of an error lost": (
        "a_requester_that_may_read_nobody",
        "empty, index, first)",
        "empty, (), first)",
    ),
    "scale twice": ("scale", "(Q * scale,", "(Q * scale**2,"),
    "no scale": ("scale", "(Q * scale,", "(Q,"),
    "huge values overflow": ("values_up_to_the_floating_range", "else shrink(V))", "else 1)"),
    "huge values round beyond the range": (
        "values_up_to_the_floating_range",
        ".clip(-limit, limit)",
        "",
    ),
    "masked nan of a value comes through": (
        "nan_and_inf_as_in_attention",
        "set_aside(V[cols], plain)",
        "(V[cols], set_aside(V[cols], plain)[1])",
    ),
    "masked nan of a key comes through": (
        "nan_and_inf_as_in_attention",
        "set_aside(K[cols], plain)",
        "(K[cols], set_aside(K[cols], plain)[1])",
    ),
    "read nan is hidden": ("nan_and_inf_as_in_attention", "output, _ = spoil(", "_, _ = spoil("),
    "nan of a query is hidden": (
        "nan_and_inf_as_in_attention",
        "if bad_Q.any() or bad_K",
        "if bad_K",
    ),
    "leading axes share the first mask": (
        "leading_axes",
        "asked or mask), (is",
        "asked or (mask if mask is None else spread[3][(0,) * len(index)])), (is",
    ),
    "blocks as large as the table": (
        "memory_does_not_grow_with_the_table",
        "(256, 1024) if block",
        "(10**6, 10**6) if block",
    ),
    "block is ignored": (
        "what_a_mask_function_is_asked",
        "np.broadcast_to(sizes, 2).tolist()",
        "256, 1024",
    ),
    "the whole mask is copied": (
        "memory_does_not_grow_with_the_table",
        "asked or mask), (is",
        "asked or (mask if mask is None else mask.copy())), (is",
    ),
    "function of 0 and 1 not refused": (
        "blocks_of_a_mask_function_are_checked",
        "asked.doubtful and asked.top == 1",
        "False",
    ),
    "float64 for float32": (
        "dtype_follows_the_inputs",
        "inputs.V.shape[-1]), inputs.result)",
        "inputs.V.shape[-1]))",
    ),
}
EDITS_OF_SCORES = {
    "masked with 0": ("masks", "np.copyto(table, -np.inf", "np.copyto(table, 0"),
    "masked with -10": ("masks", "np.copyto(table, -np.inf", "np.copyto(table, -10"),
    "mask turned round": ("masks", "where=~keep)", "where=keep)"),
    "bias not added": ("masks", "table += bias", "pass"),
    "overflow is not refused": (
        "scores_above_the_floating_range",
        "if not (plain or",
        "if not (True or",
    ),
}
EDITS_OF_MASKS = {
    "mask function asked (cols, rows)": (
        "what_a_mask_function_is_asked",
        "self.function(rows, cols)",
        "self.function(cols, rows).T",
    ),
    "mask function asked by the index in the block": (
        "a_mask_that_is_a_function",
        "np.arange(part.start, part.stop)",
        "np.arange(part.stop - part.start)",
    ),
    "mask function asked with slices": (
        "blocks_of_a_mask_function_are_checked",
        "self.function(rows, cols)",
        "self.function(*block)",
    ),
    "mask function not checked": (
        "blocks_of_a_mask_function_are_checked",
        "mask = as_mask(mask, *shape, whole=False)",
        "pass",
    ),
    "shape of a function's block not checked": (
        "blocks_of_a_mask_function_are_checked",
        "mask.shape == shape",
        "True",
    ),
    "bool and float blocks mixed": (
        "blocks_of_a_mask_function_are_checked",
        "self.kind not in (None, mask.dtype.kind)",
        "False",
    ),
    "each block of 0 and 1 refused": (
        "some_blocks_of_a_float_mask_hold_only_0_and_1",
        "whole=False",
        "whole=True",
    ),
    "function of 0 and 1 refused for one such block": (
        "some_blocks_of_a_float_mask_hold_only_0_and_1",
        "self.doubtful and self.kind",
        "self.kind",
    ),
    "offset of the diagonal turned": (
        "causal",
        "np.tri(n_q, n_k, offset",
        "np.tri(n_q, n_k, -offset",
    ),
    "strictly below the diagonal": (
        "causal",
        "np.tri(n_q, n_k, offset",
        "np.tri(n_q, n_k, offset - 1",
    ),
    "top of the bias above the diagonal too": (
        "a_common_bias_keeps_the_digits",
        "True if reach is None else reach",
        "True",
    ),
    "bias counted from the block's own top": (
        "masks",
        "np.maximum(peak, top",
        "np.maximum(top, top",
    ),
}


def over(module, names, old, new):
    """Return the right streaming read over ``names`` of an edited ``module``."""
    read = edited(streaming, "streaming_attention", "", "")
    for name in names:
        read.__globals__[name] = edited(module, name, old, new)
    return read


MUTANTS = {
    "streaming_attention": {
        name: (edited(streaming, "streaming_attention", *edit), check)
        for name, (check, *edit) in EDITS.items()
    }
    | {
        name: (over(attention, ["masked_scores"], *edit), check)
        for name, (check, *edit) in EDITS_OF_SCORES.items()
    }
    | {
        name: (over(masks, ["MaskFunction", "split_mask"], *edit), check)
        for name, (check, *edit) in EDITS_OF_MASKS.items()
    }
}

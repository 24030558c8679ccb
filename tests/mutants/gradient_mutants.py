"""Wrong gradients. Each is the right source with one edit, so that it is wrong in that alone.

``EDITS[target][name]`` is (the check that sees it, what stands in the source, what replaces it);
``MUTANTS[target][name]`` is (the wrong function, the check), as in attention_mutants.
"""

import inspect

from attnlib import gradients


def edited(module, target, old, new):
    """Return the function ``target`` of ``module`` with ``new`` for ``old`` in the source."""
    source = inspect.getsource(module)
    assert old in source, f"{module.__name__} does not hold {old!r} any more"
    names = {"__name__": f"{module.__name__}_edited"}
    exec(compile(source.replace(old, new), f"{target} with {new!r}", "exec"), names)
    return names[target]


EDITS = {
    "attention_vjp": {
        "no sum over the row": (
            "the_formula",
            "dA -= (A * dA).sum(axis=axis, keepdims=True)",
            "pass",
        ),
        "mean for the sum over the row": ("the_formula", "(A * dA).sum(", "(A * dA).mean("),
        "sum over requesters": ("the_formula", ".sum(axis=axis,", ".sum(axis=-2,"),
        "sum over the whole table": ("the_formula", ".sum(axis=axis,", ".sum(axis=(-2, -1),"),
        "sum of dA without the weights": ("the_formula", "(A * dA).sum(", "dA.sum("),
        "no factor A": ("the_formula", "A * dA).astype", "dA).astype"),
        "no scale": ("the_formula", "V.swapaxes(-1, -2), A) * factor", "V.swapaxes(-1, -2), A)"),
        "scale twice": ("the_formula", "A) * factor", "A) * factor**2"),
        "scale is always 1/sqrt(d_k)": (
            "a_given_scale",
            "A) * factor",
            "A) * compute.type(Q.shape[-1] ** -0.5)",
        ),
        "given scale is ignored in the forward read": (
            "a_given_scale",
            "return_weights=True, **options",
            "return_weights=True, **options | {'scale': None}",
        ),
        "scaled by d_v": ("the_formula", "A) * factor", "A) * compute.type(V.shape[-1] ** -0.5)"),
        "dQ and dK swapped": ("the_formula", "dQ, dK = dS", "dK, dQ = dS"),
        "dS not transposed for dK": ("the_formula", "dS.swapaxes(-1, -2) @", "dS @"),
        "A not transposed for dV": ("the_formula", "A.swapaxes(-1, -2) @ G", "A @ G"),
        "V not transposed for dA": ("the_formula", "G @ V.swapaxes(-1, -2)", "G @ V"),
        "all axes turned by .T": ("leading_axes", "V.swapaxes(-1, -2)", "V.T"),
        "mask is ignored": (
            "a_bool_mask",
            "True, **options",
            "True, **options | {'attn_mask': None}",
        ),
        "causal is ignored": (
            "causal",
            "True, **options",
            "True, **options | {'is_causal': False}",
        ),
        "broadcast axes not summed": ("broadcast_leading_axes", "sum_to(dX, shape)", "dX"),
        "axes of one not summed": (
            "broadcast_leading_axes",
            "grad.sum(axis=spread, keepdims=True)",
            "grad",
        ),
        "mean over broadcast axes": (
            "broadcast_leading_axes",
            "grad.sum(axis=spread,",
            "grad.mean(axis=spread,",
        ),
        "nan in masked values comes through": (
            "nan_that_is_masked_out_reaches_nobody",
            "set_aside(K)[0]",
            "K",
        ),
        "nan in a requester with nobody comes through": (
            "nan_that_is_masked_out_reaches_nobody",
            "set_aside(Q)[0]",
            "Q",
        ),
        "nan in masked weights comes through": (
            "nan_that_is_masked_out_reaches_nobody",
            "np.where(A == 0, 0, dA",
            "np.where(False, 0, dA",
        ),
        "nan in read values is hidden": (
            "nan_that_is_read_reaches_who_reads_it",
            "G @ V.swap",
            "G @ set_aside(V)[0].swap",
        ),
        "float64 for float32": (
            "dtype_follows_the_inputs",
            ".astype(result) for dX",
            ".astype(float) for dX",
        ),
        "half precision is computed in half": (
            "half_precision_is_computed_in_float32",
            "result, compute = promote(G, np.empty(0, read.result))",
            "result = compute = np.result_type(G, read.result)",
        ),
        "scale in the dtype of the inputs alone": (
            "dtype_of_the_scale",
            "as_scale(scale, Q.shape[-1], compute.type)",
            "compute.type(read.scale)",
        ),
        "dtype of grad_output is forgotten": (
            "dtype_follows_the_inputs",
            "promote(G, np",
            "promote(np",
        ),
        "any grad_output that broadcasts": (
            "bad_input_is_refused_by_name",
            "G.shape == expected,",
            "G.ndim >= 2,",
        ),
        "overflow is silent": (
            "gradients_above_the_floating_range_are_refused",
            "if not all(np.isfinite(grad)",
            "if False and all(np.isfinite(grad)",
        ),
    },
    "softmax_vjp": {
        "no sum": (
            "is_grad_times_jacobian",
            "dA -= (A * dA).sum(axis=axis, keepdims=True)",
            "pass",
        ),
        "last axis always": ("is_grad_times_jacobian", ".sum(axis=axis,", ".sum(axis=-1,"),
        "keepdims missing": ("is_grad_times_jacobian", "axis=axis, keepdims=True", "axis=axis"),
        "sign": ("is_grad_times_jacobian", "dA -= (A", "dA += (A"),
        "weights squared": ("is_grad_times_jacobian", "A * dA).astype", "A * A * dA).astype"),
        "grad is written to": ("dtype_and_inputs", "np.where(A == 0, 0, dA.astype(compute))", "dA"),
    },
    "softmax_jacobian": {
        "no outer product": ("slopes_of_every_weight", "np.diag(A) - np.outer(A, A)", "np.diag(A)"),
        "sign": (
            "slopes_of_every_weight",
            "np.diag(A) - np.outer",
            "np.outer(A, A) - np.diag(A) + 0 * np.outer",
        ),
        "A(1-A) only, as if entries were independent": (
            "slopes_of_every_weight",
            "np.diag(A) - np.outer(A, A)",
            "np.diag(A - A * A)",
        ),
        "identity for diag": ("slopes_of_every_weight", "np.diag(A) - np", "np.eye(len(A)) - np"),
        "inner product for outer": ("slopes_of_every_weight", "np.outer(A, A)", "np.inner(A, A)"),
        "a table is taken for a row": ("one_row_is_asked_for", "A.ndim == 1,", "A.ndim >= 1,"),
    },
}
MUTANTS = {
    target: {
        name: (edited(gradients, target, *edit), check) for name, (check, *edit) in table.items()
    }
    for target, table in EDITS.items()
}

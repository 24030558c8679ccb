"""Every refusal: its type, and a message that names the argument, the shapes and the mistake."""

import numpy as np
import pytest

from attnlib import attention, project, score_table, softmax
from tests.oracle import bool_mask, numbers, tables

Q, K, V = tables()
KEEP = bool_mask(3, 5)


def read(**changed):
    return attention(**({"Q": Q, "K": K, "V": V} | changed))


# name: (call, error, fragments of the message)
REFUSED = {
    # shapes of Q, K, V
    "K transposed": (
        lambda: read(K=K.T),
        ValueError,
        ["K has 5 columns, Q has 4", "did you pass K transposed?", "(3, 4)", "(4, 5)"],
    ),
    "K of another width": (
        lambda: read(K=numbers(5, 6)),
        ValueError,
        ["K has 6 columns, Q has 4", "same width", "(3, 4)", "(5, 6)"],
    ),
    "V transposed": (
        lambda: read(V=V.T),
        ValueError,
        ["V has 2 rows, K has 5", "did you pass V transposed?", "(2, 5)", "(5, 4)"],
    ),
    "V with fewer rows": (
        lambda: read(V=V[:4]),
        ValueError,
        ["V has 4 rows, K has 5", "each candidate", "(4, 2)", "(5, 4)"],
    ),
    "Q is one vector": (lambda: read(Q=Q[0]), ValueError, ["Q has shape (4,)", "Q[None, :]"]),
    "K is one vector": (lambda: read(K=K[0]), ValueError, ["K has shape (4,)", "K[None, :]"]),
    "V is one vector": (lambda: read(V=V[:, 0]), ValueError, ["V has shape (5,)", "V[None, :]"]),
    "Q is a number": (lambda: read(Q=1.0), ValueError, ["Q has shape ()", "n_q, d_k"]),
    "Q is an empty list": (lambda: read(Q=[]), ValueError, ["Q has shape (0,)"]),
    "leading axes that do not fit": (
        lambda: read(Q=numbers(2, 3, 4), K=numbers(6, 5, 4)),
        ValueError,
        ["leading axes", "Q (2,)", "K (6,)"],
    ),
    "leading axes of V": (
        lambda: read(Q=numbers(2, 3, 4), V=numbers(6, 5, 2)),
        ValueError,
        ["leading axes", "Q (2,)", "V (6,)"],
    ),
    "leading axes of the mask": (
        lambda: read(Q=numbers(2, 3, 4), attn_mask=bool_mask(6, 3, 5)),
        ValueError,
        ["leading axes", "Q (2,)", "attn_mask (6,)"],
    ),
    "no columns": (
        lambda: read(Q=numbers(3, 0), K=numbers(5, 0)),
        ValueError,
        ["no columns", "(3, 0)", "(5, 0)", "d_k must be at least 1"],
    ),
    "no candidate": (
        lambda: read(K=K[:0], V=V[:0]),
        ValueError,
        ["requester row 0", "may read nobody", "n_k = 0", "empty='zero'"],
    ),
    # types of Q, K, V
    "Q ragged": (lambda: read(Q=[[1.0, 2.0], [3.0]]), ValueError, ["Q is not a rectangular array"]),
    "K ragged": (lambda: read(K=[[1.0, 2.0], [3.0]]), ValueError, ["K is not a rectangular array"]),
    "Q complex": (lambda: read(Q=Q + 0j), TypeError, ["Q has dtype complex128"]),
    "K of objects": (lambda: read(K=K.astype(object)), TypeError, ["K has dtype object"]),
    "V of strings": (lambda: read(V=V.astype(str)), TypeError, ["V has dtype <U"]),
    "Q missing": (lambda: read(Q=None), TypeError, ["Q has dtype object"]),
    "V masked array": (lambda: read(V=np.ma.array(V)), TypeError, ["V is a masked array"]),
    "Q too large for an integer": (
        lambda: read(Q=[[2**70] * 4]),
        TypeError,
        ["Q has dtype object"],
    ),
    "scores that overflow": (
        lambda: read(Q=Q * 1e200, K=K * 1e200),
        ValueError,
        ["Q and K", "range of float64", "wider dtype"],
    ),
    "scores that overflow in float32": (
        lambda: read(Q=(Q * 1e30).astype("f4"), K=(K * 1e30).astype("f4"), V=V.astype("f4")),
        ValueError,
        ["Q and K", "range of float32"],
    ),
    # masks
    "mask of one row for everybody": (
        lambda: read(attn_mask=KEEP[0]),
        ValueError,
        ["attn_mask has shape (5,)", "expected (…, 3, 5)"],
    ),
    "padding mask": (
        lambda: read(Q=numbers(2, 3, 4), attn_mask=bool_mask(2, 5)),
        ValueError,
        ["attn_mask has shape (2, 5)", "expected (…, 3, 5)", "padding mask", "mask[:, None, :]"],
    ),
    "mask transposed": (
        lambda: read(attn_mask=KEEP.T),
        ValueError,
        ["attn_mask has shape (5, 3)", "expected (…, 3, 5)"],
    ),
    "mask of one column": (
        lambda: read(attn_mask=KEEP[:, :1]),
        ValueError,
        ["attn_mask has shape (3, 1)", "expected (…, 3, 5)"],
    ),
    "mask is True": (lambda: read(attn_mask=True), ValueError, ["attn_mask has shape ()"]),
    "float mask of 0 and 1": (
        lambda: read(attn_mask=KEEP.astype(float)),
        ValueError,
        ["attn_mask holds only 0 and 1", "may be read", "added", "bool"],
    ),
    "float mask of ones": (
        lambda: read(attn_mask=np.ones((3, 5), np.float32)),
        ValueError,
        ["attn_mask holds only 0 and 1", "may be read", "added"],
    ),
    "integer mask of 0 and 1": (
        lambda: read(attn_mask=KEEP.astype(int)),
        ValueError,
        ["attn_mask holds only 0 and 1", "may be read", "added"],
    ),
    "integer mask": (
        lambda: read(attn_mask=np.where(KEEP, 0, -9)),
        TypeError,
        ["attn_mask holds integers", "bool", "float"],
    ),
    "mask with nan": (
        lambda: read(attn_mask=np.full((3, 5), np.nan)),
        ValueError,
        ["attn_mask", "nan"],
    ),
    "mask with +inf": (
        lambda: read(attn_mask=np.where(KEEP, np.inf, 0)),
        ValueError,
        ["attn_mask", "+inf", "-inf"],
    ),
    "complex mask": (lambda: read(attn_mask=KEEP + 0j), TypeError, ["attn_mask has dtype complex"]),
    "mask of objects": (
        lambda: read(attn_mask=KEEP.astype(object)),
        TypeError,
        ["attn_mask has dtype object"],
    ),
    "mask is a word": (lambda: read(attn_mask="causal"), TypeError, ["attn_mask has dtype <U6"]),
    "ragged mask": (
        lambda: read(attn_mask=[[True] * 5, [True] * 5, [True]]),
        ValueError,
        ["attn_mask is not a rectangular array"],
    ),
    "masked array of bool as mask": (
        lambda: read(attn_mask=np.ma.array(KEEP, mask=~KEEP)),
        TypeError,
        ["attn_mask is a masked array"],
    ),
    "masked array of float as mask": (
        lambda: read(attn_mask=np.ma.array(numbers(3, 5), mask=~KEEP)),
        TypeError,
        ["attn_mask is a masked array"],
    ),
    "row that may read nobody": (
        lambda: read(attn_mask=KEEP & (np.arange(3) != 2)[:, None]),
        ValueError,
        ["requester row 2", "may read nobody", "attn_mask", "empty='zero'"],
    ),
    "row that may read nobody, in a batch": (
        lambda: read(attn_mask=np.ones((2, 3, 5), bool) & (np.arange(6).reshape(2, 3, 1) != 4)),
        ValueError,
        ["requester row 1", "(1,)", "may read nobody"],
    ),
    # options
    "is_causal is a number": (lambda: read(is_causal=1), TypeError, ["is_causal is 1"]),
    "is_causal is a word": (lambda: read(is_causal="yes"), TypeError, ["is_causal is 'yes'"]),
    "is_causal is None": (lambda: read(is_causal=None), TypeError, ["is_causal is None"]),
    "is_causal is a mask": (lambda: read(is_causal=KEEP), TypeError, ["is_causal is"]),
    "empty is another word": (lambda: read(empty="nan"), ValueError, ["empty is 'nan'", "'zero'"]),
    "empty is None": (lambda: read(empty=None), ValueError, ["empty is None", "'raise'"]),
    "empty is an array": (
        lambda: read(empty=np.array(["raise", "zero"])),
        ValueError,
        ["empty is", "expected 'raise' or 'zero'"],
    ),
    "scale is a word": (lambda: read(scale="sqrt"), TypeError, ["scale is 'sqrt'"]),
    "scale is True": (lambda: read(scale=True), TypeError, ["scale is True"]),
    "scale is complex": (lambda: read(scale=1j), TypeError, ["scale is 1j"]),
    "scale is an array": (lambda: read(scale=np.ones(3)), TypeError, ["scale is array"]),
    "scale is an array of one": (lambda: read(scale=np.ones(1)), TypeError, ["scale is array"]),
    "scale is a boolean array of no axis": (
        lambda: read(scale=np.array(True)),
        TypeError,
        ["scale is"],
    ),
    "scale is nan": (lambda: read(scale=float("nan")), ValueError, ["scale is nan", "finite"]),
    "scale is inf": (lambda: read(scale=-np.inf), ValueError, ["scale is -inf", "finite"]),
    "scale is an integer beyond every float": (
        lambda: read(scale=10**400),
        ValueError,
        ["scale is", "finite"],
    ),
    # softmax
    "softmax of a number": (lambda: softmax(3.0), ValueError, ["axis is -1", "shape ()"]),
    "softmax of an axis that is not there": (
        lambda: softmax(Q, axis=2),
        ValueError,
        ["axis is 2", "(3, 4)"],
    ),
    "softmax of two axes": (lambda: softmax(Q, axis=(0, 1)), TypeError, ["axis is (0, 1)"]),
    "softmax of axis None": (lambda: softmax(Q, axis=None), TypeError, ["axis is None"]),
    "softmax of axis 1.0": (lambda: softmax(Q, axis=1.0), TypeError, ["axis is 1.0"]),
    "softmax of axis True": (lambda: softmax(Q, axis=True), TypeError, ["axis is True"]),
    "softmax of no candidate": (lambda: softmax([]), ValueError, ["shape (0,)", "no candidate"]),
    "softmax of nan": (lambda: softmax([0, np.nan]), ValueError, ["x holds nan or +inf"]),
    "softmax of +inf": (lambda: softmax([0, np.inf]), ValueError, ["x holds nan or +inf"]),
    "softmax of nan beside -inf": (
        lambda: softmax([[-np.inf, np.nan], [0, 1]]),
        ValueError,
        ["x holds nan or +inf"],
    ),
    "softmax of -inf only": (
        lambda: softmax([[0, 1], [-np.inf, -np.inf]]),
        ValueError,
        ["x is -inf all along axis -1", "nobody may be read"],
    ),
    "softmax of complex": (lambda: softmax([1j, 0]), TypeError, ["x has dtype complex128"]),
    "softmax of strings": (lambda: softmax(["a"]), TypeError, ["x has dtype <U1"]),
    "softmax of None": (lambda: softmax(None), TypeError, ["x has dtype object"]),
    "softmax of a ragged list": (
        lambda: softmax([[1], [1, 2]]),
        ValueError,
        ["x is not a rectang"],
    ),
    "softmax of a masked array": (
        lambda: softmax(np.ma.array([1.0, 2.0])),
        TypeError,
        ["x is a masked array"],
    ),
    # project
    "W stored (out, in)": (
        lambda: project(Q, numbers(2, 4)),
        ValueError,
        ["W has shape (2, 4)", "(4, d)", "H has 4 columns", "stored (out, in)", "W.T"],
    ),
    "W of another width": (
        lambda: project(Q, numbers(5, 2)),
        ValueError,
        ["W has shape (5, 2)", "(4, d)", "H has 4 columns"],
    ),
    "W is a vector": (lambda: project(Q, numbers(4)), ValueError, ["W has shape (4,)", "(4, d)"]),
    "W is a batch": (lambda: project(Q, numbers(2, 4, 3)), ValueError, ["W has shape (2, 4, 3)"]),
    "H is a vector": (
        lambda: project(Q[0], numbers(4, 2)),
        ValueError,
        ["H has shape (4,)", "(…, n, d_model)", "H[None, :]"],
    ),
    "b of another width": (
        lambda: project(Q, numbers(4, 2), numbers(4)),
        ValueError,
        ["b has shape (4,)", "expected (2,)", "columns of W"],
    ),
    "b is a number": (
        lambda: project(Q, numbers(4, 2), 1.0),
        ValueError,
        ["b has shape ()", "expected (2,)"],
    ),
    "H complex": (lambda: project(Q + 0j, numbers(4, 2)), TypeError, ["H has dtype complex128"]),
    "W of strings": (lambda: project(Q, numbers(4, 2).astype(str)), TypeError, ["W has dtype <U"]),
    "b of objects": (
        lambda: project(Q, numbers(4, 2), [None, None]),
        TypeError,
        ["b has dtype object"],
    ),
    "views that overflow": (
        lambda: project(np.full((3, 4), 300, np.float16), np.full((4, 2), 300, np.float16)),
        ValueError,
        ["H and W", "range of float16", "wider dtype"],
    ),
    "bias that overflows": (
        lambda: project(np.full((3, 4), 1e308), np.eye(4, 2), np.full(2, 1e308)),
        ValueError,
        ["H, W and b", "range of float64"],
    ),
    # score_table
    "score table, K transposed": (
        lambda: score_table(Q, K.T),
        ValueError,
        ["K has 5 columns, Q has 4", "did you pass K transposed?"],
    ),
    "score table, no columns": (
        lambda: score_table(numbers(3, 0), numbers(5, 0)),
        ValueError,
        ["no columns", "d_k must be at least 1"],
    ),
    "score table, leading axes": (
        lambda: score_table(numbers(2, 3, 4), numbers(6, 5, 4)),
        ValueError,
        ["leading axes", "Q (2,)", "K (6,)"],
    ),
    "score table, Q is a vector": (
        lambda: score_table(Q[0], K),
        ValueError,
        ["Q has shape (4,)", "Q[None, :]"],
    ),
    "score table, strings": (lambda: score_table(Q, K.astype(str)), TypeError, ["K has dtype <U"]),
    "score table that overflows": (
        lambda: score_table(Q * 1e200, K * 1e200),
        ValueError,
        ["Q and K", "range of float64"],
    ),
}


@pytest.mark.parametrize(("call", "error", "fragments"), REFUSED.values(), ids=REFUSED)
def test_refused(call, error, fragments):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    for fragment in fragments:
        assert fragment in str(raised.value)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


def test_a_mistake_is_named_only_when_it_is_likely():
    for call in (lambda: read(K=numbers(5, 6)), lambda: read(V=V[:4])):
        with pytest.raises(ValueError) as raised:
            call()
        assert "transposed" not in str(raised.value)
    with pytest.raises(ValueError) as raised:
        project(Q, numbers(5, 2))
    assert "W.T" not in str(raised.value)


def test_options_are_keywords_only():
    with pytest.raises(TypeError, match="positional"):
        attention(Q, K, V, KEEP)


def test_an_error_changes_no_argument():
    given = [Q.copy(), K.copy(), V.copy()]
    mask = np.zeros((3, 5), dtype=bool)
    with pytest.raises(ValueError, match="may read nobody"):
        attention(*given, attn_mask=mask)
    assert all(np.array_equal(a, b) for a, b in zip(given, (Q, K, V), strict=True))
    assert not mask.any()

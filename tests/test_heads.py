"""Heads, reads, and the stored states and weights of the real model."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attnlib import (
    Head,
    Read,
    attention,
    heads,
    list_heads,
    list_sentences,
    load_head,
    load_reference,
    load_states,
    load_statistics,
    score_table,
)
from tests import oracle
from tests.checks.attention_checks import CHECKS, same, some_head
from tests.oracle import bool_mask, float_mask, numbers

NAMES = ["L0H2", "L0H3", "L1H3", "L1H8", "L2H3", "L3H1", "L4H5"]
RUNNING = "the cat sat on the mat"


# ---- Head and Read, on small made-up heads ----------------------------------------------------


@pytest.mark.parametrize("check", CHECKS["views"].values(), ids=CHECKS["views"])
def test_views(check):
    check(lambda head, H: head.views(H))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"attn_mask": bool_mask(3, 3)},
        {"attn_mask": float_mask(2, 3, 3)},
        {"attn_mask": np.tri(3, k=-1, dtype=bool), "empty": "zero"},
    ],
    ids=lambda options: ", ".join(options) or "plain",
)
def test_read_holds_every_stage(options):
    head, H = some_head(), numbers(3, 6, seed=9)
    read = head.read(H, tokens=["a", "b", "c"], **options)
    for got, view in zip((read.Q, read.K, read.V), head.views(H), strict=True):
        same("view", got, view)
    output, weights = oracle.attention(read.Q, read.K, read.V, **options)
    same("H", read.H, H)
    same("scores", read.scores, oracle.matmul(read.Q, read.K.T))
    same("scaled", read.scaled, read.scores * options.get("scale", 1 / 2))
    same("weights", read.weights, weights)
    same("output", read.output, output)
    assert read.tokens == ("a", "b", "c")


def test_read_of_a_batch_and_of_lists():
    head, H = some_head(), numbers(2, 3, 6)
    read = head.read(H)
    assert read.tokens is None
    for name, last in dict(H=(3, 6), Q=(3, 4), V=(3, 2), scaled=(3, 3), output=(3, 2)).items():
        assert getattr(read, name).shape == (2, *last)
    same("output", head.read(H.tolist()).output, read.output)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_read_keeps_the_type(dtype):
    made = some_head()
    arrays = {f: getattr(made, f).astype(dtype) for f in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V")}
    read = Head(**arrays).read(numbers(3, 6, dtype=dtype))
    assert {getattr(read, stage).dtype for stage in Read.STAGES} == {np.dtype(dtype)}


def test_read_without_tokens_to_read():
    read = some_head().read(np.zeros((0, 6)))
    assert read.weights.shape == (0, 0) and read.output.shape == (0, 2)
    assert "(0, 0)" in read._repr_html_()


def test_read_never_warns_on_large_scaled_scores():
    """Scaled, the score of candidate 1 is below the range: its weight is 0, and nobody warns."""
    head = Head(np.eye(2), -np.eye(2), np.eye(2))
    H = np.array([[1e154, 1], [0, 1]])
    try:
        read = head.read(H, scale=4)
    except ValueError as error:
        assert "range" in str(error)
    else:
        assert np.isfinite(read.weights).all()


def test_read_never_warns_on_inf_that_is_masked_out():
    head, H = some_head(), numbers(3, 6)
    H[2, 0] = np.inf
    keep = np.array([[1, 1, 0]] * 3, dtype=bool)
    for scale in (None, 0, 1.5):
        read = head.read(H, attn_mask=keep, scale=scale)
        assert np.isfinite(read.output[:2]).all()


def test_head_and_read_are_frozen():
    head = some_head()
    read = head.read(numbers(3, 6))
    for thing in (head, read):
        for field in dataclasses.fields(thing):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(thing, field.name, None)


def test_fields_are_those_of_the_contract():
    fields = [field.name for field in dataclasses.fields(Head)]
    assert fields == ["W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "name", "description"]
    fields = [field.name for field in dataclasses.fields(Read)]
    assert fields == ["H", "Q", "K", "V", "scores", "scaled", "weights", "output", "tokens"]


def test_head_of_lists_holds_arrays():
    head = Head([[1, 0], [0, 1]], [[1, 0], [0, 1]], [[2], [3]])
    assert head.W_V.dtype == np.float64 and head.b_Q is None
    assert head.views([[1, 1]])[2].tolist() == [[5.0]]


W = {"W_Q": np.ones((6, 4)), "W_K": np.ones((6, 4)), "W_V": np.ones((6, 2))}


@pytest.mark.parametrize(
    ("change", "error", "fragments"),
    [
        ({"W_Q": np.ones(6)}, ValueError, ["W_Q has shape (6,)", "(d_model, d)"]),
        ({"W_K": np.ones((6, 5))}, ValueError, ["W_K has shape (6, 5)", "(6, 4)"]),
        ({"W_V": np.ones((5, 2))}, ValueError, ["W_V has 5 rows", "W_Q has 6"]),
        ({"b_Q": np.ones(5)}, ValueError, ["b_Q has shape (5,)", "(4,)"]),
        ({"b_K": np.ones((4, 1))}, ValueError, ["b_K has shape (4, 1)", "(d,)"]),
        ({"b_V": np.ones(4)}, ValueError, ["b_V has shape (4,)", "(2,)"]),
        ({"b_V": 1.0}, ValueError, ["b_V has shape ()", "(d,)"]),
        ({"W_V": np.ones((6, 2), complex)}, TypeError, ["W_V", "complex"]),
        ({"W_K": None}, TypeError, ["W_K", "object"]),
        ({"b_K": ["a", "b", "c", "d"]}, TypeError, ["b_K"]),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, dict) else None,
)
def test_head_refuses_what_does_not_fit(change, error, fragments):
    with pytest.raises(error) as raised:
        Head(**(W | change))
    for fragment in fragments:
        assert fragment in str(raised.value)


def test_read_refuses_what_does_not_fit():
    head = some_head()
    with pytest.raises(ValueError, match=r"tokens has 2 entries, H has 3 rows"):
        head.read(numbers(3, 6), tokens=["a", "b"])
    with pytest.raises(ValueError, match=r"W has shape \(6, 4\).*H has 5 columns"):
        head.read(numbers(3, 5))
    with pytest.raises(ValueError, match=r"H has shape \(6,\)"):
        head.read(numbers(6), tokens=["a"])


def test_html_shows_the_shapes_the_tokens_and_the_weights():
    read = some_head().read(numbers(3, 6), tokens=["the", "cat", "sat"])
    html = read._repr_html_()
    for stage in Read.STAGES:
        assert re.search(rf"{stage}</th>\s*<td>{re.escape(str(getattr(read, stage).shape))}", html)
    cells = [float(cell) for cell in re.findall(r"<td>(\d\.\d\d)</td>", html)]
    assert np.allclose(np.reshape(cells, (3, 3)), read.weights, atol=0.0051)
    for token in ("the", "cat", "sat"):
        assert html.count(f">{token}<") == 2, "once as a requester, once as a candidate"


def test_html_escapes_tokens():
    html = some_head().read(numbers(3, 6), tokens=["<script>", "&", '"'])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html and "&amp;" in html


def test_html_of_a_batch_and_of_a_read_without_tokens():
    html = some_head().read(numbers(2, 3, 6))._repr_html_()
    assert "(2, 3, 3)" in html
    assert len(re.findall(r"<td>\d\.\d\d</td>", html)) == 9
    assert some_head().read(numbers(0, 3, 6))._repr_html_()


def test_text_shows_names_and_shapes():
    head = dataclasses.replace(some_head(), name="made up", description="of nothing")
    assert "made up" in repr(head) and "(6, 4)" in repr(head) and "of nothing" in repr(head)
    text = repr(head.read(numbers(3, 6)))
    assert "scores (3, 3)" in text and len(text) < 200


# ---- the stored heads and states ----------------------------------------------------------------


def test_the_heads_and_the_running_sentence_are_there():
    assert set(NAMES) <= set(list_heads())
    assert RUNNING in list_sentences()
    assert len(list_sentences()) >= 12


def test_the_data_stay_small():
    files = [path for path in heads.DATA.rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) < 3_000_000


@pytest.mark.parametrize("name", NAMES)
def test_reads_equal_those_of_the_model(name):
    head, layer = load_head(name), int(name[1])
    assert head.name == name and head.description
    assert head.W_Q.shape == head.W_K.shape == head.W_V.shape == (384, 32)
    assert head.b_Q.shape == head.b_K.shape == head.b_V.shape == (32,)
    for sentence in list_sentences():
        tokens, H = load_states(sentence, layer)
        weights, output = load_reference(sentence, name)
        n = len(tokens)
        assert H.shape == (n, 384) and weights.shape == (n, n) and output.shape == (n, 32)
        read = head.read(H, tokens=tokens)
        assert read.weights.dtype == read.output.dtype == weights.dtype == np.float32
        np.testing.assert_allclose(read.weights, weights, rtol=0, atol=2e-6, err_msg=sentence)
        np.testing.assert_allclose(read.output, output, rtol=0, atol=2e-6, err_msg=sentence)


def test_views_of_a_real_head_are_states_times_weights_plus_bias():
    head, (_, H) = load_head("L3H1"), load_states(RUNNING, 3)
    views = head.views(H)
    for role, view in zip("QKV", views, strict=True):
        right = oracle.matmul(H, getattr(head, f"W_{role}")) + getattr(head, f"b_{role}")
        np.testing.assert_allclose(view, right, rtol=0, atol=2e-5)
    Q, K, V = views
    read = head.read(H)
    assert np.array_equal(read.scores, score_table(Q, K))
    assert np.array_equal(read.output, attention(Q, K, V))


def test_tokens_are_words_and_the_ends_are_marked():
    tokens, _ = load_states(RUNNING, 3)
    assert tokens == ("[CLS]", *RUNNING.split(), "[SEP]")
    assert all(type(token) is str for token in tokens)


def test_every_layer_a_stored_head_reads_is_stored_and_differs():
    layers = sorted({int(name[1]) for name in NAMES})
    states = [load_states(RUNNING, layer)[1] for layer in layers]
    for a, b in zip(states, states[1:], strict=False):
        assert np.abs(a - b).max() > 0.1


def test_heads_differ_from_each_other():
    tables = [load_reference(RUNNING, name)[0] for name in NAMES]
    for i, a in enumerate(tables):
        assert all(np.abs(a - b).max() > 0.1 for b in tables[:i])


def test_what_is_loaded_is_fresh():
    load_states(RUNNING, 3)[1][:] = 0
    load_head("L3H1").W_Q[:] = 0
    assert load_states(RUNNING, 3)[1].any() and load_head("L3H1").W_Q.any()


@pytest.mark.parametrize("unknown", ["L9H9", "l3h1", "", "../heads/L3H1", None, 3])
def test_an_unknown_head_is_answered_with_those_there_are(unknown):
    for call in (load_head, lambda name: load_reference(RUNNING, name)):
        with pytest.raises(ValueError, match="unknown head") as raised:
            call(unknown)
        assert all(name in str(raised.value) for name in NAMES)


@pytest.mark.parametrize("unknown", ["the cat", "the-cat-sat-on-the-mat", "", None])
def test_an_unknown_sentence_is_answered_with_those_there_are(unknown):
    for call in (lambda s: load_states(s, 3), lambda s: load_reference(s, "L3H1")):
        with pytest.raises(ValueError, match="unknown sentence") as raised:
            call(unknown)
        assert all(sentence in str(raised.value) for sentence in list_sentences())


@pytest.mark.parametrize("layer", [99, -1, "3", True, None, 2.5])
def test_an_unknown_layer_is_answered_with_those_there_are(layer):
    with pytest.raises(ValueError, match=r"layer is .*\[0, 1, 2, 3, 4") as raised:
        load_states(RUNNING, layer)
    assert repr(layer) in str(raised.value)


def test_a_layer_may_be_any_integer_type_and_nothing_in_between():
    wanted = load_states(RUNNING, 3)[1]
    assert np.array_equal(load_states(RUNNING, np.int64(3))[1], wanted)
    try:
        got = load_states(RUNNING, 3.0)[1]
    except ValueError as error:
        assert "layer is 3.0" in str(error)
    else:
        assert np.array_equal(got, wanted)


def test_statistics_carry_their_sample_size():
    rows = load_statistics()
    assert len(rows) > 10
    for row in rows:
        assert row["quantity"] and row["n"] >= 1 and np.isfinite(row["value"])
        assert type(row["n"]) is int and type(row["value"]) is float


def test_statistics_of_one_quantity():
    rows = load_statistics()
    quantity = rows[-1]["quantity"]
    assert load_statistics(quantity) == [row for row in rows if row["quantity"] == quantity]
    with pytest.raises(ValueError, match="unknown quantity") as raised:
        load_statistics("luck")
    assert quantity in str(raised.value)


def test_importing_the_library_does_not_import_matplotlib():
    code = "import sys, attnlib; print(any(m.startswith('matplotlib') for m in sys.modules))"
    root = Path(heads.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "False"

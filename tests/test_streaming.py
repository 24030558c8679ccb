"""The streaming read against the three-loop oracle and against ``attention``."""

import builtins
import inspect
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlib.attention import attention
from attnlib.streaming import streaming_attention
from tests.checks import streaming_checks
from tests.checks.streaming_checks import as_function, peak_memory
from tests.oracle import bool_mask, float_mask, numbers, tables

CHECKS = streaming_checks.CHECKS["streaming_attention"]


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_streaming(check):
    check(streaming_attention)


def test_options_are_those_of_attention():
    ours, theirs = (inspect.signature(f).parameters for f in (streaming_attention, attention))
    shared = list(theirs)[:-1]
    assert list(ours) == [*shared, "block", "progress"]
    assert all(ours[name].default == theirs[name].default for name in shared)


@given(
    n_q=st.integers(1, 9),
    n_k=st.integers(2, 12),
    block=st.one_of(st.integers(1, 13), st.tuples(st.integers(1, 10), st.integers(1, 13))),
    make=st.sampled_from([None, bool_mask, float_mask]),
    function=st.booleans(),
    is_causal=st.booleans(),
    scale=st.sampled_from([None, -1.5, 0.25, 40.0]),
    shift=st.sampled_from([0, -1e9, 300]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    seed=st.integers(0, 99),
)
def test_any_block_gives_the_answer_of_attention(
    n_q, n_k, block, make, function, is_causal, scale, shift, dtype, seed
):
    shapes = (2, n_q, 3), (n_k, 3), (2, n_k, 5)
    arrays = [numbers(*shape, seed=seed + i, dtype=dtype) for i, shape in enumerate(shapes)]
    mask = make and make(n_q, n_k, seed=seed)
    if make is float_mask:
        mask[:, : n_k // 2] += shift
    options = {"is_causal": is_causal, "scale": scale, "empty": "zero"}
    wanted = attention(*arrays, attn_mask=mask, **options)
    given_ = as_function(mask) if make and function else mask
    got = streaming_attention(*arrays, attn_mask=given_, block=block, **options)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    room = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-12}[dtype]
    # Scores of size s are known to s times the precision, and the weights no better.
    room *= max(1, 10 * abs(scale or 1))
    assert np.abs(got - wanted).max() <= room


@pytest.mark.parametrize(("n_q", "n_k"), [(1024, 16384), (16384, 1024)])
def test_memory_at_16384_requesters_or_candidates(n_q, n_k):
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((n, 64)).astype(np.float32) for n in (n_q, n_k, n_k))
    assert peak_memory(lambda: streaming_attention(Q, K, V)) <= 8e6


def test_progress_is_shown_on_request(capsys):
    pytest.importorskip("tqdm")
    arrays = tables()
    quiet = streaming_attention(*arrays, block=2)
    assert capsys.readouterr() == ("", "")
    assert np.array_equal(streaming_attention(*arrays, block=2, progress=True), quiet)
    out, err = capsys.readouterr()
    assert out == "" and "streaming_attention" in err and "2/2" in err


def test_progress_without_tqdm_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_tqdm(name, *rest):
        if name == "tqdm":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    streaming_attention(*tables())
    with pytest.raises(ImportError, match="pip install tqdm"):
        streaming_attention(*tables(), progress=True)


def test_the_tail_of_a_peaked_row_is_not_lost():
    """Many weights of 4e-8 beside one of 1, in float32: together they count."""
    Q, K, V = np.ones((64, 1), "f"), np.full((1024, 1), -17, "f"), np.ones((1024, 2), "f")
    K[0], V[0] = 0, -1
    tail = 1023 * np.exp(-17.0)
    output = streaming_attention(Q, K, V, scale=1)
    assert np.abs(output - (tail - 1) / (tail + 1)).max() < 1e-6


def test_a_narrow_float_mask_is_counted_in_full():
    V = np.array([[1.0], [0.0]])
    for first, second, key in ((-0.3, 6e5, 6e5), (0.1, 1.3, 0.0), (-3e38, 3e38, 0.0)):
        mask, K = np.array([[first, second]], "f"), np.array([[key], [0.0]])
        options = dict(scale=1, attn_mask=mask)
        wanted = attention([[1.0]], K, V, **options | {"attn_mask": mask.astype(float)})
        assert abs(streaming_attention([[1.0]], K, V, block=1, **options) - wanted).max() < 1e-12


def test_warnings_of_a_mask_function_are_those_of_the_caller():
    def logarithm(rows, cols):
        return np.log(1.0 * (np.abs(rows[:, None] - cols) < 2))

    ones = np.ones((3, 1))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        streaming_attention(ones, ones, ones, attn_mask=logarithm)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        streaming_attention(ones, ones, ones, attn_mask=logarithm)
    with np.errstate(all="ignore"):
        assert (streaming_attention(ones, ones, ones, attn_mask=partial(logarithm)) == 1).all()


def test_a_mask_function_that_returns_a_masked_array_is_refused():
    def masked(rows, cols):
        return np.ma.masked_array(np.zeros((2, 2)), mask=[[0, 1], [0, 1]])

    with pytest.raises(TypeError, match="attn_mask is a masked array"):
        streaming_attention([[1.0]] * 2, [[1.0]] * 2, [[1.0]] * 2, attn_mask=masked)

"""The streaming read against the three-loop oracle and against ``attention``."""

import builtins
import inspect

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

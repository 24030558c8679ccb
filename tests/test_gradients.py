"""Gradients against central differences of the three-loop oracle."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlib import gradients
from attnlib.attention import attention
from attnlib.gradients import attention_vjp, softmax_jacobian, softmax_vjp
from tests.checks.gradient_checks import CHECKS
from tests.oracle import bool_mask, float_mask, numbers

ALL = [(target, name) for target, checks in CHECKS.items() for name in checks]


@pytest.mark.parametrize(("target", "name"), ALL)
def test_gradients(target, name):
    CHECKS[target][name](getattr(gradients, target))


def test_options_are_those_of_attention():
    ours, theirs = (inspect.signature(f).parameters for f in (attention_vjp, attention))
    assert list(ours) == ["grad_output", *list(theirs)[:-1]]
    assert all(ours[name].default == theirs[name].default for name in list(theirs)[:-1])


def test_softmax_vjp_is_the_jacobian_times_the_gradient():
    weights = np.array([0.1, 0.2, 0.7])
    g = numbers(3)
    np.testing.assert_allclose(softmax_vjp(g, weights), softmax_jacobian(weights) @ g, atol=1e-15)


def test_rows_of_the_jacobian_sum_to_0():
    J = softmax_jacobian([0.1, 0.2, 0.3, 0.4])
    assert np.abs(J.sum(axis=0)).max() < 1e-15 and np.array_equal(J, J.T)


def test_a_common_push_on_all_values_moves_no_weight():
    G, Q, K = numbers(3, 2), numbers(3, 4), numbers(5, 4)
    dQ, dK, dV = attention_vjp(G, Q, K, np.full((5, 2), 7.0))
    assert np.abs(dQ).max() < 1e-14 and np.abs(dK).max() < 1e-14
    np.testing.assert_allclose(dV.sum(axis=0), G.sum(axis=0), atol=1e-14)


@given(
    sizes=st.permutations([1, 2, 3, 4, 5]),
    seed=st.integers(0, 99),
    make=st.sampled_from([None, bool_mask, float_mask]),
    is_causal=st.booleans(),
    scale=st.sampled_from([None, -1.5, 0.25, 40.0]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_a_small_step_changes_the_output_as_the_gradient_says(
    sizes, seed, make, is_causal, scale, dtype
):
    n_q, n_k, d_k, d_v, batch = sizes
    mask = None if make is None or n_k == 1 else make(n_q, n_k, seed=seed)
    options = {"attn_mask": mask, "is_causal": is_causal, "scale": scale, "empty": "zero"}
    shapes = (batch, n_q, d_v), (n_q, d_k), (batch, n_k, d_k), (1, n_k, d_v)
    arrays = [numbers(*shape, seed=seed + i, dtype=dtype) for i, shape in enumerate(shapes)]
    got = attention_vjp(*arrays, **options)
    assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in arrays[1:]]
    G, *given_ = (x.astype(np.float64) for x in arrays)
    step = [1e-6 * numbers(*shape, seed=seed + 9) for shape in shapes[1:]]
    up, down = (
        attention(*(x + sign * s for x, s in zip(given_, step, strict=True)), **options)
        for sign in (1, -1)
    )
    said = sum(np.sum(g.astype(float) * s) for g, s in zip(got, step, strict=True))
    size = sum(np.sum(np.abs(g.astype(float) * s)) for g, s in zip(got, step, strict=True))
    room = {np.float16: 2e-3, np.float32: 1e-5, np.float64: 1e-6}[dtype]
    assert abs(np.sum(G * (up - down)) / 2 - said) <= room * (size + 1e-6)

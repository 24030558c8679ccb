"""PyTorch's autograd as oracle of the gradients. Needs the extra ``peers``."""

import numpy as np
import pytest

from attnlib.gradients import attention_vjp, softmax_jacobian, softmax_vjp
from tests.oracle import PEER_SHAPES, bool_mask, float_mask, numbers, tables

torch = pytest.importorskip("torch")

SHAPES = PEER_SHAPES | {"broadcast": ((2, 1, 3, 4), (6, 5, 4), (5, 7))}
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}


def assert_as_autograd(Q, K, V, attn_mask=None, is_causal=False, scale=None):
    tensors = [torch.tensor(x, requires_grad=True) for x in (Q, K, V)]
    shape = np.broadcast_shapes(*(x.shape[:-2] for x in (Q, K, V)))
    spread = [t.expand(*shape, *t.shape[-2:]) for t in tensors]
    output = torch.nn.functional.scaled_dot_product_attention(
        *spread,
        attn_mask=None if attn_mask is None else torch.from_numpy(attn_mask),
        is_causal=is_causal,
        scale=scale,
    )
    G = numbers(*output.shape, seed=11).astype(Q.dtype)
    output.backward(torch.from_numpy(G))
    got = attention_vjp(G, Q, K, V, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
    for mine, tensor in zip(got, tensors, strict=True):
        theirs = tensor.grad.numpy()
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        room = TOLERANCE[Q.dtype.type] * (1 + np.abs(theirs).max())
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=room)


@pytest.fixture(params=TOLERANCE, ids=lambda dtype: dtype.__name__)
def dtype(request):
    return request.param


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def given(request, dtype):
    return tables(*request.param, dtype=dtype)


def table_shape(Q, K, V):
    return Q.shape[-2], K.shape[-2]


def test_no_mask(given):
    assert_as_autograd(*given)


def test_bool_mask(given):
    assert_as_autograd(*given, attn_mask=bool_mask(*table_shape(*given)))


def test_float_mask(given, dtype):
    assert_as_autograd(*given, attn_mask=float_mask(*table_shape(*given), dtype=dtype))


def test_causal(given):
    assert_as_autograd(*given, is_causal=True)


@pytest.mark.parametrize("scale", [1.0, 0.3, -0.75])
def test_given_scale(given, dtype, scale):
    assert_as_autograd(*given, scale=scale)
    assert_as_autograd(*given, scale=scale, is_causal=True)
    assert_as_autograd(*given, scale=scale, attn_mask=bool_mask(*table_shape(*given)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis):
    S, G = torch.tensor(numbers(3, 5), requires_grad=True), numbers(3, 5, seed=1)
    weights = torch.softmax(S, axis)
    weights.backward(torch.from_numpy(G))
    got = softmax_vjp(G, weights.detach().numpy(), axis=axis)
    np.testing.assert_allclose(got, S.grad.numpy(), rtol=0, atol=1e-15)


def test_softmax_jacobian():
    S = torch.tensor(numbers(5))
    wanted = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), S)
    got = softmax_jacobian(torch.softmax(S, -1).numpy())
    np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=1e-15)

"""PyTorch's scaled_dot_product_attention as oracle. Needs the extra ``peers``."""

import numpy as np
import pytest

from attnlib import attention
from tests.oracle import PEER_SHAPES, bool_mask, float_mask, numbers, tables

torch = pytest.importorskip("torch")

SHAPES = PEER_SHAPES | {"batch = n = d": ((4, 4, 4), (4, 4, 4), (4, 4, 4))}
TOLERANCE = {np.float32: 4e-6, np.float64: 1e-12}


def assert_as_torch(Q, K, V, attn_mask=None, **options):
    tensors = [torch.from_numpy(np.ascontiguousarray(x)) for x in (Q, K, V)]
    mask = None if attn_mask is None else torch.from_numpy(attn_mask)
    wanted = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask, **options)
    got = attention(Q, K, V, attn_mask=attn_mask, **options)
    assert got.shape == tuple(wanted.shape) and got.dtype == wanted.numpy().dtype
    np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=TOLERANCE[Q.dtype.type])


@pytest.fixture(params=TOLERANCE, ids=lambda dtype: dtype.__name__)
def dtype(request):
    return request.param


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def given(request, dtype):
    return tables(*request.param, dtype=dtype)


def table_shape(Q, K):
    return (*Q.shape[:-1], K.shape[-2])


def test_no_mask(given):
    assert_as_torch(*given)


def test_bool_mask(given):
    assert_as_torch(*given, attn_mask=bool_mask(*table_shape(*given[:2])))


def test_float_mask(given, dtype):
    assert_as_torch(*given, attn_mask=float_mask(*table_shape(*given[:2]), dtype=dtype))


def test_mask_without_leading_axes(given, dtype):
    shape = table_shape(*given[:2])[-2:]
    assert_as_torch(*given, attn_mask=bool_mask(*shape))
    assert_as_torch(*given, attn_mask=float_mask(*shape, dtype=dtype))


def test_causal(given):
    assert_as_torch(*given, is_causal=True)


@pytest.mark.parametrize("scale", [1.0, 0.3, -0.75])
def test_given_scale(given, dtype, scale):
    assert_as_torch(*given, scale=scale)
    assert_as_torch(*given, scale=scale, is_causal=True)
    mask = float_mask(*table_shape(*given[:2]), dtype=dtype)
    assert_as_torch(*given, scale=scale, attn_mask=mask)


def test_mask_with_an_axis_of_one(dtype):
    Q, K, V = tables((2, 6, 3, 4), (2, 6, 5, 4), (2, 6, 5, 7), dtype=dtype)
    assert_as_torch(Q, K, V, attn_mask=bool_mask(2, 1, 3, 5))
    assert_as_torch(Q, K, V, attn_mask=float_mask(1, 6, 3, 5, dtype=dtype))


def test_scores_of_ten_thousand(dtype):
    Q, K = np.round(numbers(3, 4) * 50), np.round(numbers(5, 4, seed=1) * 50)
    V = numbers(5, 2)
    assert_as_torch(*(x.astype(dtype) for x in (Q, K, V)), scale=1.0)

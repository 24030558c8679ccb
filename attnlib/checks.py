"""Turn what a caller passes into arrays of real numbers, or say which argument is wrong and why."""

import numbers

import numpy as np


def as_array(name: str, value) -> np.ndarray:
    """Return ``value`` as a plain array."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and its mask would be lost: pass attn_mask")
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{name} is not a rectangular array of numbers: {error}") from None


def as_float(name: str, value) -> np.ndarray:
    """Return ``value`` as a floating array; integers and booleans become float64."""
    array = as_array(name, value)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} has dtype {array.dtype}; expected float, integer or bool")
    return array


def as_rows(name: str, value, axes: str) -> np.ndarray:
    """Return ``value`` as a floating array with at least two axes, tokens as rows."""
    array = as_float(name, value)
    mistake = f": one vector is a table of one row, {name}[None, :]" if array.ndim else ""
    check_shape(array.ndim >= 2, name, array, axes + mistake)
    return array


def check_shape(fits: bool, name: str, array: np.ndarray, expected: str) -> None:
    """Refuse an array whose shape does not fit; the message says which one would."""
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}; expected {expected}")


def check_known(kind: str, name, names: list[str] | dict[str, str]) -> None:
    """Refuse a name that is not among ``names``; the message lists them."""
    if name not in names:
        raise ValueError(f"unknown {kind} {name!r}; there are: {', '.join(names)}")


def promote(*arrays: np.ndarray) -> tuple[np.dtype, np.dtype]:
    """Return ``(result, compute)``: half precision is computed in float32, given back in half."""
    result = np.result_type(*arrays).newbyteorder("=")
    return result, np.dtype(np.float32) if result == np.float16 else result


def product(names: str, A: np.ndarray, B: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
    """Return ``A @ B + b`` in the promoted dtype; ``ValueError`` when finite inputs overflow it."""
    inputs = [x for x in (A, B, b) if isinstance(x, np.ndarray)]
    result, compute = promote(*inputs)
    with np.errstate(all="ignore"):
        out = (A.astype(compute) @ B.astype(compute) + b).astype(result)
    if not np.isfinite(out).all() and all(np.isfinite(x).all() for x in inputs):
        raise ValueError(f"{names}: the products exceed the range of {result}; pass a wider dtype")
    return out


def broadcast(**arrays: np.ndarray | None) -> tuple[int, ...]:
    """Return the common leading axes, or name the arguments whose axes do not fit together."""
    leading = {name: X.shape[:-2] for name, X in arrays.items() if X is not None}
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError:
        listed = ", ".join(f"{name} {axes}" for name, axes in leading.items())
        raise ValueError(f"leading axes do not broadcast together: {listed}") from None


def as_scale(scale, d_k: int, number: type = np.float64) -> np.floating:
    """Return the factor on the scores: 1/√d_k by default; a given scale *replaces* it."""
    if scale is None:
        return 1 / np.sqrt(number(d_k))
    if isinstance(scale, np.ndarray) and scale.ndim == 0:
        scale = scale[()]
    if isinstance(scale, (bool, np.bool_)) or not isinstance(scale, (numbers.Real, np.floating)):
        raise TypeError(f"scale is {scale!r}; expected one real number, or None for 1/sqrt(d_k)")
    try:
        factor = number(scale)
    except OverflowError:
        factor = number(np.inf)
    if not np.isfinite(factor) or (factor == 0) != (scale == 0):
        expected = "expected a finite number in its range, or None for 1/sqrt(d_k)"
        raise ValueError(f"scale is {float(factor)} in {number.__name__}; {expected}")
    return factor

"""Time and memory of the read, and time of the commands. `tools/bench.py` makes a table of it.

The two matrix products alone, (Q Kᵀ) V, are what no form of the read can do without.
"""

import shutil
import subprocess
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from attnlib.attention import attention
from attnlib.streaming import streaming_attention

SIZES = {
    "128": (128, 64),
    "1024": (1024, 64),
    "4096": (4096, 64),
    "8192": (8192, 64),
    "8x8x512": (8, 8, 512, 64),
}


def two_products(Q, K, V):
    return (Q @ K.swapaxes(-1, -2)) @ V


def pytorch(Q, K, V):
    return torch.nn.functional.scaled_dot_product_attention(Q, K, V)


FORMS = {
    "two products": two_products,
    "attention": attention,
    "streaming_attention": streaming_attention,
}
try:
    import torch

    torch.set_num_threads(1)
    FORMS["PyTorch"] = pytorch
except ImportError:
    pass


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", SIZES)
def test_bench(benchmark, size, form):
    shape, read = SIZES[size], FORMS[form]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    if form == "PyTorch":
        # its fast kernel wants (batch, heads, n, d)
        arrays = [torch.from_numpy(x.reshape((1,) * (4 - x.ndim) + shape)) for x in arrays]
    else:  # PyTorch's memory is not Python's, and not seen by tracemalloc
        read(*(x[..., :1, :] for x in arrays))  # what is loaded at the first call stays out
        tracemalloc.start()
        output = read(*arrays)
        peak = tracemalloc.get_traced_memory()[1] - output.nbytes
        tracemalloc.stop()
        table = output.nbytes // shape[-1] * shape[-2]
        benchmark.extra_info.update(peak_MB=peak / 1e6, peak_tables=peak / table)
    benchmark(read, *arrays)


ROOT = Path(__file__).parents[2]


def forget_the_book():
    for folder in ("html", ".doctrees"):
        shutil.rmtree(ROOT / "_build" / folder, ignore_errors=True)


@pytest.mark.parametrize("size", ["make book", "make book, again", "make test"])
def test_command(benchmark, size):
    command, prepare = size.split(",")[0].split(), None
    if size == "make book":
        prepare = forget_the_book
    call = {"cwd": ROOT, "check": True, "stdout": subprocess.DEVNULL}
    benchmark.pedantic(subprocess.run, args=(command,), kwargs=call, setup=prepare, rounds=1)

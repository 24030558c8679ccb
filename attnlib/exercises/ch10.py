"""Chapter 10, the whole formula: what the exercises know."""

import numpy as np

from attnlib import attention, softmax
from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch10 as suspects


def one_head(H, W_Q, W_K, W_V):
    # SOLUTION_10_1
    Q, K, V = H @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.swapaxes(-1, -2)
    return softmax(scores / np.sqrt(K.shape[-1])) @ V


def one_head_loop(H, W_Q, W_K, W_V):
    output = []
    for states in np.asarray(H, dtype=float):
        Q, K, V = states @ W_Q, states @ W_K, states @ W_V
        rows = [[float(q @ k) / len(q) ** 0.5 for k in K] for q in Q]
        parts = [[np.exp(score - max(row)) for score in row] for row in rows]
        output.append([(sum(p * v for p, v in zip(ps, V)) / sum(ps)).tolist() for ps in parts])
    return output


def one_head_of_sums(H, W_Q, W_K, W_V):
    scores = np.einsum("bid,dr,er,bje->bij", H, W_Q, W_K, H) * W_K.shape[1] ** -0.5
    e = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.einsum("bij,bjd,dc->bic", e / e.sum(axis=2, keepdims=True), H, W_V)


def one_head_turned(H, W_Q, W_K, W_V):
    table = (H @ W_K) @ (H @ W_Q).transpose(0, 2, 1) / np.sqrt(W_Q.shape[1])
    return np.stack([softmax(t, axis=0).T @ h @ W_V for t, h in zip(table, H)])


def one_head_of_library(H, W_Q, W_K, W_V):
    return attention(H @ W_Q, H @ W_K, H @ W_V)


def scores_of(H, W_Q, W_K):
    return (H @ W_Q) @ (H @ W_K).swapaxes(-1, -2)


def no_scale(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K)) @ (H @ W_V)


def by_d_k(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / W_Q.shape[1]) @ (H @ W_V)


def by_d_model(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(H.shape[-1])) @ (H @ W_V)


def by_tokens(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(H.shape[1])) @ (H @ W_V)


def by_32(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(32)) @ (H @ W_V)


def no_maximum(H, W_Q, W_K, W_V):
    e = np.exp(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1]))
    return e / e.sum(axis=-1, keepdims=True) @ (H @ W_V)


def over_requesters_no_maximum(H, W_Q, W_K, W_V):
    e = np.exp(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1]))
    return e / e.sum(axis=1, keepdims=True) @ (H @ W_V)


def axes_of_one_sentence(H, W_Q, W_K, W_V):
    e = np.exp(scores_of(H, W_Q, W_K) / np.sqrt(H.shape[1]))
    return e / e.sum(axis=1, keepdims=True) @ (H @ W_V)


def scaled_after(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K)) / np.sqrt(W_Q.shape[1]) @ (H @ W_V)


def all_axes_turned(H, W_Q, W_K, W_V):
    return softmax((H @ W_Q) @ (H @ W_K).T / np.sqrt(W_Q.shape[1])) @ (H @ W_V)


def reshaped(H, W_Q, W_K, W_V):
    K = (H @ W_K).reshape(len(H), W_K.shape[1], H.shape[1])
    return softmax((H @ W_Q) @ K / np.sqrt(W_Q.shape[1])) @ (H @ W_V)


def stored_out_in(H, W_Q, W_K, W_V):
    return one_head(H, W_Q.T, W_K.T, W_V.T)


def keys_summed(H, W_Q, W_K, W_V):
    return one_head(H, W_Q, W_K, W_K)


def states_summed(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1])) @ H


def over_requesters(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1]), axis=1) @ (H @ W_V)


def over_batch(H, W_Q, W_K, W_V):
    return softmax(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1]), axis=0) @ (H @ W_V)


def table_turned(H, W_Q, W_K, W_V):
    return one_head(H, W_K, W_Q, W_V)


def weights_turned(H, W_Q, W_K, W_V):
    weights = softmax(scores_of(H, W_Q, W_K) / np.sqrt(W_Q.shape[1]))
    return weights.swapaxes(-1, -2) @ (H @ W_V)


rng = np.random.default_rng(10)


def far_from_zero():
    """Inputs whose scores lie near 1000 or -1000, with ordinary differences in each row."""
    H, W_Q, W_K, W_V = (rng.standard_normal(shape) for shape in ((2, 6, 4), (4, 5), (4, 5), (4, 3)))
    H[..., 0] = 1
    W_K[0, 0] = 1500
    return H, W_Q, W_K / 2, W_V


HEADS = [
    (
        rng.standard_normal((2, 5, 7)),
        *(rng.standard_normal((7, width)) / 2 for width in (4, 4, 3)),
    ),
    (rng.standard_normal((3, 3, 3)), *(rng.standard_normal((3, 3)) for _ in range(3))),
    (
        np.array([[[1, 0, 2, 1], [0, 1, -1, 1], [1, 1, 0, 0]]]),
        np.array([[1, 0], [0, 1], [1, 0], [0, -1]]),
        np.array([[0, 1], [1, 0], [0, -1], [1, 1]]),
        np.array([[1, 2, 0, 0, 3], [0, 1, 1, 0, 0], [2, 0, 0, 1, 0], [0, 0, 3, 1, 1]]),
    ),
    far_from_zero(),
]


def is_attention(f):
    # SOLUTION_10_3
    rng = np.random.default_rng(103)
    shapes = (3, 4), (6, 4), (6, 2)
    floats = [rng.standard_normal(shape) for shape in shapes]
    large = [10000 * floats[0], *floats[1:]]
    whole = [rng.integers(-3, 4, shape) for shape in shapes]
    for inputs in (floats, large, whole):
        copies = [x.copy() for x in inputs]
        if not np.allclose(f(*copies), attention(*inputs)):
            return False
        if any((copy != x).any() for copy, x in zip(copies, inputs)):
            return False
    return True


def is_attention_by_hand(f):
    Q = np.array([[1, 0, 0], [0, 0, 0]])
    K, V = np.array([[3, 0, 0], [0, 1, 1]]), np.array([[1], [0]])
    share = 1 / (1 + np.exp(-np.sqrt(3)))
    first = f(Q, K, V)
    Q, huge = Q * 1.0, np.full((2, 3), 900.0) + np.array([[0.0], [1.0]])
    second = f(Q, K * 1.0, V * 1.0), f(np.full((1, 3), 9.0), huge, V * 1.0)
    kept = Q[0, 0] == 1.0 and np.isfinite(second[1]).all()
    return kept and all(np.allclose(out, [[share], [0.5]]) for out in (first, second[0]))


def is_attention_by_loops(f):
    rng = np.random.default_rng(3)
    for factor, dtype in ((1, float), (40, float), (3, int)):
        Q, K, V = (
            (factor * rng.standard_normal(s)).astype(dtype) for s in ((2, 5), (7, 5), (7, 3))
        )
        rows = [[sum(q * k) / 5**0.5 for k in K] for q in Q]
        parts = [[np.exp(s - max(row)) for s in row] for row in rows]
        expected = [sum(p * v for p, v in zip(ps, V)) / sum(ps) for ps in parts]
        before = Q.tobytes(), K.tobytes(), V.tobytes()
        if np.shape(f(Q, K, V)) != (2, 3) or before != (Q.tobytes(), K.tobytes(), V.tobytes()):
            return False
        if not np.abs(f(Q, K, V) - expected).max() < 1e-9:
            return False
    return True


def same_on(inputs):
    return lambda f: bool(np.allclose(f(*(x.copy() for x in inputs)), attention(*inputs)))


def kept_on(inputs):
    def keeps(f):
        copies = [x.copy() for x in inputs]
        f(*copies)
        return all((copy == x).all() for copy, x in zip(copies, inputs))

    return keeps


FLOATS = tuple(rng.standard_normal(shape) for shape in ((3, 4), (6, 4), (6, 2)))
SQUARE = tuple(rng.standard_normal((4, 4)) for _ in range(3))
LARGE = (10000 * FLOATS[0], *FLOATS[1:])
WHOLE = tuple(rng.integers(-3, 4, shape) for shape in ((3, 4), (6, 4), (6, 2)))


def only_shape(f):
    return f(*(x.copy() for x in FLOATS)).shape == (3, 2)


def only_square(f):
    return same_on(SQUARE)(f)


def only_small_floats(f):
    return same_on(FLOATS)(f)


def no_integers_no_copy(f):
    return same_on(FLOATS)(f) and same_on(LARGE)(f)


def no_large_no_copy(f):
    return same_on(FLOATS)(f) and same_on(WHOLE)(f)


def no_copy(f):
    return same_on(FLOATS)(f) and same_on(LARGE)(f) and same_on(WHOLE)(f)


def no_integers(f):
    return same_on(FLOATS)(f) and same_on(LARGE)(f) and kept_on(FLOATS)(f)


def no_large(f):
    return same_on(FLOATS)(f) and same_on(WHOLE)(f) and kept_on(FLOATS)(f)


def to_four_digits(f):
    return bool((f(np.eye(2), np.eye(2), np.eye(2)) == [[0.6698, 0.3302], [0.3302, 0.6698]]).all())


SUSPECTS = [(getattr(suspects, f"attention_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="10.1",
        title="One head for a batch",
        kind="implement",
        difficulty=2,
        minutes=15,
        trains="all stages in order, on arrays with a batch axis",
        hints=[
            "Write the seven stages of this chapter one under the other, and note each shape with "
            "the batch axis in front.",
            "`H @ W_Q` works with a batch as it is. In the score table only the last two axes of "
            "K are exchanged: `K.swapaxes(-1, -2)`.",
            "d_k is the last axis of K, and softmax runs along the last axis of the table.",
        ],
        reference=one_head,
        cases=HEADS,
        also_right=[one_head_loop, one_head_of_sums, one_head_turned, one_head_of_library],
        mistakes=[
            Mistake(
                "no scale",
                no_scale,
                "the scores go into softmax undivided, so each row is too sharp: the root of d_k "
                "is missing.",
            ),
            Mistake(
                "divided by d_k",
                by_d_k,
                "the weights are too flat: you divide by d_k itself. The root is missing, or it "
                "is applied twice, once to Q or in `attention` and once by hand.",
            ),
            Mistake(
                "root of d_model",
                by_d_model,
                "right only when a query is as wide as a state: you took the root of d_model, the "
                "last axis of H. A score adds up d_k products, the last axis of Q.",
            ),
            Mistake(
                "root of the number of tokens",
                by_tokens,
                "right only when there are as many tokens as features in a query: you took the "
                "root of the size of the table. It knows nothing of d_k; take the last axis of K.",
            ),
            Mistake(
                "root of 32",
                by_32,
                "you divided by the root of 32: `d_k` is a variable of the chapter, the width of "
                "the real head. Take the last axis of the Q that you made.",
            ),
            Mistake(
                "no maximum subtracted",
                no_maximum,
                "right for small scores, nan for scores far from 0: the exponentials overflow, or "
                "all become 0. Subtract the maximum of the row first, or call softmax.",
            ),
            Mistake(
                "over requesters, no maximum",
                over_requesters_no_maximum,
                "each column of the table sums to 1: with a batch axis in front, axis 1 is that "
                "of the requesters, and the last axis that of the candidates. Subtract the maximum "
                "of the row, too: scores far from 0 give nan.",
            ),
            Mistake(
                "axes of one sentence",
                axes_of_one_sentence,
                "`Q.shape[1]` and `axis=1` are right for one sentence, as in `whole_formula`. With "
                "a batch axis in front both mean the tokens: write -1. Subtract the maximum of "
                "the row, too: scores far from 0 give nan.",
            ),
            Mistake(
                "scale after softmax",
                scaled_after,
                "the weights of a row no longer sum to 1: you divided after softmax. The division "
                "belongs to the scores.",
            ),
            Mistake(
                "K.T on a batch",
                all_axes_turned,
                "silent when batch, tokens and width are equal, an error otherwise: `.T` reverses "
                "all axes, the batch too. Exchange the last two, with swapaxes(-1, -2).",
            ),
            Mistake(
                "reshape",
                reshaped,
                "every shape is right and the scores are scrambled: `reshape` cuts the same "
                "sequence of numbers anew and exchanges no axes. Use swapaxes(-1, -2).",
            ),
            Mistake(
                "matrices turned",
                stored_out_in,
                "silent when the matrices are square, an error otherwise: you transposed the W. "
                "Here they are stored (in, out), so `H @ W` needs no transposition.",
            ),
            Mistake(
                "keys summed",
                keys_summed,
                "another W_V changes nothing: what you blend are the keys, or values made with "
                "W_K. The payload is H @ W_V.",
            ),
            Mistake(
                "states summed",
                states_summed,
                "the output is as wide as a state: you blend H itself. The payload is its third "
                "view, H @ W_V.",
            ),
            Mistake(
                "over requesters",
                over_requesters,
                "each column of the table sums to 1: with a batch axis in front, axis 1 is that "
                "of the requesters. Softmax runs along the last axis.",
            ),
            Mistake(
                "over the batch",
                over_batch,
                "with a single sentence every weight is 1: you normalised along axis 0, over the "
                "sentences. Softmax runs along the last axis.",
            ),
            Mistake(
                "Q and K exchanged",
                table_turned,
                "all shapes are right and the table is transposed: queries and keys have changed "
                "places. Rows are requesters, so Q comes first.",
            ),
            Mistake(
                "weights turned",
                weights_turned,
                "all shapes are right, but each output blends with a column of the weights: you "
                "transposed them. As many requesters as candidates hide it.",
            ),
        ],
    ),
    Exercise(
        number="10.2",
        title="Every candidate twice",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="one budget for each row",
        hints=[
            "The scores of the eight old candidates do not change. What stands under the fraction "
            "bar of softmax now?",
            "Every term of the sum is there twice.",
        ],
        reference=0.44,
        decimals=3,
        within=10,
        also_right=[0.4423, 0.45, 0.43, 0.435],
        mistakes=[
            Mistake(
                "unchanged",
                0.88,
                "that is the weight with one `cat`. The score stays, but the twin has the same "
                "score and takes the same share of one budget.",
            ),
            Mistake(
                "halved twice",
                0.22,
                "that is a quarter. There are twice as many requesters too, but each has a budget "
                "of its own: only the candidates share.",
            ),
            Mistake(
                "half and half",
                0.5,
                "half and half would need a weight of 1 before. `cat` had 0.88, and now there are "
                "two of them.",
            ),
        ],
    ),
    Exercise(
        number="10.3",
        title="Which of these is attention",
        kind="judge",
        difficulty=3,
        minutes=20,
        trains="test inputs that leave a mistake no place to hide",
        hints=[
            "Make a list of what can go wrong: a wrong size under the root, a wrong axis, large "
            "scores, integers, and what a function leaves behind. Each needs an input of its own.",
            "Take n_q, n_k, d_k and d_v pairwise different. Then multiply Q by 10000. Then try "
            "arrays of integers.",
            "One of them returns the right output and changes the Q it was given: keep copies, "
            "and compare after the call.",
        ],
        reference=is_attention,
        cases=SUSPECTS,
        also_right=[is_attention_by_hand, is_attention_by_loops],
        mistakes=[
            Mistake(
                "only the shape",
                only_shape,
                "your check accepts all of them: each returns the right shape. Compare the numbers "
                "with a computation of your own.",
            ),
            Mistake(
                "only equal sizes",
                only_square,
                "your check accepts one that divides by the root of d_v: with d_k = d_v it cannot "
                "be told apart. Take all sizes different.",
            ),
            Mistake(
                "only small floats",
                only_small_floats,
                "your inputs are small floats, and three wrong ones are right on those: try large "
                "scores and integers, and look whether the inputs are the same after the call.",
            ),
            Mistake(
                "only floats, no look at the inputs",
                no_integers_no_copy,
                "large scores are covered. Two wrong ones are left: one is wrong on integers, one "
                "changes an input in place.",
            ),
            Mistake(
                "no large scores, no look at the inputs",
                no_large_no_copy,
                "integers are covered. Two wrong ones are left: one overflows on large scores, "
                "one changes an input in place.",
            ),
            Mistake(
                "no look at the inputs",
                no_copy,
                "your check accepts one that is right and does damage: it changes the Q it was "
                "given. Keep a copy, and compare after the call.",
            ),
            Mistake(
                "only floats",
                no_integers,
                "your check accepts one that cuts its output to whole numbers when V holds "
                "integers: give it some.",
            ),
            Mistake(
                "no large scores",
                no_large,
                "your check accepts one that overflows: let some scores be in the thousands.",
            ),
            Mistake(
                "rejects all",
                to_four_digits,
                "your check rejects the right one too: compare floats with np.allclose, and with "
                "a value that is not rounded.",
            ),
        ],
    ),
    Exercise(
        number="10.4",
        title="A head for determiners",
        kind="vary",
        difficulty=2,
        minutes=15,
        trains="checking a claim about a head against a confound",
        hints=[
            "Two loops, over `list_sentences()` and over the positions of a sentence. The states "
            "of L1H8 are those of layer 1.",
            "A position counts when its token is not `the`, and neither it nor the next one is "
            "`[CLS]` or `[SEP]`.",
            "A hit is `weights[i].argmax() == i + 1`. Of 66 positions, how many are hits?",
        ],
        reference=0.89,
        decimals=3,
        within=10,
        also_right=[0.8939, 0.89, 0.9, 59 / 66],
        mistakes=[
            Mistake(
                "only the determiners",
                1.0,
                "that is the share for `the` itself, which the colleague has. Count the others.",
            ),
            Mistake(
                "with the determiners",
                86 / 93,
                "you counted `the` as well. The question is whether the others do the same.",
            ),
            Mistake(
                "with the last words",
                59 / 81,
                "you counted words whose next token is `[SEP]`: there is no word after them.",
            ),
            Mistake(
                "all words",
                86 / 108,
                "you counted `the`, and words whose next token is `[SEP]`. Leave both out.",
            ),
            Mistake(
                "all tokens",
                86 / 123,
                "you counted every row of every table, `[CLS]` and `[SEP]` included.",
            ),
            Mistake(
                "states of layer 3",
                4 / 66,
                "you gave the head the states of layer 3, and it sits in layer 1: the number after "
                "the L says which states it reads.",
            ),
            Mistake(
                "a count",
                59,
                "that is the number of hits. Divide it by the number of positions that count.",
            ),
            Mistake(
                "the previous token",
                0.0,
                "that is the share for the previous token, or for hits read along columns: row i "
                "is requester i, and its next token stands at i + 1.",
            ),
        ],
    ),
    Exercise(
        number="10.5",
        title="What a table of damage says",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="reading a measurement for what it measured",
        hints=[
            "For which model were these numbers measured, and was it trained again after the "
            "change?",
            "What would the cosine be if the change had destroyed everything?",
        ],
        rubric=[
            (
                1,
                "says that the table shows what this trained model loses now, and not what a model "
                "trained without the part would lose",
            ),
            (
                1,
                "reads the numbers against a baseline: unrelated sentences for what is destroyed, "
                "1 for what is unharmed",
            ),
            (
                1,
                "names what would answer the question: training with and without the part, as in "
                "earlier chapters",
            ),
        ],
    ),
]

"""Chapter 9, why the root of d_k: what the exercises know."""

import numpy as np

from attnlib import attention, score_table, softmax
from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch09 as suspects


def scaled_weights(Q, K):
    # SOLUTION_9_1
    d_k = Q.shape[1]
    return softmax(score_table(Q, K) / np.sqrt(d_k))


def scaled_weights_loop(Q, K):
    weights = []
    for query in np.asarray(Q, dtype=float).tolist():
        row = [sum(q * k for q, k in zip(query, key)) / len(query) ** 0.5 for key in K.tolist()]
        exponentials = [np.exp(score - max(row)) for score in row]
        weights.append([e / sum(exponentials) for e in exponentials])
    return weights


def scaled_weights_of_queries(Q, K):
    scores = np.einsum("ir,jr->ij", Q / np.linalg.norm(np.ones(Q.shape[1])), K)
    e = np.exp(scores - scores.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def scaled_weights_turned(Q, K):
    return softmax(K @ Q.T * K.shape[-1] ** -0.5, axis=0).T


def scaled_weights_of_library(Q, K):
    return attention(Q, K, K, return_weights=True)[1]


def no_scale(Q, K):
    return softmax(score_table(Q, K))


def by_width(Q, K):
    return softmax(score_table(Q, K) / Q.shape[1])


def by_32(Q, K):
    return softmax(score_table(Q, K) / np.sqrt(32))


def no_softmax(Q, K):
    return score_table(Q, K) / np.sqrt(Q.shape[1])


def by_candidates(Q, K):
    return softmax(score_table(Q, K) / np.sqrt(len(K)))


def by_requesters(Q, K):
    return softmax(score_table(Q, K) / np.sqrt(len(Q)))


def after_softmax(Q, K):
    return softmax(score_table(Q, K)) / np.sqrt(Q.shape[1])


def half_of_width(Q, K):
    return softmax(score_table(Q, K) / (Q.shape[1] / 2))


def times_root(Q, K):
    return softmax(score_table(Q, K) * np.sqrt(Q.shape[1]))


def by_own_spread(Q, K):
    return softmax(score_table(Q, K) / np.std(score_table(Q, K)))


def floor_division(Q, K):
    return softmax(score_table(Q, K) // np.sqrt(Q.shape[1]))


def over_requesters(Q, K):
    return softmax(score_table(Q, K) / np.sqrt(Q.shape[1]), axis=0)


def no_maximum(Q, K):
    e = np.exp(Q @ K.T / np.sqrt(Q.shape[1]))
    return e / e.sum(axis=1, keepdims=True)


rng = np.random.default_rng(9)
PAIRS = [
    (rng.standard_normal((3, 7)), rng.standard_normal((5, 7))),
    (rng.standard_normal((4, 4)), rng.standard_normal((4, 4))),
    (rng.standard_normal((2, 1)), rng.standard_normal((4, 1))),
    (np.array([[1, 0, -1], [2, 1, 1]]), np.array([[0, 1, 0], [1, 1, 0], [2, 0, 1], [0, 0, 1]])),
    (
        np.array([[1.0, 0.5], [-1.0, 2.0], [2.0, 1.0]]),
        np.array([[2000.0, 0.0], [2000.0, 1.0], [2001.0, 0.0], [2000.0, -1.0]]),
    ),
]


def divides_by_root(f):
    # SOLUTION_9_4
    rng = np.random.default_rng(94)
    Q, K = rng.standard_normal((3, 7)), rng.standard_normal((5, 7))
    expected = [[sum(q * k) / 7**0.5 for k in K] for q in Q]
    return bool(np.allclose(f(Q, K), expected))


def divides_by_root_of_five(f):
    Q, K = np.ones((1, 5)), np.arange(15.0).reshape(3, 5)
    return np.abs(f(Q, K) - K.sum(axis=1) / np.sqrt(5)).max() < 1e-9


def divides_at_two_widths(f):
    tables = []
    for width in (3, 12):
        Q, K = np.ones((2, width)), np.outer(np.arange(4.0) - 1, np.ones(width))
        tables.append(np.allclose(f(Q, K) * width**0.5, Q @ K.T))
    return all(tables)


def only_order(f):
    rng = np.random.default_rng(1)
    Q, K = rng.standard_normal((3, 7)), rng.standard_normal((5, 7))
    return bool((f(Q, K).argsort(axis=1) == (Q @ K.T).argsort(axis=1)).all())


def only_width_64(f):
    rng = np.random.default_rng(2)
    Q, K = rng.standard_normal((3, 64)), rng.standard_normal((5, 64))
    return bool(np.allclose(f(Q, K), Q @ K.T / 8))


def only_width_4(f):
    rng = np.random.default_rng(6)
    Q, K = rng.standard_normal((3, 4)), rng.standard_normal((5, 4))
    return bool(np.allclose(f(Q, K), Q @ K.T / 2))


def only_square(f):
    rng = np.random.default_rng(3)
    Q, K = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    return bool(np.allclose(f(Q, K), Q @ K.T / np.sqrt(6)))


def only_width_1(f):
    Q, K = np.array([[1.0], [-2.0]]), np.array([[3.0], [0.5], [1.0]])
    return bool(np.allclose(f(Q, K), Q @ K.T))


def only_spread(f):
    rng = np.random.default_rng(4)
    Q, K = rng.standard_normal((300, 16)), rng.standard_normal((400, 16))
    return bool(abs(np.std(f(Q, K)) - 1) < 0.2)


def bit_for_bit(f):
    rng = np.random.default_rng(5)
    Q, K = rng.standard_normal((9, 7)), rng.standard_normal((8, 7))
    return bool((f(Q, K) == Q @ K.T / np.sqrt(7)).all())


def to_three_digits(f):
    Q, K = np.array([[1.0, 2.0, 0.0]]), np.array([[1.0, 0.0, 5.0], [0.0, 1.0, 2.0]])
    return bool((f(Q, K) == [[0.577, 1.155]]).all())


SUSPECTS = [(getattr(suspects, f"scale_{letter}"),) for letter in "abcdefg"]

EXERCISES = [
    Exercise(
        number="9.1",
        title="Scaled weights without loops",
        kind="implement",
        difficulty=1,
        minutes=10,
        trains="which size stands under the root, and where the division belongs",
        hints=[
            "Three sizes are at hand: requesters, candidates, and the width. Which of them says "
            "how many products a score adds up?",
            "d_k is the last axis of Q and of K. It is gone from the table.",
            "The order is: table, division, softmax.",
        ],
        reference=scaled_weights,
        cases=PAIRS,
        also_right=[
            scaled_weights_loop,
            scaled_weights_of_queries,
            scaled_weights_turned,
            scaled_weights_of_library,
        ],
        mistakes=[
            Mistake(
                "no scale",
                no_scale,
                "right at width 1 and too sharp at every other: the scores go into softmax "
                "undivided.",
            ),
            Mistake(
                "divided by d_k",
                by_width,
                "right at width 1 and too flat at every other: you divide by d_k itself. The root "
                "is missing, or it is applied twice, once to Q and once to K.",
            ),
            Mistake(
                "root of 32",
                by_32,
                "you divided by the root of 32: `d_k` is a variable of the chapter, the width of "
                "the real head. Take the width of the Q that is given.",
            ),
            Mistake(
                "no softmax",
                no_softmax,
                "these are the scaled scores, and some are negative. Softmax comes after the "
                "division.",
            ),
            Mistake(
                "root of the number of candidates",
                by_candidates,
                "right on a square table, wrong elsewhere: you took the root of the number of "
                "candidates, the width of the table. d_k is the width of a query or a key.",
            ),
            Mistake(
                "root of the number of requesters",
                by_requesters,
                "right on a square table, wrong elsewhere: you took the root of the number of "
                "requesters, the length of Q. d_k is its last axis.",
            ),
            Mistake(
                "after softmax",
                after_softmax,
                "each row sums to less than 1: you divided the weights. The division belongs "
                "between the scores and softmax.",
            ),
            Mistake(
                "half of d_k",
                half_of_width,
                "right at width 4 by accident: `d_k ** 1 / 2` is half of d_k, since the power "
                "comes first. Write np.sqrt(d_k) or d_k ** 0.5.",
            ),
            Mistake(
                "times the root",
                times_root,
                "sharper than with no scale at all: the scores are multiplied by the root. Divide.",
            ),
            Mistake(
                "divided by the spread of the table",
                by_own_spread,
                "you divide by the standard deviation of this one table: then a requester's "
                "weights depend on who else is asking. The root of d_k needs no data.",
            ),
            Mistake(
                "floor division",
                floor_division,
                "several candidates get exactly the same weight: `//` rounds the scores down to "
                "whole numbers. Use `/`.",
            ),
            Mistake(
                "over requesters",
                over_requesters,
                "each column sums to 1: you normalised over requesters. The budget runs along a "
                "row, axis=-1.",
            ),
            Mistake(
                "no maximum subtracted",
                no_maximum,
                "nan for large scores: the exponential overflows, scaled or not. Subtract the "
                "maximum of the row first, or call softmax.",
            ),
        ],
    ),
    Exercise(
        number="9.2",
        title="Entries half as large",
        kind="predict",
        difficulty=2,
        minutes=10,
        trains="from the spread of entries to the spread of scores",
        hints=[
            "Go in steps: the variance of one entry, of one product, of the sum of all products.",
            "A product has the variance 1/4 times 1/4. There are d_k of them, and the scale "
            "divides the variance by d_k again.",
        ],
        reference=0.25,
        decimals=3,
        within=20,
        also_right=[0.24, 0.27, 0.2501],
        mistakes=[
            Mistake(
                "always 1",
                1.0,
                "the root gives 1 for entries of variance 1 only. It takes out the width, and not "
                "the size of the entries.",
            ),
            Mistake(
                "one of the two",
                0.5,
                "that would be right if only the queries were half as large. The keys are too, "
                "and a score multiplies the two.",
            ),
            Mistake(
                "before the scale",
                2.5,
                "that is the spread of the raw score. Divide it by the root of d_k, which is 10.",
            ),
            Mistake(
                "divided by d_k",
                0.025,
                "that is the spread after a division by d_k. The formula divides by its root, 10.",
            ),
            Mistake(
                "variance",
                0.0625,
                "that is the variance of the scaled score. The standard deviation is its root.",
            ),
        ],
    ),
    Exercise(
        number="9.3",
        title="When the products are not independent",
        kind="vary",
        difficulty=2,
        minutes=15,
        trains="the assumption behind the root",
        hints=[
            "Take the loop of the cell with the slope. Draw arrays of width 1, and repeat them "
            "along the last axis up to `width` with `np.repeat` or `np.broadcast_to`.",
            "With all products of a pair equal, the score is d_k times one of them.",
            "The slope comes from `np.polyfit(np.log(widths), np.log(spread), 1)[0]`.",
        ],
        reference=1.0,
        decimals=1,
        also_right=[0.98, 1.03, 1],
        mistakes=[
            Mistake(
                "as before",
                0.5,
                "that is the slope for independent products. It also comes out when only the "
                "queries or only the keys are repeated, or when the scores are divided by the "
                "root: repeat both, and leave the scores raw.",
            ),
            Mistake(
                "variance",
                2.0,
                "you measured how the variance grows. The chapter's slope is that of the standard "
                "deviation, its root.",
            ),
            Mistake(
                "flat",
                0.0,
                "the spread of one product, or of a score divided by d_k, does not grow. Measure "
                "the raw score, the sum over the last axis.",
            ),
        ],
    ),
    Exercise(
        number="9.4",
        title="Which of these divides by the root",
        kind="judge",
        difficulty=2,
        minutes=15,
        trains="sizes at which a wrong divisor cannot hide",
        hints=[
            "For which sizes of Q and K would two of the suspects agree by accident?",
            "Three sizes, all different, and none of them 1, 4 or 64.",
            "Two of them are right, and one of these divides before the product. It differs in "
            "the last digit: compare with np.allclose.",
        ],
        reference=divides_by_root,
        cases=SUSPECTS,
        also_right=[divides_by_root_of_five, divides_at_two_widths],
        mistakes=[
            Mistake(
                "only the order",
                only_order,
                "your check accepts all of them: no division by a positive number changes the "
                "order or the shape. Compare the numbers.",
            ),
            Mistake(
                "only width 64",
                only_width_64,
                "your check accepts one that always divides by 8: at width 64 that is the root. "
                "Try another width.",
            ),
            Mistake(
                "only width 4",
                only_width_4,
                "your check accepts one that divides by half of d_k: at width 4 that is the root. "
                "Try another width.",
            ),
            Mistake(
                "only square",
                only_square,
                "your check accepts one that takes the root of the number of candidates: with as "
                "many candidates as features it cannot be told apart.",
            ),
            Mistake(
                "only width 1",
                only_width_1,
                "your check accepts one that divides by d_k: at width 1 it is its own root.",
            ),
            Mistake(
                "only the spread",
                only_spread,
                "your check accepts one that divides by the spread of its own table: a standard "
                "deviation near 1 is no proof. Compare single entries.",
            ),
            Mistake(
                "bit for bit",
                bit_for_bit,
                "your check rejects one of the right ones, which divides Q and K before the "
                "product and differs by rounding. Compare with a tolerance.",
            ),
            Mistake(
                "rejects all",
                to_three_digits,
                "your check rejects both right ones too: compare with np.allclose, and with a "
                "value that is not rounded.",
            ),
        ],
    ),
    Exercise(
        number="9.5",
        title="A factor that training could learn",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling what a formula can express from how it is learned",
        hints=[
            "The chapter has one cell about a finished head, and one about training. What does "
            "each of them say to this?",
            "The table of learning has a row that speaks for the colleague. A fair answer names "
            "it.",
        ],
        rubric=[
            (1, "grants that for a finished head the root can be moved into W_Q with no effect"),
            (
                1,
                "says that training starts saturated at large width without it, and supports it "
                "with accuracies of the table at width 128 or 512",
            ),
            (
                1,
                "names a limit: small widths, more steps, or plain gradient descent with the "
                "small step, where the raw version is ahead",
            ),
        ],
    ),
]

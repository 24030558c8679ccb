"""Chapter 7, from scores to weights: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch07 as suspects


def row_softmax(scores):
    # SOLUTION_7_1
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def row_softmax_loop(scores):
    weights = []
    for row in np.asarray(scores, dtype=float).tolist():
        exponentials = [np.exp(score - max(row)) for score in row]
        weights.append([e / sum(exponentials) for e in exponentials])
    return weights


def row_softmax_of_logs(scores):
    scores = np.asarray(scores, dtype=float)
    return np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])


def row_softmax_turned(scores):
    columns = np.array(scores, dtype=np.float64).T
    columns -= columns.max(axis=0)
    np.exp(columns, out=columns)
    return (columns / columns.sum(axis=0)).T


def over_requesters(scores):
    e = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def over_table(scores):
    e = np.exp(scores - np.max(scores))
    return e / e.sum()


def sums_not_kept(scores):
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


def maximum_not_kept(scores):
    e = np.exp(scores - np.max(scores, axis=-1))
    return e / e.sum(axis=-1, keepdims=True)


def no_maximum(scores):
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def one_maximum(scores):
    e = np.exp(scores - np.max(scores))
    return e / e.sum(axis=-1, keepdims=True)


def nothing_kept(scores):
    e = np.exp(scores - np.max(scores, axis=-1))
    return e / e.sum(axis=-1)


def sums_not_kept_no_maximum(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=-1)


def no_division(scores):
    return np.exp(scores - np.max(scores, axis=-1, keepdims=True))


def no_exponential(scores):
    return scores / np.sum(scores, axis=-1, keepdims=True)


rng = np.random.default_rng(7)
TABLES = [
    (rng.standard_normal((3, 5)),),
    (rng.standard_normal((4, 4)),),
    (np.array([[1000.0, 998.0, 0.0], [-1000.0, -1001.0, -1003.0]]),),
    (np.array([[2, 0, 1, 4]]),),
]


def is_softmax(f):
    # SOLUTION_7_3
    table = np.array([[1.0, -2.0, 0.5], [800.0, 801.0, 799.0]])
    expected = np.exp(table - table.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    return bool(np.allclose(f(table), expected))


def is_softmax_by_rules(f):
    one, two = f(np.array([[0.0, 1.0]])), f(np.array([[900.0, 901.0], [3.0, 4.0]]))
    return bool(np.allclose(one[0, 1] / one[0, 0], np.e) and np.allclose(two, one))


def is_softmax_on_four(f):
    table = np.random.default_rng(1).standard_normal((2, 4)) + np.array([[0.0], [2000.0]])
    shifted = table - table.max(axis=1)[:, None]
    return np.abs(f(table) - np.exp(shifted) / np.exp(shifted).sum(1)[:, None]).max() < 1e-9


def only_row_sums(f):
    return bool(np.allclose(f(np.array([[1.0, -2.0, 0.5], [2.0, 0.0, 1.0]])).sum(axis=1), 1))


def only_shape(f):
    return f(np.ones((2, 3))).shape == (2, 3)


def only_small(f):
    table = np.array([[1.0, -2.0, 0.5], [0.3, 0.1, -0.4]])
    expected = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
    return bool(np.allclose(f(table), expected))


def only_order(f):
    table = np.array([[1.0, -2.0, 0.5], [2.0, 0.0, 1.0]])
    return bool((f(table).argsort(axis=1) == table.argsort(axis=1)).all())


def only_sums_of_large(f):
    return bool(np.allclose(f(np.array([[800.0, 1.0, 2.0], [3.0, 1.0, 2.0]])).sum(axis=1), 1))


def all_large(f):
    table = np.array([[1.0, -2.0, 0.5], [2.0, 0.0, 1.0]])
    return is_softmax_of(table)(f) and is_softmax_of(table + 800)(f)


def is_softmax_of(table):
    return lambda f: bool(np.allclose(f(table), row_softmax(table)))


def only_hard(f):
    return is_softmax_of(np.array([[1000.0, 0.0, -500.0], [-300.0, -1000.0, -2000.0]]))(f)


def bit_for_bit(f):
    return bool((f(np.array([[0.0, 1.0]])) == [[0.2689, 0.7311]]).all())


SUSPECTS = [(getattr(suspects, f"softmax_{letter}"),) for letter in "abcdefg"]

EXERCISES = [
    Exercise(
        number="7.1",
        title="Softmax without loops",
        kind="implement",
        difficulty=1,
        minutes=10,
        trains="the axis, and safe exponentials",
        hints=[
            "A row belongs to one requester. Along which axis do its candidates lie?",
            "`keepdims=True` keeps that axis with length 1, so that a row's maximum and sum "
            "meet that row again.",
            "Subtract each row's own maximum before `np.exp`; the division takes it out again.",
        ],
        reference=row_softmax,
        cases=TABLES,
        also_right=[row_softmax_loop, row_softmax_of_logs, row_softmax_turned],
        mistakes=[
            Mistake(
                "over requesters",
                over_requesters,
                "each column sums to 1: you normalised over requesters. The budget belongs to a "
                "requester, so the sum runs along its row, axis=-1.",
            ),
            Mistake(
                "over the whole table",
                over_table,
                "the whole table sums to 1: every requester needs a budget of its own.",
            ),
            Mistake(
                "sums not kept",
                sums_not_kept,
                "the row sums lost their axis, so they lie along the columns: on a square table "
                "column j is divided by the sum of row j, and a wider table raises. Use "
                "keepdims=True in the sum.",
            ),
            Mistake(
                "maximum not kept",
                maximum_not_kept,
                "the rows sum to 1 and the weights are wrong: the maxima lost their axis, so "
                "candidate j had the maximum of row j subtracted. Use keepdims=True in the "
                "maximum too.",
            ),
            Mistake(
                "nothing kept",
                nothing_kept,
                "maxima and sums lost their axis, so those of row j met column j: a wider table "
                "raises, a square one comes out wrong. Use keepdims=True in both.",
            ),
            Mistake(
                "sums not kept, no maximum",
                sums_not_kept_no_maximum,
                "the row sums lost their axis and lie along the columns: use keepdims=True. And "
                "large scores give nan: subtract the maximum of the row before np.exp.",
            ),
            Mistake(
                "no maximum subtracted",
                no_maximum,
                "right for small scores, nan for large ones: the exponential overflows. Subtract "
                "the maximum of the row first.",
            ),
            Mistake(
                "one maximum for all",
                one_maximum,
                "right where the rows are alike, nan in a row far below the others: you "
                "subtracted the maximum of the whole table, and every exponential of that row "
                "became 0. Subtract each row's own.",
            ),
            Mistake(
                "no division",
                no_division,
                "each row has a largest entry of 1 and no budget: the exponentials are not yet "
                "divided by their sum.",
            ),
            Mistake(
                "no exponential",
                no_exponential,
                "you divided the scores themselves by their sum: negative scores stay negative. "
                "Make them positive with np.exp first.",
            ),
        ],
    ),
    Exercise(
        number="7.2",
        title="How much goes to the best",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="a feeling for the exponential",
        hints=[
            "Only differences count: three candidates stand at 0 and one at 3.",
            "Three times exp(0) against once exp(3), which is about 20.",
        ],
        reference=0.87,
        decimals=3,
        within=50,
        also_right=[0.85, 0.9, 0.8701, 0.825],
        mistakes=[
            Mistake("all to the best", 1.0, "softmax is no argmax: the other three keep a share."),
            Mistake("even split", 0.25, "that is the split of four equal scores."),
            Mistake(
                "share of the sum",
                0.5,
                "3 of 6 would be a division of the raw scores; softmax divides exponentials.",
            ),
            Mistake(
                "one rival",
                0.95,
                "that is the share against one candidate at 0; here three of them compete.",
            ),
            Mistake(
                "not divided",
                20.09,
                "that is exp(3), one part of the sum. Divide by all four exponentials together.",
            ),
        ],
    ),
    Exercise(
        number="7.3",
        title="Which of these is softmax",
        kind="judge",
        difficulty=2,
        minutes=15,
        trains="inputs that tell right from wrong",
        hints=[
            "Rows that sum to 1 are no proof: which of the suspects pass that test?",
            "Take a table that is not square, with rows of different size of score, and compute "
            "by hand what has to come out.",
            "Two of them are right for some tables only. Let one row lie near 800, and another "
            "of the same table near 0.",
        ],
        reference=is_softmax,
        cases=SUSPECTS,
        also_right=[is_softmax_by_rules, is_softmax_on_four],
        mistakes=[
            Mistake(
                "only row sums",
                only_row_sums,
                "your check looks at row sums: several of the suspects keep a budget of 1 and "
                "share it out wrongly. Compare with weights worked out by hand.",
            ),
            Mistake(
                "only the shape",
                only_shape,
                "your check passes all of them: every suspect returns a table of the right shape.",
            ),
            Mistake(
                "only small scores",
                only_small,
                "your check passes two that fail on large scores: give it a table with one row "
                "near 800 and one near 0.",
            ),
            Mistake(
                "rows alike",
                all_large,
                "your check passes one that subtracts the maximum of the whole table: put a row "
                "near 800 and a row near 0 into the same table.",
            ),
            Mistake(
                "only far apart",
                only_hard,
                "your check passes one that is not sharp enough: with scores hundreds apart every "
                "sharpness gives 1 and 0. Add rows with differences of about 1.",
            ),
            Mistake(
                "only the order",
                only_order,
                "the order of the weights is right for more than one of them: check how much each "
                "candidate gets.",
            ),
            Mistake(
                "rejects all",
                bit_for_bit,
                "your check rejects the right one too: it takes logarithms on its way, and differs "
                "in the last digit. Compare with np.allclose, and with weights that are not "
                "rounded.",
            ),
        ],
    ),
    Exercise(
        number="7.4",
        title="Half as sharp",
        kind="vary",
        difficulty=1,
        minutes=10,
        trains="what the scale of the scores does",
        hints=[
            "`read.scores[the]` is before the scale. Divide by `np.sqrt(32)` to get what the head "
            "gives to softmax.",
            "Halve those numbers, take softmax, and look at the entry of `cat`.",
        ],
        reference=0.56,
        decimals=2,
        also_right=[0.5616, 0.562],
        mistakes=[
            Mistake(
                "halved the weights",
                0.44,
                "you halved the weight. Halve the scores, and softmax shares the budget anew.",
            ),
            Mistake(
                "without the scale",
                1.0,
                "you halved the raw scores: the head divides them by the root of d_k first.",
            ),
            Mistake("doubled", 0.99, "you made the scores twice as large, which sharpens."),
            Mistake("unchanged", 0.88, "that is the weight before halving."),
            Mistake(
                "half of d_k",
                0.97,
                "you halved d_k under the root: a smaller divisor makes the numbers larger.",
            ),
            Mistake(
                "twice d_k",
                0.74,
                "you doubled d_k under the root, which divides by the root of 2 only.",
            ),
            Mistake(
                "flattened twice",
                0.18,
                "0.18 comes out where the scores are divided by 32 and not by its root, or where "
                "halved weights go through softmax once more. Halve scores / np.sqrt(32).",
            ),
        ],
    ),
    Exercise(
        number="7.5",
        title="Three quarters of the meaning",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling a share of the reading from a share of the result",
        hints=[
            "What is multiplied by the weight before it arrives, and how long can it be?",
            "The chapter has made-up payloads of very different lengths: which candidate has the "
            "largest weight there, and which the longest contribution?",
        ],
        rubric=[
            (
                1,
                "says that a weight is a share of the reading, and that the result also depends "
                "on the values",
            ),
            (
                1,
                "gives a case, with numbers, in which the largest weight does not contribute most, "
                "or names the head resting on [CLS]",
            ),
        ],
    ),
]

"""Chapter 8, the read: what the exercises know."""

import numpy as np

from attnlib import attention, score_table, softmax
from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch08 as suspects


def soft_read(Q, K, V):
    # SOLUTION_8_1
    weights = softmax(score_table(Q, K))
    return weights @ V


def soft_read_loop(Q, K, V):
    output = []
    for query in np.asarray(Q, dtype=float):
        scores = [float(query @ key) for key in K]
        parts = [np.exp(score - max(scores)) for score in scores]
        columns = zip(*np.asarray(V, dtype=float).tolist())
        output.append([sum(p * v for p, v in zip(parts, c)) / sum(parts) for c in columns])
    return output


def soft_read_of_sums(Q, K, V):
    scores = np.einsum("ir,jr->ij", Q, K)
    e = np.exp(scores - scores.max(axis=1)[:, None])
    return np.einsum("ij,jc->ic", e, V) / e.sum(axis=1)[:, None]


def soft_read_turned(Q, K, V):
    return (np.transpose(V) @ softmax(K @ np.transpose(Q), axis=0)).T


def soft_read_of_library(Q, K, V):
    return attention(Q, K, V, scale=1.0)


def keys_summed(Q, K, V):
    return softmax(score_table(Q, K)) @ K


def weights_alone(Q, K, V):
    return softmax(score_table(Q, K))


def over_requesters(Q, K, V):
    return softmax(score_table(Q, K), axis=0) @ V


def over_table(Q, K, V):
    e = np.exp(Q @ K.T - np.max(Q @ K.T))
    return e / e.sum() @ V


def weights_turned(Q, K, V):
    return softmax(score_table(Q, K)).T @ V


def table_turned(Q, K, V):
    return softmax(score_table(K, Q)) @ V


def hard(Q, K, V):
    return V[score_table(Q, K).argmax(axis=1)] * 1.0


def no_softmax(Q, K, V):
    return score_table(Q, K) @ V


def no_division(Q, K, V):
    table = Q @ K.T
    return np.exp(table - table.max(axis=1, keepdims=True)) @ V


def no_maximum(Q, K, V):
    e = np.exp(Q @ K.T)
    return e / e.sum(axis=1, keepdims=True) @ V


def mean_again(Q, K, V):
    return (softmax(score_table(Q, K))[:, :, None] * V).mean(axis=1)


def scaled(Q, K, V):
    return attention(Q, K, V)


def whole_numbers(Q, K, V):
    output = np.zeros((len(Q), V.shape[1]), dtype=V.dtype)
    output[:] = softmax(score_table(Q, K)) @ V
    return output


rng = np.random.default_rng(8)
READS = [
    tuple(rng.standard_normal(shape) for shape in ((3, 4), (5, 4), (5, 2))),
    tuple(rng.standard_normal((4, 4)) for _ in range(3)),
    (
        np.array([[1.0, 0.5], [-1.0, 2.0]]),
        np.array([[1000.0, 0.0], [1000.0, 1.0], [1001.0, 0.0]]),
        np.array([[3.0, 1.0, -1.0, 0.5], [0.0, 2.0, 2.0, -1.0], [1.0, -2.0, 0.0, 4.0]]),
    ),
    (np.array([[1, 0, -1]]), np.array([[0, 1, 0], [1, 1, 0]]), np.array([[5, 0], [0, 4]])),
]


def has_slope(f):
    # SOLUTION_8_3
    rng = np.random.default_rng(83)
    table, direction = rng.standard_normal((2, 3, 5))
    values, step = rng.standard_normal((5, 2)), 1e-6
    change = f(table + step * direction, values) - f(table, values)
    return bool(np.abs(change).max() / step > 1e-3)


def has_slope_both_sides(f):
    table, values = np.array([[0.3, -0.7, 1.1, 0.2]]), np.arange(4.0)[:, None] ** 2
    up, down = table.copy(), table.copy()
    up[0, 1] += 1e-5
    down[0, 1] -= 1e-5
    return (f(up, values) != f(down, values)).any()


def has_slope_at_many_points(f):
    rng, moved = np.random.default_rng(1), []
    for _ in range(40):
        table, values = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
        other = table + 1e-7 * rng.standard_normal((2, 3))
        moved.append(np.abs(f(other, values) - f(table, values)).max() > 1e-11)
    return np.mean(moved) > 0.9


TABLE = np.array([[0.5, -1.0, 1.5], [0.2, 0.1, -0.4]])
VALUES = np.array([[4.0, 0.0], [0.0, 2.0], [-3.0, 1.0]])


def not_the_best(f):
    return not np.allclose(f(TABLE, VALUES), VALUES[TABLE.argmax(axis=1)])


def large_step(f):
    other = TABLE + np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]])
    return bool(np.abs(f(other, VALUES) - f(TABLE, VALUES)).max() > 1e-3)


def at_a_tie(f):
    tie, step = np.zeros((2, 3)), np.array([[0.0, 1e-6, 0.0]])
    return bool(np.abs(f(tie + step, VALUES) - f(tie, VALUES)).max() / 1e-6 > 1e-3)


def of_the_values(f):
    return bool(np.abs(f(TABLE, VALUES + 1e-6) - f(TABLE, VALUES)).max() / 1e-6 > 1e-3)


def softmax_itself(f):
    return bool(np.allclose(f(TABLE, VALUES), softmax(TABLE) @ VALUES))


def only_steep(f):
    change = f(TABLE + np.array([[1e-6, 0.0, 0.0]]), VALUES) - f(TABLE, VALUES)
    return bool(np.abs(change[1, 0]) > 1.8e-6)


def step_lost(f):
    return bool(np.abs(f(TABLE + 1e-20, VALUES) - f(TABLE, VALUES)).max() > 0)


SUSPECTS = [(getattr(suspects, f"read_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="8.1",
        title="The read without loops",
        kind="implement",
        difficulty=1,
        minutes=10,
        trains="which array decides, which one moves, and along which axis",
        hints=[
            "Three steps: a table of scores, a table of weights, a blend. Write down the shape of "
            "each before you write code.",
            "The blend for all requesters at once is one matrix product: the axis that vanishes "
            "is that of the candidates.",
            "`score_table` and `softmax` are the first two steps; the third is O = αV.",
        ],
        reference=soft_read,
        cases=READS,
        also_right=[soft_read_loop, soft_read_of_sums, soft_read_turned, soft_read_of_library],
        mistakes=[
            Mistake(
                "keys summed",
                keys_summed,
                "the output is as wide as a key, and another V changes nothing: you blended the "
                "keys. Keys decide from whom to read; what moves is V.",
            ),
            Mistake(
                "weights alone",
                weights_alone,
                "these are the weights, one column a candidate: nothing has moved yet. Blend the "
                "values with them.",
            ),
            Mistake(
                "over requesters",
                over_requesters,
                "with one requester every weight is 1, and the output is the plain sum of the "
                "values: you normalised over requesters. The budget runs along a row, axis=-1.",
            ),
            Mistake(
                "over the whole table",
                over_table,
                "right for one requester, too small for several: they share a single budget of 1. "
                "Each row of weights has to sum to 1.",
            ),
            Mistake(
                "weights turned",
                weights_turned,
                "silent when there are as many requesters as candidates, an error otherwise: you "
                "transposed the weights. Their columns are the candidates, as the rows of V are.",
            ),
            Mistake(
                "table turned",
                table_turned,
                "silent when there are as many requesters as candidates, an error otherwise: in "
                "your table keys ask and queries answer. The rows belong to Q.",
            ),
            Mistake(
                "hard read",
                hard,
                "each output is one of the values, unmixed: that is the hard read. Blend with all "
                "the weights of the row.",
            ),
            Mistake(
                "no softmax",
                no_softmax,
                "the scores themselves are your coefficients: the output leaves the range of the "
                "values. Softmax comes between the scores and the blend.",
            ),
            Mistake(
                "no division",
                no_division,
                "the output can be larger than every value: the exponentials are not yet divided "
                "by the sum of their row.",
            ),
            Mistake(
                "no maximum subtracted",
                no_maximum,
                "right for small scores, nan for large ones: the exponential overflows. Subtract "
                "the maximum of the row first, or call softmax.",
            ),
            Mistake(
                "mean of the weighted values",
                mean_again,
                "your output is too small by the number of candidates: the weights sum to 1 "
                "already, so the weighted values are summed and not averaged.",
            ),
            Mistake(
                "scaled",
                scaled,
                "your weights are flatter than the loop's: the scores are divided by the root of "
                "d_k, which `attention` does unless you give scale=1.0. The loop takes them as "
                "they are.",
            ),
            Mistake(
                "whole numbers",
                whole_numbers,
                "right for floats, cut to whole numbers when V holds integers: the array for the "
                "output took the dtype of V. Let it be float.",
            ),
        ],
    ),
    Exercise(
        number="8.2",
        title="How fast a blend moves",
        kind="predict",
        difficulty=2,
        minutes=10,
        trains="the slope through softmax",
        hints=[
            "Both weights are one half. When the second score rises, what happens to the weight "
            "of the first?",
            "Take the second equation of the chapter's gradients with o in the place of L: one "
            "weight, times the second value minus the present blend.",
        ],
        reference=2.5,
        decimals=3,
        within=100,
        also_right=[2.41, 2.6, 2.5001, 2.435],
        mistakes=[
            Mistake(
                "no slope",
                0.0,
                "that is the hard read, off the tie. A blend moves with every small change of a "
                "score.",
            ),
            Mistake(
                "without competition",
                5.0,
                "5 is weight times value, as if the second weight rose alone. The first one "
                "falls: subtract the present blend from the value before you multiply.",
            ),
            Mistake(
                "all of the value",
                10.0,
                "10 per step would need a weight that rises as fast as its score. Between them "
                "stands softmax.",
            ),
            Mistake(
                "slope of the weight",
                0.25,
                "that is how fast the weight rises. The output rises as many times faster as the "
                "two values lie apart.",
            ),
            Mistake(
                "the weight",
                0.5,
                "that is the weight of the second candidate, and asked is how fast the output "
                "rises. Multiply the weight by the second value minus the present blend.",
            ),
        ],
    ),
    Exercise(
        number="8.3",
        title="Which of these can learn where to look",
        kind="judge",
        difficulty=2,
        minutes=15,
        trains="telling a slope from a jump and from a plateau",
        hints=[
            "Training sees one thing only: how much the output changes when the scores change a "
            "little. Measure that.",
            "Stay away from ties, where even a hard read jumps, and take a step so small that no "
            "stair is reached: 1e-6, not 1.",
            "Divide the change by the step. For a slope the quotient is an ordinary number, for a "
            "plateau it is 0.",
        ],
        reference=has_slope,
        cases=SUSPECTS,
        also_right=[has_slope_both_sides, has_slope_at_many_points],
        mistakes=[
            Mistake(
                "only not the best",
                not_the_best,
                "your check accepts whatever is not the hard read itself: a mixture can be flat "
                "too. Change the scores a little, and see whether the output follows.",
            ),
            Mistake(
                "a large step",
                large_step,
                "your check accepts reads that jump from one plateau to the next: with so large a "
                "step a stair looks like a slope. Make the step much smaller.",
            ),
            Mistake(
                "at a tie",
                at_a_tie,
                "your check accepts a hard choice, since at a tie it jumps: use a table without "
                "equal scores.",
            ),
            Mistake(
                "accepts all",
                of_the_values,
                "your check accepts all of them. All react to their values and none leaves their "
                "range: change the scores, and look at the change of the output per step.",
            ),
            Mistake(
                "softmax itself",
                softmax_itself,
                "your check asks for one softmax, and rejects a read that is sharper and has a "
                "slope as well. Measure the slope, not the weights.",
            ),
            Mistake(
                "only a steep slope",
                only_steep,
                "your check rejects a read that moves in proportion, only more slowly: np.allclose "
                "takes a small change for none. Divide the change by the step first.",
            ),
            Mistake(
                "accepts none",
                step_lost,
                "your check accepts none of them, and some have a slope. np.allclose takes a small "
                "change for none: divide by the step. A step of 1e-20 vanishes when it is added, "
                "and the same step in all scores of a row changes no weight.",
            ),
        ],
    ),
    Exercise(
        number="8.4",
        title="How narrow a payload may be",
        kind="vary",
        difficulty=2,
        minutes=15,
        trains="counting equations and unknowns in a blend",
        hints=[
            "Take the last lines of the cell that computes the weights of `the` back, and give "
            "them the first columns of V and of the output only.",
            "Each column gives one equation for the eight weights. There is one more equation "
            "that needs no column.",
        ],
        reference=7,
        decimals=0,
        also_right=[7.0, np.int64(7)],
        mistakes=[
            Mistake(
                "without the sum",
                8,
                "eight columns would be needed if the weights were free. That they sum to 1 is an "
                "equation too: keep the row of ones.",
            ),
            Mistake(
                "one too few",
                6,
                "with six columns there are seven equations for eight weights, and the weights "
                "computed back are off by about 0.05.",
            ),
            Mistake(
                "all columns",
                32,
                "that is the whole width, which works. Fewer columns do too: how few?",
            ),
            Mistake(
                "one too many",
                9,
                "you added 1 to the number of tokens. The equation of the sum replaces a column, "
                "so it counts the other way.",
            ),
        ],
    ),
    Exercise(
        number="8.5",
        title="Hard from the start",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling what a read is worth from how it is learned",
        hints=[
            "Two measurements of the chapter are about a hard read. When was it put in: before "
            "the training, or after?",
            "What has to be known to move an entry of W_Q in a useful direction?",
        ],
        rubric=[
            (
                1,
                "says that the hard read worked after training because the routing had been "
                "learned with the soft one",
            ),
            (
                1,
                "says that a hard read has slope 0 almost everywhere, so that W_Q and W_K do not "
                "move, and supports it with the measured accuracy near chance or the movement 0",
            ),
            (
                1,
                "limits the claim: W_V and W_O still learn, or other methods than the slope can "
                "train a choice",
            ),
        ],
    ),
]

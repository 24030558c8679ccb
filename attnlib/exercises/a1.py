"""Appendix A1, forbidding a read: what the exercises know."""

import numpy as np

from attnlib import softmax
from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import a1 as suspects


def masked_softmax(scores, keep):
    # SOLUTION_A1_1
    kept = np.where(keep, scores, -np.inf)
    top = kept.max(axis=-1, keepdims=True)
    exponentials = np.exp(kept - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def masked_softmax_loop(scores, keep):
    table = np.zeros(np.shape(scores))
    for i, row in enumerate(scores):
        open_to = [j for j, may in enumerate(keep[i]) if may]
        if open_to:
            e = np.exp(row[open_to] - row[open_to].max())
            table[i, open_to] = e / e.sum()
    return table.tolist()


def masked_softmax_of_rows(scores, keep):
    weights = np.zeros(scores.shape, dtype=np.float64)
    some = keep.any(axis=1)
    s = np.where(keep, scores, -np.inf)[some]
    weights[some] = np.exp(s - np.logaddexp.reduce(s, axis=1)[:, None])
    return weights


def masked_softmax_before_masking(scores, keep):
    scores = np.asarray(scores, dtype=float)
    top = np.max(scores, axis=1, keepdims=True, initial=-1e300, where=keep)
    e = np.exp(np.minimum(scores - top, 0)) * keep
    return np.divide(e, e.sum(1, keepdims=True), out=np.zeros(e.shape), where=keep)


def shared(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def nobody_zero(table, keep):
    return np.where(keep.any(axis=-1, keepdims=True), table, 0)


def inverted(scores, keep):
    return masked_softmax(scores, ~keep)


def scores_times_mask(scores, keep):
    return shared(scores * keep)


def mask_added(scores, keep):
    return shared(scores + keep)


def minus_ten(scores, keep):
    return shared(np.where(keep, scores, -10.0))


def minus_ten_nobody_zero(scores, keep):
    return nobody_zero(minus_ten(scores, keep), keep)


def minus_billion_set(scores, keep):
    return shared(np.where(keep, scores, -1e9))


def minus_billion_added(scores, keep):
    return shared(scores + np.where(keep, 0, -1e9))


def nobody_nan(scores, keep):
    return shared(np.where(keep, scores, -np.inf))


def library_softmax(scores, keep):
    return softmax(np.where(keep, scores, -np.inf))


def not_renormalised(scores, keep):
    return shared(scores) * keep


def renormalised(scores, keep):
    after = shared(scores) * keep
    return after / after.sum(axis=-1, keepdims=True)


def renormalised_nobody_zero(scores, keep):
    after = shared(scores) * keep
    total = after.sum(axis=-1, keepdims=True)
    return after / np.where(total > 0, total, 1)


def over_requesters(scores, keep):
    return masked_softmax(scores.T, keep.T).T


def over_requesters_nan(scores, keep):
    return shared(np.where(keep, scores, -np.inf), axis=0)


def no_maximum(scores, keep):
    e = np.where(keep, np.exp(scores), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def no_maximum_nobody_nan(scores, keep):
    e = np.where(keep, np.exp(scores), 0)
    return e / e.sum(axis=-1, keepdims=True)


def no_maximum_times_mask(scores, keep):
    e = np.exp(scores) * keep
    return e / e.sum(axis=-1, keepdims=True)


def one_maximum(scores, keep):
    e = np.exp(np.where(keep, scores, -np.inf) - scores[keep].max())
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def integer_table(scores, keep):
    weights = np.zeros_like(scores)
    weights[:] = masked_softmax(scores, keep)
    return weights


rng = np.random.default_rng(11)
F, T = False, True
TABLES = [
    (rng.standard_normal((2, 3)), np.array([[T, F, T], [F, T, T]])),
    (np.array([[1, 3, 0, 2], [0, 1, 1, 2]]), np.array([[T, F, T, T], [T, T, T, F]])),
    (
        rng.standard_normal((3, 5)),
        np.array([[T, F, T, T, F], [F, F, F, F, F], [F, T, F, T, T]]),
    ),
    (
        rng.standard_normal((4, 4)),
        np.array([[T, F, F, T], [T, T, F, F], [F, T, T, F], [T, F, T, T]]),
    ),
    (
        np.array([[0.5, 900.0, -1.0, 0.0, 1.0, 2.0], [1.0, 0.0, -1.0, 2.0, 800.0, 0.3]]),
        np.array([[T, F, T, T, T, F], [F, T, T, T, F, T]]),
    ),
    (
        np.array(
            [[950.0, 951.0, 0.0, 949.0, 950.5, 2.0, 1.0], [0.4, 0.0, -1.0, 1.0, 0.2, 0.5, 2.0]]
        ),
        np.array([[T, T, F, T, T, F, F], [F, T, T, T, F, T, F]]),
    ),
]


def is_masked_read(f):
    # SOLUTION_A1_2
    numbers = np.random.default_rng(12)
    Q, K, V = (numbers.standard_normal(shape) for shape in ((3, 2), (5, 2), (5, 4)))
    keep = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 0, 1, 1]], dtype=bool)
    table = np.where(keep, Q @ K.T / np.sqrt(2), -np.inf)
    weights = np.exp(table - table.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return bool(np.allclose(f(Q, K, V, keep), weights @ V, rtol=0, atol=1e-9))


def is_masked_read_by_leaving_out(f):
    numbers = np.random.default_rng(13)
    Q, K, V = (numbers.standard_normal(shape) for shape in ((2, 3), (4, 3), (4, 2)))
    keep = np.array([[True, False, True, True], [False, True, True, True]])
    every = np.ones((1, 3), dtype=bool)
    for i in range(2):
        alone = f(Q[i : i + 1], K[keep[i]], V[keep[i]], every)
        if np.abs(alone - f(Q, K, V, keep)[i]).max() > 1e-10:
            return False
    return True


def is_masked_read_by_hand(f):
    Q, K, V = np.zeros((2, 1)), np.zeros((3, 1)), np.array([[3.0], [6.0], [900.0]])
    got = f(Q, K, V, np.array([[True, True, False], [True, False, False]]))
    return abs(got[0, 0] - 4.5) < 1e-9 and abs(got[1, 0] - 3.0) < 1e-9


def trial(keep):
    numbers = np.random.default_rng(14)
    Q, K, V = (numbers.standard_normal(shape) for shape in ((3, 2), (4, 2), (4, 5)))
    return Q, K, V, np.array(keep, dtype=bool)


MIXED = [[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]]


def nothing_forbidden(f):
    inputs = trial(np.ones((3, 4)))
    return bool(
        np.allclose(f(*inputs), masked_softmax(suspects.scores_of(*inputs[:2]), True) @ inputs[2])
    )


def only_sums(f):
    Q, K, V, keep = trial(MIXED)
    return bool(np.allclose(f(Q, K, np.ones_like(V), keep), 1))


def only_fillers(f):
    Q, K, V, keep = trial([[1, 1, 1, 0]] * 3)
    return bool(np.allclose(f(Q, K, V, keep), f(Q, K[:3], V[:3], keep[:, :3]), atol=1e-9))


def loose(f):
    Q, K, V, keep = trial(MIXED)
    right = masked_softmax(suspects.scores_of(Q, K), keep) @ V
    return bool(np.allclose(f(Q, K, V, keep), right, atol=1e-2))


def only_influence(f):
    Q, K, V, keep = trial(MIXED)
    other = V.copy()
    other[1] += 1000
    return bool(np.allclose(f(Q, K, V, keep)[0], f(Q, K, other, keep)[0], atol=1e-9))


def somebody_reads_nobody(f):
    Q, K, V, keep = trial([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]])
    right = masked_softmax(suspects.scores_of(Q, K), keep) @ V
    return bool(np.allclose(f(Q, K, V, keep), right, atol=1e-9))


def bit_for_bit(f):
    Q, K, V, keep = trial(MIXED)
    right = masked_softmax(suspects.scores_of(Q, K), keep) @ V
    return bool((f(Q, K, V, keep) == right.round(4)).all())


SUSPECTS = [(getattr(suspects, f"read_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="A1.1",
        title="Only the kept ones compete",
        kind="implement",
        difficulty=2,
        minutes=20,
        trains="the mask before softmax, and a row with nobody",
        hints=[
            "Of the six ways in the table above, which one forbids for any size of the scores?",
            "A forbidden score takes part in nothing: neither in the sum of its row nor in the "
            "maximum. np.where(keep, scores, -np.inf) sees to both.",
            "A row with nobody has the maximum -inf and the sum 0. Put other numbers there before "
            "you subtract and before you divide.",
        ],
        reference=masked_softmax,
        cases=TABLES,
        also_right=[masked_softmax_loop, masked_softmax_of_rows, masked_softmax_before_masking],
        mistakes=[
            Mistake(
                "inverted",
                inverted,
                "the weights lie exactly where keep is False: you took True for a prohibition. "
                "Here True keeps.",
            ),
            Mistake(
                "scores times mask",
                scores_times_mask,
                "forbidden candidates get weight, those of a forbidden score of 0: you multiplied "
                "the scores by the mask, and exp(0) is 1.",
            ),
            Mistake(
                "0/1 mask added",
                mask_added,
                "every candidate still gets weight: you added the mask as zeros and ones. A kept "
                "one gains a factor e, and nobody is forbidden.",
            ),
            Mistake(
                "masked with -10",
                minus_ten,
                "a forbidden candidate keeps a weight near 0.00005, and a row with nobody shares "
                "its budget evenly: -10 is a low score, and exp(-10) is not 0.",
            ),
            Mistake(
                "masked with -10, nobody zero",
                minus_ten_nobody_zero,
                "a forbidden candidate keeps a weight near 0.00005: -10 is a low score, and "
                "exp(-10) is not 0.",
            ),
            Mistake(
                "large number set",
                minus_billion_set,
                "right, but for the row in which nobody may be read: its scores are all the same "
                "large negative number, so it reads all evenly. Decide on the mask.",
            ),
            Mistake(
                "large number added",
                minus_billion_added,
                "right, but for the row in which nobody may be read: the number added to all of "
                "its scores falls out of softmax, as if there were no mask. Decide on the mask.",
            ),
            Mistake(
                "nobody is nan",
                nobody_nan,
                "right, but for the row in which nobody may be read: its maximum is -inf, and "
                "-inf minus -inf is nan. The loop leaves zeros there.",
            ),
            Mistake(
                "library's softmax",
                library_softmax,
                "right where somebody may be read; attnlib's softmax refuses the row with nobody. "
                "Decide about that row on the mask, before softmax sees it.",
            ),
            Mistake(
                "not renormalised",
                not_renormalised,
                "the rows sum to less than 1: the mask came after softmax, and the share of the "
                "forbidden ones is lost. Let only the kept ones take part in the sum.",
            ),
            Mistake(
                "renormalised afterwards",
                renormalised,
                "nan in two kinds of rows: where nobody may be read, and where a forbidden score "
                "lies far above the kept ones, whose exponentials became 0 beside it. Take the "
                "maximum of the kept scores only.",
            ),
            Mistake(
                "renormalised afterwards, nobody zero",
                renormalised_nobody_zero,
                "all 0 in a row whose forbidden score lies far above the kept ones: their "
                "exponentials became 0 beside it. Take the maximum of the kept scores only.",
            ),
            Mistake(
                "over requesters",
                over_requesters,
                "each column sums to 1: you normalised over requesters. The budget belongs to a "
                "requester, axis=-1.",
            ),
            Mistake(
                "over requesters, nan",
                over_requesters_nan,
                "each column sums to 1, and a column that nobody may read is nan: you normalised "
                "over requesters. The budget belongs to a requester, axis=-1.",
            ),
            Mistake(
                "no maximum subtracted",
                no_maximum,
                "nan in a row whose kept scores are near 950: the exponential overflows. Subtract "
                "the largest kept score of the row first.",
            ),
            Mistake(
                "no maximum subtracted, nobody nan",
                no_maximum_nobody_nan,
                "nan in two kinds of rows: kept scores near 950, where the exponential overflows, "
                "and rows with nobody, where 0 is divided by 0. Subtract the largest kept score "
                "first, and decide about the empty row on the mask.",
            ),
            Mistake(
                "exponentials times mask",
                no_maximum_times_mask,
                "nan in rows with a score near 900, kept or forbidden, since the exponential "
                "overflows and inf times 0 is nan, and in the row with nobody. Set forbidden "
                "scores to -inf first, then subtract the largest kept one.",
            ),
            Mistake(
                "one maximum for all",
                one_maximum,
                "all 0 in a row far below the others: you subtracted the largest score of the "
                "whole table, and every exponential of that row became 0.",
            ),
            Mistake(
                "integer table",
                integer_table,
                "right for floats, truncated for integer scores: the table took its dtype from "
                "the scores, as np.zeros_like does. Make it a float table.",
            ),
        ],
    ),
    Exercise(
        number="A1.2",
        title="Which of these forbid",
        kind="judge",
        difficulty=2,
        minutes=15,
        trains="inputs that show a leak",
        hints=[
            "A masked read can be compared with a read in which the forbidden candidates are not "
            "there at all.",
            "Forbid different candidates to different requesters, and use sizes that differ.",
            "One of them leaks about 0.00005 of a value. A tolerance of 0.001 does not see it.",
        ],
        reference=is_masked_read,
        cases=SUSPECTS,
        also_right=[is_masked_read_by_leaving_out, is_masked_read_by_hand],
        mistakes=[
            Mistake(
                "passes all",
                nothing_forbidden,
                "your check passes all of them: does it forbid anything, and does it compare "
                "numbers and not only shapes?",
            ),
            Mistake(
                "only sums",
                only_sums,
                "your check rejects one that loses part of the budget, and passes wrong ones whose "
                "rows sum to 1 all the same: compare what is read.",
            ),
            Mistake(
                "only fillers",
                only_fillers,
                "your check passes one that gives the first requester's mask to everybody: "
                "forbid different candidates to different requesters.",
            ),
            Mistake(
                "loose tolerance",
                loose,
                "your check passes one that leaks a little: a forbidden candidate's value arrives "
                "with a factor near 0.00005. Use a smaller tolerance, or a huge value there.",
            ),
            Mistake(
                "only influence",
                only_influence,
                "your check sees that a forbidden value has no influence, and passes one that "
                "loses its share of the budget: compare with what should be read.",
            ),
            Mistake(
                "somebody reads nobody",
                somebody_reads_nobody,
                "one of your requesters may read nobody, and right ones differ there: one returns "
                "nan, one raises. Let each requester read somebody.",
            ),
            Mistake(
                "rejects all",
                bit_for_bit,
                "your check rejects right ones too: floats are compared with a tolerance, against "
                "outputs that are not rounded, and each requester must be able to read somebody.",
            ),
        ],
    ),
    Exercise(
        number="A1.3",
        title="A mask that helps",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="forbidden against made dearer",
        hints=[
            "What does adding 1 to some of the scores do to the ratio of two weights?",
            "Adding 5 changes the ratio by a fixed factor too. What would a filler need to "
            "get its weight back?",
        ],
        rubric=[
            (1, "adding 1 multiplies a kept exponential by e, and no weight becomes 0"),
            (
                1,
                "any finite number leaks, and how much depends on the scores: a filler with a "
                "higher score gets its weight back",
            ),
            (1, "row sums of 1 hold for every softmax and say nothing about who was read"),
        ],
    ),
]

"""Chapter 5, the matching contract: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch05 as suspects


def acting_matrix(W_Q, b_Q, W_K, b_K):
    # SOLUTION_5_1
    return np.vstack([W_Q, b_Q]) @ np.vstack([W_K, b_K]).T


def acting_matrix_loop(W_Q, b_Q, W_K, b_K):
    of_queries, of_keys = [*W_Q.tolist(), list(b_Q)], [*W_K.tolist(), list(b_K)]
    return [[sum(x * y for x, y in zip(q, k)) for k in of_keys] for q in of_queries]


def acting_matrix_in_blocks(W_Q, b_Q, W_K, b_K):
    corner = np.array([[b_Q @ b_K]])
    return np.block([[W_Q @ W_K.T, (W_Q @ b_K)[:, None]], [(b_Q @ W_K.T)[None, :], corner]])


def acting_matrix_named(W_Q, b_Q, W_K, b_K):
    one, other = np.concatenate([W_Q, [b_Q]]), np.concatenate([W_K, [b_K]])
    return np.einsum("ar,br->ab", one.astype(float), other.astype(float))


def acting_matrix_from_scores(W_Q, b_Q, W_K, b_K):
    states = np.eye(len(W_Q) + 1)
    queries = states[:, :-1] @ W_Q + states[:, -1:] * b_Q
    keys = states[:, :-1] @ W_K + states[:, -1:] * b_K
    return np.array([[query @ key for key in keys] for query in queries])


def over_states(W_Q, b_Q, W_K, b_K):
    return np.vstack([W_Q, b_Q]).T @ np.vstack([W_K, b_K])


def roles_swapped(W_Q, b_Q, W_K, b_K):
    return np.vstack([W_K, b_K]) @ np.vstack([W_Q, b_Q]).T


def not_transposed(W_Q, b_Q, W_K, b_K):
    return np.vstack([W_Q, b_Q]) @ np.vstack([W_K, b_K])


def bias_as_column(W_Q, b_Q, W_K, b_K):
    return np.column_stack([W_Q, b_Q]) @ np.column_stack([W_K, b_K]).T


def bias_first(W_Q, b_Q, W_K, b_K):
    return np.vstack([b_Q, W_Q]) @ np.vstack([b_K, W_K]).T


def no_bias(W_Q, b_Q, W_K, b_K):
    return W_Q @ W_K.T


def zeros_for_biases(W_Q, b_Q, W_K, b_K):
    return np.pad(W_Q @ W_K.T, ((0, 1), (0, 1)))


def bias_on_each_row(W_Q, b_Q, W_K, b_K):
    return (W_Q + b_Q) @ (W_K + b_K).T


def one_bias_for_both(W_Q, b_Q, W_K, b_K):
    return np.vstack([W_Q, b_Q]) @ np.vstack([W_K, b_Q]).T


def no_cross_terms(W_Q, b_Q, W_K, b_K):
    d_model = len(W_Q)
    M = np.zeros((d_model + 1, d_model + 1))
    M[:d_model, :d_model] = W_Q @ W_K.T
    M[d_model, d_model] = b_Q @ b_K
    return M


def whole_numbers(W_Q, b_Q, W_K, b_K):
    folded = []
    for W, b in ((W_Q, b_Q), (W_K, b_K)):
        folded.append(np.empty((len(W) + 1, W.shape[1]), dtype=W.dtype))
        folded[-1][:-1], folded[-1][-1] = W, b
    return folded[0] @ folded[1].T


rng = np.random.default_rng(5)


def drawn(d_model, d_k):
    return tuple(rng.standard_normal(shape) for shape in ((d_model, d_k), d_k) * 2)


PAIRS = [
    drawn(5, 3),
    drawn(4, 4),
    drawn(3, 4),
    drawn(2, 6),
    (
        np.array([[1, -2, 0], [3, 1, 1]]),
        np.array([0.5, -0.5, 1.5]),
        np.array([[0, 1, 2], [1, 1, -1]]),
        np.array([0.25, 2.5, -1.5]),
    ),
]


def keeps_scores(turn):
    # SOLUTION_5_3
    draw = np.random.default_rng(0)
    W_Q, W_K = draw.standard_normal((2, 6, 3))
    new_Q, new_K = turn(W_Q, W_K)
    return bool(np.allclose(new_Q @ new_K.T, W_Q @ W_K.T))


def keeps_scores_of_states(turn):
    draw = np.random.default_rng(1)
    requesters, candidates = draw.standard_normal((7, 5)), draw.standard_normal((9, 5))
    W_Q, W_K = draw.standard_normal((5, 4)), draw.standard_normal((5, 4))
    new_Q, new_K = turn(W_Q.copy(), W_K.copy())
    old = (requesters @ W_Q) @ (candidates @ W_K).T
    return np.abs((requesters @ new_Q) @ (candidates @ new_K).T - old).max() < 1e-8


def keeps_scores_pair_by_pair(turn):
    draw = np.random.default_rng(2)
    W_Q, W_K = draw.standard_normal((4, 2)), draw.standard_normal((4, 2))
    new_Q, new_K = turn(W_Q, W_K)
    pairs = [(a, b) for a in range(4) for b in range(4)]
    return all(abs(new_Q[a] @ new_K[b] - W_Q[a] @ W_K[b]) < 1e-9 for a, b in pairs)


def only_shapes(turn):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 6, 3))
    new_Q, new_K = turn(W_Q, W_K)
    return new_Q.shape == W_Q.shape and new_K.shape == W_K.shape


def same_matrices(turn):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 6, 3))
    new_Q, new_K = turn(W_Q, W_K)
    return bool(np.allclose(new_Q, W_Q) and np.allclose(new_K, W_K))


def only_order(turn):
    draw = np.random.default_rng(0)
    W_Q, W_K = draw.standard_normal((2, 6, 3))
    H = draw.standard_normal((8, 6))
    new_Q, new_K = turn(W_Q, W_K)
    old, new = (H @ W_Q) @ (H @ W_K).T, (H @ new_Q) @ (H @ new_K).T
    return bool((old.argsort(axis=1) == new.argsort(axis=1)).all())


def only_tied(turn):
    W = np.random.default_rng(0).standard_normal((6, 3))
    new_Q, new_K = turn(W, W)
    return bool(np.allclose(new_Q @ new_K.T, W @ W.T))


def only_lengths(turn):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 6, 3))
    new_Q, new_K = turn(W_Q, W_K)
    return all(
        np.allclose(np.linalg.norm(new, axis=1), np.linalg.norm(old, axis=1))
        for new, old in ((new_Q, W_Q), (new_K, W_K))
    )


def only_width_one(turn):
    W_Q, W_K = np.random.default_rng(0).standard_normal((2, 6, 1))
    new_Q, new_K = turn(W_Q, W_K)
    return bool(np.allclose(new_Q @ new_K.T, W_Q @ W_K.T))


SUSPECTS = [(getattr(suspects, f"turn_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="5.1",
        title="The one matrix that acts",
        kind="implement",
        difficulty=2,
        minutes=15,
        trains="which axis is summed, and where a bias goes",
        hints=[
            "The loop sums over r. Is that a feature of the states or a dimension of matching?",
            "Give every state one more feature that is always 1. What does each projection get?",
            "Put each bias below its matrix as one more row. What remains is one matrix product "
            "in which d_k disappears.",
        ],
        reference=acting_matrix,
        cases=PAIRS,
        also_right=[
            acting_matrix_loop,
            acting_matrix_in_blocks,
            acting_matrix_named,
            acting_matrix_from_scores,
        ],
        mistakes=[
            Mistake(
                "summed over the features",
                over_states,
                "the result is d_k by d_k: you summed over the features of the states, and d_k "
                "should disappear. Transpose the key's matrix, not the query's.",
            ),
            Mistake(
                "roles swapped",
                roles_swapped,
                "the matrix is the right one, transposed: it lets candidates ask. The query's "
                "matrix stands on the left, so that rows belong to the requester's features.",
            ),
            Mistake(
                "key's matrix not transposed",
                not_transposed,
                "this runs only where d_k is d_model + 1, and is wrong there: the product pairs "
                "dimensions of the query with features of the candidate. Transpose the key's "
                "matrix.",
            ),
            Mistake(
                "bias as a column",
                bias_as_column,
                "you put the bias beside W as a column, which fits only where d_model is d_k. It "
                "belongs to one more feature of the state, so it is one more row of W.",
            ),
            Mistake(
                "bias in the first row",
                bias_first,
                "all the entries are there, one place too far down and to the right: you put the "
                "bias above W. The constant 1 is the last feature, so the bias is the last row.",
            ),
            Mistake(
                "biases left out",
                no_bias,
                "the result is one row and one column too small: the biases are missing.",
            ),
            Mistake(
                "zeros for the biases",
                zeros_for_biases,
                "the last row and the last column are 0: there is a place for the biases, and "
                "they are not in it.",
            ),
            Mistake(
                "bias on every row",
                bias_on_each_row,
                "the result is d_model by d_model: you added the bias to each row of W. There it "
                "is multiplied by every feature; it has to be a row of its own, for the 1.",
            ),
            Mistake(
                "one bias for both",
                one_bias_for_both,
                "only the last column is wrong: below W_K stands b_Q. The key has a bias of its "
                "own, b_K.",
            ),
            Mistake(
                "biases meet only each other",
                no_cross_terms,
                "the last row and the last column are 0 except at their corner: the bias of one "
                "side meets the states of the other side too. Fold before you multiply.",
            ),
            Mistake(
                "cut to whole numbers",
                whole_numbers,
                "right until W holds integers, then the biases lose their fractions: the array "
                "you write into has the dtype of W. np.vstack picks a type that holds both.",
            ),
        ],
    ),
    Exercise(
        number="5.2",
        title="The other way round",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="what a change of one side does to a whole row",
        hints=[
            "What happens to each single score?",
            "Which candidate was best before, and at which end of the row is it now?",
        ],
        reference=0.0,
        decimals=2,
        within=5,
        also_right=[0, 0.01, 0.05],
        mistakes=[
            Mistake(
                "nothing changes",
                1.0,
                "that holds when both matrices change sign. With one of them, every score "
                "changes its sign.",
            ),
            Mistake(
                "back at chance",
                0.125,
                "that is what two strangers reach. This pair was made for each other, and a "
                "changed sign does not undo the fit: it turns the order of each row round.",
            ),
            Mistake(
                "chance turned round",
                0.88,
                "you took chance away from 1. No row draws its candidate by lot: the best one "
                "before is at the other end of the row now.",
            ),
            Mistake(
                "half",
                0.5,
                "half would mean that every second row keeps its best candidate. In every row all "
                "scores change their sign, so no row keeps it.",
            ),
            Mistake(
                "minus one",
                -1.0,
                "a share of requesters lies between 0 and 1. Count how many still find the source.",
            ),
        ],
    ),
    Exercise(
        number="5.3",
        title="Which of these keep the contract",
        kind="judge",
        difficulty=2,
        minutes=15,
        trains="what two matrices have in common when only their product acts",
        hints=[
            "New queries may look quite unlike the old ones. What alone must stay?",
            "Take a W_Q and a W_K that are not alike and have several rows and columns, and "
            "compare the one matrix that acts, before and after.",
            "That matrix is the product of W_Q with the transpose of W_K.",
        ],
        reference=keeps_scores,
        cases=SUSPECTS,
        also_right=[keeps_scores_of_states, keeps_scores_pair_by_pair],
        mistakes=[
            Mistake(
                "only the shapes",
                only_shapes,
                "your check passes all of them: every suspect returns matrices of the old shapes.",
            ),
            Mistake(
                "no change allowed",
                same_matrices,
                "your check rejects all, the right ones too. Both matrices may change, and the "
                "scores must not: compare W_Q times W_K transposed, before and after, and leave "
                "room for rounding.",
            ),
            Mistake(
                "only the order",
                only_order,
                "your check lets one through that keeps the order of every row and not the "
                "scores: compare the numbers.",
            ),
            Mistake(
                "one matrix for both",
                only_tied,
                "your check does not see who asks: with W_K = W_Q, with one feature only, or on "
                "the diagonal, a product and its transpose are the same. Take two matrices that "
                "differ, with several rows, and compare every entry.",
            ),
            Mistake(
                "only the lengths",
                only_lengths,
                "your check rejects a right one: the lengths of the rows may change on both sides "
                "as long as the scores do not.",
            ),
            Mistake(
                "a width of one",
                only_width_one,
                "your check tries d_k = 1 only, and a matrix of one number is its own transpose: "
                "give it several columns.",
            ),
        ],
    ),
    Exercise(
        number="5.4",
        title="A head that reads the next token, or not",
        kind="vary",
        difficulty=2,
        minutes=15,
        trains="counting before giving a head its name",
        hints=[
            "Three things change: the head, the layer whose states it reads, and the position "
            "that it is said to read.",
            "The digit after the L is the layer. The next token of position i stands at i + 1.",
            "Leave out the rows of `[CLS]` and `[SEP]`, and keep both as candidates.",
        ],
        reference=0.80,
        decimals=2,
        within=1,
        also_right=[0.7963, 86 / 108, 0.79],
        mistakes=[
            Mistake(
                "always",
                1.0,
                "that is L0H2 and the token before, or the phrases of the chapter. Count with "
                "L1H8 and the next token over all stored sentences.",
            ),
            Mistake(
                "the token before",
                0.0,
                "no row of L1H8 reads the token before: check the sign of the step. The same 0 "
                "comes out when argmax runs down the columns.",
            ),
            Mistake(
                "states of layer 0",
                0.92,
                "that is what L1H8 makes of the states of layer 0, which it never sees: load "
                "those of layer 1. The same comes out when the last word of each sentence is "
                "left out; its next token is `[SEP]`.",
            ),
            Mistake(
                "states of layer 2",
                0.53,
                "that is what L1H8 makes of the states of layer 2, which come after it. Load "
                "those that go into layer 1.",
            ),
            Mistake(
                "states of layer 3",
                0.10,
                "that is what L1H8 makes of the states of layer 3, which it never sees. Load "
                "those of layer 1.",
            ),
            Mistake(
                "special tokens as requesters",
                0.62,
                "you counted the rows of [CLS] and [SEP] too, and [SEP] has no next token. Count "
                "the rows of words.",
            ),
            Mistake(
                "a count",
                86,
                "that is the number of rows. Divide it by the number of rows of words.",
            ),
            Mistake(
                "mean weight",
                0.66,
                "that is the mean weight on the next token. Asked is the share of rows in which "
                "it is the best candidate.",
            ),
        ],
    ),
    Exercise(
        number="5.5",
        title="Two queries with nothing in common",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="what a lone query vector can say",
        hints=[
            "What happens to a query when R is slipped in, and what happens to the scores?",
            "What could the colleague compare instead, that R does not touch?",
        ],
        rubric=[
            (
                1,
                "says that a lone query vector has no meaning, since R may turn the queries "
                "while the keys take it back",
            ),
            (
                1,
                "says that the conclusion does not follow and names something better to compare: "
                "the score tables, or W_Q W_K transposed, on the same states",
            ),
            (
                1,
                "uses a number of the chapter, for the turned query and its table or for mixed "
                "pairs",
            ),
        ],
    ),
]

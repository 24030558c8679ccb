"""Chapter 6, the score table: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake


def floats(*arrays):
    return [np.asarray(array, dtype=float) for array in arrays]


def table_of(Q, K):
    # SOLUTION_6_1
    return np.asarray(Q, dtype=float) @ np.swapaxes(np.asarray(K, dtype=float), -1, -2)


def table_of_loop(Q, K):
    if np.ndim(Q) > 2:
        return [table_of_loop(queries, keys) for queries, keys in zip(Q, K)]
    Q, K = np.asarray(Q).tolist(), np.asarray(K).tolist()
    return [[sum(x * y for x, y in zip(query, key)) for key in K] for query in Q]


def table_of_named(Q, K):
    return np.einsum("...ir,...jr->...ij", *floats(Q, K))


def table_of_pairs(Q, K):
    Q, K = floats(Q, K)
    return (Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1)


def table_of_turned(Q, K):
    Q, K = floats(Q, K)
    return (K @ Q.swapaxes(-1, -2)).swapaxes(-1, -2)


def turned_batch(Q, K):
    Q, K = floats(Q, K)
    return Q @ K.T


def on_its_side(Q, K):
    Q, K = floats(Q, K)
    return K @ Q.swapaxes(-1, -2)


def single_index(Q, K):
    Q, K = floats(Q, K)
    return (Q * K).sum(axis=-1)


def features_by_features(Q, K):
    Q, K = floats(Q, K)
    return Q.swapaxes(-1, -2) @ K


def similarity(Q, K):
    Q, K = (X / np.linalg.norm(X, axis=-1, keepdims=True) for X in floats(Q, K))
    return Q @ K.swapaxes(-1, -2)


def reshaped(Q, K):
    Q, K = floats(Q, K)
    return Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])


def mean_of_terms(Q, K):
    return table_of(Q, K) / np.shape(Q)[-1]


def not_transposed(Q, K):
    Q, K = floats(Q, K)
    return Q @ K


def scaled(Q, K):
    return table_of(Q, K) / np.sqrt(np.shape(Q)[-1])


def small_integers(Q, K):
    return Q @ np.swapaxes(K, -1, -2)


def across_sentences(Q, K):
    Q, K = floats(Q, K)
    return np.dot(Q, K.swapaxes(-1, -2))


def one_sentence(Q, K):
    return np.einsum("ir,jr->ij", *floats(Q, K))


def turned_and_wrapped(Q, K):
    return Q @ K.T


def one_sentence_wrapped(Q, K):
    return np.einsum("ir,jr->ij", Q, K)


def made_integers(Q, K):
    return Q.astype(int) @ np.swapaxes(K.astype(int), -1, -2)


rng = np.random.default_rng(6)


def drawn(*shape):
    return rng.standard_normal(shape)


TABLES = [
    (drawn(3, 4), drawn(5, 4)),
    (drawn(4, 4), drawn(4, 4)),
    (drawn(2, 3, 4), drawn(2, 5, 4)),
    (drawn(3, 3, 3), drawn(3, 3, 3)),
    (
        rng.integers(-100, 101, (7, 6)).astype(np.int8),
        rng.integers(-100, 101, (5, 6)).astype(np.int8),
    ),
]


def places(scores):
    # SOLUTION_6_3
    scores = np.asarray(scores)
    return 1 + (scores[:, None, :] > scores[:, :, None]).sum(axis=2)


def places_loop(scores):
    rows = np.asarray(scores).tolist()
    return [[1 + sum(other > score for other in row) for score in row] for row in rows]


def places_by_sorting(scores):
    rows = np.asarray(scores, dtype=float)
    ordered = [(np.sort(-row), -row) for row in rows]
    return np.array([1.0 + np.searchsorted(up, row, side="left") for up, row in ordered])


def places_by_index(scores):
    rows = [sorted(row, reverse=True) for row in np.asarray(scores).tolist()]
    return np.array([[down.index(x) + 1 for x in row] for down, row in zip(rows, scores.tolist())])


def worst_first(scores):
    return 1 + (scores[:, None, :] < scores[:, :, None]).sum(axis=2)


def from_zero(scores):
    return (scores[:, None, :] > scores[:, :, None]).sum(axis=2)


def sorted_once(scores):
    return 1 + np.argsort(-scores, axis=1, kind="stable")


def argsort_alone(scores):
    return np.argsort(scores, axis=1, kind="stable")


def argsort_subtracted(scores):
    return scores.shape[1] - argsort_alone(scores)


def ranked_upwards(scores):
    return 1 + np.argsort(argsort_alone(scores), axis=1, kind="stable")


def ties_by_order(scores):
    return 1 + np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")


def ties_counted(scores):
    return (scores[:, None, :] >= scores[:, :, None]).sum(axis=2)


def down_the_columns(scores):
    return 1 + (scores[None, :, :] > scores[:, None, :]).sum(axis=1)


def over_table(scores):
    return 1 + (scores.ravel() > scores[..., None]).sum(axis=2)


def by_size(scores):
    return places(np.abs(scores))


def only_best(scores):
    return 1 + scores.argmax(axis=1)


ROWS = [
    (np.array([[2.5, -1.0]]),),
    (np.array([[3, 1, 3], [0, 0, -2]]),),
    (drawn(4, 4),),
    (5 * drawn(3, 6) + np.array([[0.0], [10.0], [-10.0]]),),
]

EXERCISES = [
    Exercise(
        number="6.1",
        title="The table without loops",
        kind="implement",
        difficulty=2,
        minutes=15,
        trains="which two axes change places, on a batch too",
        hints=[
            "Row i of Q meets row j of K, and r is summed. Which axes of K have to change places?",
            "On a batch, `K.T` turns all the axes round. `np.swapaxes` turns the two that you "
            "name.",
            "Small integers: 100 times 2 does not fit into 8 bits. Make floats before you "
            "multiply.",
        ],
        reference=table_of,
        cases=TABLES,
        also_right=[table_of_loop, table_of_named, table_of_pairs, table_of_turned],
        mistakes=[
            Mistake(
                "K.T on a batch",
                turned_batch,
                "right for one sentence. On a batch K.T turns all three axes round, which mixes "
                "sentences: it raises, or stays silent where all sizes are equal. Turn the last "
                "two axes only.",
            ),
            Mistake(
                "not transposed",
                not_transposed,
                "this raises unless n_k is d_k, and is wrong there: a matrix product pairs rows "
                "with columns, so it met each feature of K and not each key. Transpose K.",
            ),
            Mistake(
                "on its side",
                on_its_side,
                "the table lies on its side: rows are candidates. Rows belong to requesters, so Q "
                "stands on the left and K is the one to be transposed.",
            ),
            Mistake(
                "one index only",
                single_index,
                "there is one number a position and no table: you multiplied q_i with k_i, which "
                "is the diagonal. Every requester meets every candidate, q_i with k_j.",
            ),
            Mistake(
                "features by features",
                features_by_features,
                "the result has d_k rows and d_k columns, or raises: you summed over the tokens. "
                "What is summed is r, the last axis of both.",
            ),
            Mistake(
                "similarity",
                similarity,
                "no entry is larger than 1: you divided by the lengths of the vectors. That is "
                "the cosine; a score is the plain dot product.",
            ),
            Mistake(
                "reshaped",
                reshaped,
                "the shape is right and the numbers are not: reshape refills the numbers of K in "
                "their old order, and cuts keys apart. Transpose instead.",
            ),
            Mistake(
                "mean of the terms",
                mean_of_terms,
                "every score is too small by the factor d_k: you took the mean of the terms. A "
                "score is their sum.",
            ),
            Mistake(
                "scaled",
                scaled,
                "every score is too small by the root of d_k: you divided by it. The table of "
                "this chapter holds the raw dot products.",
            ),
            Mistake(
                "small integers wrap",
                small_integers,
                "right until the inputs are 8-bit integers: the products do not fit and wrap "
                "around, 200 becomes -56. Make floats first.",
            ),
            Mistake(
                "across sentences",
                across_sentences,
                "a batch gives a table with four axes: np.dot pairs each sentence with every "
                "other one. The operator @ keeps sentences apart.",
            ),
            Mistake(
                "one sentence only",
                one_sentence,
                "right for one sentence, and a batch raises: the indices you name leave no room "
                "for a leading axis. Put an ellipsis there.",
            ),
            Mistake(
                "K.T, and integers wrap",
                turned_and_wrapped,
                "right for one sentence of floats. On a batch K.T turns all three axes round: "
                "turn the last two only. And 8-bit integers wrap around, 200 becomes -56: make "
                "floats first.",
            ),
            Mistake(
                "one sentence only, and integers wrap",
                one_sentence_wrapped,
                "right for one sentence of floats. A batch raises, since the indices leave no "
                "room for a leading axis: put an ellipsis there. And 8-bit integers wrap around: "
                "make floats first.",
            ),
            Mistake(
                "made integers",
                made_integers,
                "right for integers. From floats you cut what stands behind the point: turn all "
                "inputs into floats and not into larger integers.",
            ),
        ],
    ),
    Exercise(
        number="6.2",
        title="One state changes",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="where a position stands in the table",
        hints=[
            "The state makes a query and a key. Where does each of them enter the table?",
            "A row and a column meet in one entry.",
        ],
        reference=15,
        decimals=0,
        also_right=[15.0, np.int64(15)],
        mistakes=[
            Mistake(
                "row or column",
                8,
                "that is one row, or one column. The position asks with its query and is asked "
                "with its key, and both are new.",
            ),
            Mistake(
                "diagonal twice",
                16,
                "a row and a column of eight have one entry in common, on the diagonal: you "
                "counted it twice.",
            ),
            Mistake(
                "without the diagonal",
                14,
                "you left out the entry where row and column meet: the position as its own "
                "candidate changes too.",
            ),
            Mistake(
                "the whole table",
                64,
                "a score knows its own requester and its own candidate only. An entry between "
                "two other positions stays as it is.",
            ),
            Mistake(
                "one entry",
                1,
                "that is the diagonal entry. The position also meets the seven others, in both "
                "directions.",
            ),
        ],
    ),
    Exercise(
        number="6.3",
        title="Places in a row",
        kind="implement",
        difficulty=3,
        minutes=20,
        trains="reading along a row, and the axis of a comparison",
        hints=[
            "Each entry is compared with all entries of its row: how many axes has a table of "
            "all these comparisons?",
            "`scores[:, :, None]` and `scores[:, None, :]` are compared for every pair of "
            "candidates of one requester, (n_q, n_k, n_k).",
            "Count along the axis of the other candidate, and add 1.",
        ],
        reference=places,
        cases=ROWS,
        also_right=[places_loop, places_by_sorting, places_by_index],
        mistakes=[
            Mistake(
                "the lowest first",
                worst_first,
                "the lowest score of each row has place 1: you counted the candidates with a "
                "lower score. Turn the comparison round, or count along the other axis.",
            ),
            Mistake(
                "from zero",
                from_zero,
                "every place is too small by 1: the best candidate has nobody above it and "
                "stands at place 1.",
            ),
            Mistake(
                "sorted once",
                sorted_once,
                "you return which candidate stands at each place, and asked is the place of each "
                "candidate. For two candidates the two are the same, for more they are not.",
            ),
            Mistake(
                "argsort alone",
                argsort_alone,
                "argsort lists the candidates from the lowest score up and counts them from 0. "
                "Asked is the place of each candidate, from the highest score down, from 1.",
            ),
            Mistake(
                "argsort subtracted",
                argsort_subtracted,
                "you subtracted argsort from n_k. Argsort says which candidate stands at each "
                "place, and asked is the place of each candidate. Only in some rows the two are "
                "the same.",
            ),
            Mistake(
                "ranked upwards",
                ranked_upwards,
                "place 1 went to the lowest score: argsort of argsort counts from the low end, "
                "and gives equal scores different places. Count the scores that are higher.",
            ),
            Mistake(
                "ties by their order",
                ties_by_order,
                "right until two scores are equal: the first of them gets the better place. Equal "
                "scores have the same number of candidates above them.",
            ),
            Mistake(
                "equals counted",
                ties_counted,
                "right until two scores are equal: then both get the later place. Candidates with "
                "an equal score are not above; use > and not >=.",
            ),
            Mistake(
                "down the columns",
                down_the_columns,
                "you compared down a column: the scores there belong to different requesters. A "
                "place is a place in a row.",
            ),
            Mistake(
                "over the whole table",
                over_table,
                "in some rows nobody has place 1: you compared with all scores of the table. Each "
                "requester has an order of its own.",
            ),
            Mistake(
                "without the sign",
                by_size,
                "a strongly negative score gets a good place: you compared sizes without their "
                "sign. A negative score is a low one.",
            ),
            Mistake(
                "only the best",
                only_best,
                "there is one number a row: argmax says who is best, and nothing of the others.",
            ),
        ],
    ),
    Exercise(
        number="6.4",
        title="The diagonal among words",
        kind="vary",
        difficulty=2,
        minutes=15,
        trains="checking what else could explain a count",
        hints=[
            "Take the loop of the chapter and leave candidates out before `argmax`.",
            "A score of -np.inf in a column keeps that candidate from winning. Work on the table "
            "of scores, not on the states.",
            "Where whole columns are dropped instead, the position of a word among the words is "
            "not its position in the sentence.",
        ],
        reference=13,
        decimals=0,
        also_right=[13.0, np.int64(13)],
        mistakes=[
            Mistake(
                "special tokens still there",
                0,
                "that is the count with the special tokens as candidates, or a share: take their "
                "columns out of the competition, and count rows.",
            ),
            Mistake(
                "rows of special tokens",
                15,
                "that is the number of rows won by special tokens in the chapter, or by chance "
                "among words. Count word rows, with words as the only candidates.",
            ),
            Mistake(
                "down the columns",
                12,
                "12 comes out where the best of each column is taken, though a row belongs to a "
                "requester. It also comes out where the scores of the special tokens are set to 0: "
                "0 is a score like any other, and beats negative ones. -np.inf beats nobody.",
            ),
            Mistake(
                "position not shifted",
                34,
                "with the column of [CLS] dropped, word i stands at place i - 1 of the row: you "
                "counted the rows won by the next word.",
            ),
            Mistake(
                "all rows",
                108,
                "that is the number of word rows. Count those whose largest score is the diagonal.",
            ),
        ],
    ),
    Exercise(
        number="6.5",
        title="A higher score in another row",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="comparing along a row, and not down a column",
        hints=[
            "What does a score get its meaning from?",
            "The chapter multiplies a query by ten. What changes in that row, and what does not?",
        ],
        rubric=[
            (
                1,
                "says that scores are compared within a row, since rows have no common scale, for "
                "example because a longer query makes a whole row larger",
            ),
            (
                1,
                "compares the places of `cat` in the two rows instead: second for `on`, third here",
            ),
            (
                1,
                "says that even within a row the table orders and does not yet say how much is "
                "read",
            ),
        ],
    ),
]

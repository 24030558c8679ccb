"""Chapter 3, key and value apart: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch03 as suspects
from attnlib.softmax import softmax


def fetch(requests, lockers, width):
    # SOLUTION_3_1
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    best = np.einsum("bw,bjw->bj", requests, keys).argmax(axis=1)
    return values[np.arange(len(values)), best]


def fetch_loop(requests, lockers, width):
    answers = []
    for request, row in zip(requests, lockers):
        degrees = [sum(request * locker[:width]) for locker in row]
        answers.append(list(row[int(np.argmax(degrees))][width:]))
    return answers


def fetch_matmul(requests, lockers, width):
    best = (lockers[..., :width] @ requests[:, :, None]).argmax(axis=1)
    return np.take_along_axis(lockers[..., width:], best[:, :, None], axis=1)[:, 0]


def fetch_by_weights(requests, lockers, width):
    keys, values = np.split(np.asarray(lockers, dtype=float), [width], axis=-1)
    degrees = (requests[:, None, :] * keys).sum(axis=-1)
    weights = (degrees == degrees.max(axis=-1, keepdims=True)).astype(float)
    return np.einsum("bj,bjp->bp", weights, values)


def keys_handed_over(requests, lockers, width):
    keys = lockers[:, :, :width]
    best = np.einsum("bw,bjw->bj", requests, keys).argmax(axis=1)
    return keys[np.arange(len(keys)), best]


def found_by_value(requests, lockers, width):
    values = lockers[:, :, width:]
    best = np.einsum("bw,bjw->bj", requests, values).argmax(axis=1)
    return values[np.arange(len(values)), best]


def whole_locker(requests, lockers, width):
    best = np.einsum("bw,bjw->bj", requests, lockers[:, :, :width]).argmax(axis=1)
    return lockers[np.arange(len(lockers)), best]


def width_from_the_end(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, -width:]
    best = np.einsum("bw,bjw->bj", requests, keys).argmax(axis=1)
    return values[np.arange(len(values)), best]


def all_with_all(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    best = np.einsum("bw,bjw->bj", requests, keys).argmax(axis=1)
    return values[:, best]


def over_examples(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    best = np.einsum("bw,bjw->bj", requests, keys).argmax(axis=0)
    return values[np.arange(len(values)), best]


def over_everything(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    return values[np.arange(len(values)), np.einsum("bw,bjw->bj", requests, keys).argmax()]


def all_requests(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    return values[np.arange(len(values)), (keys @ requests.T).argmax(axis=1)]


def first_request(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    best = (keys @ requests[0]).argmax(axis=1)
    return values[np.arange(len(values)), best]


def nearest(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    best = ((keys - requests[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    return values[np.arange(len(values)), best]


def blended(requests, lockers, width):
    keys, values = lockers[:, :, :width], lockers[:, :, width:]
    return np.einsum("bj,bjp->bp", softmax(np.einsum("bw,bjw->bj", requests, keys)), values)


def batch(rng, size, n, width, payload):
    lockers = rng.standard_normal((size, n, width + payload))
    lockers[:, :, :width] *= 0.3 + 2 * rng.random((size, n, 1))  # some keys are long
    return rng.standard_normal((size, width)), lockers, width


rng = np.random.default_rng(3)
LOCKERS = [
    batch(rng, 4, 7, 3, 2),
    batch(rng, 6, 5, 2, 4),
    batch(rng, 4, 4, 3, 3),
    batch(rng, 1, 5, 2, 3),
]


def keeps_apart(read):
    # SOLUTION_3_3
    rng = np.random.default_rng(33)
    Q, K = rng.standard_normal((3, 4)), rng.standard_normal((5, 4))
    weights = read(Q, K, np.zeros((5, 2)))[1]
    for size in (1.0, 10.0, 1000.0):
        V = size * rng.standard_normal((5, 2))
        output, new_weights = read(Q, K, V)
        if not np.array_equal(new_weights, weights):
            return False
        if output.shape != (3, 2) or not np.allclose(output, weights @ V):
            return False
    return True


def keeps_apart_by_units(read):
    rng = np.random.default_rng(8)
    Q, K = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    output, weights = read(Q, K, np.diag([1.0, 20.0, 300.0, 4000.0]))
    same = (read(Q, K, np.eye(4))[1] == weights).all() and np.shape(output) == (2, 4)
    return bool(same and np.abs(output / [1, 20, 300, 4000] - np.asarray(weights)).max() < 1e-9)


def keeps_apart_by_rows(read):
    rng, seen = np.random.default_rng(9), []
    Q, K = rng.standard_normal((4, 6)), rng.standard_normal((7, 6))
    for _ in range(5):
        V = 50 * rng.standard_normal((7, 3))
        output, weights = read(Q, K, V)
        blend = sum(weights[:, j, None] * V[j] for j in range(7))
        if np.shape(output) != (4, 3) or np.abs(output - blend).max() > 1e-8:
            return False
        seen.append(weights.tobytes())
    return len(set(seen)) == 1


def tried(seed=6):
    rng = np.random.default_rng(seed)
    sizes = (3, 4), (5, 4), (5, 2), (5, 2)
    return [rng.standard_normal(size) for size in sizes]


def output_unchecked(read):
    Q, K, V, W = tried()
    return np.array_equal(read(Q, K, V)[1], read(Q, K, 5 * W)[1])


def output_unchecked_and_close(read):
    Q, K, V, W = tried()
    return np.allclose(read(Q, K, V)[1], read(Q, K, 5 * W)[1])


def weights_unchecked(read):
    Q, K, V, _ = tried()
    output, weights = read(Q, K, V)
    return output.shape == (3, 2) and np.allclose(output, weights @ V)


def close_enough(read):
    return output_unchecked_and_close(read) and weights_unchecked(read)


def only_shape(read):
    Q, K, V, _ = tried()
    output, weights = read(Q, K, V)
    return output.shape == (3, 2) and weights.shape == (3, 5)


def only_soft(read):
    Q, K, V, _ = tried()
    return keeps_apart(read) and bool((read(Q, K, V)[1] > 0).all())


def only_row_sums(read):
    Q, K, V, _ = tried()
    return np.allclose(read(Q, K, V)[1].sum(axis=1), 1)


SUSPECTS = [(getattr(suspects, f"read_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="3.1",
        title="Found by the key, read by the value",
        kind="implement",
        difficulty=2,
        minutes=15,
        trains="splitting a state, and picking one row for each example of a batch",
        hints=[
            "Split the last axis of `lockers` at `width`: keys to the left, values to the right.",
            "The degrees are (batch, n): the request of an example with each key of that example, "
            "summed over the numbers of a key.",
            "`values[:, best]` combines every example with every choice. Give both indices: the "
            "number of the example and its best locker.",
        ],
        reference=fetch,
        cases=LOCKERS,
        also_right=[fetch_loop, fetch_matmul, fetch_by_weights],
        mistakes=[
            Mistake(
                "keys handed over",
                keys_handed_over,
                "what comes back is as wide as a key: you handed over the label of the locker "
                "instead of its payload.",
            ),
            Mistake(
                "found by the value",
                found_by_value,
                "the requests met the payloads: that runs only where label and payload are "
                "equally wide, and finds other lockers. Degrees are made with the keys.",
            ),
            Mistake(
                "whole locker",
                whole_locker,
                "the answers are as wide as a whole locker: label and payload came back "
                "together. Hand over the value alone.",
            ),
            Mistake(
                "width from the end",
                width_from_the_end,
                "`-width:` takes as many columns as the label has, from the end: right only "
                "where payload and label are equally wide. The payload begins at `width:`.",
            ),
            Mistake(
                "everyone with everyone",
                all_with_all,
                "three axes come back: `values[:, best]` takes the choices of all examples from "
                "every example. Index the examples too, with np.arange.",
            ),
            Mistake(
                "best over examples",
                over_examples,
                "the argmax ran over the examples, axis=0: it says which example likes a locker "
                "best. With as many examples as lockers this runs silently.",
            ),
            Mistake(
                "best of the whole batch",
                over_everything,
                "argmax has no axis: it counts through the lockers of the whole batch, and with "
                "one example alone that is right. Each example has a best locker of its own, "
                "axis=1.",
            ),
            Mistake(
                "all requests to all lockers",
                all_requests,
                "three axes come back: `keys @ requests.T` asks every locker with the requests "
                "of all examples. Each example has one request.",
            ),
            Mistake(
                "one request for all",
                first_request,
                "the first example is right and the others are not: every example was asked with "
                "the request of the first one.",
            ),
            Mistake(
                "nearest key",
                nearest,
                "you took the nearest key. The loop takes the largest sum of products, and there "
                "a long key can win over a near one.",
            ),
            Mistake(
                "blended",
                blended,
                "the answers are blends of payloads. Here each request gets the payload of one "
                "locker, the best.",
            ),
        ],
    ),
    Exercise(
        number="3.2",
        title="Directions left over",
        kind="predict",
        difficulty=2,
        minutes=5,
        trains="counting directions, not vectors",
        hints=[
            "In which directions does a query look that is the sum of two others?",
            "Four of the queries are free; the other two look along nothing new. How many "
            "directions of nine remain?",
        ],
        reference=5,
        decimals=0,
        also_right=[5.0],
        mistakes=[
            Mistake(
                "width minus queries",
                3,
                "9 minus 6 counts queries. Two of them look along nothing that the other four do "
                "not look along already.",
            ),
            Mistake(
                "directions in use",
                4,
                "that many directions the queries do look along. The question is how many are "
                "left.",
            ),
            Mistake(
                "none",
                0,
                "none are left where the queries look along all 9 directions. So few queries "
                "cannot.",
            ),
            Mistake(
                "width minus sums",
                7,
                "you took away the two sums and kept the four free queries. It is the other way "
                "round.",
            ),
            Mistake(
                "queries",
                6,
                "that is the number of queries. Count the directions of nine that no query "
                "looks along.",
            ),
        ],
    ),
    Exercise(
        number="3.3",
        title="Which of these keep key and value apart",
        kind="judge",
        difficulty=2,
        minutes=20,
        trains="bit for bit where it is due, a tolerance where it is not",
        hints=[
            "Keep Q and K, give two different V, and compare the weights that come back.",
            "A read can return one set of weights and use another. What must the output be, given "
            "the weights and V?",
            "One of them leaks so little that np.allclose does not see it. The weights of a right "
            "read are the same numbers each time: np.array_equal.",
        ],
        reference=keeps_apart,
        cases=SUSPECTS,
        also_right=[keeps_apart_by_units, keeps_apart_by_rows],
        mistakes=[
            Mistake(
                "output unchecked",
                output_unchecked,
                "your check looks at the weights alone. One suspect that gets through hands over "
                "keys, another one uses other weights than it reports: compare the output with "
                "weights @ V.",
            ),
            Mistake(
                "output unchecked, and close enough",
                output_unchecked_and_close,
                "your check asks whether the weights are close, and does not look at the output. "
                "Two get through with a wrong output, and one whose weights move in the seventh "
                "digit.",
            ),
            Mistake(
                "weights unchecked",
                weights_unchecked,
                "your check compares the output with weights @ V, and that is right for reads "
                "whose weights depend on V as well. Give two different V.",
            ),
            Mistake(
                "close enough",
                close_enough,
                "one leak gets through: its weights move in the seventh digit only, within the "
                "tolerance of np.allclose. Unmoved means bit for bit, np.array_equal.",
            ),
            Mistake(
                "only the shapes",
                only_shape,
                "the shapes are right for all but the one that hands over keys. Replace the "
                "values, and see what the weights do.",
            ),
            Mistake(
                "only row sums",
                only_row_sums,
                "your check passes all of them: the weights of every suspect sum to 1 in each "
                "row. Replace the values, and see what the weights do.",
            ),
            Mistake(
                "rejects the hard read",
                only_soft,
                "your check rejects a right one, which reads one candidate only. That is allowed: "
                "the question is what the weights depend on.",
            ),
        ],
    ),
    Exercise(
        number="3.4",
        title="Two names, one vector",
        kind="vary",
        difficulty=2,
        minutes=10,
        trains="testing an explanation by changing what it rests on",
        hints=[
            "`tied_error` takes the number of names and the number of lockers. Both are two here.",
            "The training takes half a second or more. `tied_error(8, 4)` gives the error "
            "of the chapter for seed 0, as a comparison.",
        ],
        reference=0.10,
        decimals=2,
        within=1,
        also_right=[0.1021, 0.09, 0.11],
        mistakes=[
            Mistake(
                "eight names",
                0.26,
                "that is the error with eight names. Set names and lockers to two.",
            ),
            Mistake(
                "median of the chapter",
                0.29,
                "that is the median for eight names, from the chapter. Train anew with two.",
            ),
            Mistake(
                "one direction of eight",
                0.12,
                "one direction of eight would be 0.125. The question is what the training gives: "
                "run it.",
            ),
            Mistake(
                "four names",
                0.22,
                "that is the error with three or four names. Take two.",
            ),
            Mistake(
                "separate",
                0.0,
                "there is next to no error with a matrix each, and with one locker, where nobody "
                "has to be found. Here the two are tied, and there are two lockers.",
            ),
            Mistake(
                "accuracy",
                0.99,
                "that is how often the right locker is found. The question is the error of the "
                "answer, `loss`.",
            ),
        ],
    ),
    Exercise(
        number="3.5",
        title="Saving the values",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling what training can do from what a trained model can bear",
        hints=[
            "Two different things are called tied here: a model that was trained that way, and a "
            "model in which one is put in the place of the other later.",
            "Compare the four rows of the last measurement: which of them is the floor?",
        ],
        rubric=[
            (
                1,
                "grants that models trained with one matrix for both lose little, or nothing "
                "given the width, and save half the memory",
            ),
            (
                1,
                "says that the model at hand was trained with the split, and gives a number of "
                "the replacement",
            ),
            (
                1,
                "compares that number with the one of unrelated sentences or of uniform reading",
            ),
        ],
    ),
]

"""Chapter 2, three roles: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch02 as suspects
from attnlib.softmax import softmax


def answer_all(queries, keys, values, sharpness):
    # SOLUTION_2_1
    return softmax(sharpness * (queries @ keys.T), axis=-1) @ values


def answer_all_loop(queries, keys, values, sharpness):
    return [
        (softmax([sharpness * sum(q * k) for k in keys])[:, None] * values).sum(axis=0)
        for q in queries
    ]


def answer_all_einsum(queries, keys, values, sharpness):
    e = np.exp(sharpness * np.einsum("qd,kd->qk", queries, keys))
    return np.einsum("qk,kv->qv", e, values) / e.sum(axis=1)[:, None]


def answer_all_turned(queries, keys, values, sharpness):
    return (values.T @ softmax(keys @ (sharpness * queries).T, axis=0)).T


def over_clients(queries, keys, values, sharpness):
    return softmax(sharpness * (queries @ keys.T), axis=0) @ values


def over_table(queries, keys, values, sharpness):
    e = np.exp(sharpness * (queries @ keys.T))
    return e / e.sum() @ values


def keys_handed_over(queries, keys, values, sharpness):
    return softmax(sharpness * (queries @ keys.T)) @ keys


def values_matched(queries, keys, values, sharpness):
    return softmax(sharpness * (queries @ values.T)) @ values


def keys_not_turned(queries, keys, values, sharpness):
    return softmax(sharpness * (queries @ keys)) @ values


def keys_ask(queries, keys, values, sharpness):
    return softmax(sharpness * (keys @ queries.T)) @ values


def sharpness_outside(queries, keys, values, sharpness):
    return sharpness * softmax(queries @ keys.T) @ values


def no_sharpness(queries, keys, values, sharpness):
    return softmax(queries @ keys.T) @ values


def twice_sharp(queries, keys, values, sharpness):
    return softmax(sharpness * (sharpness * queries @ keys.T)) @ values


def no_softmax(queries, keys, values, sharpness):
    return sharpness * (queries @ keys.T) @ values


def best_only(queries, keys, values, sharpness):
    return values[(sharpness * (queries @ keys.T)).argmax(axis=-1)] * 1.0


def truncated(queries, keys, values, sharpness):
    answers = np.zeros((len(queries), values.shape[1]), dtype=values.dtype)
    answers[:] = softmax(sharpness * (queries @ keys.T)) @ values
    return answers


rng = np.random.default_rng(2)
REGISTRIES = [
    (*(0.7 * rng.standard_normal(s) for s in ((3, 4), (5, 4), (5, 2))), 2.0),
    (*(0.7 * rng.standard_normal(s) for s in ((3, 3), (3, 3), (3, 3))), 1.5),
    (
        *(0.7 * rng.standard_normal(s) for s in ((1, 3), (4, 3))),
        np.array([[3], [-2], [7], [4]]),
        0.5,
    ),
]


def becomes_dict(f):
    # SOLUTION_2_3
    keys = np.array([[0.5, 0.2], [2.0, 1.0], [0.4, 0.1]])
    values = np.array([[1.0, 0.0], [5.0, -2.0], [-3.0, 4.0]])
    answers = np.array([f(key, keys, values, 1e6) for key in keys])
    return bool(np.abs(answers - values).max() < 1e-3)


def becomes_dict_on_random(f):
    rng = np.random.default_rng(4)
    keys, values = rng.standard_normal((6, 3)) * rng.random((6, 1)), rng.standard_normal((6, 2))
    return all(np.allclose(f(k, keys, values, 1e9), v, atol=1e-3) for k, v in zip(keys, values))


def becomes_dict_by_shares(f):
    keys = np.array([[0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0.4, 0.1, 0.3], [0.0, 0.1, 0.1]])
    own = [[f(keys[j], keys, np.eye(4), s)[j] for j in range(4)] for s in (1, 1e7)]
    return bool(max(own[0]) < 0.9 and min(own[1]) > 0.99)


METADATA = np.array(
    [
        [0.9, 0.8, 0.1, 0.0],
        [1.0, 0.1, 0.2, 0.0],
        [0.0, 0.0, 1.0, 0.3],
        [0.1, 0.3, 0.0, 1.0],
        [0.2, 1.0, 0.5, 0.0],
    ]
)
UNIT = METADATA / np.linalg.norm(METADATA, axis=1, keepdims=True)
RESPONSES = np.array([[3.0, 1.0], [-2.0, 2.0], [0.5, -3.0], [-1.0, -1.0], [2.0, 4.0]])
WHOLE = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
LONG = np.array([[0.5, 0.2], [2.0, 1.0], [0.3, 0.8]])


def largest_error(f, keys, sharpness):
    values = RESPONSES[: len(keys)]
    return max(np.abs(f(k, keys, values, sharpness) - v).max() for k, v in zip(keys, values))


def only_shape(f):
    return f(METADATA[0], METADATA, RESPONSES, 4.0).shape == (2,)


def only_chapter(f):
    return bool(largest_error(f, METADATA, 1e6) < 1e-2)


def only_unit(f):
    return bool(largest_error(f, UNIT, 1e6) < 1e-2)


def only_whole(f):
    return bool(largest_error(f, WHOLE, 1e6) < 1e-2)


def at_64(f):
    return bool(largest_error(f, LONG, 64.0) < 1e-2)


def bit_for_bit(f):
    return bool(largest_error(f, LONG, 4.0) == 0)


SUSPECTS = [(getattr(suspects, f"registry_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="2.1",
        title="All clients at once",
        kind="implement",
        difficulty=1,
        minutes=15,
        trains="which table plays which role, and along which axis a client shares out",
        hints=[
            "First the table of degrees, one row for a client and one column for a service. "
            "Which product of `queries` and `keys` has that shape?",
            "`queries @ keys.T` is (n_q, n_k). The sharpness belongs in front of it, inside "
            "`softmax`, and softmax runs along the services.",
            "The shares are (n_q, n_k), the values (n_k, d_v): one more product.",
        ],
        reference=answer_all,
        cases=REGISTRIES,
        also_right=[answer_all_loop, answer_all_einsum, answer_all_turned],
        mistakes=[
            Mistake(
                "over clients",
                over_clients,
                "the shares of each service sum to 1, and a client alone gets every response in "
                "full: softmax ran over the clients. Each client shares out among the services, "
                "along its row.",
            ),
            Mistake(
                "over the whole table",
                over_table,
                "all shares together sum to 1: with one client it is right, with three each gets "
                "too little. Every client has shares of its own.",
            ),
            Mistake(
                "keys handed over",
                keys_handed_over,
                "the answers are as wide as a key: you handed over the keys. What moves is the "
                "values.",
            ),
            Mistake(
                "matched against values",
                values_matched,
                "you compared the queries with the values: that runs only when d_k equals d_v, "
                "and then finds the wrong services. A query meets the keys.",
            ),
            Mistake(
                "keys not turned",
                keys_not_turned,
                "`queries @ keys` sums over the services instead of the numbers of a key: it "
                "raises unless n_k equals d_k, and on such a square table it is silently wrong. "
                "Turn the keys.",
            ),
            Mistake(
                "keys ask",
                keys_ask,
                "the table of degrees lies on its side, a row for each service: queries and keys "
                "changed roles. It goes unnoticed only when there are as many clients as "
                "services.",
            ),
            Mistake(
                "sharpness outside",
                sharpness_outside,
                "the shares of a client sum to the sharpness and not to 1: it stands outside "
                "softmax. It multiplies the degrees.",
            ),
            Mistake(
                "no sharpness",
                no_sharpness,
                "that is the answer at sharpness 1, whatever the sharpness: the last argument "
                "is not used.",
            ),
            Mistake(
                "sharpness twice",
                twice_sharp,
                "the sharpness is in it twice: above 1 the answers are too sharp, below 1 too "
                "even.",
            ),
            Mistake(
                "no softmax",
                no_softmax,
                "the degrees themselves are used as shares: some are negative and no row sums "
                "to 1. `softmax` makes shares of them.",
            ),
            Mistake(
                "best only",
                best_only,
                "each answer is the whole value of one service: that is the hard read. The soft "
                "one blends.",
            ),
            Mistake(
                "cut to integers",
                truncated,
                "right for values of floats, cut to whole numbers for values of integers: the "
                "array of answers took over their dtype.",
            ),
        ],
    ),
    Exercise(
        number="2.2",
        title="Two states replaced",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="one position as row and as column",
        hints=[
            "One position changes a row and a column of the table. Where do two rows and two "
            "columns meet?",
            "Count the scores that stay: those of which neither requester nor candidate is new.",
        ],
        reference=28,
        decimals=0,
        also_right=[28.0],
        mistakes=[
            Mistake(
                "twice fifteen",
                30,
                "twice the 15 of one position counts two cells twice: where the row of one meets "
                "the column of the other.",
            ),
            Mistake(
                "four full lines",
                32,
                "two rows and two columns of 8 are 32 only if no cell is in two of them. They "
                "cross in four cells.",
            ),
            Mistake(
                "rows only",
                16,
                "those are two rows. Each of the two positions is also found differently, by "
                "everyone.",
            ),
            Mistake(
                "all",
                64,
                "that would be the whole table. Six positions ask as before, and six are found "
                "as before.",
            ),
            Mistake(
                "what stays",
                36,
                "that many scores stay as they are: 6 by 6. The question is how many change.",
            ),
        ],
    ),
    Exercise(
        number="2.3",
        title="Which of these turn into the dict",
        kind="judge",
        difficulty=3,
        minutes=20,
        trains="a limit, and data that can refute",
        hints=[
            "Ask for every key exactly, at a very large sharpness, and compare with its value.",
            "Why did the chapter bring keys to length 1? Take keys of different length, and see "
            "who needs that.",
            "Take keys that differ by less than 1, and do not ask for speed: one of the right "
            "ones needs a sharpness of many thousands.",
        ],
        reference=becomes_dict,
        cases=SUSPECTS,
        also_right=[becomes_dict_on_random, becomes_dict_by_shares],
        mistakes=[
            Mistake(
                "passes all",
                only_shape,
                "your check passes all of them. Compare the answer to an exact request with the "
                "value of that key.",
            ),
            Mistake(
                "only the chapter's registry",
                only_chapter,
                "two wrong ones get through, for they are right on data like the chapter's: one "
                "fails when another key is much longer, the other when keys differ by less "
                "than 1.",
            ),
            Mistake(
                "only unit keys",
                only_unit,
                "one wrong suspect gets through, for it needs keys of equal length: make another "
                "key longer than the one that is asked for.",
            ),
            Mistake(
                "only whole numbers",
                only_whole,
                "one wrong suspect gets through that cuts keys to whole numbers: use keys that "
                "differ behind the point, and ask for a small error: that it falls is not enough.",
            ),
            Mistake(
                "one sharpness",
                at_64,
                "your check rejects a right one: it turns into the dict slowly, and at this "
                "sharpness it is not there yet. Make the sharpness much larger.",
            ),
            Mistake(
                "rejects all",
                bit_for_bit,
                "your check rejects all of them, the right ones too. No blend is bit for bit the "
                "dict's answer: ask for a small error at a very large sharpness.",
            ),
        ],
    ),
    Exercise(
        number="2.4",
        title="Sharp enough for everyone",
        kind="vary",
        difficulty=1,
        minutes=10,
        trains="a measurement that the hardest case decides",
        hints=[
            "Take the cell of the measurement above, and put a loop over the sharpness around it.",
            "All three clients have to get there: the smallest of the three largest shares counts.",
        ],
        reference=14,
        decimals=0,
        also_right=[14.0],
        mistakes=[
            Mistake(
                "two of three",
                5,
                "at 5 two of the clients are there. The one who looks for the station needs more, "
                "since another service suits it nearly as well.",
            ),
            Mistake(
                "as printed",
                4,
                "at 4 a share of 0.796 is printed as 0.80, and the other two are below it. Compare "
                "unrounded, and all three.",
            ),
            Mistake(
                "the mean",
                6,
                "at 6 the mean of the three shares is above 0.8, and one of the three is not.",
            ),
            Mistake(
                "rounded to one digit",
                12,
                "at 12 the smallest of the three rounds to 0.8 and is below it. Compare unrounded.",
            ),
            Mistake(
                "keys of length 1",
                7,
                "have you taken `unit` for the keys? Here `metadata` stays as it is.",
            ),
            Mistake("one too few", 13, "at 13 the smallest of the three is 0.79 still."),
            Mistake(
                "powers of two",
                16,
                "at 16 all three are there, and they are before that: try every whole number.",
            ),
            Mistake(
                "length 1",
                9,
                "have you brought keys and requests to length 1? Here `metadata` and `requests` "
                "stay as they are.",
            ),
        ],
    ),
    Exercise(
        number="2.5",
        title="What a query means",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling a vector from the role it plays",
        hints=[
            "Who gave the columns of the registry their names, and who does it in a trained model?",
            "What did the request find when the columns of the keys were reordered, and what when "
            "both were?",
        ],
        rubric=[
            (
                1,
                "says that a number of a query has a meaning only together with the keys it meets",
            ),
            (
                1,
                "supports it by the reordering: keys alone change what is found, keys and request "
                "together change nothing",
            ),
            (
                1,
                "says what could be looked at instead: the degrees, or what is found, over many "
                "inputs",
            ),
        ],
    ),
]

"""Chapter 4, one state, three views: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch04 as suspects


def three_views(H, W_Q, W_K, W_V):
    # SOLUTION_4_1
    return H @ W_Q, H @ W_K, H @ W_V


def three_views_loop(H, W_Q, W_K, W_V):
    def view(states, W):
        if np.ndim(states) > 1:
            return [view(one, W) for one in states]
        return [sum(h * w for h, w in zip(states, column)) for column in zip(*W.tolist())]

    return tuple(view(H, W) for W in (W_Q, W_K, W_V))


def three_views_named(H, W_Q, W_K, W_V):
    return tuple(np.einsum("...r,rc->...c", H, W) for W in (W_Q, W_K, W_V))


def three_views_at_once(H, W_Q, W_K, W_V):
    views = np.asarray(H, dtype=np.float64) @ np.hstack([W_Q, W_K, W_V])
    ends = np.cumsum([W_Q.shape[1], W_K.shape[1]])
    return tuple(np.split(views, ends, axis=-1))


def three_views_turned(H, W_Q, W_K, W_V):
    columns = np.swapaxes(H, -1, -2)
    return tuple(np.swapaxes(W.T @ columns, -1, -2) for W in (W_Q, W_K, W_V))


def value_from_key(H, W_Q, W_K, W_V):
    return H @ W_Q, H @ W_K, H @ W_K


def key_from_query(H, W_Q, W_K, W_V):
    return H @ W_Q, H @ W_Q, H @ W_V


def stored_out_in(H, W_Q, W_K, W_V):
    return H @ W_Q.T, H @ W_K.T, H @ W_V.T


def one_after_the_other(H, W_Q, W_K, W_V):
    Q = H @ W_Q
    K = Q @ W_K
    return Q, K, K @ W_V


def tokens_as_columns(H, W_Q, W_K, W_V):
    H = np.swapaxes(H, -1, -2)
    return W_Q.T @ H, W_K.T @ H, W_V.T @ H


def one_sentence(H, W_Q, W_K, W_V):
    return tuple(np.einsum("ir,rc->ic", H, W) for W in (W_Q, W_K, W_V))


def whole_numbers(H, W_Q, W_K, W_V):
    views = [np.zeros((*H.shape[:-1], W.shape[1]), dtype=H.dtype) for W in (W_Q, W_K, W_V)]
    for view, W in zip(views, (W_Q, W_K, W_V)):
        view[...] = H @ W
    return tuple(views)


def shared_out(H, W_Q, W_K, W_V):
    return tuple(H @ (W / W.sum(axis=0)) for W in (W_Q, W_K, W_V))


def other_order(H, W_Q, W_K, W_V):
    return H @ W_K, H @ W_Q, H @ W_V


rng = np.random.default_rng(4)


def drawn(*shape):
    return rng.standard_normal(shape)


VIEWS = [
    (drawn(3, 5), drawn(5, 4), drawn(5, 4), drawn(5, 2)),
    (drawn(4, 4), drawn(4, 4), drawn(4, 4), drawn(4, 4)),
    (drawn(2, 6, 5), drawn(5, 3), drawn(5, 3), drawn(5, 4)),
    (np.array([[1, 0, 2], [0, 3, 1]]), drawn(3, 4), drawn(3, 4), drawn(3, 5)),
]


def is_view(f):
    # SOLUTION_4_3
    b = f(np.zeros((1, 6)))
    W = np.concatenate([f(feature[None]) - b for feature in np.eye(6)])
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(states), states @ W + b))


def is_view_by_rules(f):
    some, others = np.random.default_rng(1).standard_normal((2, 7, 6))
    alone = np.concatenate([f(state[None]) for state in some])
    middle = f((some + others) / 2)
    return np.allclose(f(some), alone) and np.allclose(middle, (f(some) + f(others)) / 2)


def is_view_by_fit(f):
    states = np.hstack([np.random.default_rng(2).standard_normal((30, 6)), np.ones((30, 1))])
    alone = np.concatenate([f(state[None, :6]) for state in states])
    folded = np.linalg.lstsq(states, alone, rcond=None)[0]
    return np.abs(states @ folded - f(states[:, :6])).max() < 1e-8


def only_shape(f):
    return f(np.ones((4, 6))).shape == (4, 3)


def no_bias_allowed(f):
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(2 * states), 2 * f(states)))


def only_one_state(f):
    b, state = f(np.zeros((1, 6))), np.random.default_rng(0).standard_normal((1, 6))
    W = np.concatenate([f(feature[None]) - b for feature in np.eye(6)])
    return bool(np.allclose(f(state), state @ W + b))


def only_shuffled(f):
    states, order = np.random.default_rng(0).standard_normal((5, 6)), [3, 0, 4, 1, 2]
    return bool(np.allclose(f(states[order]), f(states)[order]))


def only_alone(f):
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(states), np.concatenate([f(state[None]) for state in states])))


def only_first_alone(f):
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(states)[0], f(states[:1])[0]))


def same_as_the_first(f):
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(states), suspects.view_a(states)))


def picked_features(f):
    states = np.random.default_rng(0).standard_normal((5, 6))
    return bool(np.allclose(f(states), states[:, :3]))


SUSPECTS = [(getattr(suspects, f"view_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="4.1",
        title="Three views without loops",
        kind="implement",
        difficulty=1,
        minutes=10,
        trains="which axis a projection acts on, and which matrix makes which view",
        hints=[
            "Which axis of H disappears in the loop, and which axes stay as they are?",
            "A matrix product sums over the last axis of its left side and the first axis of a "
            "matrix on its right.",
            "The product carries every leading axis along, so a batch needs no case of its own.",
        ],
        reference=three_views,
        cases=VIEWS,
        also_right=[three_views_loop, three_views_named, three_views_at_once, three_views_turned],
        mistakes=[
            Mistake(
                "value from the key's matrix",
                value_from_key,
                "K and V come out equal, and V has the width of K: the third view is made with "
                "W_K. Each role has a matrix of its own, so use W_V.",
            ),
            Mistake(
                "key from the query's matrix",
                key_from_query,
                "Q and K come out equal: the second view is made with W_Q. With one matrix for "
                "both, nobody can ask for anything but itself; use W_K.",
            ),
            Mistake(
                "order of the roles",
                other_order,
                "the first view is the key and the second the query. Both have the same width, so "
                "the shapes do not show it; return Q, K, V in that order.",
            ),
            Mistake(
                "stored (out, in)",
                stored_out_in,
                "this runs only where W is square, and the numbers are wrong there: you transposed "
                "W. Here W is stored (in, out): its first axis meets the features of H as it is.",
            ),
            Mistake(
                "one view from the other",
                one_after_the_other,
                "Q is right and K is not: you made K from Q. All three views are made from the "
                "state H, none from another view.",
            ),
            Mistake(
                "tokens as columns",
                tokens_as_columns,
                "each view lies on its side: tokens became columns. In this book tokens are rows, "
                "so a view is (n, d), as H is (n, d_model).",
            ),
            Mistake(
                "one sentence only",
                one_sentence,
                "right for one sentence, and a batch raises: the indices you name leave no room "
                "for a leading axis. Write H @ W, or an ellipsis in einsum.",
            ),
            Mistake(
                "cut to whole numbers",
                whole_numbers,
                "right until H holds integers, then the views are whole numbers: you wrote the "
                "results into an array with the dtype of H, which cuts off the fractions.",
            ),
            Mistake(
                "columns of W shared out",
                shared_out,
                "you divided each column of W by its sum, as if its entries were shares. That a "
                "row sums to 1 is the rule for attention weights; projection weights have none.",
            ),
        ],
    ),
    Exercise(
        number="4.2",
        title="One feature of one state",
        kind="predict",
        difficulty=1,
        minutes=5,
        trains="what a projection mixes and what it keeps apart",
        hints=[
            "Row i of Q is made from which rows of H?",
            "Within that row, into how many coordinates does one feature enter?",
        ],
        reference=32,
        decimals=0,
        also_right=[32.0, np.int64(32)],
        mistakes=[
            Mistake(
                "one to one",
                1,
                "that would be so if W picked features out. Every coordinate is a sum over all "
                "features, so the changed one enters into more than one of them.",
            ),
            Mistake(
                "a column",
                8,
                "that is one entry in every row, and the other positions do not see this state. "
                "A projection mixes features, not tokens.",
            ),
            Mistake(
                "everything",
                256,
                "that is all of Q. The queries of the other seven positions are made from their "
                "own states, and those have not changed.",
            ),
            Mistake(
                "a row of H",
                384,
                "that is the width of a state. A query is narrower: d_k coordinates.",
            ),
        ],
    ),
    Exercise(
        number="4.3",
        title="Which of these is a view",
        kind="judge",
        difficulty=3,
        minutes=20,
        trains="what H W + b can do and what it cannot",
        hints=[
            "A view treats every state alone, at whatever place, and however many there are. "
            "What do you have to compare to see that?",
            "You do not know W and b, and you can ask for them: what does a view give for a state "
            "of zeros, and what for a state with a single 1 in it?",
            "Find b and W from single states. Then compare f with H W + b on several states at "
            "once, with entries of both signs.",
        ],
        reference=is_view,
        cases=SUSPECTS,
        also_right=[is_view_by_rules, is_view_by_fit],
        mistakes=[
            Mistake(
                "only the shape",
                only_shape,
                "your check passes all of them: every suspect returns three numbers a state.",
            ),
            Mistake(
                "no bias allowed",
                no_bias_allowed,
                "your check rejects a right one: with a bias, twice the states do not give twice "
                "the view. Take the bias off first: it is the view of a state of zeros.",
            ),
            Mistake(
                "one state at a time",
                only_one_state,
                "your check lets three through that are right for a single state and wrong for "
                "several: give f more than one state at once.",
            ),
            Mistake(
                "only the order",
                only_shuffled,
                "your check finds the one that looks at the place of a state. Others treat all "
                "places alike and yet look at the other states, or at how many there are.",
            ),
            Mistake(
                "only each state alone",
                only_alone,
                "your check sees that each state is treated alone, and one suspect passes which "
                "does that and is no sum of the features: compare with H W + b, entries of both "
                "signs.",
            ),
            Mistake(
                "only the first state alone",
                only_first_alone,
                "your check looks at the first row only, and the place of the first row is 0: "
                "compare every row with the view of that state alone.",
            ),
            Mistake(
                "picked features",
                picked_features,
                "your check rejects all, the right ones too: a view need not copy features of "
                "the state. Find out which W and b it uses, and compare with H W + b.",
            ),
            Mistake(
                "one matrix for all",
                same_as_the_first,
                "your check rejects a right one: another W is a view as well. Do not compare with "
                "a fixed matrix; find out which one f uses.",
            ),
        ],
    ),
    Exercise(
        number="4.4",
        title="What a view makes of two states",
        kind="vary",
        difficulty=2,
        minutes=10,
        trains="a view as a coordinate system for one job",
        hints=[
            "`load_head` gives the head, and its `views` give Q, K and V of the states that it "
            "reads. Which layer does the name L0H2 speak of?",
            "Compare rows `first` and `second` of the queries with the chapter's `cosine`.",
        ],
        reference=0.31,
        decimals=2,
        within=1,
        also_right=[0.312, 0.3, 0.32],
        mistakes=[
            Mistake("the states", 0.87, "that is the cosine of the two states, before any view."),
            Mistake(
                "the keys",
                0.23,
                "that is the cosine of the two keys: `views` returns Q, K, V in that order.",
            ),
            Mistake(
                "the values",
                0.85,
                "that is the cosine of the two values, which this head keeps nearly as alike as "
                "the states. Take the queries.",
            ),
            Mistake(
                "states of another layer",
                0.67,
                "that is what you get from the states of layer 3, and this head never sees them. "
                "It reads those of layer 0.",
            ),
            Mistake(
                "another head",
                0.68,
                "that is the cosine of the queries of L3H1. Load the head L0H2.",
            ),
            Mistake(
                "without the bias",
                0.21,
                "that is H W_Q without the bias. The query of this head has it: use `views`.",
            ),
        ],
    ),
    Exercise(
        number="4.5",
        title="Learned once, or made afresh",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="telling the two kinds of weights apart",
        hints=[
            "The colleague says *weights* twice and means two things.",
            "Look at the table of the two kinds of weights: what does each line say about the "
            "length and about a change of the input?",
        ],
        rubric=[
            (
                1,
                "says that W is learned and then fixed, and that the attention weights are made "
                "anew from every input",
            ),
            (
                1,
                "says that W does not grow with the length, since it acts on features, and that "
                "the table of attention weights does",
            ),
            (1, "supports one of the two with a number or a shape that the chapter prints"),
        ],
    ),
]

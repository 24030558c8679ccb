"""Chapter 1, the dynamic read: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.suspects import ch01 as suspects


def blend(shares, payloads):
    # SOLUTION_1_1
    return shares @ payloads


def blend_loop(shares, payloads):
    answers = []
    for table, lockers in zip(shares.tolist(), payloads.tolist()):
        inside = list(zip(*lockers))
        answers.append([[sum(s * x for s, x in zip(row, xs)) for xs in inside] for row in table])
    return answers


def blend_einsum(shares, payloads):
    return np.einsum("bij,bjp->bip", shares, payloads)


def blend_broadcast(shares, payloads):
    return (shares[:, :, :, None] * payloads[:, None, :, :]).sum(axis=2)


def turned_shares(shares, payloads):
    return shares.swapaxes(1, 2) @ payloads


def turned_payloads(shares, payloads):
    return shares @ payloads.T


def no_shares(shares, payloads):
    return np.repeat(payloads.sum(axis=1, keepdims=True), shares.shape[1], axis=1) * 1.0


def mean_of_shares(shares, payloads):
    return (shares[:, :, :, None] * payloads[:, None, :, :]).mean(axis=2)


def of_all_examples(shares, payloads):
    return np.einsum("bij,cjp->bip", shares, payloads)


def over_requesters(shares, payloads):
    return (shares[:, :, :, None] * payloads[:, None, :, :]).sum(axis=1)


def not_summed(shares, payloads):
    return shares[:, :, :, None] * payloads[:, None, :, :]


def largest_only(shares, payloads):
    return np.take_along_axis(payloads, shares.argmax(axis=2)[:, :, None], axis=1) * 1.0


def divided_by_sum(shares, payloads):
    return shares / shares.sum(axis=2, keepdims=True) @ payloads


def truncated(shares, payloads):
    answers = np.zeros((*shares.shape[:2], payloads.shape[2]), dtype=payloads.dtype)
    answers[:] = shares @ payloads
    return answers


rng = np.random.default_rng(1)
BATCHES = [
    (rng.dirichlet(np.ones(4), size=(2, 3)), rng.standard_normal((2, 4, 5))),
    (rng.dirichlet(np.ones(3), size=(3, 3)), rng.standard_normal((3, 3, 3))),
    (np.array([[[0.0, 0.0, 0.0], [0.5, 0.2, 0.3]]]), rng.standard_normal((1, 3, 2))),
    (np.array([[[0.25, 0.5, 0.25]], [[0.1, 0.2, 0.7]]]), np.arange(12).reshape(2, 3, 2) ** 2 - 20),
]


def is_dynamic(read):
    # SOLUTION_1_3
    rng, n, heard = np.random.default_rng(13), 5, False
    for _ in range(20):
        labels, payloads = rng.standard_normal((n, 4)), rng.standard_normal((n, 3))
        request, other = rng.standard_normal((2, 4))
        order = rng.permutation(n)
        shares = read(request, labels, np.eye(n))
        answer = read(request, labels, payloads)
        moved = read(request, labels[order], payloads[order])
        if not np.allclose(answer, shares @ payloads) or not np.allclose(moved, answer):
            return False
        heard = heard or not np.allclose(read(other, labels, np.eye(n)), shares)
    return heard


def is_dynamic_by_shares(read):
    rng, moves = np.random.default_rng(5), []
    for _ in range(12):
        requests, labels = rng.standard_normal((6, 7)), rng.standard_normal((4, 7))
        one, turned = np.eye(4), np.arange(4)[::-1]
        table = np.array([read(request, labels, one) for request in requests])
        back = np.array([read(request, labels[turned], one) for request in requests])
        large = np.array([read(request, labels, np.diag([1.0, 2, 3, 4])) for request in requests])
        if (
            np.abs(back[:, turned] - table).max() + np.abs(large / [1, 2, 3, 4] - table).max()
            > 1e-9
        ):
            return False
        moves.append(np.ptp(table, axis=0).max())
    return bool(max(moves) > 1e-6)


def is_dynamic_by_replacing(read):
    return heeds_request(read) and heeds_labels(read) and keeps_places(read) and spares(read)


def trials(seed=3):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        yield *rng.standard_normal((2, 4)), *rng.standard_normal((2, 5, 4)), np.eye(5)


def heeds_request(read):
    pairs = [(read(r, L, one), read(s, L, one)) for r, s, L, _, one in trials()]
    return not all(np.allclose(a, b) for a, b in pairs)


def heeds_labels(read):
    pairs = [(read(r, L, one), read(r, M, one)) for r, _, L, M, one in trials()]
    return not all(np.allclose(a, b) for a, b in pairs)


def keeps_places(read):
    pairs = [(read(r, L, one), read(r, L[::-1], one[::-1])) for r, _, L, _, one in trials()]
    return all(np.allclose(a, b) for a, b in pairs)


def spares(read):
    pairs = [(read(r, L, one) @ M, read(r, L, M)) for r, _, L, M, one in trials()]
    return all(np.allclose(a, b) for a, b in pairs)


def only_sum(read):
    return all(np.isclose(read(r, L, one).sum(), 1) for r, _, L, _, one in trials())


def only_request(read):
    return heeds_request(read)


def only_places(read):
    return heeds_labels(read) and keeps_places(read)


def only_payloads(read):
    return spares(read)


def payloads_unchecked(read):
    return heeds_request(read) and keeps_places(read)


def places_unchecked(read):
    return heeds_request(read) and spares(read)


def one_near_request(read):
    request, _, labels, _, one = next(trials())
    same = np.allclose(read(request, labels, one), read(request + 1e-3, labels, one))
    return not same and keeps_places(read) and spares(read)


def only_decided(read):
    return is_dynamic(read) and all(read(r, L, one).max() > 0.999 for r, _, L, _, one in trials())


SUSPECTS = [(getattr(suspects, f"read_{letter}"),) for letter in "abcdef"]

EXERCISES = [
    Exercise(
        number="1.1",
        title="A blend for every requester",
        kind="implement",
        difficulty=1,
        minutes=10,
        trains="which axis is summed away, in a batch",
        hints=[
            "A share has the indices b, i, j and a payload b, j, p. Which index does the answer "
            "no longer have?",
            "The candidates j are summed away; the examples b never meet each other.",
            "For one example it is a table (n_q, n_k) times a table (n_k, p). `@` does that for "
            "each example of a batch.",
        ],
        reference=blend,
        cases=BATCHES,
        also_right=[blend_loop, blend_einsum, blend_broadcast],
        mistakes=[
            Mistake(
                "shares turned",
                turned_shares,
                "requesters and candidates changed places: entry (j, i) stood where (i, j) "
                "belongs. With equally many of both it runs and is wrong, with n_q and n_k "
                "different it raises.",
            ),
            Mistake(
                "payloads turned",
                turned_payloads,
                "`.T` on a batch turns all three axes round, the examples too. It runs only when "
                "all sizes are equal; the payloads already stand as they are needed.",
            ),
            Mistake(
                "no shares",
                no_shares,
                "every requester of an example gets the same answer, the sum of all payloads: "
                "the shares were not used.",
            ),
            Mistake(
                "mean instead of sum",
                mean_of_shares,
                "every answer is too small by the number of candidates: a mean over them divides "
                "once more, and the shares have already divided.",
            ),
            Mistake(
                "from all examples",
                of_all_examples,
                "an answer contains payloads of other examples: in a batch of one it is right, "
                "in a larger one not. The index b has to be the same in both inputs.",
            ),
            Mistake(
                "summed over requesters",
                over_requesters,
                "you summed over requesters and kept the candidates: one row for each candidate "
                "comes out, where the question was what each requester gets.",
            ),
            Mistake(
                "not summed",
                not_summed,
                "four axes come back: each candidate's part is still by itself. Sum over the "
                "candidates.",
            ),
            Mistake(
                "only the largest share",
                largest_only,
                "each answer is one whole payload: you took that of the largest share. A blend "
                "takes something from each candidate.",
            ),
            Mistake(
                "shares divided by their sum",
                divided_by_sum,
                "right where a row sums to 1, nan where a requester takes nothing from anyone: "
                "you divided the shares by their sum. Take them as they are.",
            ),
            Mistake(
                "cut to integers",
                truncated,
                "right for payloads of floats, cut to whole numbers for payloads of integers: "
                "the array of answers took over their dtype.",
            ),
        ],
    ),
    Exercise(
        number="1.2",
        title="Two fifths in the wrong place",
        kind="predict",
        difficulty=2,
        minutes=10,
        trains="what a misplaced share costs",
        hints=[
            "Write the error of one example: 0.6 of the right payload and 0.4 of another, minus "
            "the right one.",
            "That is 0.4 times the difference of two payloads. Each has a mean square of 1, and "
            "they have nothing to do with each other.",
        ],
        reference=0.32,
        decimals=2,
        within=2,
        also_right=[0.3, 0.34, 0.3206],
        mistakes=[
            Mistake(
                "the misplaced share itself",
                0.4,
                "that is the share which went astray. The error is squared, so shares and errors "
                "do not run in step.",
            ),
            Mistake(
                "only what is missing",
                0.16,
                "0.4 squared is what is missing of the right payload. The other payload comes in "
                "besides, and is unwanted.",
            ),
            Mistake(
                "share of the worst",
                0.69,
                "you took 0.4 times the 1.73 of reading a random one: the error grows with the "
                "square of the share.",
            ),
            Mistake(
                "a random one that may be right",
                0.28,
                "0.4 squared times 1.73: in that row the random one is at times the right one. "
                "Here it never is.",
            ),
            Mistake(
                "both shares squared",
                0.52,
                "0.6 squared and 0.4 squared: of the right payload the answer lacks 0.4, and not "
                "0.6.",
            ),
            Mistake(
                "what the square leaves",
                0.64,
                "1 minus 0.6 squared: square what is missing of the right payload, 0.4, and not "
                "what is there.",
            ),
            Mistake(
                "square of the right share",
                0.36,
                "0.6 squared belongs to what arrives rightly; the error is made of the rest.",
            ),
        ],
    ),
    Exercise(
        number="1.3",
        title="Which of these reads decide by content",
        kind="judge",
        difficulty=3,
        minutes=20,
        trains="changing one input at a time",
        hints=[
            "With the rows of `np.eye(n)` as payloads, the answer is the row of shares itself.",
            "Change one thing at a time: the request, the places of the candidates, the payloads. "
            "What should the shares do in each case?",
            "A sharp read may choose the same candidate for two requests. Try several pairs "
            "before you say that the request does not matter.",
        ],
        reference=is_dynamic,
        cases=SUSPECTS,
        also_right=[is_dynamic_by_shares, is_dynamic_by_replacing],
        mistakes=[
            Mistake(
                "passes all",
                only_sum,
                "your check passes all of them: each returns a blend of the right shape, with "
                "shares that sum to 1. Change an input and see whether the shares move.",
            ),
            Mistake(
                "only the request",
                only_request,
                "your check changes the request alone. One suspect uses the request to pick a "
                "place in the row, without a look at the labels, and another one lets the "
                "payloads decide as well.",
            ),
            Mistake(
                "only the places",
                only_places,
                "your check looks at labels and places alone: a suspect that never listens to "
                "the request gets through. Ask for something else and see.",
            ),
            Mistake(
                "only the payloads",
                only_payloads,
                "your check only makes sure that payloads have no say. Fixed routings pass that "
                "test too: change request and places as well.",
            ),
            Mistake(
                "payloads unchecked",
                payloads_unchecked,
                "one suspect gets through that gives more to large payloads. Take the shares "
                "with one set of payloads, and predict the answer for another set from them.",
            ),
            Mistake(
                "places unchecked",
                places_unchecked,
                "one suspect gets through that picks a place by the request. Let the candidates "
                "change places, labels and payloads together: the answer must stay.",
            ),
            Mistake(
                "requests too near",
                one_near_request,
                "your check rejects a read that decides for one candidate: a request which is "
                "only a little different leaves its choice as it is. Try several that are far "
                "apart.",
            ),
            Mistake(
                "rejects the soft one",
                only_decided,
                "your check rejects a right read: a dynamic read may share out between several "
                "candidates, it need not decide for one.",
            ),
        ],
    ),
    Exercise(
        number="1.4",
        title="One loud payload",
        kind="vary",
        difficulty=2,
        minutes=10,
        trains="changing one half of one state in each example of a batch",
        hints=[
            "The read gets `batch.candidates`, states of label and payload side by side. The "
            "field `batch.payloads` is there for comparison only.",
            "Copy `batch.candidates`. In example b the state of the source has the indices b and "
            "`batch.sources[b, 0]`, and its payload begins at column `task.label_width`.",
            "Hand the copy over with `batch._replace(candidates=...)`, and compare "
            "`weights[:, 0].argmax(axis=1)` with `batch.sources[:, 0]`.",
        ],
        reference=0.96,
        decimals=2,
        within=1,
        also_right=[0.958, 0.95, 0.97],
        mistakes=[
            Mistake(
                "states unchanged",
                1.0,
                "the source is found in every example where no state is changed, and also where "
                "its label grows along with its payload. The read sees neither `batch.payloads` "
                "nor a changed copy that is not handed over.",
            ),
            Mistake(
                "all payloads",
                0.84,
                "that is what all payloads give, ten times as large. `louder[:, sources]` takes "
                "the sources of all examples in every example: index the examples too, with "
                "np.arange.",
            ),
            Mistake(
                "mean share, or the others",
                0.93,
                "that is the mean share of the source, and also what you get when all payloads "
                "but the source's are larger. The question is how often the share of a loud "
                "source is the largest.",
            ),
            Mistake(
                "chance",
                0.13,
                "that is chance. `batch.sources` is (500, 1): compared with (500,), every example "
                "meets every other. Take its column 0.",
            ),
            Mistake(
                "a hundred times",
                0.57,
                "that is what a hundred times the payload gives: was it multiplied by ten and "
                "then once more, in the same array? Work on a fresh copy.",
            ),
        ],
    ),
    Exercise(
        number="1.5",
        title="Reaching everyone",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="reading a table against a claim",
        hints=[
            "Which rows of the tables above reach every candidate and still fail?",
            "What did even the wide carry lack, and what is it that the read does with a request?",
        ],
        rubric=[
            (
                1,
                "names a routing that reaches everyone and is at chance or nearly as bad as "
                "reading nothing, with its number",
            ),
            (
                1,
                "says what makes the difference: the shares are decided from the present content "
                "of request and candidates",
            ),
            (
                1,
                "grants what is right about the claim, or its limit: the payload has to be within "
                "reach, the routings here are simple ones, or the read has its price",
            ),
        ],
    ),
]

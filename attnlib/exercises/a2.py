"""Appendix A2, what the table costs: what the exercises know."""

import numpy as np

from attnlib.exercises.description import Exercise, Mistake


def read_of_parts(m, z, o):
    # SOLUTION_A2_1
    factor = np.exp(m - m.max(axis=0))
    return (o * factor[..., None]).sum(axis=0) / (z * factor).sum(axis=0)[:, None]


def read_of_parts_loop(m, z, o):
    output = []
    for i in range(m.shape[1]):
        top, total, unfinished = m[0, i], z[0, i], o[0, i]
        for b in range(1, len(m)):
            new = max(top, m[b, i])
            total = total * np.exp(top - new) + z[b, i] * np.exp(m[b, i] - new)
            unfinished = unfinished * np.exp(top - new) + o[b, i] * np.exp(m[b, i] - new)
            top = new
        output.append((unfinished / total).tolist())
    return output


def read_of_parts_einsum(m, z, o):
    share = z * np.exp(m - m.max(0))
    share /= share.sum(0)
    return np.einsum("pq,pqv->qv", share, o / z[:, :, np.newaxis])


def read_of_parts_in_logs(m, z, o):
    size = m + np.log(z)
    weights = np.exp(size - np.logaddexp.reduce(size, axis=0))
    return np.matmul(weights.T[:, None, :], (o / z[..., None]).swapaxes(0, 1))[:, 0]


def finished(factor, z, o):
    return (o * factor[..., None]).sum(axis=0) / (z * factor).sum(axis=0)[:, None]


def careless(m, z, o):
    return o.sum(axis=0) / z.sum(axis=0)[:, None]


def mean_of_reads(m, z, o):
    return (o / z[..., None]).mean(axis=0)


def sum_of_reads(m, z, o):
    return (o / z[..., None]).sum(axis=0)


def reads_by_factor(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o / z[..., None] * factor[..., None]).sum(axis=0) / factor.sum(axis=0)[:, None]


def upside_down(m, z, o):
    return finished(np.exp(m.max(axis=0) - m), z, o)


def sums_not_rescaled(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o * factor[..., None]).sum(axis=0) / z.sum(axis=0)[:, None]


def reads_not_rescaled(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return o.sum(axis=0) / (z * factor).sum(axis=0)[:, None]


def over_requesters(m, z, o):
    return finished(np.exp(m - m.max(axis=1, keepdims=True)), z, o)


def over_everything(m, z, o):
    return finished(np.exp(m - m.max()), z, o)


def no_maximum(m, z, o):
    return finished(np.exp(m), z, o)


def last_maximum(m, z, o):
    return finished(np.exp(m - m[-1]), z, o)


def no_division(m, z, o):
    return (o * np.exp(m - m.max(axis=0))[..., None]).sum(axis=0)


def factor_along_values(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o * factor).sum(axis=0) / (z * factor).sum(axis=0)[:, None]


def factor_across(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o * factor[:, None, :]).sum(axis=0) / (z * factor).sum(axis=0)[:, None]


def sums_along_values(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o * factor[..., None]).sum(axis=0) / (z * factor).sum(axis=0)


def sums_over_requesters(m, z, o):
    factor = np.exp(m - m.max(axis=0))
    return (o * factor[..., None]).sum(axis=0) / (z * factor).sum(axis=1)[:, None]


rng = np.random.default_rng(21)


def parts(p, n_q, d_v, shift=0.0):
    """Return m, z, o of p blocks of four candidates for each of n_q requesters."""
    scores = 1.5 * rng.standard_normal((p, n_q, 4)) + shift
    m = scores.max(axis=-1)
    e = np.exp(scores - m[..., None])
    return m, e.sum(axis=-1), np.einsum("pqn,pnv->pqv", e, rng.standard_normal((p, 4, d_v)))


FAR = np.array([[[900.0], [-900.0]], [[899.0], [-899.0]], [[0.0], [-899.5]]])
PARTS = [parts(2, 3, 4), parts(3, 3, 3), parts(3, 2, 5, FAR)]

EXERCISES = [
    Exercise(
        number="A2.1",
        title="Join all parts at once",
        kind="implement",
        difficulty=2,
        minutes=20,
        trains="one common maximum, and which axis is which",
        hints=[
            "The order in which the parts are joined does not matter. Which one maximum can all "
            "parts of a requester be counted from?",
            "Axis 0 is the part, axis 1 the requester. The maximum of a requester runs over the "
            "parts, and each part gets its own factor, (p, n_q).",
            "The unfinished reads have one axis more: `factor[..., None]` meets it. Divide once, "
            "at the end.",
        ],
        reference=read_of_parts,
        cases=PARTS,
        also_right=[read_of_parts_loop, read_of_parts_einsum, read_of_parts_in_logs],
        mistakes=[
            Mistake(
                "added as they are",
                careless,
                "you added the parts as they are: each subtracted a maximum of its own. Bring all "
                "parts of a requester to one maximum first.",
            ),
            Mistake(
                "mean of the reads",
                mean_of_reads,
                "you finished each part's read and took the mean: a part with large scores has "
                "more to say than one with small scores.",
            ),
            Mistake(
                "sum of the reads",
                sum_of_reads,
                "you finished each part's read and added them: each is a whole budget already, "
                "and p budgets are too many.",
            ),
            Mistake(
                "z left out",
                reads_by_factor,
                "you shared the budget out by the maxima alone: how many candidates of a part lie "
                "near its maximum is in z. Multiply z by the factor too.",
            ),
            Mistake(
                "upside down",
                upside_down,
                "the part with the smallest maximum got the largest factor: the exponent is the "
                "part's own maximum minus the common one, and never positive.",
            ),
            Mistake(
                "z not rescaled",
                sums_not_rescaled,
                "the unfinished reads were brought to a common maximum, the sums z were not: the "
                "outputs come out too short. Both get the factor.",
            ),
            Mistake(
                "o not rescaled",
                reads_not_rescaled,
                "the sums z were brought to a common maximum, the unfinished reads o were not. "
                "Both get the factor.",
            ),
            Mistake(
                "over requesters",
                over_requesters,
                "you took the maximum over the requesters of a part: what has to be common is the "
                "maximum of one requester over all parts, axis=0.",
            ),
            Mistake(
                "one maximum for all",
                over_everything,
                "right where the requesters are alike, nan for one whose scores lie far below the "
                "others: every factor became 0. Each requester has a maximum of its own, axis=0.",
            ),
            Mistake(
                "no maximum",
                no_maximum,
                "right for small scores, nan for scores near 900: exp(m) overflows. Subtract the "
                "requester's largest m first.",
            ),
            Mistake(
                "last part's maximum",
                last_maximum,
                "right where the parts are alike, nan where one lies far above the last: you "
                "counted from the last part's maximum, and a factor overflowed. Take the largest.",
            ),
            Mistake(
                "no division",
                no_division,
                "the reads are brought together and not finished: divide by the sum of the "
                "rescaled z.",
            ),
            Mistake(
                "factor along the values",
                factor_along_values,
                "the factor (p, n_q) met the last two axes of o, requester and value: it passes "
                "where all sizes are equal, and raises elsewhere. Give it a last axis, "
                "factor[..., None].",
            ),
            Mistake(
                "factor across",
                factor_across,
                "the factors of the requesters lie along the values: the new axis is in the middle "
                "and belongs at the end, factor[..., None].",
            ),
            Mistake(
                "sums along the values",
                sums_along_values,
                "the sum of requester i divided value i of everybody: it lost its axis, which is "
                "silent where n_q = d_v. Use [:, None] or keepdims.",
            ),
            Mistake(
                "sums over requesters",
                sums_over_requesters,
                "the rescaled z were summed over the requesters of a part: silent where there are "
                "as many parts as requesters. A requester's sum runs over the parts, axis=0.",
            ),
        ],
    ),
    Exercise(
        number="A2.2",
        title="Keys and values, again and again",
        kind="vary",
        difficulty=2,
        minutes=10,
        trains="counting what moves",
        hints=[
            "The operations stay. Which of the four arrays move once, and which once per block?",
            "4096 requesters in blocks of 128 are 32 blocks.",
            "Q and O are 2 n d numbers, K and V are 2 n d numbers for each block; each has four "
            "bytes.",
        ],
        reference=62,
        decimals=0,
        also_right=[62.06, 62.0],
        mistakes=[
            Mistake(
                "everything once",
                1024,
                "that is the count above, in which K and V move once. Here they move per block.",
            ),
            Mistake(
                "everything per block",
                32,
                "you moved all four arrays anew for each block: a requester's query and output "
                "belong to one block and move once.",
            ),
            Mistake(
                "no queries, no output",
                64,
                "you counted K and V for each block, and left out Q and O, which move once too.",
            ),
            Mistake(
                "only K",
                117,
                "you moved K anew for each block, and V once: each block of requesters reads both.",
            ),
            Mistake(
                "one of the two",
                120,
                "you counted one array of keys and values for each block: K and V are two, 2 n d "
                "numbers together.",
            ),
            Mistake(
                "numbers, not bytes",
                248,
                "you counted numbers: each has four bytes.",
            ),
            Mistake(
                "queries anew",
                42,
                "you moved three arrays for each block: a block reads all keys and values, and "
                "each query belongs to one block only.",
            ),
            Mistake(
                "128 blocks, or a table",
                16,
                "that comes out with 128 blocks, and with the table too: 128 is the size of a "
                "block, and there are n / 128 of them.",
            ),
        ],
    ),
    Exercise(
        number="A2.3",
        title="Linear at last",
        kind="explain",
        difficulty=2,
        minutes=10,
        trains="memory, time and exactness kept apart",
        hints=[
            "Three claims are mixed: about memory, about time, about the result. Which cell above "
            "measures each?",
            "How many scores does the streaming read compute, and how many does it hold?",
        ],
        rubric=[
            (1, "memory is flat: no more than a block of scores and (m, z, o) are held at a time"),
            (1, "time still grows with the square: every pair's score is computed"),
            (1, "the result is exact to rounding: the parts are rescaled, none is left out"),
        ],
    ),
]

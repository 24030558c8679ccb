"""The training lab: right gradients, equal runs for equal seeds, and what the experiments claim."""

import builtins
import pickle
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from attnlib import lab
from attnlib.lab import Lookup, Params, Settings, Successor, train

SMALL = Lookup(names=11, candidates=5, label_width=6, payload_width=3, seed=1)
QUICK = dict(d_k=4, d_v=2, steps=12, batch_size=7)
OPTIONS = {
    "plain": {},
    "no scale": {"scale": 1.0},
    "1/d_k": {"scale": 0.25},
    "hard": {"hard": True},
    "tied key and value": {"tied_kv": True, "d_v": 4},
    "tied query and key": {"tied_qk": True},
    "all tied": {"tied_qk": True, "tied_kv": True, "d_v": 4},
    "hard and tied": {"hard": True, "tied_kv": True, "d_v": 4},
}


def rng(*seed):
    return np.random.default_rng(seed)


def mean(records, value, **where):
    chosen = [r[value] for r in records if all(r[k] == v for k, v in where.items())]
    assert chosen, where
    return float(np.mean(chosen))


# The task


def test_request_finds_its_label_and_the_target_is_that_payload():
    batch = SMALL.batch(7, rng(0))
    labels, requests = SMALL.codes()
    assert batch.requesters.shape == (7, 1, 9) and batch.candidates.shape == (7, 5, 9)
    for i in range(7):
        (name,) = np.flatnonzero((requests == batch.requesters[i, 0, :6]).all(axis=1))
        (place,) = np.flatnonzero((batch.candidates[i, :, :6] == labels[name]).all(axis=1))
        assert batch.sources[i, 0] == place
        np.testing.assert_array_equal(batch.targets[i, 0], batch.candidates[i, place, 6:])
        assert len(np.unique(batch.candidates[i, :, :6], axis=0)) == 5
    np.testing.assert_array_equal(batch.requesters[..., 6:], 0)
    np.testing.assert_allclose((batch.payloads**2).mean(axis=-1), 1)


def test_distance_counts_back_from_the_requester():
    for distance in range(1, 6):
        assert (SMALL.batch(7, rng(0), distance).sources == 5 - distance).all()
    assert set(SMALL.batch(200, rng(0)).sources.ravel().tolist()) == set(range(5))


def test_codebooks_belong_to_the_task_and_payloads_to_the_generator():
    one, again = SMALL.batch(7, rng(0)), SMALL.batch(7, rng(0))
    np.testing.assert_array_equal(one.candidates, again.candidates)
    assert (one.payloads != SMALL.batch(7, rng(1)).payloads).all()
    assert (SMALL.codes() != Lookup(names=11, candidates=5, label_width=6, seed=2).codes()).all()


def test_successor_is_self_attention_in_a_ring():
    batch = Successor(names=4, label_width=6, payload_width=3).batch(7, rng(0))
    assert batch.requesters is batch.candidates and batch.candidates.shape == (7, 4, 9)
    np.testing.assert_array_equal(batch.targets, np.roll(batch.payloads, -1, axis=1))


# Gradients


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_gradient_of_the_whole_reader_is_that_of_finite_differences(options):
    settings = Settings(**QUICK | options)
    params, batch = lab.initial(SMALL, settings), SMALL.batch(7, rng(3))
    gradients = lab.measure(params, batch, settings)[1]
    groups = {"W_Q": {"W_Q"}, "W_K": {"W_K"}, "W_V": {"W_V"}, "W_O": {"W_O"}}
    if settings.tied_kv:
        groups["W_K"] = groups["W_V"] = groups["W_K"] | groups["W_V"]
    if settings.tied_qk:
        groups["W_Q"] = groups["W_K"] = groups["W_Q"] | groups["W_K"]
        groups["W_V"] = groups["W_K"] if settings.tied_kv else groups["W_V"]
    step = 1e-6
    for name, shared in groups.items():
        for index in np.ndindex(getattr(params, name).shape):
            losses = []
            for sign in (step, -step):
                moved = {key: getattr(params, key).copy() for key in shared}
                for matrix in moved.values():
                    matrix[index] += sign
                losses.append(lab.measure(params._replace(**moved), batch, settings)[0]["loss"])
            expected = (losses[0] - losses[1]) / (2 * step)
            assert getattr(gradients, name)[index] == pytest.approx(expected, abs=1e-7)


def test_numbers_of_a_step_are_their_definitions():
    settings = Settings(**QUICK)
    params, batch = lab.initial(SMALL, settings), SMALL.batch(7, rng(3))
    numbers, gradients = lab.measure(params, batch, settings)
    losses, right, entropies = [], [], []
    for asking, states, target, source in zip(
        batch.requesters, batch.candidates, batch.targets, batch.sources, strict=True
    ):
        scores = [(asking[0] @ params.W_Q) @ (state @ params.W_K) / 2 for state in states]
        weights = np.exp(scores) / np.exp(scores).sum()
        answer = sum(w * (state @ params.W_V) for w, state in zip(weights, states, strict=True))
        losses.append((answer @ params.W_O - target[0]) ** 2)
        right.append(np.argmax(weights) == source[0])
        entropies.append(-(weights * np.log(weights)).sum())
    assert numbers["loss"] == pytest.approx(np.mean(losses))
    assert numbers["accuracy"] == pytest.approx(np.mean(right))
    assert numbers["entropy"] == pytest.approx(np.mean(entropies))
    assert numbers["norm_W_V"] == pytest.approx(np.sqrt((gradients.W_V**2).sum()))


# Training


def test_sgd_takes_the_step_of_its_definition():
    run = train(SMALL, **QUICK | dict(steps=1, optimizer="sgd", step_size=0.5))
    batch = SMALL.batch(7, np.random.default_rng([0, 1]))
    gradients = lab.measure(run.start, batch, run.settings)[1]
    for start, end, gradient in zip(run.start, run.params, gradients, strict=True):
        np.testing.assert_allclose(end, start - 0.5 * gradient, atol=1e-15)


def test_adam_takes_the_steps_of_its_definition():
    W, memory, gradients = np.ones(3), np.zeros((2, 3)), rng(0).normal(size=(4, 3))
    m, v, expected = 0, 0, 1.0
    for t, gradient in enumerate(gradients, start=1):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        expected = expected - 0.3 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        lab.update(W, gradient, memory, t, Settings(step_size=0.3))
    np.testing.assert_allclose(W, expected)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_equal_arguments_give_equal_runs_and_ties_hold_to_the_end(options):
    run, again = (train(SMALL, **QUICK | options) for _ in range(2))
    for one, other in zip(run.params, again.params, strict=True):
        np.testing.assert_array_equal(one, other)
    assert run.test == again.test
    if run.settings.tied_kv:
        np.testing.assert_array_equal(run.params.W_V, run.params.W_K)
    if run.settings.tied_qk:
        np.testing.assert_array_equal(run.params.W_Q, run.params.W_K)


def test_another_seed_gives_another_run():
    assert (train(SMALL, **QUICK).params.W_Q != train(SMALL, **QUICK, seed=1).params.W_Q).all()


def test_run_is_frozen_all_the_way_down():
    run = train(SMALL, **QUICK)
    with pytest.raises(FrozenInstanceError):
        run.params = run.start
    with pytest.raises(FrozenInstanceError):
        run.settings.d_k = 3
    for array in (*run.start, *run.params, *run.history.values()):
        with pytest.raises(ValueError, match="read-only"):
            array += 1
    for mapping in (run.history, run.test):
        with pytest.raises(TypeError):
            mapping["loss"] = 0
    assert {len(column) for column in run.history.values()} == {12}


def test_history_starts_before_the_first_step():
    run = train(SMALL, **QUICK)
    first = lab.measure(run.start, SMALL.batch(7, np.random.default_rng([0, 1])), run.settings)[0]
    assert {name: column[0] for name, column in run.history.items()} == first


def test_no_steps_is_the_untrained_reader():
    run = train(SMALL, **QUICK | dict(steps=0))
    np.testing.assert_array_equal(run.params.W_Q, run.start.W_Q)
    assert run.history["loss"].shape == (0,) and run.test["loss"] > 0.5


def test_read_gives_answers_and_weights():
    run, batch = train(SMALL, **QUICK), SMALL.batch(7, rng(4))
    answers, weights = run.read(batch)
    assert answers.shape == (7, 1, 3) and weights.shape == (7, 1, 5)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    assert repr(run).startswith(f"Run(loss={run.test['loss']:.4f}, accuracy=")


def test_progress_bar_is_silent_unless_asked_for(capsys, monkeypatch):
    train(SMALL, **QUICK)
    real = builtins.__import__

    def without_tqdm(name, *args, **kwargs):
        if name == "tqdm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    train(SMALL, progress=True, **QUICK)
    assert capsys.readouterr() == ("", "")


def test_progress_bar_is_tqdm_with_a_delay(monkeypatch):
    seen = {}

    class Stub:
        @staticmethod
        def tqdm(steps, **options):
            seen.update(options)
            return steps

    monkeypatch.setitem(sys.modules, "tqdm", Stub)
    assert len(train(SMALL, progress=True, **QUICK).history["loss"]) == 12
    assert seen == {"delay": 2}


# Refusals

REFUSED = {
    "more candidates than names": (lambda: Lookup(names=4, candidates=5), "candidates is 5.*4"),
    "no candidates": (lambda: Lookup(candidates=0), "candidates is 0"),
    "no names": (lambda: Lookup(names=0), "names is 0"),
    "label width 0": (lambda: Lookup(label_width=0), "label_width is 0"),
    "payload width 0": (lambda: Lookup(payload_width=0), "payload_width is 0"),
    "code size 0": (lambda: Lookup(code_size=0), "code_size is 0"),
    "negative task seed": (lambda: Lookup(seed=-1), "seed is -1"),
    "half a name": (lambda: Lookup(names=8.5), "names is 8.5"),
    "successor of nobody": (lambda: Successor(names=0), "names is 0"),
    "no examples": (lambda: SMALL.batch(0, rng(0)), "size is 0"),
    "distance 0": (lambda: SMALL.batch(7, rng(0), 0), "distance is 0"),
    "distance past the first": (lambda: SMALL.batch(7, rng(0), 6), "distance is 6.*5"),
    "d_k 0": (lambda: train(SMALL, d_k=0), "d_k is 0"),
    "d_k True": (lambda: train(SMALL, d_k=True), "d_k is True"),
    "d_v 0": (lambda: train(SMALL, d_v=0), "d_v is 0"),
    "negative steps": (lambda: train(SMALL, steps=-1), "steps is -1"),
    "batch of 0": (lambda: train(SMALL, batch_size=0), "batch_size is 0"),
    "negative seed": (lambda: train(SMALL, seed=-1), "seed is -1"),
    "unknown optimizer": (lambda: train(SMALL, optimizer="lion"), "optimizer is 'lion'.*adam.*sgd"),
    "unknown option": (lambda: train(SMALL, momentum=0.9), "momentum"),
    "tied at two widths": (lambda: train(SMALL, tied_kv=True, d_k=4, d_v=2), "tied_kv.*d_v is 2"),
    "tied by a word": (lambda: train(SMALL, tied_qk="no"), "tied_qk is 'no'"),
    "hard by a number": (lambda: train(SMALL, hard=1), "hard is 1"),
    "scale by a word": (lambda: train(SMALL, scale="sqrt"), "scale is 'sqrt'"),
    "infinite scale": (lambda: train(SMALL, scale=np.inf), "scale is inf"),
    "step size 0": (lambda: train(SMALL, step_size=0), "step_size is 0"),
    "nan step size": (lambda: train(SMALL, step_size=np.nan), "step_size is nan"),
    "step size by a word": (lambda: train(SMALL, step_size="small"), "step_size is 'small'"),
    "diverging": (
        lambda: train(SMALL, optimizer="sgd", step_size=1e9),
        "step_size 1000000000.0 is",
    ),
    "no workers": (lambda: lab.sweep(SMALL, {"seed": [0]}, workers=0), "workers is 0"),
    "unknown name in a grid": (lambda: lab.sweep(SMALL, {"width": [4]}), "width"),
    "fixed and varied": (lambda: lab.sweep(SMALL, {"seed": [0]}, seed=1), "seed"),
    "late in a grid": (lambda: lab.sweep(SMALL, {"steps": [10**9, -1]}), "steps is -1"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_impossible_settings_are_refused_by_name(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


# Sweeps


def test_sweep_in_processes_gives_the_same_records_in_the_same_order():
    grid = {"d_k": (3, 4), "seed": range(2)}
    serial = lab.sweep(SMALL, grid, d_v=2, steps=5)
    assert serial == lab.sweep(SMALL, grid, d_v=2, steps=5, workers=2)
    assert [(r["d_k"], r["seed"]) for r in serial] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    run = train(SMALL, d_k=4, d_v=2, steps=5, seed=1)
    assert {name: serial[-1][name] for name in ("loss", "accuracy", "entropy")} == {
        name: run.test[name] for name in ("loss", "accuracy", "entropy")
    }
    assert pickle.loads(pickle.dumps(serial)) == serial


# What the experiments claim, at their own settings where these are quick


def test_c1_3_only_the_read_is_right_at_every_distance():
    records = lab.dynamic_against_fixed()
    for distance in (None, 1, 2, 3, 4, 6, 8):
        where = {"distance": distance}
        assert mean(records, "accuracy", routing="read", **where) > 0.99
        assert mean(records, "accuracy", routing="uniform", **where) < 0.2
        if distance != 1:
            assert mean(records, "accuracy", routing="previous", **where) < 0.2
    carried = [mean(records, "accuracy", routing="carry", distance=d) for d in (1, 2, 3, 4)]
    assert carried == sorted(carried, reverse=True) and carried[0] > 0.99 and carried[-1] < 0.5
    assert mean(records, "accuracy", routing="carry", distance=None) < 0.2


def test_c1_3_with_the_same_parameters_other_content_is_routed_elsewhere():
    task = Lookup()
    run, batch = train(task), task.batch(20, rng(5))
    assert len(np.unique(batch.sources)) > 4
    weights = run.read(batch)[1][:, 0]
    assert (weights.argmax(axis=-1) == batch.sources[:, 0]).all() and (
        weights.max(axis=-1) > 0.9
    ).all()


def test_c3_3_tied_fails_where_the_width_holds_only_one_of_the_two():
    task = Lookup(names=8, candidates=4, label_width=8, payload_width=8)
    grid = {"d_k": (8, 12), "tied_kv": (False, True)}
    records = lab.sweep(task, grid, steps=600)
    assert mean(records, "loss", d_k=8, tied_kv=False) < 1e-3
    assert mean(records, "loss", d_k=8, tied_kv=True) > 0.2
    assert mean(records, "loss", d_k=12, tied_kv=True) < 1e-3


def test_c5_2_matching_is_learned():
    records = lab.matching_contract()
    assert mean(records, "accuracy", stage="states") == pytest.approx(1 / 8, abs=0.02)
    assert mean(records, "accuracy", stage="untrained") == pytest.approx(1 / 8, abs=0.02)
    assert mean(records, "accuracy", stage="trained") > 0.99


def test_c5_3_the_contract_belongs_to_the_pair():
    records = lab.own_and_mixed_pairs()
    own = [r["accuracy"] for r in records if r["queries_of"] == r["keys_of"]]
    mixed = [r["accuracy"] for r in records if r["queries_of"] != r["keys_of"]]
    assert min(own) > 0.99 and max(mixed) < 0.3 and len(mixed) == 12


def test_c5_6_tied_query_and_key_never_gets_all_rows_right():
    task = Successor(names=8, label_width=12)
    batch = task.batch(20, rng(6))
    run, tied = (train(task, tied_qk=t, steps=400) for t in (False, True))
    assert run.test["accuracy"] > 0.99 and tied.test["accuracy"] < 0.9
    Q, K, *_ = lab.forward(tied.params, batch, tied.settings)
    np.testing.assert_allclose(Q @ K.swapaxes(1, 2), K @ Q.swapaxes(1, 2), atol=1e-12)


def test_c8_3_a_hard_read_does_not_learn_where_to_look():
    hard, soft = (train(Lookup(), hard=h) for h in (True, False))
    for name in ("W_Q", "W_K"):
        before, after = getattr(hard.start, name), getattr(hard.params, name)
        assert before.tobytes() == after.tobytes()
        assert (getattr(soft.start, name) != getattr(soft.params, name)).any()
        assert (hard.history[f"norm_{name}"] == 0).all()
    assert (hard.start.W_V != hard.params.W_V).all()
    assert hard.test["accuracy"] < 0.25 and soft.test["accuracy"] > 0.99


SCALE = Lookup(names=32, candidates=32, payload_width=32, code_size=0.5)


def test_c9_5_without_the_scale_wide_keys_learn_later_and_narrow_ones_do_not():
    grid = {"d_k": (16, 128), "scale": (None, 1.0)}
    records = lab.sweep(SCALE, grid, d_v=32, step_size=0.01, steps=150, batch_size=16)
    accuracy = {(r["d_k"], r["scale"]): r["accuracy"] for r in records}
    assert accuracy[16, 1.0] > 0.7 and abs(accuracy[16, 1.0] - accuracy[16, None]) < 0.15
    assert accuracy[128, 1.0] < 0.2 and accuracy[128, None] > 0.9


def test_c9_5_with_very_small_steps_raw_scores_learn_faster():
    options = dict(d_k=128, d_v=32, optimizer="sgd", steps=400, batch_size=16, step_size=0.3)
    raw, scaled = (train(SCALE, scale=scale, **options).test for scale in (1.0, None))
    assert raw["accuracy"] > 0.5 and scaled["accuracy"] < 0.1


@pytest.mark.parametrize(
    ("experiment", "runs"),
    [
        (lab.tied_against_separate, 36),
        (lab.look_at_successor, 16),
        (lab.hard_against_soft, 6),
        (lab.scale_against_width, 26),
    ],
)
def test_experiment_returns_a_tidy_record_a_run(experiment, runs, monkeypatch):
    monkeypatch.setattr(lab, "train", lambda task, **options: train(task, **options | {"steps": 1}))
    records = experiment()
    assert len(records) == runs and len({tuple(r) for r in records}) == 1
    for value in (value for record in records for value in record.values()):
        assert type(value) in (int, float, str, bool, type(None))
    settings = [tuple(r[k] for k in r if k in Settings.__dataclass_fields__) for r in records]
    assert len(set(settings)) == runs


def test_gradients_have_the_shape_of_their_matrices():
    run = train(SMALL, **QUICK)
    assert [W.shape for W in run.params] == [(9, 4), (9, 4), (9, 2), (2, 3)]
    assert Params._fields == ("W_Q", "W_K", "W_V", "W_O")

"""Recommendations: which setting, what it is worth, how sure, and what to measure again."""

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial

import calibrant
from calibrant.decisions.front import _not_dominated
from calibrant.decisions.recommend import _real_share, _repeat, _with_unseen

FLOAT = optuna.distributions.FloatDistribution


def study_of(points, values, directions=("minimize",), constraints=None):
    study = optuna.create_study(directions=list(directions))
    for row, (x, value) in enumerate(zip(points, values, strict=True)):
        study.add_trial(
            create_trial(
                values=list(np.atleast_1d(value)),
                params={"x": float(x)},
                distributions={"x": FLOAT(0.0, 1.0)},
                constraints={} if constraints is None else constraints[row],
            )
        )
    return study


def truth(x):
    return 4.0 * (np.asarray(x) - 0.3) ** 2


def noisy(seed, noise=1.0, count=40, sign=1.0):
    rng = np.random.default_rng(seed)
    points = rng.random(count)
    values = sign * (truth(points) + noise * rng.standard_normal(count))
    return study_of(points, values, ["minimize" if sign > 0.0 else "maximize"])


def test_without_noise_it_is_the_best_evaluation():
    points = np.linspace(0.0, 1.0, 21)
    study = study_of(points, np.sin(8.0 * points))
    found = calibrant.recommend(study)
    assert found.by == "observation"
    assert found.params == study.best_params
    assert found.value == study.best_value
    assert found.interval == (study.best_value, study.best_value)
    assert (found.expected_loss, found.repeat, found.warnings) == (0.0, None, ())
    assert "noise of evaluations is negligible" in found.reason


def test_with_little_noise_it_is_the_best_evaluation_and_the_model_says_what_it_is_worth():
    rng = np.random.default_rng(0)
    points = rng.random(40)
    bias, best_bias = [], []
    for _ in range(8):
        study = study_of(points, truth(points) + 0.05 * rng.standard_normal(40))
        found = calibrant.recommend(study)
        assert found.by == "observation"
        assert not found.is_exact
        assert found.params == study.best_params
        assert "noise of evaluations is small" in found.reason
        bias.append(found.value - truth(found.params["x"]))
        best_bias.append(study.best_value - truth(found.params["x"]))
    assert abs(np.mean(bias)) < 0.3 * abs(np.mean(best_bias))


def test_with_noise_it_is_nearer_to_the_truth_than_the_best_evaluation():
    better, worse, bias, best_bias, held = 0, 0, [], [], []
    for seed in range(8):
        study = noisy(seed, noise=0.5)
        found = calibrant.recommend(study)
        assert found.by == "posterior"
        here, best = truth(found.params["x"]), truth(study.best_params["x"])
        better, worse = better + (here < best), worse + (here > best)
        bias.append(found.value - here)
        best_bias.append(study.best_value - best)
        held.append(found.interval[0] <= here <= found.interval[1])
    assert better > worse
    assert abs(np.mean(bias)) < 0.3 * abs(np.mean(best_bias))
    assert np.mean(best_bias) < -0.5  # what `best_value` would have promised
    assert np.mean(held) >= 0.6


def test_it_warns_of_luck_and_says_why():
    found = calibrant.recommend(noisy(1))
    assert any("looks lucky" in warning for warning in found.warnings)
    assert "Chosen by what the model expects" in found.reason
    text = str(found)
    for part in ("Use x=", "80 % interval", "looks lucky", "evaluat"):
        assert part in text


def test_maximising_gives_the_same_with_the_other_sign():
    down, up = calibrant.recommend(noisy(2)), calibrant.recommend(noisy(2, sign=-1.0))
    assert up.params == down.params
    assert up.value == pytest.approx(-down.value)
    assert up.interval == pytest.approx((-down.interval[1], -down.interval[0]))
    assert up.expected_loss == pytest.approx(down.expected_loss)


def test_probabilities_of_five_settings_and_the_same_answer_twice():
    study = noisy(3)
    found, again = calibrant.recommend(study), calibrant.recommend(study)
    assert found == again
    assert len(found.candidates) == 5
    chances = [candidate.probability_best for candidate in found.candidates]
    assert 0.0 < sum(chances) <= 1.0 + 1e-9
    assert chances[1:] == sorted(chances[1:], reverse=True)


def test_replicates_are_one_setting():
    rng = np.random.default_rng(0)
    points = np.repeat(np.linspace(0.0, 1.0, 10), 8)
    study = study_of(points, truth(points) + 0.2 * rng.standard_normal(80))
    found = calibrant.recommend(study)
    assert {len(candidate.trials) for candidate in found.candidates} == {8}
    assert found.params["x"] == pytest.approx(1.0 / 3.0, abs=0.12)
    values = [study.trials[n].value for n in found.candidates[0].trials]
    assert found.candidates[0].observed == pytest.approx(np.mean(values))


def test_evaluations_count_the_more_the_more_there_are():
    shares = _real_share(np.array([1, 2, 11, 1000]), np.ones(4))
    assert shares[0] == pytest.approx(0.3)
    assert np.all(np.diff(shares) > 0.0)
    assert shares[-1] > 0.99


def test_luck_of_a_noise_that_was_told_is_not_taken_for_structure():
    shares = _real_share(np.array([1, 1, 1]), np.array([1.0, 0.1, 0.0]))
    np.testing.assert_allclose(shares, [0.3, 0.03, 0.0])


def test_what_the_model_does_not_see_widens_draws_less_with_each_evaluation():
    draws = np.random.default_rng(0).standard_normal((20_000, 2))
    wide = _with_unseen(draws, np.array([2.0, 2.0]), np.array([1, 10]))
    assert wide.var(axis=0) == pytest.approx([1.0 + 0.4, 1.0 + 0.04], rel=0.05)


def test_a_repeated_value_says_that_there_is_no_noise():
    points = np.array([0.1, 0.9, 0.35, 0.6, 0.6])
    study = study_of(points, [3.0, -2.0, 5.0, 0.5, 0.5])
    found = calibrant.recommend(study)
    assert found.by == "observation"
    assert found.params["x"] == 0.9
    assert "repeated evaluations gave equal values" in found.reason


def test_the_user_may_say_whether_there_is_noise():
    study = noisy(1)
    exact = calibrant.recommend(study, noisy=False)
    assert exact.params == study.best_params
    assert exact.value == study.best_value
    points = np.linspace(0.0, 1.0, 21)
    assert calibrant.recommend(study_of(points, truth(points)), noisy=True).by == "posterior"
    study.set_user_attr("calibrant:noisy", False)  # once, for all who ask
    assert calibrant.recommend(study).params == study.best_params
    assert calibrant.recommend(study, noisy=True).by == "posterior"


def test_constraints_limit_what_is_recommended():
    points = np.linspace(0.0, 1.0, 30)
    limits = [{"memory": x - 0.5} for x in points]
    study = study_of(points, -points, constraints=limits)  # the larger x the better
    found = calibrant.recommend(study)
    assert found.params["x"] <= 0.5
    careful = calibrant.recommend(study, min_feasible=0.99)
    assert careful.params["x"] <= found.params["x"]
    assert careful.candidates[0].feasible >= 0.99
    nowhere = study_of(points, -points, constraints=[{"memory": 1.0 + x} for x in points])
    found = calibrant.recommend(nowhere, min_feasible=0.9)
    assert "No setting meets the constraints with probability 90 %" in found.warnings[0]


def test_the_front_of_several_objectives():
    rng = np.random.default_rng(0)
    points = np.linspace(0.0, 1.0, 15)
    values = np.column_stack([points**2, -((points - 1.0) ** 2)])
    values = values + 0.01 * rng.standard_normal(values.shape)
    study = study_of(points, values, ["minimize", "maximize"])
    front = calibrant.recommend(study)
    assert len(front.settings) >= 10  # all of them trade one for the other
    firsts = [setting.values[0] for setting in front.settings]
    assert firsts == sorted(firsts)
    for setting in front.settings:
        for value, (low, high) in zip(setting.values, setting.intervals, strict=True):
            assert low <= value <= high
        assert 0.0 < setting.probability_on_front <= 1.0
    assert "on the front" in str(front)
    assert "<table>" in front._repr_html_()


def test_what_is_not_dominated():
    Y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert _not_dominated(Y).tolist() == [True, True, False, True]


def test_the_gain_of_measuring_again_is_that_of_simulated_measurements():
    """Against a simulation: condition on what three of four settings give, and choose again."""
    rng = np.random.default_rng(5)
    candidates = calibrant.recommend(noisy(4, count=12)).candidates[:3]
    A = rng.standard_normal((4, 4))
    means, covariance = np.array([0.0, 0.2, 0.3, 1.0]), A @ A.T
    draws = rng.multivariate_normal(means, covariance, 40_000)
    listed, noise = np.array([0, 2, 3]), np.array([0.7, 0.5, 0.9, 1.1])
    found = _repeat(candidates, listed, means, draws, noise, loss=1e-6)
    assert found.settings == tuple(one.params for one in candidates)
    truths = rng.multivariate_normal(means, covariance, 20_000)
    errors = noise[listed] / np.sqrt(found.times)
    seen = truths[:, listed] + errors * rng.standard_normal((20_000, 3))
    among = covariance[np.ix_(listed, listed)] + np.diag(errors**2)
    after = means + (seen - means[listed]) @ np.linalg.inv(among) @ covariance[listed]
    chosen = after.argmin(axis=1)
    gain = np.mean(truths[:, 0] - truths[np.arange(20_000), chosen])
    assert found._promised == pytest.approx(gain, rel=0.1)
    assert _repeat(candidates, listed, means, draws, noise, loss=100.0) is None


def test_what_is_worth_evaluating_again_is_said_in_words():
    found = calibrant.recommend(noisy(1))
    assert found.repeat.settings == tuple(one.params for one in found.candidates)
    assert "evaluate each of the 5 settings most likely to be best" in str(found)
    assert f"{found.repeat.times} more times" in str(found)
    exact = calibrant.recommend(noisy(1), noisy=False)
    assert exact.repeat is None


def test_notebooks_escape_what_they_show():
    study = optuna.create_study()
    choices = optuna.distributions.CategoricalDistribution(["<b>", "c"])
    for value, choice in ((1.0, "<b>"), (2.0, "c"), (3.0, "c")):
        study.add_trial(
            create_trial(value=value, params={"k": choice}, distributions={"k": choices})
        )
    shown = calibrant.recommend(study)._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="No trial of the study has finished"):
        calibrant.recommend(optuna.create_study())
    study = noisy(0, count=5)
    with pytest.raises(ValueError, match=r"no constraints that `min_feasible=0.9` could be about"):
        calibrant.recommend(study, min_feasible=0.9)
    with pytest.raises(ValueError, match="0 < min_feasible < 1"):
        calibrant.recommend(study, min_feasible=1.5)


def test_what_did_not_report_a_constraint_is_judged_by_what_is_believed_of_it():
    """The best values are of settings that surely break it, and that did not say so."""
    points = np.linspace(0.0, 1.0, 21)
    limits = [{"memory": x - 0.52} if row % 2 else {} for row, x in enumerate(points)]
    study = study_of(points, -points, constraints=limits)
    found = calibrant.recommend(study)
    assert found.params["x"] == pytest.approx(0.5)
    assert found.candidates[0].feasible > 0.5
    (proposal,) = calibrant.suggest(study, seed=0)
    assert 0.45 < proposal.params["x"] < 0.6
    assert proposal.improves > 0.2  # than -0.5, and not than -1


@pytest.mark.parametrize("value", [3.0, 0.0, -1e300, 5e-324])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_where_all_values_are_the_same_there_is_no_noise(value, direction):
    study = study_of(np.linspace(0.0, 1.0, 9), [value] * 9, [direction])
    found = calibrant.recommend(study)
    assert (found.value, found.interval, found.noise) == (value, (value, value), 0.0)
    assert found.reason == "All evaluations have given the same value."
    assert "-0." not in str(found) or value < 0.0


def test_one_evaluation_says_nothing_of_noise_nor_of_other_settings():
    study = study_of([0.2], [1.5])
    found = calibrant.recommend(study)
    assert str(found).startswith("Use x=0.2. It gives 1.5.\nIt is the only evaluation")
    with pytest.raises(ValueError, match="needs two finished trials"):
        calibrant.forecast(study, {"x": 0.7})


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_few_evaluations_say_nothing_of_noise_unless_they_are_repeated(count):
    rng = np.random.default_rng(count)
    points, values = rng.random(count), rng.normal(size=count)
    found = calibrant.recommend(study_of(points, values))
    assert (found.value, found.noise) == (values.min(), 0.0)
    assert found.reason.endswith(f"{count} evaluations say nothing about noise.")
    again = np.concatenate([points, points[:1]])
    repeated = calibrant.recommend(study_of(again, [*values, values[0] + 1.0]))
    assert "say nothing" not in repeated.reason

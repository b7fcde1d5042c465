"""Answers on made tables whose effects are known, and on one real comparison."""

import doctest
import html.parser
import itertools
import json
import math
import re
import subprocess
import sys
import types
import xml.etree.ElementTree
from pathlib import Path

import fairground as fg
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from fairground import analysis
from fairground.sweeps import Outcome

SEEDS = range(1, 9)


def table(axes, figure, seeds=SEEDS, metrics=None, noise=0.0, design="grid"):
    """A grid's runs: `figure(point)` at each point and seed, and normal noise of this standard deviation."""
    rng = np.random.default_rng(5)
    names = list(axes)
    rows = []
    for levels in itertools.product(*axes.values()):
        for seed in seeds:
            point = dict(zip(names, levels, strict=True))
            rows.append({**point, "seed": seed, "y": figure(point) + noise * rng.standard_normal()})
    return analysis.label(pandas.DataFrame(rows), axes=axes, metrics=metrics or {"y": ("s", "lower")}, design=design)


ON_OFF = [False, True]
TWO = {"sched": ["base", "test"], "groups": [1, 2, 4]}


def additive(point):
    """10 s, 2 s less with the tested scheduler, 3 s more for each group beyond the first."""
    return 10 - 2 * (point["sched"] == "test") + 3 * (point["groups"] - 1)


def without(labelled, gone):
    """The rows of a table for which `gone(row)` is false."""
    keep = [not gone(row) for row in labelled.to_pylist()]
    return labelled.filter(pyarrow.array(keep))


# Effects


def test_an_additive_model_gives_its_effects():
    found = analysis.effects(table(TWO, additive), "y")
    # Means over groups: 10, 13, 19, that is 14; 2 s less are 2/14. Over schedulers: 9, 12, 18.
    assert found[["axis", "base", "level"]].values.tolist() == [
        ["sched", "base", "test"],
        ["groups", 1, 2],
        ["groups", 1, 4],
    ]
    assert found["diff"].tolist() == pytest.approx([-2, 3, 9])
    assert found["improvement_pct"].tolist() == pytest.approx([200 / 14, -300 / 9, -900 / 9])
    assert found["pairs"].tolist() == [24, 16, 16]
    assert found["significant"].all()
    # Less is better here: all pairs of the first are better, all of the others worse.
    assert found["better"].tolist() == [24, 0, 0] and found["worse"].tolist() == [0, 16, 16]


def test_an_interval_holds_the_effect_and_is_that_of_compare():
    """Of one axis, an effect is what `fairground compare` says of the same runs, to the last bit."""
    scheds = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
    comparison = fg.compare("hikey960", "sched-pipe:loops=200,threads", *scheds, seeds=6, store=False)
    runs = comparison.runs.to_pandas().query("metric == 'wakeup_latency_p99_us' or metric == 'energy_j'")
    rows = [
        {"sched": sched, "seed": run.seed, run.metric: value}
        for run in runs.itertuples()
        for sched, value in zip(scheds, (run.base_value, run.test_value), strict=True)
    ]
    frame = pandas.DataFrame(rows).groupby(["sched", "seed"], sort=False).first().reset_index()
    metrics = {"wakeup_latency_p99_us": "lower", "energy_j": "lower"}
    ours = analysis.label(frame, axes={"sched": scheds}, metrics=metrics)
    theirs = comparison.table.to_pandas().set_index("metric")
    columns = ["base_mean", "improvement_pct", "low", "high", "significant", "pairs"]
    for metric in metrics:
        found = analysis.effects(ours, metric).iloc[0]
        assert found[columns].tolist() == theirs.loc[metric, columns].tolist()


def test_the_interval_is_over_seeds_and_not_over_points():
    """Points of one seed share its noise: a hundred of them are not a hundred independent results."""
    rng = np.random.default_rng(1)
    shared = {(sched, seed): rng.standard_normal() for sched in "ab" for seed in SEEDS}
    rows = [
        {"sched": sched, "cost": cost, "seed": seed, "y": 100 + shared[sched, seed]}
        for sched in "ab"
        for cost in range(60)
        for seed in SEEDS
    ]
    wide = analysis.label(pandas.DataFrame(rows), axes=["sched", "cost"], metrics={"y": "lower"})
    one = analysis.label(pandas.DataFrame(rows).query("cost == 0"), axes=["sched"], metrics={"y": "lower"})
    ends = ["diff_low", "diff_high"]
    assert analysis.effects(wide, "y", "sched")[ends].values == pytest.approx(
        analysis.effects(one, "y", "sched")[ends].values
    )


def test_levels_of_another_axis_are_told_apart():
    """The tested scheduler helps with one group only."""
    found = analysis.effects(
        table(TWO, lambda p: 10 - 4 * (p["sched"] == "test" and p["groups"] == 1)), "y", "sched", by=["groups"]
    )
    assert found[["groups", "improvement_pct", "significant"]].values.tolist() == [
        [1, 40.0, True],
        [2, 0.0, False],
        [4, 0.0, False],
    ]


def test_one_seed_has_no_interval_and_says_so():
    found = analysis.effects(table(TWO, additive, seeds=[1]), "y")
    assert found["low"].isna().all() and found["high"].isna().all()
    assert not found["significant"].any()
    assert found["improvement_pct"].iloc[0] == pytest.approx(200 / 14)
    assert found.attrs["notes"] == ["one seed: no interval, nothing is significant"]


def test_few_seeds_are_neither_significant_nor_not():
    found = analysis.effects(table(TWO, additive, seeds=range(5)), "y")
    assert found["significant"].isna().all() and found["low"].notna().all()
    assert found.attrs["notes"] == ["5 seeds: below 6 nothing is called significant"]


def test_a_constant_metric_has_no_effect():
    found = analysis.effects(table(TWO, lambda _: 7.0), "y")
    assert found["improvement_pct"].tolist() == [0, 0, 0] and not found["significant"].any()


def test_rounding_is_no_effect():
    """0.1 + 0.2 against 0.3, at the same mean over the groups."""
    figures = {("base", 1): 0.1 + 0.2, ("base", 2): 0.3, ("test", 1): 0.3, ("test", 2): 0.3}
    found = analysis.effects(
        table({"sched": ["base", "test"], "groups": [1, 2]}, lambda p: figures[tuple(p.values())]), "y"
    )
    assert not found["significant"].any()


def test_a_failed_run_leaves_its_seed_or_its_point_out():
    """No seed counts other points than its fellows: of 3 points and 8 seeds a seed is the smaller loss."""
    holed = without(table(TWO, additive), lambda r: (r["sched"], r["groups"], r["seed"]) == ("test", 4, 3))
    found = analysis.effects(holed, "y", "sched").iloc[0]
    assert (found["pairs"], found["left_out"], found["diff"]) == (21, 2, -2)
    assert found["improvement_pct"] == pytest.approx(200 / 14)
    assert found["seeds"] == 7
    few = without(table(TWO, additive, seeds=[1, 2]), lambda r: (r["sched"], r["groups"], r["seed"]) == ("test", 4, 2))
    found = analysis.effects(few, "y", "sched").iloc[0]
    # Groups 1 and 2 are left: 10 and 13 s.
    assert (found["pairs"], found["left_out"], found["seeds"]) == (4, 1, 2)
    assert found["improvement_pct"] == pytest.approx(200 / 11.5)


def test_a_seed_that_fails_everywhere_is_left_out_and_not_every_point():
    holed = without(table(TWO, additive), lambda r: r["sched"] == "test" and r["seed"] == 3)
    found = analysis.effects(holed, "y", "sched").iloc[0]
    assert (found["pairs"], found["seeds"], found["left_out"]) == (21, 7, 0)


def test_a_level_without_any_pair_has_no_row():
    holed = without(table(TWO, additive), lambda r: r["groups"] == 4)
    assert analysis.effects(holed, "y", "groups")["level"].tolist() == [2]


def test_a_metric_that_some_runs_lack_is_compared_where_it_is():
    frame = table(TWO, additive).to_pandas()
    frame.loc[frame["groups"] == 1, "y"] = np.nan
    frame.loc[frame["groups"] == 2, "y"] = np.inf
    found = analysis.effects(analysis.label(frame, axes=TWO, metrics={"y": "lower"}), "y", "sched").iloc[0]
    assert (found["pairs"], found["diff"]) == (8, -2)


def test_null_data_is_called_significant_about_as_often_as_stated():
    """Of 400 axes that do nothing 20 are expected; 4.4 is one standard deviation, three are allowed."""
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(400):
        frame = pandas.DataFrame({"a": ["x", "y"] * 30, "seed": np.repeat(range(30), 2), "y": rng.standard_normal(60)})
        found += analysis.effects(analysis.label(frame, axes=["a"], metrics={"y": "lower"}), "y")["significant"].sum()
    assert 7 <= found <= 33


# Trends


def test_a_slope_is_that_of_the_model():
    found = analysis.trends(table(TWO, additive, noise=0.01), "y").iloc[0]
    assert (found["axis"], found["kind"], found["n"]) == ("groups", "blocks", 8)
    assert found["low"] <= found["slope"] <= found["high"] and found["slope"] == pytest.approx(3, abs=0.02)
    assert found["rank"] == pytest.approx(1)


def test_a_constant_metric_has_no_slope():
    """Weights of three levels do not add up to zero exactly."""
    found = analysis.trends(table({"x": [0.1, 0.2, 0.7]}, lambda _: 0.3), "y").iloc[0]
    assert found[["slope", "low", "high", "rank"]].tolist() == [0, 0, 0, 0]


def test_a_random_design_has_a_fitted_slope():
    """y = 5 x - 2 f: of 400 points, each with a switch that is on or off."""
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"x": rng.uniform(0, 10, 400), "f": rng.integers(0, 2, 400).astype(bool), "seed": 1})
    frame["y"] = 5 * frame["x"] - 2 * frame["f"] + rng.standard_normal(400)
    labelled = analysis.label(frame, axes=["x", "f"], metrics={"y": "higher"}, design="random")
    found = analysis.trends(labelled, "y").set_index("axis")
    assert found["kind"].tolist() == ["fit", "fit"] and found.loc["x", "rank"] > 0.95
    assert found.loc["x", "low"] < 5 < found.loc["x", "high"]
    assert found.loc["f", "low"] < -2 < found.loc["f", "high"]
    # A thousand levels make no thousand rows, nor do points that nothing else differs from make pairs.
    assert analysis.effects(labelled, "y").empty


def test_rank_correlations_are_scipys():
    """Ties and falling values among them; what does not move has none."""
    from scipy import stats

    frame = pandas.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [9, 7, 7, 8, 1, 2], "still": 1.0, "seed": 1})
    labelled = analysis.label(frame, axes={"x": None}, metrics={"y": "lower", "still": "lower"})
    known = stats.spearmanr(frame["x"], frame["y"]).statistic
    assert analysis.trends(labelled, "y")["rank"].tolist() == pytest.approx([known])
    assert analysis.trends(labelled, "still")["rank"].tolist() == [0]


# Interactions

SWITCHES = {"a": ON_OFF, "b": ON_OFF, "c": ON_OFF}


def test_an_additive_model_has_no_interaction():
    found = analysis.interactions(table(SWITCHES, lambda p: 10 - p["a"] - 0.1 * p["b"] + 0.3 * p["c"]), "y")
    assert found[["axis_a", "axis_b"]].values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert found["diff"].tolist() == [0, 0, 0] and not found["significant"].any()


def test_rounding_is_no_interaction():
    """0.1 + 0.2 - 0.3 is not 0 in binary, but nothing acts together here."""
    figures = {(False, False): 0.3, (True, False): 0.1, (False, True): 0.2, (True, True): 0.0}
    found = analysis.interactions(table({"a": ON_OFF, "b": ON_OFF}, lambda p: figures[tuple(p.values())]), "y")
    assert found["interaction_pct"].tolist() == [0] and not found["significant"].any()


def test_a_pure_interaction_is_found_and_nothing_else():
    """Both switches together save 2 s of 10, each alone nothing: 20 % better together."""
    found = analysis.interactions(table(SWITCHES, lambda p: 10.0 - 2 * (p["a"] and p["b"]), noise=0.1), "y")
    row = found.iloc[0]
    # Noise of a mean of 16 differences of differences: 0.5 %.
    assert row["interaction_pct"] == pytest.approx(20, abs=2) and row["significant"]
    assert row["low"] < row["interaction_pct"] < row["high"]
    assert row["only_a_pct"] == pytest.approx(0, abs=1) and row["both_pct"] == pytest.approx(20, abs=1)
    assert abs(found["interaction_pct"].iloc[1:]).max() < 2


def test_an_interaction_in_which_more_is_better_has_the_other_sign():
    labelled = table(SWITCHES, lambda p: 10.0 - 2 * (p["a"] and p["b"]), metrics={"y": "higher"})
    assert analysis.interactions(labelled, "y", ["a", "b"])["interaction_pct"].tolist() == pytest.approx([-20])


# Sensitivity


def test_an_additive_grid_splits_exactly():
    """Levels 0 and 1 have variance 1/4: 4 x and 2 y share 16 to 4."""
    found = analysis.sensitivity(table({"x": [0, 1], "z": [0, 1]}, lambda p: 4 * p["x"] + 2 * p["z"]), "y")
    assert found.attrs["method"] == "grid"
    assert found["first"].tolist() == pytest.approx([0.8, 0.2])
    assert found["total"].tolist() == pytest.approx([0.8, 0.2])
    assert found.attrs["noise"] == pytest.approx(0)


def test_a_pure_interaction_is_in_the_total_indices_only():
    found = analysis.sensitivity(table({"x": [-1, 1], "z": [-1, 1]}, lambda p: p["x"] * p["z"]), "y")
    assert found["first"].tolist() == pytest.approx([0, 0], abs=1e-12)
    assert found["total"].tolist() == pytest.approx([1, 1])


def test_noise_of_seeds_is_taken_out():
    """An axis that does nothing has an index of nothing, though a third of the means' variance is noise."""
    axes = {"x": [0, 1], "z": list(range(40))}
    found = analysis.sensitivity(table(axes, lambda p: p["x"], noise=1.0), "y").set_index("axis")
    # Variance of x: 1/4; of noise in a mean of 8 seeds: 1/8.
    assert found.attrs["noise"] == pytest.approx(1 / 3, abs=0.1)
    assert found.loc["x", "total"] == pytest.approx(2 / 3, abs=0.1)
    assert found.loc["z", "first"] == pytest.approx(0, abs=0.1) and found.loc["z", "total"] == pytest.approx(0, abs=0.1)
    assert found.loc["x", "first_low"] < 2 / 3 < found.loc["x", "first_high"]


def test_one_seed_of_a_grid_has_indices_without_intervals():
    found = analysis.sensitivity(table({"x": [0, 1], "z": [0, 1]}, lambda p: 4 * p["x"] + 2 * p["z"], seeds=[1]), "y")
    assert found["first"].tolist() == pytest.approx([0.8, 0.2]) and found["first_low"].isna().all()
    assert found.attrs["notes"] == [
        "one seed: what it does by chance counts as interaction of axes",
        "1 seed: no interval",
    ]


def test_a_constant_metric_has_no_variance_to_share():
    found = analysis.sensitivity(table(TWO, lambda _: 0.1 + 0.2), "y")
    assert found["first"].isna().all()
    assert found.attrs["notes"][0] == "the metric is constant: there is no variance to share"


def test_a_seed_with_a_failure_is_left_out_of_a_grid():
    axes = {"x": [0, 1], "z": [0, 1]}
    whole = table(axes, lambda p: 4 * p["x"] + 2 * p["z"])
    found = analysis.sensitivity(without(whole, lambda r: (r["x"], r["z"], r["seed"]) == (1, 0, 2)), "y")
    assert found["first"].tolist() == pytest.approx([0.8, 0.2])
    assert found.attrs["seeds"] == 7 and "1 seed left out: runs failed" in found.attrs["notes"]


def ishigami(x):
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


#: Of Ishigami's function with a = 7 and b = 0.1 (Saltelli and others, "Sensitivity Analysis in Practice", 2004).
ISHIGAMI = ([0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437])


def saltelli(layout, samples=1024, seeds=(1,), noise=0.0):
    """Runs of Ishigami's function in Saltelli's design, sample by sample or matrix by matrix."""
    from scipy.stats import qmc

    drawn = (qmc.Sobol(6, rng=4).random(samples) * 2 - 1) * np.pi
    a, b = drawn[:, :3], drawn[:, 3:]
    crossed = [np.where(np.arange(3) == axis, b, a) for axis in range(3)]
    back = [np.where(np.arange(3) == axis, a, b) for axis in range(3)]
    if layout == "matrices":
        points = np.concatenate([a, b, *crossed])
    else:
        matrices = [a, *crossed, *(back if layout == "second" else []), b]
        points = np.stack(matrices, axis=1).reshape(-1, 3)
    frame = pandas.DataFrame(np.repeat(points, len(seeds), axis=0), columns=["x1", "x2", "x3"])
    frame["seed"] = list(seeds) * len(points)
    frame["y"] = ishigami(frame[["x1", "x2", "x3"]].to_numpy())
    frame["y"] += noise * np.random.default_rng(6).standard_normal(len(frame))
    return frame


def drawn(frame):
    axes = {name: None for name in ("x1", "x2", "x3")}
    return analysis.label(frame, axes=axes, metrics={"y": "lower"}, design="saltelli")


@pytest.mark.parametrize("layout", ["samples", "second", "matrices"])
def test_ishigamis_function_has_its_indices(layout):
    found = analysis.sensitivity(drawn(saltelli(layout)), "y")
    assert found.attrs["method"] == "saltelli"
    assert found["first"].tolist() == pytest.approx(ISHIGAMI[0], abs=0.03)
    assert found["total"].tolist() == pytest.approx(ISHIGAMI[1], abs=0.03)
    for index, known in zip(("first", "total"), ISHIGAMI, strict=True):
        assert (found[f"{index}_low"] <= known).all() and (known <= found[f"{index}_high"]).all()


def test_noise_is_taken_out_of_saltellis_total_indices():
    """Variance of Ishigami's function: 13.84. Noise of sd 4 in means of 4 seeds: 4, of 17.84 in all."""
    found = analysis.sensitivity(drawn(saltelli("samples", seeds=range(4), noise=4.0)), "y")
    share = 13.84 / 17.84
    assert found["total"].tolist() == pytest.approx([share * index for index in ISHIGAMI[1]], abs=0.05)
    assert found.attrs["noise"] == pytest.approx(1 - share, abs=0.03)


@pytest.mark.parametrize("place", [0, 2, 3])
def test_an_axis_that_does_not_vary_leaves_the_others_their_indices(place):
    """The design has a point with this axis from B too: it is that of A once more."""
    frame = saltelli("samples").drop(columns="seed")
    at = np.repeat(np.arange(0, len(frame), 5), 6) + np.tile(np.insert(np.arange(5), place + 1, 0), len(frame) // 5)
    frame = frame.iloc[at].reset_index(drop=True)
    frame.insert(place, "still", 1.0)
    labelled = analysis.label(frame, axes=list(frame)[:4], metrics={"y": "lower"}, design="saltelli")
    found = analysis.sensitivity(labelled, "y")
    assert found["axis"].tolist() == ["x1", "x2", "x3"] and found.attrs["points"] == 5 * 1024
    assert found["first"].tolist() == pytest.approx(ISHIGAMI[0], abs=0.03)
    assert found["total"].tolist() == pytest.approx(ISHIGAMI[1], abs=0.03)


def sweep(labelled, planned, failures=(), seeds=8):
    """What a sweep offers to this package: its table has its name and seeds, too."""
    metadata = json.loads(labelled.schema.metadata[b"fairground"]) | {"name": "made", "seeds": seeds}
    table = labelled.replace_schema_metadata({b"fairground": json.dumps(metadata).encode()})
    failed = pyarrow.Table.from_pylist(list(failures))
    experiment = types.SimpleNamespace(rows=lambda: iter(planned))
    return types.SimpleNamespace(table=table, failures=failed, experiment=experiment, notes=("a sweep's note",), left=0)


def test_saltellis_design_with_failed_runs_takes_the_sweep():
    whole = saltelli("samples", seeds=(1, 2), noise=0.1)
    planned = whole[["x1", "x2", "x3"]].values.tolist()
    holed = drawn(whole.drop(index=[7, 500, 501]))
    with pytest.raises(fg.InputError, match="give the sweep itself"):
        analysis.sensitivity(holed, "y")
    found = analysis.sensitivity(sweep(holed, planned, seeds=2), "y")
    assert found["total"].tolist() == pytest.approx(ISHIGAMI[1], abs=0.03)
    assert "2 samples left out: runs failed" in found.attrs["notes"]


PIPES = {
    "experiment": {"name": "pipes", "seeds": 2},
    "fixed": {"machine": "hikey960", "workload": "sched-pipe:threads"},
    "axes": {
        "sched": ["fair:v5.9", "fair:v5.9+asym-prev-first"],
        "options": {"loops": {"low": 50, "high": 200}},
        "settings": {"governor": ["performance", "schedutil"]},
    },
}


def test_a_real_sweep_in_saltellis_design(tmp_path):
    """Pipes through a governor that idles are slow: it explains nearly all, the number of loops nothing."""
    head = {"name": "pipes", "seeds": 2, "design": "saltelli", "points": 16}
    swept = fg.sweep({**PIPES, "experiment": head}, store=tmp_path / "store")
    found = analysis.sensitivity(swept, "ops_per_sec").set_index("axis")
    assert (found.attrs["method"], found.attrs["points"]) == ("saltelli", 16 * 5)
    assert found.loc["governor", "total"] > 0.8 and found.loc["loops", "total"] < 0.1
    assert "16 samples: below 128 neither indices nor intervals are to be trusted" in found.attrs["notes"]


class Stuck:
    """Carries out runs, but for one that it calls stuck."""

    def outcomes(self, work, inputs):
        for key, spec in work:
            stuck = spec.seed == 2 and dict(spec.options)["governor"] == "schedutil" and "+" in spec.sched
            yield key, Outcome.failure("stuck") if stuck else spec.run(inputs)


def test_a_real_sweep_with_a_failed_run(tmp_path):
    axes = {**PIPES["axes"], "options": {"loops": [50, 60, 70]}}
    content = {"experiment": {"name": "pipes", "seeds": 3}, "fixed": PIPES["fixed"], "axes": axes}
    swept = fg.sweep(content, store=tmp_path / "store", client=Stuck())
    found = swept.effects("ops_per_sec", axis="sched").iloc[0]
    # 6 points with 3 seeds: the second lacks 3 of them, and goes with the other 3.
    assert (found["pairs"], found["seeds"], found["left_out"]) == (12, 2, 3)
    swept.report(tmp_path / "a.html", metrics=["ops_per_sec"])
    text = re.sub("<[^>]*>", "", (tmp_path / "a.html").read_text())
    assert "33 runs of 12 points with 3 seeds, design grid; 3 runs failed." in text and "stuck" in text
    # One machine; a workload for each number of loops.
    made = dict(re.findall("<li>(machines|workloads|settings): ([^<]*)", (tmp_path / "a.html").read_text()))
    assert "figures sourced" in made["machines"]
    assert (made["workloads"].count("; "), made["settings"].count("; ")) == (2, 1), made


def test_a_random_design_has_no_indices_and_says_what_would():
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"x": rng.uniform(size=40), "z": rng.uniform(size=40), "seed": 1, "y": rng.uniform(size=40)}
    )
    labelled = analysis.label(frame, axes=["x", "z"], metrics={"y": "lower"}, design="random")
    with pytest.raises(
        fg.InputError, match='full grid, or points of design = "saltelli": these are 40 points of 40 x 40'
    ):
        analysis.sensitivity(labelled, "y")


# Regressions


def many(effect, count=200, seeds=8, noise=1.0):
    """`count` machines under two schedulers: `effect(machine)` is what the second adds to 100."""
    machines = [f"m{i}" for i in range(count)]
    return table(
        {"machine": machines, "sched": ["base", "test"]},
        lambda p: 100 + (p["sched"] == "test") * effect(int(p["machine"][1:])),
        seeds=range(seeds),
        noise=noise,
    )


BASE = {"sched": "base"}


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_null_data_gives_no_findings_after_correction(test):
    """400 comparisons without any difference: some 20 have p below 0.05, none is a finding."""
    found = analysis.regressions(many(lambda _: 0, count=400), BASE, test=test)
    assert 5 <= (found["p"] < 0.05).sum() <= 40
    assert set(found["verdict"]) == {"undecided"}


def test_false_findings_are_as_rare_as_stated():
    """Of 100 sweeps of 20 null comparisons each Holm lets 5 through at 5 %; 16 are 5 sd more."""
    frame = many(lambda _: 0, count=20, seeds=6).to_pandas()
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(100):
        frame["y"] = 100 + rng.standard_normal(len(frame))
        labelled = analysis.label(frame, axes=["machine", "sched"], metrics={"y": "lower"})
        wrong += (analysis.regressions(labelled, BASE)["verdict"] != "undecided").any()
    assert wrong <= 16


def test_worse_and_better_are_found_and_ranked_by_evidence():
    """Machine 7 is 5 % slower, machine 3 is 10 % faster, with 1 % of noise in each run."""
    found = analysis.regressions(many(lambda i: {7: 5, 3: -10}.get(i, 0)), BASE)
    assert found.loc[:1, ["machine", "verdict"]].values.tolist() == [["m3", "better"], ["m7", "worse"]]
    assert set(found.loc[2:, "verdict"]) == {"undecided"}
    better, worse = found.iloc[0], found.iloc[1]
    # Noise of a difference's mean over 8 seeds: 0.5.
    assert [better["improvement_pct"], worse["improvement_pct"]] == pytest.approx([10, -5], abs=1.5)
    assert better["p"] < worse["p"] < worse["p_adjusted"] < 0.05
    assert found["p"].is_monotonic_increasing


def test_students_p_is_scipys_also_where_a_pair_is_missing():
    from scipy import stats

    frame = many(lambda i: i / 3, count=4).to_pandas()
    frame.loc[(frame["machine"] == "m2") & (frame["seed"] == 5) & (frame["sched"] == "test"), "y"] = np.nan
    found = analysis.regressions(analysis.label(frame, axes=["machine", "sched"], metrics={"y": "lower"}), BASE)
    for row in found.itertuples():
        sides = frame[frame["machine"] == row.machine].pivot(index="seed", columns="sched", values="y").dropna()
        assert row.p == pytest.approx(stats.ttest_rel(sides["base"], sides["test"]).pvalue)
        assert row.seeds == (7 if row.machine == "m2" else 8)


def test_holm_and_benjamini_hochberg_are_those_of_the_books():
    """p of 0.01, 0.02, 0.03, 0.04: Holm 0.04, 0.06, 0.06, 0.06; Benjamini and Hochberg 0.04 each."""
    from fairground.analysis.regressions import CORRECTIONS

    p = np.array([0.03, 0.01, 0.04, 0.02])
    assert CORRECTIONS["holm"](p).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert CORRECTIONS["bh"](p).tolist() == pytest.approx([0.04] * 4)


def test_differences_without_spread_have_the_p_of_changed_signs():
    """8 seeds that all say the same: 2 of 2**8 ways to change signs are as extreme."""
    found = analysis.regressions(table(TWO, additive), BASE)
    assert found["p"].tolist() == [2**-7] * 3
    assert found["effect_size"].isna().all() and set(found["verdict"]) == {"better"}


def test_rounding_is_no_finding():
    """0.3 and 0.1 + 0.2 differ in the last bit, with each seed alike."""
    rows = [
        {"a": level, "seed": seed, "y": share * 10} for level, share in (("x", 0.3), ("y", 0.1 + 0.2)) for seed in SEEDS
    ]
    found = analysis.regressions(
        analysis.label(pandas.DataFrame(rows), axes=["a"], metrics={"y": "lower"}), {"a": "x"}
    ).iloc[0]
    assert (found["verdict"], found["p"], found["improvement_pct"]) == ("undecided", 1, 0)


def test_permutations_of_few_seeds_are_counted_out():
    """Improvements 1, 2, 3, 4, -0.5 of 5 pairs: sums as large as 9.5 have 2 of 32 changes of signs, on either side."""
    frame = pandas.DataFrame({"a": ["x"] * 5 + ["y"] * 5, "seed": [*range(5)] * 2, "y": [0] * 5 + [1, 2, 3, 4, -0.5]})
    labelled = analysis.label(frame, axes=["a"], metrics={"y": "higher"})
    assert analysis.regressions(labelled, {"a": "x"}, test="permutation")["p"].tolist() == pytest.approx([4 / 32])


def test_axes_of_the_base_that_are_not_named_are_equal_on_both_sides():
    found = analysis.regressions(table(TWO, additive), {"sched": "base", "groups": 1}, correction="bh")
    against_one = {(row.sched, row.groups): row.base_mean for row in found.itertuples()}
    assert set(against_one) == {("base", 2), ("base", 4), ("test", 1), ("test", 2), ("test", 4)}
    assert set(against_one.values()) == {10}


def test_one_seed_tests_nothing():
    found = analysis.regressions(table(TWO, additive, seeds=[1]), BASE)
    assert found["p"].isna().all() and set(found["verdict"]) == {"undecided"}
    assert found.attrs["notes"] == ["3 comparisons with one seed: nothing can be tested"]


def test_constant_metrics_are_not_tested():
    frame = table(TWO, additive).to_pandas().assign(still=1.0)
    labelled = analysis.label(frame, axes=TWO, metrics={"y": "lower", "still": "lower"})
    assert set(analysis.regressions(labelled, BASE)["metric"]) == {"y"}


# What is not understood


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: analysis.effects(t, "yy"), "no metric 'yy', did you mean y?"),
        (lambda t: analysis.effects(t, "y", "shed"), "no axis 'shed', did you mean sched?"),
        (lambda t: analysis.regressions(t, {"sched": "bass"}), "no level of axis sched 'bass', did you mean base?"),
        (lambda t: analysis.regressions(t, {}), "base: name the levels"),
        (lambda t: analysis.regressions(t, BASE, test="f"), "test: expected t or wilcoxon or permutation, not 'f'"),
        (lambda t: analysis.regressions(t, BASE, alpha=5), "alpha: expected a chance from 0 to 1, not 5"),
        (lambda t: analysis.effects(t.to_pandas(), "y"), "add them with fairground.analysis.label"),
        (lambda t: analysis.effects([1], "y"), "expected a sweep or a table, not list"),
        (lambda t: analysis.label(t, ["sched"], {"x": "lower"}), "no column 'x'"),
        (lambda t: analysis.label(t, ["groups"], {"sched": "lower"}), "metric sched: expected numbers"),
        (lambda t: analysis.label(t, "sched", {"y": "lower"}), "axes: expected a list of columns such as ['sched']"),
        (lambda t: analysis.label(t, [], {"y": "lower"}), "axes: name at least one column"),
        (lambda t: analysis.label(t, ["seed"], {"y": "lower"}), "axis seed: answers have a column of that name"),
        (lambda t: analysis.label(t, ["sched", "y"], {"y": "lower"}), "y is named as an axis and as a metric"),
        (lambda t: analysis.label(t, ["sched"], {"seed": "lower"}), "metric seed: the column distinguishes"),
        (lambda t: analysis.label(t, {"groups": [1, 2, 4, 1.0]}, {"y": "lower"}), "axis groups: level 1 stands twice"),
        (lambda t: analysis.label(t, {"sched": "base"}, {"y": "lower"}), "axis sched: expected a list of levels"),
        (lambda t: analysis.label(t.drop(["seed"]), ["sched"], {"y": "lower"}), "a column `seed` is missing"),
        (lambda t: analysis.effects(t, "y", "sched", by=["sched"]), "by: sched is the axis that changes"),
        (lambda t: analysis.label(t, ["sched"], {"y": "less"}), "metric y: expected higher or lower, not 'less'"),
        (lambda t: analysis.label(t, {"sched": ["base"]}, {"y": "lower"}), "the table has 'test', which is none"),
        (lambda t: analysis.effects(analysis.label(t, ["sched"], {"y": "lower"}), "y"), "two runs have the same axes"),
    ],
)
def test_what_is_not_understood_is_named(ask, message):
    with pytest.raises(fg.InputError) as error:
        ask(table(TWO, additive))
    assert message in str(error.value)


def test_no_column_of_the_answers_may_be_an_axis():
    runs = table(TWO, additive)
    columns = {*analysis.effects(runs, "y", "sched", by=["groups"]), *analysis.regressions(runs, BASE)} - set(TWO)
    for name in columns:
        renamed = runs.rename_columns([name if column == "sched" else column for column in runs.column_names])
        with pytest.raises(fg.InputError, match=f"axis {name}: answers have a column of that name"):
            analysis.label(renamed, [name, "groups"], {"y": "lower"})


def test_a_switch_as_base_may_be_said_as_it_is_shown():
    found = analysis.regressions(table({"feature": ON_OFF}, lambda p: 2.0 - p["feature"]), {"feature": "off"})
    assert found[["feature", "verdict"]].values.tolist() == [[True, "better"]]


def test_a_metric_that_no_run_has_gives_empty_answers_and_a_report(tmp_path):
    frame = table(TWO, additive).to_pandas().assign(none=np.nan)
    labelled = analysis.label(frame, axes=TWO, metrics={"y": "lower", "none": "lower"})
    assert analysis.effects(labelled, "none").empty and analysis.interactions(labelled, "none").empty
    assert analysis.trends(labelled, "none")["slope"].isna().all()
    assert analysis.regressions(labelled, BASE, metrics=["none"]).empty
    with pytest.raises(fg.InputError, match="no seed of which all runs"):
        analysis.sensitivity(labelled, "none")
    analysis.report(labelled, tmp_path / "a.html", metrics=["none"])
    assert "It is the same in all runs." in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("missing", "ask"),
    [
        ("pandas", "from fairground import analysis"),
        ("matplotlib", "from fairground.analysis import figures; figures.effects(None)"),
        ("SALib", "from fairground.analysis import saltelli; saltelli._estimated(None, None, 1)"),
    ],
)
def test_a_missing_library_is_named_with_what_brings_it(missing, ask):
    """As on a machine with the bare package: in an interpreter of its own, which finds no such library."""
    text = f"import sys; sys.modules[{missing!r}] = None; {ask}"
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    message = ended.stderr.splitlines()[-1]
    assert missing in message and message.endswith("pip install 'fairground[report]'"), ended.stderr


def test_tables_of_all_libraries_are_taken():
    frame = table(TWO, additive).to_pandas()
    for given in (frame, pyarrow.Table.from_pandas(frame), polars.DataFrame(frame)):
        labelled = analysis.label(given, axes=TWO, metrics={"y": ("s", "lower")})
        assert analysis.effects(labelled, "y", "sched")["diff"].tolist() == [-2]
        assert json.loads(labelled.schema.metadata[b"fairground"])["metrics"] == {"y": {"unit": "s", "better": "lower"}}


def test_rows_may_come_in_any_order():
    labelled = table(TWO, additive, noise=1.0)
    mixed = labelled.take(np.random.default_rng(1).permutation(len(labelled)))
    whole, other = analysis.effects(labelled, "y"), analysis.effects(mixed, "y")
    assert math.isclose(whole["low"].iloc[0], other["low"].iloc[0])
    assert whole["level"].tolist() == other["level"].tolist()


# Figures and report


def pictures(labelled):
    """One of each kind."""
    return [
        analysis.figures.effects(analysis.effects(labelled, "y")),
        analysis.figures.interactions(analysis.interactions(labelled, "y")),
        analysis.figures.interaction(labelled, "y", "groups", "sched"),
        analysis.figures.sensitivity(analysis.sensitivity(labelled, "y")),
        analysis.figures.heat_map(labelled, "y", "groups", "sched"),
        analysis.figures.distribution(labelled, "y", "sched"),
    ]


def test_pictures_are_the_same_each_time_whatever_is_set():
    import matplotlib

    labelled = table(TWO, additive, noise=1.0)
    first = [picture.svg() for picture in pictures(labelled)]
    with matplotlib.rc_context(
        {"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "red", "svg.fonttype": "path"}
    ):
        assert [picture.svg() for picture in pictures(labelled)] == first
    for svg in first:
        xml.etree.ElementTree.fromstring(svg)
        assert "dc:date" not in svg


def test_a_picture_shows_its_names_and_figures():
    labelled = table(TWO, additive)
    effects, _, _, _, heat_map, _ = (picture.svg() for picture in pictures(labelled))
    assert "sched: base → test" in effects and "groups: 1 → 4" in effects
    # Means of one cell each: 10, 13 and 19 s, and 2 s less.
    assert all(f">{mean}<" in heat_map for mean in (10, 13, 19, 8, 11, 17))


def test_names_in_pictures_are_no_formulas_and_leave_room():
    long = "fair:v6.12" + "+some-feature" * 20
    labelled = table({"sched": ["$\\frac$", long], "groups": [1, 2]}, lambda p: 1.0 + (p["sched"] == long))
    for picture in pictures(labelled):
        svg = picture.svg()
        xml.etree.ElementTree.fromstring(svg)
        assert long not in svg
    assert "$\\frac$" in analysis.figures.distribution(labelled, "y", "sched").svg()


def test_switches_are_off_and_on(tmp_path):
    labelled = table(SWITCHES, lambda p: 10.0 - 2 * (p["a"] and p["b"]), noise=0.1)
    assert "a: off → on" in analysis.figures.effects(analysis.effects(labelled, "y")).svg()
    analysis.report(labelled, tmp_path / "a.html")
    text = re.sub("<[^>]*>", "", (tmp_path / "a.html").read_text())
    assert "off, on" in text and "a on × b on" in text and "True" not in text and "False" not in text


def test_nothing_to_draw_is_said():
    with pytest.raises(fg.InputError, match="there is nothing to draw"):
        analysis.figures.effects(analysis.effects(table({"sched": ["base"]}, lambda _: 1.0), "y"))


FAILURE = {"sched": "test", "groups": 4, "seed": 3, "message": "stuck <at> 4 & 5"}


def made_sweep():
    labelled = table(TWO, additive, noise=0.5)
    planned = [row for row in itertools.product(*TWO.values()) for _ in SEEDS]
    holed = without(labelled, lambda r: (r["sched"], r["groups"], r["seed"]) == ("test", 4, 3))
    return sweep(holed, planned, [FAILURE])


def test_a_report_has_all_answers_and_nothing_from_elsewhere(tmp_path):
    analysis.report(made_sweep(), tmp_path / "a.html", notes=["measured <once>"])
    page = (tmp_path / "a.html").read_text()
    text = re.sub("<[^>]*>", "", page)
    for words in (
        "47 runs of 6 points with 8 seeds, design grid; 1 run failed",
        "What got worse, what got better",
        "against sched = base",
        "Effects",
        "Trends",
        "Interactions",
        "Shares of the variance",
        "Runs that failed",
        "stuck &lt;at&gt; 4 &amp; 5",
        "measured &lt;once&gt;",
        "a sweep&#x27;s note",
        "made by: fairground ",
    ):
        assert words in text, words
    assert not re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', page)
    assert "<script" not in page and "@import" not in page
    Well().feed(page)


class Well(html.parser.HTMLParser):
    """Elements are closed in the order in which they were opened, and no id stands twice."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], set()

    def handle_starttag(self, tag, attrs):
        name = dict(attrs).get("id")
        assert name is None or name not in self.ids, f"id {name} stands twice"
        self.ids.add(name)
        if tag not in ("meta", "link", "br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_the_same_each_time(tmp_path):
    for name in "ab":
        analysis.report(made_sweep(), tmp_path / f"{name}.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_names_in_a_report_are_escaped(tmp_path):
    bad = "<script>alert(1)</script>"
    labelled = table({bad: ["a&b", bad]}, lambda p: 1.0 + (p[bad] == bad))
    analysis.report(labelled, tmp_path / "a.html", title=bad)
    page = (tmp_path / "a.html").read_text()
    assert "<script" not in page and "&lt;script&gt;" in page and "a&amp;b" in page


def test_a_report_of_one_seed_and_a_constant_metric(tmp_path):
    frame = table(TWO, additive, seeds=[1]).to_pandas().assign(still=1.0)
    labelled = analysis.label(frame, axes=TWO, metrics={"y": "lower", "still": "lower"})
    analysis.report(labelled, tmp_path / "a.html", metrics=["y", "still"])
    text = re.sub("<[^>]*>", "", (tmp_path / "a.html").read_text())
    assert "one seed: no interval, nothing is significant" in text
    assert "It is the same in all runs." in text
    assert "Nothing can be tested: no point ran with the base" in text and "beyond chance" not in text


def test_a_report_of_a_random_design_without_the_defaults_base_ranks_nothing(tmp_path):
    """Nine features at random: no point has them all off."""
    rng = np.random.default_rng(2)
    names = [f"f{i}" for i in range(9)]
    points = rng.choice(np.arange(1, 2**9), size=40, replace=False)
    drawn = (points[:, None] >> np.arange(9) & 1).astype(bool)
    frame = pandas.DataFrame(drawn, columns=names).assign(y=rng.uniform(size=40), seed=1)
    labelled = analysis.label(frame, axes={name: ON_OFF for name in names}, metrics={"y": "lower"}, design="random")
    metadata = json.loads(labelled.schema.metadata[b"fairground"])
    for axis in metadata["axes"]:
        axis["kind"] = "feature"
    labelled = labelled.replace_schema_metadata({b"fairground": json.dumps(metadata).encode()})
    analysis.report(labelled, tmp_path / "a.html")
    text = re.sub("<[^>]*>", "", (tmp_path / "a.html").read_text())
    assert "nothing is ranked: no point has the base" in text and "Trends" in text
    with pytest.raises(fg.InputError, match="no point has the base"):
        analysis.report(labelled, tmp_path / "b.html", base=dict.fromkeys(names, False))


def test_a_report_of_a_random_design_says_why_indices_are_missing(tmp_path):
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"x": rng.uniform(size=90), "z": rng.uniform(size=90), "seed": 1, "y": rng.uniform(size=90)}
    )
    labelled = analysis.label(frame, axes=["x", "z"], metrics={"y": "lower"}, design="random")
    analysis.report(labelled, tmp_path / "a.html")
    text = re.sub("<[^>]*>", "", (tmp_path / "a.html").read_text())
    assert "No sensitivity indices: sensitivity indices take a full grid" in text
    assert "No two levels of an axis ran with all else equal." in text and "Trends" in text


def test_a_report_on_nothing_is_refused(tmp_path):
    empty = table(TWO, additive).slice(0, 0)
    with pytest.raises(fg.InputError, match="no completed run"):
        analysis.report(empty, tmp_path / "a.html")


def test_examples_are_true():
    page = Path(__file__).parents[2] / "docs" / "analysis.md"
    assert doctest.testmod(analysis).failed == 0
    assert doctest.testfile(str(page), module_relative=False).failed == 0

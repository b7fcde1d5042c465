"""What a run says when its events are kept: tasks, CPUs, reasons, differences."""

import subprocess

import fairground as fg
import pytest

PIPE = "sched-pipe:loops=200,threads"


@pytest.fixture(scope="module")
def run():
    return fg.run("hikey960", PIPE, "fair:v5.9", why=True)


def trace(command, path, sched="fair:v5.9"):
    run = [command, "run", "hikey960", PIPE, "--sched", sched, "--trace", str(path), "--why"]
    subprocess.run(run, check=True, capture_output=True)
    return path


def output_of(command, *arguments):
    """What the command prints."""
    return subprocess.run([command, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_tasks_wait_as_the_commands_statistics_say(run, command, tmp_path):
    path = trace(command, tmp_path / "t.txt")
    theirs = {}
    rows = output_of(command, "stats", "latency", path, "--by", "pid", "--format", "csv").splitlines()
    names = rows[0].split(",")
    for row in rows[1:]:
        row = dict(zip(names, row.split(","), strict=True))
        theirs[int(row["name"].rsplit(":")[-1])] = (int(row["runtime_ns"]), int(row["count"]), int(row["delay_max_ns"]))
    tasks = run.tasks.to_pandas()
    ours = {t.pid: (t.run_ns, t.waits, t.wait_max_ns) for t in tasks.itertuples() if t.waits}
    assert ours == theirs
    # Both ends of the pipe sleep and are woken at every turn.
    reader = tasks[tasks.wakeups > 190]
    assert len(reader) == 2 and (reader.sleep_ns > 0).all()
    assert (tasks.wait_p50_ns <= tasks.wait_p99_ns).all()
    assert tasks.migrations.sum() == run["migrations"]


def test_cpus_are_busy_or_idle(run):
    cpus = run.cpus.to_pandas()
    assert cpus.cpu.tolist() == list(range(8))
    assert cpus.busy_ns.sum() == run.tasks.to_pandas().run_ns.sum()
    idle = run.idle_states.to_pandas()
    assert idle.groupby("cpu").total_ns.sum().tolist() == cpus.idle_ns[cpus.idle_ns > 0].tolist()
    assert (idle.mean_ns <= idle.max_ns).all()


def test_clocks_add_up_under_schedutil():
    run = fg.run("hikey960", "periodic:duration=0.1", "fair:v6.12", events=True, governor="schedutil")
    frequencies = run.frequencies.to_pandas()
    mean = {cpu: (f.khz * f.total_ns).sum() / f.total_ns.sum() for cpu, f in frequencies.groupby("cpu")}
    cpus = run.cpus.to_pandas().set_index("cpu").mean_khz.dropna()
    assert len(cpus) > 0 and cpus.to_dict() == pytest.approx(mean)


def test_who_kept_no_events_is_told_how(run):
    bare = fg.run("hikey960", PIPE, "fair:v5.9")
    assert bare.hash == run.hash
    with pytest.raises(fg.InputError, match="events=True"):
        _ = bare.tasks
    with pytest.raises(fg.InputError, match="events=True"):
        fg.explain(bare)


@pytest.mark.parametrize(
    "filters, options",
    [
        ({}, []),
        ({"cpu": 4}, ["--cpu", "4"]),
        ({"at": 0.001}, ["--at", "1ms"]),
        ({"task": "1001"}, ["--task", "1001"]),
    ],
)
def test_a_run_is_explained_as_its_trace_is(run, command, tmp_path, filters, options):
    path = trace(command, tmp_path / "t.txt")
    theirs = output_of(command, "explain", path, *options)
    assert str(fg.explain(path, **filters)) == theirs
    assert str(fg.explain(run, **filters)) == theirs


@pytest.mark.parametrize(
    "filters, options",
    [
        ({}, []),
        ({"task": "1001"}, ["--task", "1001"]),
        ({"nth": 3}, ["--nth", "3"]),
    ],
)
def test_a_recording_is_judged_as_the_command_judges_it(command, tmp_path, filters, options):
    path = trace(command, tmp_path / "t.txt")
    theirs = output_of(command, "whatif", path, "--sched", "fair:v6.1", *options)
    assert str(fg.whatif(path, "fair:v6.1", **filters)) == theirs


def test_judged_wakeups_are_tables(command, tmp_path):
    path = trace(command, tmp_path / "t.txt")
    rules = fg.whatif(path, "fair:v5.9").rules.to_pandas()
    assert (rules.judged >= rules.agree).all() and rules.agree.sum() > 400
    judged = fg.whatif(path, "fair:v5.9", task="1001").wakeups.to_pandas()
    assert (judged.agrees == (judged.cpu == judged.recorded_cpu)).all() and (judged.pid == 1001).all()
    with pytest.raises(fg.InputError, match="nth"):
        fg.whatif(path, nth=0)


def test_decisions_and_their_reasons_are_tables(run):
    explanation = fg.explain(run)
    decisions = explanation.decisions.to_pandas()
    assert len(decisions) > 400 and set(decisions.kind) >= {"wake", "fork"}
    reasons = explanation.reasons.to_pandas()
    # Each reason belongs to a decision, and says something.
    assert reasons.decision.is_monotonic_increasing and reasons.decision.max() < len(decisions)
    assert (reasons.text.str.len() > 0).all()
    rules = explanation.rules.to_pandas().set_index("rule")
    assert rules["count"].to_dict() == decisions.rule.value_counts().to_dict()
    only = fg.explain(run, cpu=4).decisions.to_pandas()
    assert len(only) == (decisions.cpu == 4).sum() and (only.cpu == 4).all()


@pytest.mark.parametrize(
    "filters, options",
    [({}, []), ({"at": 0.0025}, ["--at", "0.0025"]), ({"task": "1001", "cpu": 4}, ["--task", "1001", "--cpu", "4"])],
)
def test_picks_are_explained_as_those_of_the_trace_are(run, command, tmp_path, filters, options):
    path = trace(command, tmp_path / "t.txt")
    theirs = output_of(command, "explain", path, "--picks", *options)
    assert str(fg.explain_picks(path, **filters)) == theirs
    assert str(fg.explain_picks(run, **filters)) == theirs


def test_picks_and_their_reasons_are_tables():
    run = fg.run("hikey960", "schbench:runtime=0.1", "fair:v6.12", why=True)
    explanation = fg.explain_picks(run)
    picks = explanation.picks.to_pandas()
    assert set(picks.kind) == {"pick", "wakeup", "slice"} and (picks.queued > 0).all()
    # Only a woken task preempts or waits.
    assert (picks.preempts.notna() == (picks.kind == "wakeup")).all()
    assert (picks.current_comm.notna() == picks.current_lag_ns.notna()).all() and picks.current_pid.notna().any()
    rules = explanation.rules.to_pandas().set_index(["kind", "rule"])
    assert rules["count"].to_dict() == picks.groupby(["kind", "rule"]).size().to_dict()
    assert (rules.meaning.str.len() > 0).all()
    only = fg.explain_picks(run, cpu=4).picks.to_pandas()
    assert len(only) == (picks.cpu == 4).sum() and (only.cpu == 4).all()
    with pytest.raises(fg.InputError, match="no such pick"):
        fg.explain_picks(run, task="nobody")


def test_picks_of_two_runs_are_compared():
    base, test = (
        fg.run("hikey960", "schbench:runtime=0.1", f"fair:v6.12{more}", why=True) for more in ("", "+next-buddy")
    )
    difference = fg.diff(base, test)
    assert difference.pick_agree < difference.pick_pairs
    first = difference.first_pick.to_pandas()
    assert first.side.tolist() == ["base", "test"] and first.rule[1] == "buddy" and first.pid[0] != first.pid[1]
    rules = difference.pick_rules.to_pandas()
    assert rules.set_index("rule").loc["buddy", "shift"].sum() > 0
    assert (rules["shift"] == rules.test - rules.base.astype(float)).all()
    # Only kernels tell which values their decisions leave.
    assert len(difference.left) == 0
    same = fg.diff(base, base)
    assert same.pick_agree == same.pick_pairs > 0 and len(same.first_pick) == 0


def test_candidates_of_energy_aware_placement_are_among_the_reasons():
    run = fg.run("hikey960", "periodic:duration=0.1", "fair:v6.12", why=True, governor="schedutil")
    explanation = fg.explain(run)
    decisions = explanation.decisions.to_pandas()
    by_energy = explanation.rules.to_pandas().query("title.str.startswith('find_energy_efficient_cpu:')").rule
    decided = decisions[decisions.rule.isin(by_energy)].index
    reasons = explanation.reasons.to_pandas()
    costs = reasons[reasons.decision.isin(decided) & reasons.text.str.contains("energy delta")]
    # Some had the choice between two CPUs, each of which is priced once.
    assert costs.groupby("decision").size().max() > 1
    assert not costs.duplicated(["decision", "cpu"]).any()


def test_two_runs_differ_as_their_traces_do(run, command, tmp_path):
    other = fg.run("hikey960", PIPE, "fair:v5.9+asym-prev-first", why=True)
    traces = [trace(command, tmp_path / "base.txt"), trace(command, tmp_path / "test.txt", "fair:v5.9+asym-prev-first")]
    difference = fg.diff(run, other)
    theirs = output_of(command, "diff", *traces)
    for path, side in zip(traces, (run, other), strict=True):
        shown = f"{side.machine} {side.workload} {side.sched} seed {side.seed}"
        theirs = theirs.replace(str(path), shown)
    assert str(difference) == theirs
    assert difference.agree < difference.pairs
    first = difference.first.to_pandas()
    assert first.side.tolist() == ["base", "test"] and first.cpu[0] != first.cpu[1]
    rules = difference.rules.to_pandas()
    assert (rules["shift"] == rules.test - rules.base.astype(float)).all()
    same = fg.diff(run, run)
    assert same.agree == same.pairs and len(same.first) == 0


@pytest.mark.parametrize(
    "filters, words",
    [
        ({"task": "sched-pip"}, "did you mean"),
        ({"cpu": 77}, "CPU 77"),
        ({"at": 1e6}, "no such placement"),
    ],
)
def test_what_is_not_in_a_run_is_named(run, filters, words):
    with pytest.raises(fg.InputError, match=words):
        fg.explain(run, **filters)


def test_what_is_no_trace_is_named(tmp_path):
    with pytest.raises(fg.InputError, match="no such file"):
        fg.explain(tmp_path / "none.txt")
    with pytest.raises(fg.InputError, match="a run, or the path"):
        fg.explain(7)

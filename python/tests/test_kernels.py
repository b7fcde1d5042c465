"""Kernels from Python: `linux:NAME`. Runs where one is built; `tests/kernel.sh` builds some."""

import json
import os
import subprocess
import time

import fairground as fg
import pytest
from interrupts import interrupted

PIPE = "sched-pipe:loops=200,threads"


@pytest.fixture(scope="module")
def kernel():
    """One that is built, for machines of hikey960's size."""
    built = [
        name
        for name in fg.kernels().to_pyarrow()["sched"].to_pylist()
        if name == os.environ.get("FAIRGROUND_KERNEL", name)
    ]
    if not built:
        pytest.skip("no kernel is built")
    return built[-1]


def test_a_kernels_run_is_that_of_the_command(kernel, command):
    run = [command, "run", "hikey960", PIPE, "--sched", kernel, "--metrics", "all", "--format", "json"]
    theirs = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
    ours = fg.run("hikey960", PIPE, kernel)
    assert ours.hash == theirs["hash"]
    assert all(ours[metric["name"]] == metric["value"] for metric in theirs["metrics"])


def test_a_kernels_events_come_back(kernel, command, tmp_path):
    """The same that its trace has, and the run is the same without them."""
    run = fg.run("hikey960", PIPE, kernel, events=True)
    assert run.hash == fg.run("hikey960", PIPE, kernel).hash
    trace = tmp_path / "t.txt"
    subprocess.run(
        [command, "run", "hikey960", PIPE, "--sched", kernel, "--trace", str(trace)], check=True, capture_output=True
    )
    lines = trace.read_text().splitlines()
    for event in ("sched_switch", "sched_wakeup", "sched_migrate_task", "cpu_idle"):
        assert len(run.events[event]) == sum(f": {event}: " in line for line in lines), event
    assert run.tasks.to_pandas().wakeups.max() > 190
    explanation = fg.explain(fg.run("hikey960", PIPE, kernel, why=True))
    assert len(explanation.reasons) > 0


def test_a_kernel_does_not_tell_what_load_tracking_says(kernel):
    with pytest.raises(fg.InputError, match="does not report load-tracking signals"):
        fg.run("hikey960", PIPE, kernel, util_events=True)


def test_kernels_are_compared_like_any(kernel):
    comparison = fg.compare("hikey960", PIPE, "fair:v6.12", kernel, seeds=2, store=False)
    assert len(comparison.failures) == 0 and comparison.table.to_pandas().test.unique().tolist() == [kernel]


def test_an_interrupt_ends_a_kernels_run_and_its_worker(kernel):
    def workers():
        listed = subprocess.run(
            ["ps", "--ppid", str(os.getpid()), "-o", "args="], check=False, capture_output=True, text=True
        )
        return [line for line in listed.stdout.splitlines() if "fairground._worker" in line]

    with interrupted(when=workers):
        fg.run("hikey960", "hackbench:groups=8,loops=10000000", kernel)
    assert not workers()


def test_a_tree_that_is_none_is_named(tmp_path):
    with pytest.raises(fg.InputError, match=str(tmp_path.name)):
        fg.kernel_build(tmp_path)
    with pytest.raises(fg.InputError, match="jobs"):
        fg.kernel_build(tmp_path, jobs=0)


def test_an_interrupt_ends_a_build_with_all_it_started(tmp_path, monkeypatch):
    tree = os.environ.get("FAIRGROUND_TREE")
    if not tree:
        pytest.skip("set FAIRGROUND_TREE to a kernel's source tree")
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))

    def building():
        listed = subprocess.run(["ps", "-eo", "stat=,args="], check=True, capture_output=True, text=True).stdout
        return [line for line in listed.splitlines() if str(tmp_path) in line and not line.startswith("Z")]

    with interrupted(when=building):
        fg.kernel_build(tree, name="mine", jobs=1)
    # Killed processes take a moment to go; a build that goes on takes half a minute, and then has a result.
    while building():
        time.sleep(0.1)
    assert not list(tmp_path.rglob("*.so"))

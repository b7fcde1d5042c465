// The stops of the tour: one for each mail, with a workload short enough for a page. The words are ours.
"use strict";

const SERIES = ["lb-p01", "lb-p02", "lb-p03", "lb-p04", "lb-p05", "lb-p06", "lb-p07", "lb-p08", "lb-p09", "lb-p10", "lb-p11"];

const TOUR = [
	{
		id: "asym-prev-first",
		name: "The previous CPU first",
		title: "asym-prev-first: two tasks that walk round four CPUs",
		mail: "[PATCH v2] sched/fair: prefer prev cpu in asymmetric wakeup path, Vincent Guittot, October 2020; in Linux since v5.10",
		text: [
			"A HiKey 960 has four little and four big CPUs. Two threads pass one byte back and forth through two pipes, so that each wakes the other and sleeps. Both fit on big CPUs.",
			"Before the change, a wakeup on such a machine scans the CPUs from the waker's own on and takes the first that is idle and large enough. The waker's own is busy, so the woken thread always lands on the next one, and the pair walks round CPUs 4 to 7, away from its caches at each step.",
		],
		rule: "select_idle_sibling: if the CPU that the task last ran on is idle and its capacity fits, take it before any scan of the machine.",
		look: "Look at migrations: two for each round trip before, none after. The rules below the table say the same: the scan decided before, the previous CPU after. The mail measured +22 % of round trips, its migrations fell from 999,364 to nothing.",
		then: "Then make migrations cheaper: set the figure costs.soft.migrate of the machine to 0, or take hikey, whose eight CPUs are equal: nothing moves there before or after.",
		input: { version: 1, machine: "hikey960", workload: "sched-pipe:loops=1000,threads", base: "fair:v5.9", test: "fair:v5.9+asym-prev-first", seeds: 8, draws: 0 },
	},
	{
		id: "break-even",
		name: "Let sleeping CPUs lie",
		title: "break-even: the CPU whose sleep has paid",
		mail: "Re: [PATCH] sched: fair: Use the earliest break even, Daniel Lezcano, March 2020; not merged",
		text: [
			"A SynQuacer has 24 equal CPUs in twelve pairs. A process forks bursts of children, which find nearly everything asleep. To enter a sleep state costs energy that only a sleep of some length brings back: its break-even.",
			"The kernel prefers, of idle CPUs in equally deep states, the one that fell asleep last, because its caches may still be warm. So the same CPU is woken again and again before its sleep has paid, and sometimes before it has even finished to enter it.",
		],
		rule: "find_idlest_group_cpu: of idle CPUs in states of equal exit latency, take the one whose break-even comes first, not the one that became idle last.",
		look: "Look at idle_cut, the sleeps that ended before their break-even, and idle_lost_j, the energy lost by that: nearly all are gone. The time of a burst hardly changes. The mail's own workloads do not come to this rule as often as this one does.",
		then: "Then let children come more often (fork-burst:children=8,interval=300,gap=50,work=500), or set idle_governor to teo in the settings of both sides: signs can turn.",
		input: { version: 1, machine: "synquacer", workload: "fork-burst:bursts=40", base: "fair:v5.5", test: "fair:v5.5+break-even=exit-latency", seeds: 8, draws: 0 },
	},
	{
		id: "lb-rework",
		name: "Load balance, reworked",
		title: "lb-rework: groups have a state, and balancing an amount",
		mail: "[PATCH v4 00/10] sched/fair: rework the CFS load balance, Vincent Guittot, October 2019; in Linux since v5.5",
		text: [
			"A HiKey has two clusters of four equal CPUs. shell8 starts eight scripts at a time, each a chain of short processes: forks, execs, pipes and exits, for which the balancer has little time to react.",
			"Before the series the balancer compared average loads and moved load. After it, each group of CPUs has a state (spare capacity, fully busy, imbalanced, overloaded), and what is moved depends on it: load, utilization, a task, or a misfit one.",
		],
		rule: "calculate_imbalance: if the busiest group is not overloaded and this one has spare capacity, even out the number of tasks (or of idle CPUs), not load.",
		look: "Look at migrations, which fall by a quarter, and at loops_per_min, which falls too: the mail printed -3.1 % for this row. A run as short as this one says -6 %, and its interval how little that is sure. The series was merged for what it gains elsewhere. wasted_core_s says why: runnable tasks wait while a CPU is idle.",
		then: "Then leave out one patch of the series: remove +lb-p10 from the test, or run hackbench:groups=4,loops=50.",
		input: { version: 1, machine: "hikey", workload: "shell8:copies=1,duration=0.2", base: "fair:v5.4", test: `fair:v5.4${SERIES.map((patch) => `+${patch}`).join("")}`, seeds: 8, draws: 0 },
	},
	{
		id: "misfit-unlink",
		name: "One misfit, all of EAS",
		title: "misfit-unlink: a boosted thread that switches energy-awareness off",
		mail: "Re: [PATCH v4] sched/fair: unlink misfit task from cpu overutilized, Qais Yousef, January 2023; in Linux since v6.3",
		text: [
			"A Pixel 6 draws frames of Jankbench. Android asks for a floor of performance for some threads (uclamp). A CPU on which a task asks for more than it has is overutilized, and one such CPU ends energy-aware placement for the whole machine.",
			"The base is a kernel that compares clamps with capacities (util_fits_cpu): a boosted thread on a medium CPU is a misfit, the machine is overutilized, and tasks spread onto big CPUs. The test is the same kernel with the patch.",
		],
		rule: "cpu_overutilized: a CPU counts as overutilized by how busy it is, not because a clamp of a task does not fit it; misfits are left to the misfit path.",
		look: "Look at the rules that moved: wakeups return from the paths beside EAS (select_idle_sibling) to find_energy_efficient_cpu. Power hardly follows here: eight seeds of two seconds settle nothing, which its interval says. The mail measured 155.7 to 131.4 mW.",
		then: "Then compare fair:misfit-unlink-baseline with fair:misfit-unlink-ufc: that step costs power. Or take 32 seeds.",
		input: { version: 1, machine: "pixel6", workload: "jankbench:frame-scale=0.278,duration=2", base: "fair:misfit-unlink-ufc", test: "fair:misfit-unlink-patched-v4", settings: [["governor", "schedutil"]], seeds: 8, draws: 0 },
	},
	{
		id: "cluster-level",
		name: "Four CPUs share a tag",
		title: "cluster-level: clusters become a level",
		mail: "[RFC PATCH v2 2/2] scheduler: add scheduler level for clusters, Barry Song, December 2020; the level is in Linux since v5.16, a search of it since v6.7",
		text: [
			"A Kunpeng 920 has 96 CPUs on four nodes, and in each node six clusters of four CPUs that share the tags of the L3. Messages within a cluster are cheap. The kernel knew nothing of that: all 24 CPUs of a node were alike to it.",
			"hackbench, bound to one node, lets 20 senders write to 20 receivers. With the patch, clusters are a domain of their own, and a wakeup looks for an idle CPU in the target's cluster first.",
		],
		rule: "select_idle_cpu: scan the idle CPUs that share the target's cluster, and only then the rest of its last-level cache.",
		look: "Look at migrations: most are gone, and the time falls. The mail has -1 % to 6 % on one node, we have 6 to 10 %, so ours is too large, and our page on it says what of it comes from the level and what from the search. A run as short as this one says 14 %, and its interval how little that is sure. What it costs here stands in wakeup_latency_p99_us and run_delay_p99_us.",
		then: "Then take one away: fair:v5.9+cls-domain is the level alone.",
		input: { version: 1, machine: "kunpeng920@node0", workload: "hackbench:groups=1,loops=100,pipe,threads", base: "fair:v5.9", test: "fair:v5.9+cls-domain+cls-select=loop", seeds: 8, draws: 0 },
	},
];

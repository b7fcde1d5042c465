// Measures the playground; judges nothing. Build FOLDER and the command with the release profile, and say with the figures what else the machine did.
//
//   node tests/playground/measure.mjs FOLDER FAIRGROUND [--rounds N]
//
// - speed: the same runs by the command (its process from begin to end, on one thread), by the module in node and by the page in Chromium, in turns; medians and
//   their ratios;
// - load: first picture of the page and when it can be used, each time with an empty cache;
// - view: a comparison with a million events on each side, from Run to the picture; whether progress moves meanwhile; frames while the view moves and zooms; how
//   long Stop takes.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Browser, serve } from "../browser.mjs";
import { module } from "./module.mjs";

const words = process.argv.slice(2);
const option = words.indexOf("--rounds");
const rounds = option < 0 ? 5 : Number(words.splice(option, 2)[1]);
const [folder, fairground] = words;

// Machine, workload, scheduler: five of tests/hashes/fair.tsv, and three long ones.
const RUNS = [
	["rpi5", "workloads/cpusets.json", "fair:debian-7.3.4"],
	["hikey960", "tests/hashes/crowd.json", "fair:debian-7.3.4"],
	["rpi5", "tests/hashes/slices.json", "fair:v7.0-protect-first"],
	["hikey960", "adrestia:loops=100,threads=3", "fair:v5.4"],
	["pixel6", "hackbench:groups=1,loops=5", "fair:debian-7.3.4"],
	["hikey960", "hackbench:groups=4,loops=200", "fair:v6.12"],
	["kunpeng920@node0", "hackbench:groups=1,loops=1000,pipe,threads", "fair:v5.9"],
	["pixel6", "jankbench:duration=10", "fair:v6.12"],
];
const MILLION = { machine: "hikey960", workload: "hackbench:groups=4,loops=350", base: "fair:v5.9", test: "fair:v5.9+asym-prev-first", seeds: "1" };

const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
const ms = (value) => value.toFixed(value < 10 ? 1 : 0);

async function open(browser, url) {
	await browser.go(url);
	await browser.until(`return document.body.dataset.state === "ready" || document.body.dataset.state === "done"`);
}

async function speed(site) {
	const ask = await module(folder);
	await Browser.during({}, async (browser) => {
		await open(browser, site.url);
		console.log("run | command, ms | node, ms | Chromium, ms | node / command | Chromium / command");
		for (const [machine, workload, base] of RUNS) {
			const file = workload.endsWith(".json") ? { workload_file: readFileSync(workload, "utf8") } : {};
			const question = { ask: "run", input: { version: 1, machine, workload, ...file, base, seeds: 1, draws: 0 }, seed: 1 };
			const times = { command: [], node: [], page: [] }, hashes = new Set();
			for (let round = 0; round < rounds; round++) {
				let begun = performance.now();
				const { stdout } = spawnSync(fairground, ["run", machine, workload, "--sched", base, "--seed", "1", "--format", "json"]);
				times.command.push(performance.now() - begun);
				hashes.add(JSON.parse(stdout).hash);
				begun = performance.now();
				hashes.add(ask(question).hash);
				times.node.push(performance.now() - begun);
				const [took, hash] = await browser.runAsync(`
					const [question, answer] = arguments, begun = performance.now();
					simulator.ask(question).then(({ hash }) => answer([performance.now() - begun, hash]));`, question);
				times.page.push(took);
				hashes.add(hash);
			}
			if (hashes.size !== 1) throw new Error(`${machine} ${workload}: not the same run`);
			const [command, node, page] = [times.command, times.node, times.page].map(median);
			console.log(`${machine} ${workload} ${base} | ${ms(command)} | ${ms(node)} | ${ms(page)} | ${(node / command).toFixed(2)} | ${(page / command).toFixed(2)}`);
		}
	});
}

async function load(site) {
	const [first, ready] = [[], []];
	for (let round = 0; round < rounds; round++) {
		await Browser.during({}, async (browser) => {
			await browser.go("about:blank");
			await browser.cdp("Page.addScriptToEvaluateOnNewDocument", { source: `
				new MutationObserver((_, observer) => {
					if (document.body?.dataset.state) { window.readyAt = performance.now(); observer.disconnect(); }
				}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state"] });` });
			await browser.go(site.url);
			ready.push(await browser.until("return window.readyAt"));
			first.push(await browser.run(`return performance.getEntriesByName("first-contentful-paint")[0].startTime`));
		});
	}
	console.log(`first picture: ${sorted(first).map(ms).join(", ")} ms; can be used: ${sorted(ready).map(ms).join(", ")} ms`);
}

/** Frames while `step(n)` of the page is done in each: drawing and frame to frame, ms. */
const FRAMES = `
	const [step, count, answer] = arguments, make = new Function("n", "view", "model", "whole", step);
	const { model } = view, whole = model.to_ns - model.from_ns, gaps = [], before = view.state().frames.length;
	let n = 0, last = null;
	const frame = (now) => {
		if (last !== null) gaps.push(now - last);
		last = now;
		if (n === count) return answer({ gaps, drawing: view.state().frames.slice(-count) });
		make(n++, view, model, whole);
		requestAnimationFrame(frame);
	};
	requestAnimationFrame(frame);`;

async function million(site) {
	await Browser.during({}, async (browser) => {
		await open(browser, site.url);
		await browser.run(`for (const [id, value] of Object.entries(arguments[0])) document.getElementById(id).value = value;`, MILLION);
		await browser.run(`
			window.seen = { gaps: [], statuses: new Map(), begun: performance.now() };
			const note = (now) => {
				if (seen.last) seen.gaps.push(now - seen.last);
				seen.last = now;
				const status = document.getElementById("status").textContent;
				if (!seen.statuses.has(status)) seen.statuses.set(status, now - seen.begun);
				if (!/done$/.test(status)) requestAnimationFrame(note);
			};
			requestAnimationFrame(note);
			document.getElementById("run").click();`);
		await browser.until(`return /done$/.test(document.getElementById("status").textContent) && view.state().frames.length`, 1800);
		const { statuses, gaps, facts, readMs } = await browser.run(`
			return { statuses: [...seen.statuses], gaps: seen.gaps, facts: view.model.sides.map(({ events }) => events), readMs: view.state().readMs };`);
		console.log(`view of ${MILLION.machine} ${MILLION.workload}: ${facts.join(" and ")} events; unpacked in ${ms(readMs)} ms`);
		for (const [status, at] of statuses) if (status) console.log(`  ${ms(at)} ms: ${status}`);
		console.log(`  frames of the page while it ran: median ${ms(median(gaps))} ms, worst ${ms(Math.max(...gaps))} ms`);
		console.log("moved | drawing: median, worst, ms | frame to frame: median, worst, ms");
		const shift = (part) => `const wide = whole * ${part}, from = model.from_ns + (whole - wide) * (n / 200); view.show(from, from + wide);`;
		for (const [name, step] of [
			["half in view", shift(0.5)], ["a tenth in view", shift(0.1)], ["a thousandth in view", shift(0.001)],
			["from 20 us to all of it", "const wide = 20000 * (whole / 20000) ** (n / 199); view.show(model.from_ns + (whole - wide) / 2, model.from_ns + (whole + wide) / 2);"],
		]) {
			const { drawing, gaps: between } = await browser.runAsync(FRAMES, step, 200);
			console.log(`${name} | ${ms(median(drawing))}, ${ms(Math.max(...drawing))} | ${ms(median(between))}, ${ms(Math.max(...between))}`);
		}
		const stops = [];
		for (let round = 0; round < rounds; round++) {
			await browser.run(`document.getElementById("run").click();`);
			await browser.until(`return /^run 1 /.test(document.getElementById("status").textContent)`);
			stops.push(await browser.runAsync(`
				const answer = arguments[0], begun = performance.now();
				const stopped = () => document.getElementById("status").textContent === "stopped" ? answer(performance.now() - begun) : setTimeout(stopped);
				document.getElementById("cancel").click();
				stopped();`));
		}
		console.log(`stopped after ${sorted(stops).map(ms).join(", ")} ms`);
	});
}

const site = await serve(folder);
try {
	await load(site);
	await million(site);
	await speed(site);
} finally {
	site.end();
}

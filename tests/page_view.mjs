// The page of `fairground view` in a real browser: what a reader does works, without an error on the console and without a request.
//
//   node tests/page_view.mjs PAGE HOSTILE MANY [DIR]    pictures stay in DIR
//
// HOSTILE is a view of the part from 0.2 to 0.6 s of a trace whose threads are called HOSTILE_NAME, MANY one of two runs on 224 CPUs.
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, KEYS } from "./browser.mjs";

const HOSTILE_NAME = "<img src=x onerror=window.ran=1>";

const [page, hostile, many, pictures = "."] = process.argv.slice(2);

const has = (text, part) => assert(text.includes(part), `expected ${part} in: ${text}`);
const state = (browser) => browser.run("const {frames, ...rest} = FairgroundView.page.state(); return rest");

async function open(browser, file) {
	await browser.go(pathToFileURL(resolve(file)).href);
	await browser.until("return typeof FairgroundView === 'object' && FairgroundView.page !== null");
}

/** What is on the console, and what the page has asked for but itself. */
async function complaints(browser) {
	const { console, asked } = await browser.heard();
	return [...console, ...asked.filter((url) => !/^(file|data):/.test(url))];
}

async function isQuiet(browser) {
	assert.deepEqual(await complaints(browser), []);
}

/** A click on the mark of a wakeup shows its candidates and the other scheduler's choice. */
async function clickOnAWakeup(browser) {
	const { wanted, x, lane, chosen } = await browser.run(`
		const page = FairgroundView.page, base = page.model.sides[0], decisions = base.tables.decisions;
		let wanted = 0;
		while (!(decisions.kind[wanted] === 0 && decisions.steps[wanted] && base.differs[wanted])) wanted++;
		const time = decisions.time[wanted];
		page.show(time - 20000, time + 20000);
		const canvas = document.querySelector(".fg-scroll canvas"), gutter = canvas.clientWidth < 560 ? 64 : 156;
		const lane = base.lane.get(decisions.chosen[wanted]);
		return { wanted, x: gutter + (canvas.clientWidth - gutter) / 2, lane, chosen: decisions.chosen[wanted] };`);
	// Below the axis of 24 px and the head of the side of 22 px, lanes of 34 px.
	await browser.clickAt(".fg-scroll", x + 1, 24 + 22 + 34 * lane + 6);
	assert.deepEqual((await state(browser)).selected, { side: 0, decision: wanted });
	const details = await browser.text(".fg-panel");
	const expected = ["woken", "select_idle_", "Candidates", "just before", "Under fair:v5.9+asym-prev-first", "another CPU", "step by step"];
	expected.forEach((words) => has(details, words));
	assert(!/\b(null|undefined|NaN)\b/.test(details), details);
	const rows = await browser.run("return document.querySelectorAll('.fg-panel > .fg-candidates tbody tr').length");
	const first = await browser.run("return document.querySelector('.fg-panel > .fg-candidates .fg-chosen th').textContent");
	assert(rows >= 2 && first.startsWith(String(chosen)), `${rows} candidates, ${first} chosen`);
	await browser.picture(`${pictures}/view-placement.png`);
}

/** A search by name: its tasks, then the next placements are theirs. */
async function searchForATask(browser) {
	await browser.type(".fg-view input", "pipe-1");
	const found = await browser.text(".fg-found");
	assert(found.includes("sched-pipe-1") && !found.includes("sched-pipe-0") && found.includes("placements"), found);
	await browser.type(".fg-view input", KEYS.enter);
	for (let n = 0; n < 4; n++) {
		await browser.type(".fg-scroll", "n");
		const task = await browser.run(`
			const { model } = FairgroundView.page, { side, decision } = FairgroundView.page.state().selected;
			return model.sides[side].threads[model.sides[side].tables.decisions.thread[decision]].name;`);
		assert.equal(task, "sched-pipe-1");
	}
	await browser.type(".fg-view input", KEYS.backspace.repeat(6) + "no such task");
	has(await browser.text(".fg-found"), "No task");
}

/** Keys alone: out to all, in, along, to the next that differs, to the details and back. */
async function readByKeys(browser) {
	const focus = () => browser.run("return document.activeElement.className");
	await browser.type(".fg-scroll", KEYS.escape);
	await browser.type(".fg-scroll", "0");
	const all = await state(browser);
	await browser.type(".fg-scroll", "+");
	const nearer = await state(browser);
	assert(nearer.to - nearer.from < all.to - all.from);
	await browser.type(".fg-scroll", KEYS.right);
	assert((await state(browser)).from > nearer.from);
	await browser.type(".fg-scroll", "x");
	const differs = "const { side, decision } = FairgroundView.page.state().selected; return FairgroundView.page.model.sides[side].differs[decision]";
	assert.equal(await browser.run(differs), 1);
	await browser.type(".fg-scroll", KEYS.enter);
	assert.equal(await focus(), "fg-panel");
	await browser.type(".fg-panel", KEYS.escape);
	assert.equal(await focus(), "fg-scroll");
}

/** Steps have their numbers, decisions their steps, in the order of time; spans of a lane do not overlap. */
async function numbersAreThoseOfTheModel(browser) {
	const problems = await browser.run(`
		const out = [];
		for (const side of FairgroundView.page.model.sides) {
			const { runs, decisions, steps, numbers } = side.tables;
			for (let lane = 0; lane < side.cpus.length; lane++) {
				for (let i = runs.first[lane] + 1; i < runs.first[lane + 1]; i++) {
					if (runs.begin[i] < runs.begin[i - 1] + runs.length[i - 1]) out.push("overlap on lane " + lane);
				}
			}
			if (side.numberFirst[steps.rows] !== numbers.rows) out.push("numbers are left over");
			if (side.stepFirst[decisions.rows] !== steps.rows) out.push("steps are left over");
			for (let i = 1; i < decisions.rows; i++) if (decisions.time[i] < decisions.time[i - 1]) out.push("decisions out of order");
		}
		return out;`);
	assert.deepEqual(problems, []);
}

/** In the list of what is found, in the details and in their tables; and a part of a trace is all that the axis has. */
async function hostileNamesStayText(browser) {
	const whole = async () => {
		const { from, to } = await state(browser);
		assert.deepEqual({ from, to }, { from: 2e8, to: 6e8 });
	};
	await open(browser, hostile);
	await whole();
	has(await browser.text(".fg-facts"), "10 events in 400 ms");
	await browser.run("FairgroundView.page.show(0, 1e12)");
	await whole();
	await browser.type(".fg-view input", "onerror");
	has(await browser.text(".fg-found"), HOSTILE_NAME);
	await browser.run("FairgroundView.page.select(0, 0)");
	has(await browser.text(".fg-panel"), HOSTILE_NAME);
	assert(await browser.run("return document.images.length === 0 && window.ran === undefined"), "a name has become an element");
	await isQuiet(browser);
}

/** All lanes of two runs at once, then only those that are used, and both runs of a CPU below each other. */
async function hundredsOfCpusCanBeRead(browser) {
	const isNow = async (expected) => {
		const now = await state(browser);
		for (const [name, value] of Object.entries(expected)) assert.deepEqual(now[name], value, `${name} of ${JSON.stringify(now)}`);
	};
	await open(browser, many);
	await isNow({ lanes: 448, height: 0, used: false, paired: false });
	const height = await browser.run("return document.querySelector('.fg-space').clientHeight");
	assert(height < 2800, `${height} px for 448 lanes`);
	await browser.picture(`${pictures}/view-many.png`);
	await browser.type(".fg-scroll", "u");
	const used = (await state(browser)).lanes;
	const run = await browser.run(`
		const sides = FairgroundView.page.model.sides, has = (table, lane) => table.first[lane] < table.first[lane + 1];
		return sides[0].cpus.filter((_, lane) => sides.some((side) => has(side.tables.runs, lane) || has(side.byLane, lane))).length;`);
	assert(used === 2 * run && run > 0 && run < 224, `${used} lanes of ${run} CPUs`);
	for (const [key, expected] of [["]", { height: 1 }], ["]", { height: 2 }], ["[", { height: 1 }], ["c", { paired: true }]]) {
		await browser.type(".fg-scroll", key);
		await isNow(expected);
	}
	await browser.type(".fg-scroll", "x");
	assert((await state(browser)).selected);
	await browser.picture(`${pictures}/view-many-used.png`);
	await browser.type(".fg-scroll", "u");
	await isNow({ lanes: 448 });
	await isQuiet(browser);
}

/** The check itself: it sees an error and a request that is refused. */
async function complaintsAreSeen(browser) {
	await browser.run("setTimeout(() => { fetch('http://example.invalid/'); nothing(); })");
	for (const end = Date.now() + 120000; ;) {
		if ((await complaints(browser)).some((words) => words.includes("nothing"))) return;
		assert(Date.now() < end, "the check does not see an error");
	}
}

await Browser.during({ width: 1300 }, hostileNamesStayText);
await Browser.during({ width: 1300, height: 1000 }, hundredsOfCpusCanBeRead);
for (const [name, options] of [["1300-light", { width: 1300 }], ["1300-dark", { width: 1300, dark: true }], ["390-light", { width: 390, height: 1400 }]]) {
	await Browser.during(options, async (browser) => {
		await open(browser, page);
		await numbersAreThoseOfTheModel(browser);
		if (name === "1300-light") {
			await clickOnAWakeup(browser);
			await searchForATask(browser);
			await readByKeys(browser);
		}
		const wide = await browser.run("return document.documentElement.scrollWidth");
		assert(wide <= options.width, `${wide} px wide in a window of ${options.width} px`);
		await browser.picture(`${pictures}/view-${name}.png`);
		await isQuiet(browser);
		await complaintsAreSeen(browser);
	});
}
console.log("page: a view has names as text, is quiet in light, dark and 390 px, and shows 448 lanes; a click, a search and keys do what they say");

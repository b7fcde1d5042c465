// The playground in headless Chromium: each stop of the tour to its result, links that are shared and links that are damaged, runs that are stopped, the
// keyboard, a phone's width, a page from a disk. Nothing may reach the console or ask for anything outside of the page's own folder.
//
//   node tests/playground/page.mjs FOLDER [--links N] [--pictures DIR] [PART...]    parts: tour links stop edit keyboard disk; all unless some are named
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, KEYS, serve } from "../browser.mjs";

const words = process.argv.slice(2);
const taken = (name, otherwise) => {
	const at = words.indexOf(name);
	return at < 0 ? otherwise : words.splice(at, 2)[1];
};
const links = Number(taken("--links", 1000));
const pictures = taken("--pictures", null);
const [folder, ...parts] = words;
const TOUR = new Function(readFileSync(`${folder}/tour.js`, "utf8") + "; return TOUR;")();

function check(is, what) {
	if (!is) throw new Error(what);
}

/** Nothing on the console, and no request but for files of the page, and what the page has in memory. */
async function quiet(browser, home, what) {
	const { console, asked } = await browser.heard();
	check(console.length === 0, `${what}: on the console: ${console.join("; ").slice(0, 500)}`);
	const own = (url) => url.startsWith(home) || url.startsWith("blob:") || url.startsWith("data:");
	check(asked.every(own), `${what}: it asked for ${asked.find((url) => !own(url))}`);
}

async function open(browser, url) {
	await browser.go(url);
	await browser.until(`return document.body.dataset.state`);
}

/** Seconds that no run of these tests comes near. */
const LONG = 1800;

const done = (browser) => browser.until(
	`const error = document.getElementById("error"), status = document.getElementById("status").textContent;
	return document.body.dataset.state === "done" && (!error.hidden || /done$/.test(status));`,
	LONG,
);
const error = (browser) => browser.run(`return document.getElementById("error").textContent`);
const picture = (browser, name) => pictures && browser.picture(`${pictures}/${name}.png`);

/** What each stop must show: a cell of the table, and a rule that moved. */
const SHOWN = {
	"asym-prev-first": { metric: "migrations", verdict: "better", moved: "A2" },
	"break-even": { metric: "idle_cut", verdict: "better", moved: null },
	"lb-rework": { metric: "migrations", verdict: "better", moved: "" },
	"misfit-unlink": { metric: "power_mw", verdict: null, moved: "" },
	"cluster-level": { metric: "migrations", verdict: "better", moved: "" },
};

/** How many colours the first two lanes have: below the axis and the head of the side, right of the names. */
const COLOURS = `
	const canvas = document.querySelector("#view canvas");
	if (!canvas) return 0;
	const { data } = canvas.getContext("2d").getImageData(156, 24 + 22, canvas.width - 156, 40);
	return new Set(new Uint32Array(data.buffer)).size;`;

/** What is shown of a wakeup of the base on which both schedulers part, or else of the first that could be judged; who was asked; who the test is. */
const ASKED = `
	const [base, test] = view.model.sides, { answers } = base.tables, parting = [...answers.decision].find((decision) => base.differs[decision]);
	view.select(0, parting ?? answers.decision[0]);
	const shown = document.querySelector("#view .fg-panel").innerText;
	return [shown, base.asked.label, test.facts.find(([name]) => name === "sched")[1]];`;

/**
 * Rows of the table that are not in the text, white space apart. The text does not say which way a metric is better. Where a line would be too long,
 * it has two: unit, deviations and verdict are below the rest.
 */
const UNLIKE = `
	const words = (cells) => cells.filter((cell) => cell).join(" ");
	const text = document.getElementById("text").textContent.split("\\n").map((line) => words(line.split(/\\s+/)));
	const here = (lines) => ["", ...text, ""].join("\\n").includes(["", ...lines, ""].join("\\n"));
	const rows = [...document.querySelectorAll("#table tbody tr")].map((row) => {
		const [metric, unit, , base, test, improvement, interval, verdict] = [...row.cells].map((cell) => cell.textContent);
		const part = (n) => [base, test].map((side) => side.split(/ (?=±)/)[n]);
		const one = words([metric, unit, base, test, improvement, interval, verdict]);
		return [[one], [words([metric, ...part(0), improvement, interval]), words([unit, ...part(1), verdict])]];
	});
	return rows.length ? rows.filter((ways) => !ways.some(here)).map(([[line]]) => line) : ["no row"];`;

/** docs/playground.png: the results, at half their size. */
async function pictureOfDocs(browser) {
	const y = await browser.run("return document.getElementById('results').getBoundingClientRect().top + scrollY");
	await browser.picture(`${pictures}/playground.png`, { x: 0, y, width: 1200, height: 1740, scale: 0.5 });
}

/** Times the first picture, drives every stop to its result. */
async function tour(browser, site) {
	await open(browser, site.url);
	const first = await browser.run(`return performance.getEntriesByName("first-contentful-paint")[0]?.startTime`);
	const ready = await browser.run("return performance.now()");
	console.log(`first picture after ${Math.round(first)} ms, ready after at most ${Math.round(ready)} ms`);
	for (const { id } of TOUR) {
		const begun = Date.now();
		await browser.click(`#tour a[href="#stop=${id}"]`);
		await browser.until(`return document.body.dataset.state === "running"`);
		await done(browser);
		check(!(await error(browser)), `${id}: ${await error(browser)}`);
		const { metric, verdict, moved } = SHOWN[id];
		const found = await browser.run(`return [...document.querySelectorAll("#table tbody tr")]
			.find((row) => row.cells[0].textContent === arguments[0])?.cells[7].textContent`, metric);
		check(verdict ? found === verdict : found, `${id}: ${metric} is ${found}`);
		const rules = await browser.text("#rules");
		check(moved === null || (rules.includes("shift") && rules.includes(moved)), `${id}: the rules that moved: ${rules}`);
		check((await browser.run(COLOURS)) > 4, `${id}: no lanes are drawn`);
		const [placement, asked, other] = await browser.run(ASKED);
		check(placement.includes(`Under ${other}`) || placement.includes("The same, asked"), `${id}: the other scheduler is not asked: ${placement}`);
		check(!/\b(null|undefined|NaN)\b/.test(placement), `${id}: ${placement}`);
		check(asked === other, `${id}: ${asked} is asked, and the other side is ${other}`);
		const unlike = await browser.run(UNLIKE);
		check(unlike.length === 0, `${id}: not in the text of the command: ${unlike.join("; ")}`);
		check((await browser.text("#stop")).length > 200, `${id}: it has no text`);
		await quiet(browser, site.url, id);
		await picture(browser, id);
		if (id === TOUR[0].id && pictures) await pictureOfDocs(browser);
		console.log(`${id}: ${metric} ${found}, ${((Date.now() - begun) / 1000).toFixed(1)} s`);
	}
}

/** A generator of numbers below `n`, from a seed. */
function random(seed) {
	let state = seed >>> 0;
	return (n) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * n);
	};
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_ %=+/.é#\u0000";

/** The link with one to three changes: a letter replaced, left out, put in, or all that follows cut. */
function mutated(link, draw) {
	let letters = [...link];
	for (let n = 1 + draw(3); n > 0; n--) {
		const at = draw(letters.length + 1), letter = LETTERS[draw(LETTERS.length)];
		[() => letters.splice(at, 1, letter), () => letters.splice(at, 1), () => letters.splice(at, 0, letter), () => letters.splice(at)][draw(4)]();
	}
	return letters.join("");
}

/** Follows each link in the page: the address that it becomes, and its message, `done` if it ran, or `empty` if nothing was left of it. */
const FOLLOW = `
	const [links, answer] = arguments, at = (id) => document.getElementById(id);
	const pause = (ms) => new Promise((go) => setTimeout(go, ms));
	// An address that stays the same is not followed again.
	const follow = (hash) => new Promise((go, fail) => {
		const before = location.hash;
		addEventListener("hashchange", () => setTimeout(go), { once: true });
		setTimeout(fail, ${LONG * 1000}, new Error("not followed: " + hash));
		location.hash = hash;
		if (location.hash === before) go();
	});
	const settled = async () => {
		for (const end = Date.now() + ${LONG * 1000}; Date.now() < end; await pause(5)) {
			if (at("error").textContent) return at("error").textContent;
			if (location.hash.length < 2) return "empty";
			if (document.body.dataset.state === "done" && /done$/.test(at("status").textContent)) return "done";
		}
		throw new Error("nothing happens: " + location.hash);
	};
	(async () => {
		const outcomes = [];
		for (const link of links) {
			await follow("another");
			await follow(link);
			outcomes.push({ outcome: await settled(), address: location.hash });
		}
		return outcomes;
	})().catch((error) => error.message).then(answer);`;

/** Two changes of the address each: Chromium drops more than 200 in ten seconds, and says nothing. */
const LINKS_OF_A_BROWSER = 80;

/** What becomes of each link, in a browser of their own. */
function followed(site, links) {
	return Browser.during({}, async (browser) => {
		await open(browser, site.url);
		const outcomes = await browser.runAsync(FOLLOW, links);
		await quiet(browser, site.url, "damaged links");
		return outcomes;
	});
}

/** A link is made and followed; changed ones give a clear message, or run if what is changed does not matter. */
async function shared(browser, site) {
	await open(browser, site.url);
	const set = `for (const [id, value] of Object.entries(arguments[0])) document.getElementById(id).value = value;`;
	await browser.run(set, { machine: "hikey", workload: "sched-pipe:loops=20,threads", seeds: "1", test: "fair:v5.9+asym-prev-first hz=1000" });
	await browser.click("#run");
	await browser.until(`return document.body.dataset.state === "running" || document.body.dataset.state === "done"`);
	await done(browser);
	check(!(await error(browser)), await error(browser));
	const hash = await browser.run("return location.hash");
	check(hash.startsWith("#run="), `the address has no link: ${hash}`);
	const shown = await browser.text("#table");
	await browser.go("about:blank");
	await browser.go(site.url + hash);
	await browser.until(`return document.body.dataset.state`);
	await done(browser);
	check((await browser.text("#table")) === shown, "a link shows something else than what it was made from");
	check((await browser.run(`return document.getElementById("test").value`)).endsWith("hz=1000"), "a link does not fill the form");
	await quiet(browser, site.url, "a link");
	const draw = random(29);
	const number = { refused: 0, empty: 0, same: 0 };
	for (let n = 0; n < links; n += LINKS_OF_A_BROWSER) {
		const some = Array.from({ length: Math.min(LINKS_OF_A_BROWSER, links - n) }, () => mutated(hash.slice(1), draw));
		const outcomes = await followed(site, some);
		check(Array.isArray(outcomes), outcomes);
		for (const [place, { outcome, address }] of outcomes.entries()) {
			const kind = outcome === "done" ? "same" : outcome === "empty" ? "empty" : "refused";
			number[kind]++;
			check(!/failed:|panicked|undefined|\[object/.test(outcome), `the link ${some[place]}: ${outcome}`);
			check(kind !== "same" || address === hash, `it ran, and is not the link that was made: ${some[place]}`);
		}
	}
	check(number.refused > links / 2, `${number.refused} of ${links} damaged links are refused`);
	console.log(`${links} damaged links: ${number.refused} refused with a message, of ${number.empty} nothing was left, ${number.same} were the same again`);
}

/** Runs that would take hours stop at once, and the next ones run. */
async function stopped(browser, site) {
	await open(browser, site.url);
	const set = `for (const [id, value] of Object.entries(arguments[0])) document.getElementById(id).value = value;`;
	for (let n = 0; n < 3; n++) {
		await browser.run(set, { machine: "hikey960", workload: "sched-pipe:loops=1000000000,threads", seeds: "64" });
		await browser.click("#run");
		await browser.until(`return /^run 1 of 128/.test(document.getElementById("status").textContent)`);
		await browser.click("#cancel");
		await browser.until(`return document.getElementById("status").textContent === "stopped" && document.body.dataset.state === "done"`);
	}
	await browser.run(set, { workload: "sched-pipe:loops=20,threads", seeds: "1" });
	await browser.click("#run");
	await done(browser);
	check((await browser.text("#table")).includes("ops_per_sec"), "nothing runs after a stop");
	await quiet(browser, site.url, "stops");
	console.log("stopped three times, and ran again");
}

/** A figure and a switch are changed, a machine file is edited; mistakes have the command's messages. */
async function edited(browser, site) {
	await open(browser, site.url);
	const set = `for (const [id, value] of Object.entries(arguments[0])) {
		const field = document.getElementById(id);
		field.value = value;
		field.dispatchEvent(new Event("change"));
	}`;
	await browser.run(set, { workload: "sched-pipe:loops=50,threads", seeds: "1" });
	await browser.click("#figures-part summary");
	await browser.run(`const find = document.getElementById("figure-find"); find.value = "migrate"; find.dispatchEvent(new Event("input"));`);
	await browser.until(`return document.querySelectorAll("#figures input").length === 1`);
	await browser.run(`const field = document.querySelector("#figures input"); field.value = "5000"; field.dispatchEvent(new Event("change"));`);
	check((await browser.text("#changed")).includes("= 5000"), "the changed figure is not shown");
	await browser.run(set, { "test-switch": "+asym-check-scope=asym" });
	check((await browser.run(`return document.getElementById("test").value`)) === "fair:v5.9+asym-prev-first+asym-check-scope=asym", "the switch is not added");
	await browser.run(set, { "test-switch": "+asym-check-scope=asym" });
	// A name within another one, and another value of the same feature.
	await browser.run(set, { base: "fair:v5.9+ufc-thermal hz=1000" });
	for (const [change, name] of [
		["+ufc", "fair:v5.9+ufc-thermal+ufc"], ["+sis-mode=prop-aged", "fair:v5.9+ufc-thermal+ufc+sis-mode=prop-aged"],
		["+sis-mode=prop54", "fair:v5.9+ufc-thermal+ufc+sis-mode=prop54"], ["+ufc-thermal", "fair:v5.9+ufc+sis-mode=prop54"],
		["+sis-mode=prop54", "fair:v5.9+ufc"], ["+ufc", "fair:v5.9"],
	]) {
		await browser.run(set, { "base-switch": change });
		const found = await browser.run(`return document.getElementById("base").value`);
		check(found === `${name} hz=1000`, `${change} makes ${found} of the name`);
	}
	// Other words of a side stay, also where it names no preset of ours.
	for (const [before, list, value, after] of [
		["fair:v5.9 hz=1000", "preset", "v5.10", "fair:v5.10 hz=1000"],
		["fair hz=1000", "preset", "v5.10", "fair:v5.10 hz=1000"],
		["hz=1000 fair:+slice-700", "preset", "v5.10", "hz=1000 fair:v5.10+slice-700"],
		["fair:+slice-700 hz=1000", "switch", "-ufc", "fair:NEWEST+slice-700-ufc hz=1000"],
		["fair:v6.5+slice-700 hz=1000", "preset", "v5.10", "fair:v5.10+slice-700 hz=1000"],
		["hz=1000 sched=linux:mine", "preset", "v5.10", "hz=1000 sched=fair:v5.10"],
		["governor=powersave", "preset", "v6.1", "fair:v6.1 governor=powersave"],
	]) {
		await browser.run(set, { base: before });
		await browser.run(set, { [`base-${list}`]: value });
		const found = await browser.run(`return document.getElementById("base").value.replace(catalog.newest, "NEWEST")`);
		check(found === after, `${value} of the list makes ${found} of ${before}`);
	}
	await browser.click("#run");
	await done(browser);
	check(!(await error(browser)), await error(browser));
	await picture(browser, "edited-dark");
	await browser.click("#machine-part summary");
	await browser.click("#machine-copy");
	await browser.until(`return document.getElementById("machine-file").value.includes("format")`);
	await browser.run(`const file = document.getElementById("machine-file"); file.value = file.value.replace("migrate = {", "migrat = {");`);
	await browser.click("#run");
	await done(browser);
	const message = await error(browser);
	check(message.includes("migrat") && message.includes("migrate"), `a key that is wrong: ${message}`);
	await quiet(browser, site.url, "edits");
	console.log(`edited; a wrong key: ${message.split("\n")[0].trim()}`);
}

/** Without a mouse, at a phone's width; each field has a name, nothing is wider than the window. */
async function keyboard(browser, site) {
	await open(browser, site.url);
	await browser.run(`document.getElementById("workload").value = "sched-pipe:loops=20,threads"; document.getElementById("seeds").value = "1";`);
	const seen = new Set();
	for (let n = 0; n < 60 && !seen.has("run"); n++) {
		await browser.keys(KEYS.tab);
		seen.add(await browser.run(`return document.activeElement.id || document.activeElement.textContent.trim()`));
	}
	for (const id of ["machine", "workload", "base", "test", "seeds", "run"]) check(seen.has(id), `Tab does not come to ${id}: ${[...seen].join(", ")}`);
	await browser.keys(KEYS.enter);
	await done(browser);
	check((await browser.text("#table")).includes("ops_per_sec"), "Enter does not run");
	const nameless = await browser.run(`return [...document.querySelectorAll("input, select, textarea, button, a")]
		.filter((field) => !(field.labels?.length || field.ariaLabel || field.textContent.trim() || field.title)).map((field) => field.outerHTML.slice(0, 80))`);
	check(nameless.length === 0, `without a name for a screen reader: ${nameless.join("; ")}`);
	const wide = await browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
	check(wide <= 0, `the page is ${wide} px wider than a phone`);
	await picture(browser, "phone");
	await quiet(browser, site.url, "the keyboard");
	console.log("runs by keyboard alone, at a phone's width");
}

/** From a disk, and from a server that is gone. */
async function disk(browser, site) {
	const home = pathToFileURL(resolve(folder)).href + "/";
	const short = `document.getElementById("workload").value = "sched-pipe:loops=20,threads"; document.getElementById("seeds").value = "1";`;
	await open(browser, home + "index.html");
	await browser.run(short);
	await browser.click("#run");
	await done(browser);
	check((await browser.text("#table")).includes("ops_per_sec"), `from a disk: ${await error(browser)}`);
	await quiet(browser, home, "from a disk");
	const other = await serve(folder);
	await browser.go(other.url);
	await browser.until(`return navigator.serviceWorker.controller || navigator.serviceWorker.ready.then(() => true)`);
	other.end();
	await open(browser, other.url);
	await browser.run(short);
	await browser.click("#run");
	await done(browser);
	check((await browser.text("#table")).includes("ops_per_sec"), `without its server: ${await error(browser)}`);
	console.log("runs from a disk, and when the server is gone");
}

const all = {
	tour: [tour], links: [shared], stop: [stopped], edit: [edited, { dark: true }], keyboard: [keyboard, { width: 390, height: 844, mobile: true }], disk: [disk],
};
const unknown = parts.filter((part) => !(part in all));
if (unknown.length) throw new Error(`no part ${unknown.join(", ")}; there are ${Object.keys(all).join(", ")}`);
const site = await serve(folder);
try {
	for (const [name, [part, options = {}]] of Object.entries(all)) {
		if (!parts.length || parts.includes(name)) await Browser.during(options, (browser) => part(browser, site));
	}
} catch (failure) {
	console.log(`playground: ${failure.message}`);
	process.exitCode = 1;
} finally {
	site.end();
}

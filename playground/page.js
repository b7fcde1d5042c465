// The page: a form that makes an input (crates/playground/src/input.rs), the runs of it in a worker, and what they say. All checks, statistics and
// messages are the simulator's.
"use strict";

const at = (id) => document.getElementById(id);
const VERSION = 1;
const RUN = "run=";
const STOP = "stop=";

// ---- the simulator -------------------------------------------------------------------------------------------------------------------------

class Stopped extends Error {}

/** Asks the module in a worker, one question at a time; stop() ends the worker and what it is doing. */
class Simulator {
	constructor() {
		this.queue = [];
		this.worker = null;
		this.module = this.unpacked();
	}

	/** The module, which module.js has as compressed text. */
	async unpacked() {
		const packed = Uint8Array.from(atob(FAIRGROUND_MODULE), (letter) => letter.charCodeAt(0));
		return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
	}

	async begin() {
		const url = URL.createObjectURL(new Blob([`(${fairgroundWorker})()`], { type: "text/javascript" }));
		const worker = new Worker(url);
		this.worker = worker;
		const module = await this.module;
		await new Promise((done, fail) => {
			worker.onmessage = done;
			worker.onerror = (event) => { event.preventDefault(); fail(new Error(event.message || "the worker of this page cannot start")); };
			worker.postMessage({ module });
		});
		URL.revokeObjectURL(url);
		worker.onmessage = ({ data }) => {
			if (data.answer.dead) this.end(worker);
			this.queue.shift()?.done(data.answer);
			this.next();
		};
	}

	async next() {
		const first = this.queue[0];
		if (!first || first.asked) return;
		first.asked = true;
		if (!this.worker) this.started = this.begin();
		try {
			await this.started;
		} catch (error) {
			this.end(this.worker);
			this.queue.shift();
			return first.done({ error: error.message });
		}
		if (this.queue[0] === first) this.worker.postMessage({ question: first.question });
	}

	end(worker) {
		worker?.terminate();
		if (this.worker === worker) this.worker = null;
	}

	/** The answer; fails with its error. */
	async ask(question) {
		const answer = await new Promise((done, fail) => {
			this.queue.push({ question, done, fail, asked: false });
			this.next();
		});
		if (answer.error) throw new Error(answer.error);
		return answer;
	}

	/** Ends what it is doing; a worker that does nothing stays. */
	stop() {
		if (!this.queue.length) return;
		this.end(this.worker);
		this.queue.splice(0).forEach((waiting) => waiting.fail(new Stopped("stopped")));
	}
}

const simulator = new Simulator();
let catalog = null;
let figures = [];
let view = null;
/** Counts what was begun: what an earlier one still does is dropped. */
let turn = 0;

// ---- the form and the input ----------------------------------------------------------------------------------------------------------------

function inputOfForm() {
	const text = (id) => at(id).value.trim();
	const file = (id) => (at(id).value.trim() ? at(id).value : undefined);
	const settings = [...document.querySelectorAll("#settings [name]")].filter((field) => field.value.trim());
	return {
		version: VERSION,
		machine: text("machine"),
		machine_file: file("machine-file"),
		figures: figures.map(({ path, value }) => [path, value]),
		workload: text("workload"),
		workload_file: file("workload-file"),
		base: text("base"),
		test: text("test"),
		settings: settings.map((field) => [field.name, field.value.trim()]),
		seeds: Math.trunc(at("seeds").valueAsNumber || 0),
		draws: Math.trunc(at("draws").valueAsNumber || 0),
	};
}

function showInput(input) {
	at("machine").value = input.machine;
	at("machine-file").value = input.machine_file ?? "";
	figures = (input.figures ?? []).map(([path, value]) => ({ path, value }));
	at("workload").value = input.workload;
	at("workload-file").value = input.workload_file ?? "";
	at("base").value = input.base;
	at("test").value = input.test ?? "";
	at("seeds").value = input.seeds;
	at("draws").value = input.draws;
	for (const field of document.querySelectorAll("#settings [name]")) {
		field.value = (input.settings ?? []).find(([name]) => name === field.name)?.[1] ?? "";
	}
	at("machine-part").open = Boolean(input.machine_file);
	at("workload-part").open = Boolean(input.workload_file);
	at("settings-part").open = (input.settings ?? []).length > 0;
	describe();
}

const node = (name, text = "", attributes = {}) => {
	const made = document.createElement(name);
	made.textContent = text;
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	return made;
};
const option = (value, text) => node("option", text, { value });

/** What the fields name, beside them. */
function describe() {
	if (!catalog) return;
	const machine = catalog.machines.find(({ name }) => name === at("machine").value.split("@")[0]);
	at("machine-is").textContent = at("machine-file").value.trim() ? "a machine file of yours, below" : machine ? `${machine.title}, ${machine.cpus} CPUs` : "";
	const workload = catalog.workloads.find(({ name }) => name === at("workload").value.split(":")[0]);
	at("workload-is").textContent = at("workload-file").value.trim() ? "a workload file of yours, below" : workload?.title ?? "";
	at("options-part").hidden = !workload || Boolean(at("workload-file").value.trim());
	at("options").replaceChildren(...(workload?.options ?? []).flatMap(({ name, default: value, meaning, expected }) =>
		[node("dt", value ? `${name}=${value}` : name), node("dd", `${meaning} (${expected})`)]));
	for (const side of ["base", "test"]) describeSide(side);
	at("changed").replaceChildren(...figures.map(({ path, value }) => {
		const chip = node("li"), button = node("button", `${path} = ${value} ×`, { type: "button", "aria-label": `${path} as it is stated again` });
		button.addEventListener("click", () => { figures = figures.filter((figure) => figure.path !== path); describe(); });
		chip.append(button);
		return chip;
	}));
}

/** The longest of these names that ends where the text ends, or where `+`, `-` or `=` follows. */
function longest(text, names) {
	const here = names.filter((name) => text.startsWith(name) && /^[-+=]?$/.test(text.slice(name.length, name.length + 1)));
	return here.sort((a, b) => b.length - a.length)[0];
}

/** Whether a word of a side is its scheduler, and not NAME=VALUE: as crates/lab/src/sides.rs tells them apart. */
function isSched(word) {
	const [equals, colon] = [word.indexOf("="), word.indexOf(":")];
	return word.startsWith("sched=") || equals < 0 || (colon >= 0 && colon < equals);
}

/** The words of a side, the place of its scheduler among them (none: -1), and of a scheduler of ours its preset, if it is known, and its changes. */
function schedOf(side) {
	const words = at(side).value.split(/\s+/).filter(Boolean), place = words.findIndex(isSched);
	const word = words[place] ?? "", name = word.replace(/^sched=/, ""), head = word === name ? "fair:" : "sched=fair:";
	if (name !== "fair" && !name.startsWith("fair:")) return { words, place, head, preset: null, changes: "" };
	const rest = name.slice("fair:".length), isNewest = /^($|[-+])/.test(rest), named = longest(rest, catalog.presets.map(({ name }) => name));
	const isChange = (letter, n) => /[-+]/.test(letter) && longest(rest.slice(n + 1), catalog.features.map(({ name }) => name));
	const begin = named ? named.length : isNewest ? 0 : [...rest].findIndex(isChange);
	const preset = catalog.presets.find(({ name }) => name === (isNewest ? catalog.newest : named)) ?? null;
	return { words, place, head, preset, changes: begin < 0 ? "" : rest.slice(begin) };
}

function describeSide(side) {
	const { preset } = schedOf(side);
	at(`${side}-is`).textContent = preset?.text ?? "";
	at(`${side}-preset`).value = preset?.name ?? "";
	const switches = [option("", "-")];
	catalog.features.forEach((feature, id) => {
		if (!preset || !feature.ready) return;
		const value = preset.values[id];
		const words = feature.values.length ? feature.values.map((word, n) => [n, `+${feature.name}=${word}`]) : [[0, `-${feature.name}`], [1, `+${feature.name}`]];
		for (const [n, change] of words) if (n !== value) switches.push(option(change, `${change}: ${feature.text}`));
	});
	at(`${side}-switch`).replaceChildren(...switches);
}

function changeSched(side, change) {
	const { words, place, head, ...sched } = schedOf(side), { preset, changes } = change(sched);
	words.splice(Math.max(place, 0), place < 0 ? 0 : 1, `${head}${preset}${changes}`);
	at(side).value = words.join(" ");
	describe();
}

/** The changes of a scheduler name one by one, with their features, as crates/fair/src/features.rs reads them; the last is what cannot be read. */
function split(changes) {
	const parts = [];
	while (changes) {
		const feature = longest(changes.slice(1), catalog.features.map(({ name }) => name));
		let end = feature ? 1 + feature.length : changes.length;
		if (feature && changes[end] === "=") {
			const value = longest(changes.slice(end + 1), catalog.features.find(({ name }) => name === feature).values);
			end = value ? end + 1 + value.length : changes.length;
		}
		parts.push({ feature, text: changes.slice(0, end) });
		changes = changes.slice(end);
	}
	return parts;
}

/** Adds a change in place of another of its feature, or takes it back if it is there. */
function toggled(changes, change) {
	const [{ feature }] = split(change), parts = split(changes);
	const there = parts.find((part) => part.feature === feature);
	if (!there) return changes + change;
	return parts.map((part) => (part !== there ? part.text : part.text === change ? "" : change)).join("");
}

async function listFigures() {
	try {
		const { figures: all } = await simulator.ask({ ask: "machine", input: { ...inputOfForm(), figures: [] } });
		const wanted = at("figure-find").value.toLowerCase();
		const shown = all.filter(({ path }) => path.toLowerCase().includes(wanted)).slice(0, 60);
		at("figures").replaceChildren(...shown.map(({ path, value, source }) => {
			const label = node("label", "", { title: source });
			const stated = parseFloat(value), own = figures.find((figure) => figure.path === path);
			const unit = value.replace(/^[-+.\deE_]+\s*/, "");
			const field = node("input", "", { type: "number", step: "any", "aria-label": `${path}, ${unit || "no unit"}` });
			field.value = own?.value ?? stated;
			field.addEventListener("change", () => {
				figures = figures.filter((figure) => figure.path !== path);
				if (field.valueAsNumber !== stated && !Number.isNaN(field.valueAsNumber)) figures.push({ path, value: field.valueAsNumber });
				describe();
			});
			label.append(node("span", unit ? `${path} (${unit})` : path), field);
			return label;
		}));
		showError("");
	} catch (error) {
		if (!(error instanceof Stopped)) showError(error.message);
	}
}

// ---- runs ----------------------------------------------------------------------------------------------------------------------------------

function showError(message) {
	at("error").textContent = message;
	at("error").hidden = !message;
}

function busy(is) {
	at("run").disabled = is;
	at("cancel").disabled = !is;
	at("progress").hidden = !is;
	document.body.dataset.state = is ? "running" : "done";
}

async function run(input) {
	const mine = ++turn;
	const isMine = () => mine === turn;
	simulator.stop();
	showError("");
	at("results").hidden = true;
	view?.destroy();
	view = null;
	busy(true);
	try {
		const { runs, warnings } = await simulator.ask({ ask: "open", input });
		at("progress").max = runs;
		let shown = 0;
		for (let made = 0; made < runs && isMine(); made++) {
			at("status").textContent = `run ${made + 1} of ${runs}`;
			at("progress").value = made;
			await simulator.ask({ ask: "next" });
			const isPair = made % 2 === 1;
			if (isPair && isMine() && (made + 1 === runs || performance.now() - shown > 500)) {
				showReport(await simulator.ask({ ask: "report" }), warnings);
				shown = performance.now();
			}
		}
		at("progress").value = runs;
		at("status").textContent = "comparing the placements of seed 1";
		const rules = await simulator.ask({ ask: "rules" });
		if (isMine()) showRules(rules);
		at("status").textContent = "reading what each CPU did";
		const { bytes } = await simulator.ask({ ask: "view" });
		if (!isMine()) return;
		view = FairgroundView.mount(at("view"), bytes);
		at("status").textContent = `${runs} runs, done`;
	} catch (error) {
		if (!isMine()) return;
		at("status").textContent = error instanceof Stopped ? "stopped" : "";
		if (!(error instanceof Stopped)) showError(error.message);
	} finally {
		if (isMine()) busy(false);
	}
}

function row(cells, kind = "td") {
	const made = node("tr");
	cells.forEach((cell, n) => made.append(cell instanceof Node ? cell : node(kind === "td" && n ? "td" : "th", cell, { scope: kind === "td" ? "row" : "col" })));
	return made;
}

function table(id, caption, head, rows) {
	const [top, body] = [node("thead"), node("tbody")];
	top.append(row(head, "th"));
	body.append(...rows);
	at(id).replaceChildren(node("caption", caption), top, body);
}

function showReport({ comparison, table: shown, text }, warnings) {
	const { base, test, notes, failures } = comparison;
	at("results").hidden = false;
	at("sides").textContent = `base ${base}, test ${test}: ${comparison.runs.length} ${comparison.runs.length === 1 ? "pair" : "pairs"} of runs`;
	const drawn = new Map(shown.drawn.map(([name, median, interval]) => [name, interval === "-" ? `${median} (median)` : interval]));
	const rows = shown.rows.map((cells) => {
		const verdict = node("td", cells.at(-1), { class: cells.at(-1) });
		return row([...cells.slice(0, -1), verdict, ...(drawn.size ? [drawn.get(cells[0]) ?? "-"] : [])]);
	});
	const head = [...shown.head, ...(drawn.size ? ["over draws, 90 %"] : [])];
	table("table", "Mean ± standard deviation over seeds; improvement of test over base, positive is better", head, rows);
	const lines = [...warnings.map((warning) => `warning: ${warning}`), ...notes, ...failures.map((f) => `run failed: ${f.side} seed ${f.seed}: ${f.message}`)];
	if (shown.zeros) lines.unshift(shown.zeros);
	at("notes").replaceChildren(...lines.map((line) => node("li", line)));
	at("text").textContent = text;
}

function showRules({ rules, text }) {
	at("agree").textContent = `Of ${rules.pairs} pairs (the same task's n-th wakeup, fork or exec in base and test), ${rules.agree} choose the same CPU.`;
	const moved = rules.rules.filter(({ shift }) => shift);
	if (!moved.length) at("agree").textContent += " Each rule decided as often in base as in test.";
	const rows = moved.map(({ rule, title, text, base, test, shift }) =>
		row([rule, node("td", [title, text].filter(Boolean).join(": "), { class: "words" }), String(base), String(test), (shift > 0 ? "+" : "") + shift]));
	if (moved.length) table("rules", "Placements of seed 1 by the rule that decided them", ["rule", "what it is", "base", "test", "shift"], rows);
	else at("rules").replaceChildren();
	at("first").textContent = text;
	at("first-part").hidden = !rules.first && !rules.other_work;
}

// ---- links and the tour --------------------------------------------------------------------------------------------------------------------

function showStop(stop) {
	at("stop").hidden = !stop;
	for (const link of document.querySelectorAll("#tour a")) {
		if (stop && link.hash === `#${STOP}${stop.id}`) link.setAttribute("aria-current", "step");
		else link.removeAttribute("aria-current");
	}
	if (!stop) return;
	at("stop").replaceChildren(node("h2", stop.title), node("p", stop.mail, { class: "soft" }), ...stop.text.map((part) => node("p", part)),
		node("blockquote", stop.rule), node("p", stop.look), node("p", stop.then, { class: "soft" }));
}

/** Does what the address says: a stop of the tour, or a run that somebody shares. */
async function follow() {
	const fragment = location.hash.slice(1);
	simulator.stop();
	const mine = ++turn;
	const stop = fragment.startsWith(STOP) ? TOUR.find(({ id }) => id === fragment.slice(STOP.length)) : null;
	showStop(stop);
	showError("");
	at("results").hidden = true;
	busy(false);
	at("status").textContent = "";
	if (stop) {
		showInput(stop.input);
		return run(stop.input);
	}
	if (!fragment) return;
	if (!fragment.startsWith(RUN)) return showError(`the link is damaged, or of another version: after # it has neither ${RUN} nor ${STOP} and a stop of the tour`);
	try {
		const { input } = await simulator.ask({ ask: "decode", fragment: fragment.slice(RUN.length) });
		if (mine !== turn) return;
		showInput(input);
		await run(input);
	} catch (error) {
		if (mine === turn && !(error instanceof Stopped)) showError(error.message);
	}
}

/** Puts the input into the address, which is then a link to it. */
async function address(input) {
	const { fragment } = await simulator.ask({ ask: "encode", input });
	history.replaceState(null, "", `#${RUN}${fragment}`);
	showStop(null);
}

async function copyLink() {
	try {
		await address(inputOfForm());
		await navigator.clipboard.writeText(location.href);
		at("status").textContent = "the link is copied";
	} catch (error) {
		if (error instanceof DOMException) at("status").textContent = "the link is in the address bar";
		else if (!(error instanceof Stopped)) showError(error.message);
	}
}

async function submit(event) {
	event.preventDefault();
	const input = inputOfForm();
	simulator.stop();
	const mine = ++turn;
	showError("");
	at("status").textContent = "";
	busy(true);
	try {
		await address(input);
	} catch (error) {
		if (mine !== turn) return;
		busy(false);
		return error instanceof Stopped || showError(error.message);
	}
	if (mine === turn) run(input);
}

// ---- the beginning -------------------------------------------------------------------------------------------------------------------------

function fillForm() {
	at("machines").replaceChildren(...catalog.machines.map(({ name, title, cpus }) => option(name, `${title}, ${cpus} CPUs`)));
	at("workloads").replaceChildren(...catalog.workloads.map(({ name, title }) => option(name, title)));
	at("workload-files").append(...catalog.files.map(({ name }) => option(name, name)));
	for (const side of ["base", "test"]) {
		at(`${side}-preset`).append(...catalog.presets.map(({ name, text }) => option(name, `${name}: ${text}`)));
		at(`${side}-preset`).addEventListener("change", ({ target }) => changeSched(side, ({ changes }) => ({ preset: target.value, changes })));
		at(`${side}-switch`).addEventListener("change", ({ target }) =>
			changeSched(side, ({ preset, changes }) => ({ preset: preset.name, changes: toggled(changes, target.value) })));
	}
	at("settings").replaceChildren(...catalog.settings.map(({ name, words }) => {
		const label = node("label", name), field = words.length ? node("select", "", { name }) : node("input", "", { name, maxlength: "32" });
		if (words.length) field.append(option("", "default"), ...words.map((word) => option(word, word)));
		label.append(field);
		return label;
	}));
}

async function begin() {
	at("tour").append(...TOUR.map(({ id, name }) => {
		const item = node("li");
		item.append(node("a", name, { href: `#${STOP}${id}` }));
		return item;
	}));
	try {
		catalog = await simulator.ask({ ask: "catalog" });
	} catch (error) {
		return showError(error.message);
	}
	fillForm();
	showInput(TOUR[0].input);
	at("form").addEventListener("submit", submit);
	at("cancel").addEventListener("click", () => simulator.stop());
	at("link").addEventListener("click", copyLink);
	at("figures-part").addEventListener("toggle", () => at("figures-part").open && listFigures());
	at("figure-find").addEventListener("input", listFigures);
	at("machine-copy").addEventListener("click", async () => {
		try {
			at("machine-file").value = (await simulator.ask({ ask: "machine", input: { ...inputOfForm(), figures: [] } })).text;
			describe();
		} catch (error) {
			if (!(error instanceof Stopped)) showError(error.message);
		}
	});
	at("workload-files").addEventListener("change", ({ target }) => {
		const file = catalog.files.find(({ name }) => name === target.value);
		if (file) [at("workload").value, at("workload-file").value] = [file.name, file.text];
		describe();
	});
	for (const id of ["machine", "machine-file", "workload", "workload-file", "base", "test"]) at(id).addEventListener("change", describe);
	addEventListener("hashchange", follow);
	if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("offline.js").catch(() => {});
	document.body.dataset.state = "ready";
	follow();
}

begin();

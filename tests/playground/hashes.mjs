// Runs in WebAssembly give the hashes of events that runs of the command give: the rows of tests/hashes/fair.tsv.
//
//   node tests/playground/hashes.mjs FOLDER [--times FILE] [ROW...]
//
// ROW is the number of a row, from 1; without any, all. FILE gets the seconds that each row took, row by row.
import { readFileSync, writeFileSync } from "node:fs";
import { module } from "./module.mjs";

const words = process.argv.slice(2);
const option = words.indexOf("--times");
const times = option < 0 ? null : words.splice(option, 2)[1];
const [folder, ...wanted] = words;
const lines = readFileSync("tests/hashes/fair.tsv", "utf8").split("\n");
const rows = lines.filter((line) => line && !line.startsWith("#")).map((line) => line.split("\t"));

const unknown = wanted.filter((row) => !(row > 0 && row <= rows.length));
if (unknown.length) throw new Error(`no row ${unknown.join(", ")}; there are ${rows.length}`);

/** The settings of an input, from the options of `fairground run`. */
function settings(options) {
	const found = [];
	const words = options === "-" ? [] : options.split(" ");
	for (let at = 0; at < words.length; at += 2) {
		const [name, value] = [words[at].replace("--", "").replace("-", "_"), words[at + 1]];
		found.push(name === "sysctl" ? value.split("=") : [name, value]);
	}
	return found;
}

const ask = await module(folder);
let [equal, took] = [0, []];
const wrong = [];
rows.forEach(([machine, workload, sched, seed, options, hash], at) => {
	if (wanted.length && !wanted.includes(String(at + 1))) return;
	const file = workload.split(":")[0].endsWith(".json") ? workload.split(":")[0] : undefined;
	const input = {
		version: 1, machine, workload, base: sched, settings: settings(options), seeds: 1, draws: 0,
		...(file && { workload_file: readFileSync(file, "utf8") }),
	};
	const begun = performance.now();
	const run = ask({ ask: "run", input, seed: Number(seed) });
	took.push(`${at + 1}\t${((performance.now() - begun) / 1000).toFixed(3)}`);
	if (run.hash === hash) equal++;
	else wrong.push(`row ${at + 1}: ${machine} ${workload} ${sched} ${seed} ${options}: ${run.error ?? run.hash}`);
});
if (times) writeFileSync(times, took.join("\n") + "\n");
wrong.forEach((line) => console.log(line));
console.log(`${equal} hashes equal, ${wrong.length} not`);
process.exit(wrong.length || !equal ? 1 : 0);

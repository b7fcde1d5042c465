// The WebAssembly module in a folder of the playground, asked from node: `const ask = await module(folder)`, then `ask({ ask: "catalog" })`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

export async function module(folder) {
	const [, packed] = (await readFile(join(folder, "module.js"), "utf8")).match(/^const FAIRGROUND_MODULE = "(.*)";$/m);
	const { instance } = await WebAssembly.instantiate(gunzipSync(Buffer.from(packed, "base64")), {});
	const wasm = instance.exports;
	const text = (at, length) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at, length));
	return (question) => {
		const bytes = new TextEncoder().encode(JSON.stringify(question));
		const at = wasm.fairground_question(bytes.length); // may move the memory
		new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
		try {
			const length = wasm.fairground_ask();
			return JSON.parse(text(wasm.fairground_answer(), length));
		} catch (trap) {
			const length = wasm.fairground_panic_length();
			throw new Error(length ? text(wasm.fairground_panic(), length) : String(trap));
		}
	};
}

// The worker that holds the module: a question in, an answer out. The page makes it from the text of this function, as a page from a disk may
// start no worker from a file.
"use strict";

function fairgroundWorker() {
	let wasm = null;
	const text = (at, length) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at, length));

	function ask(question) {
		const bytes = new TextEncoder().encode(JSON.stringify(question));
		const at = wasm.fairground_question(bytes.length); // may move the memory
		new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
		const length = wasm.fairground_ask();
		return JSON.parse(text(wasm.fairground_answer(), length));
	}

	// A panic, or memory that is used up, ends the module: `dead` says that another one is needed.
	function answer(question) {
		try {
			return ask(question);
		} catch (trap) {
			const length = wasm ? wasm.fairground_panic_length() : 0;
			const why = length ? text(wasm.fairground_panic(), length) : "it needs more memory or stack than a page has (" + trap.message + ")";
			return { error: "the simulator failed: " + why, dead: true };
		}
	}

	self.onmessage = async ({ data }) => {
		if (data.module) {
			wasm = (await WebAssembly.instantiate(data.module, {})).instance.exports;
			return self.postMessage({ ready: true });
		}
		const reply = answer(data.question);
		if (data.question.ask !== "view" || reply.error) return self.postMessage({ answer: reply });
		const bytes = new Uint8Array(wasm.memory.buffer, wasm.fairground_bytes(), reply.bytes).slice();
		self.postMessage({ answer: { bytes } }, [bytes.buffer]);
	};
}

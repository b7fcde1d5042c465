// A headless Chromium, driven by chromedriver: `const browser = await Browser.begin(url)`.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Serves a folder on a free port of this machine; the address, and a function that ends it. */
export async function serve(folder) {
	const server = createServer(async (request, response) => {
		const name = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
		const file = join(folder, name.endsWith("/") ? name + "index.html" : name);
		try {
			const content = await readFile(file);
			response.writeHead(200, { "content-type": KINDS[extname(file)] ?? "application/octet-stream" }).end(content);
		} catch {
			response.writeHead(404).end();
		}
	});
	await new Promise((done) => server.listen(0, "127.0.0.1", done));
	const end = () => { server.close(); server.closeAllConnections(); };
	return { url: `http://127.0.0.1:${server.address().port}/`, end };
}

export class Browser {
	/** Starts both programs. `width` of the window, px; `dark`: as a reader who prefers dark pages. */
	static async begin({ width = 1200, dark = false } = {}) {
		const browser = new Browser();
		browser.profile = mkdtempSync(join(tmpdir(), "playground-"));
		browser.driver = spawn("chromedriver", ["--port=0", "--log-level=SEVERE"], { stdio: ["ignore", "pipe", "inherit"] });
		// It ends its browser, also when the test is ended.
		process.once("exit", () => browser.driver.kill());
		for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
		browser.address = await new Promise((done, fail) => {
			let said = "";
			browser.driver.on("error", fail);
			browser.driver.on("exit", () => fail(new Error("chromedriver has ended: " + said)));
			browser.driver.stdout.on("data", (text) => {
				said += text;
				const port = said.match(/successfully on port (\d+)\D/);
				if (port) done(`http://127.0.0.1:${port[1]}`);
			});
		});
		const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", `--user-data-dir=${browser.profile}`, `--window-size=${width},1000`];
		if (dark) args.push("--force-dark-mode", "--enable-features=WebUIDarkMode");
		const alwaysMatch = {
			browserName: "chrome",
			"goog:chromeOptions": { args },
			"goog:loggingPrefs": { browser: "ALL", performance: "ALL" },
			timeouts: { script: 600000, pageLoad: 300000 },
		};
		const { sessionId } = await browser.send("POST", "/session", { capabilities: { alwaysMatch } });
		browser.session = `/session/${sessionId}`;
		await browser.cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
		return browser;
	}

	async send(method, path, body) {
		const sent = await fetch(this.address + path, { method, body: body && JSON.stringify(body) });
		const { value } = await sent.json();
		if (value?.error) throw new Error(`${value.error}: ${value.message}`);
		return value;
	}

	cdp(cmd, params) {
		return this.send("POST", `${this.session}/goog/cdp/execute`, { cmd, params });
	}

	go(url) {
		return this.send("POST", `${this.session}/url`, { url });
	}

	/** The value of a function's body in the page, of its promise if it is one. */
	run(script, ...args) {
		return this.send("POST", `${this.session}/execute/sync`, { script, args });
	}

	/** What a function's body hands to its last argument, a function. */
	runAsync(script, ...args) {
		return this.send("POST", `${this.session}/execute/async`, { script, args });
	}

	/** Waits until the body of a function gives something true; fails with what it gave last and what the page says. */
	async until(script, seconds = 300) {
		const end = Date.now() + seconds * 1000;
		for (;;) {
			const value = await this.run(script);
			if (value) return value;
			if (Date.now() > end) throw new Error(`not after ${seconds} s: ${script}: ${await this.run("return document.body.innerText.slice(0, 2000)")}`);
			await new Promise((done) => setTimeout(done, 100));
		}
	}

	async click(selector) {
		const found = await this.send("POST", `${this.session}/element`, { using: "css selector", value: selector });
		await this.send("POST", `${this.session}/element/${Object.values(found)[0]}/click`, {});
	}

	/** Presses keys in the element that has the focus; Tab is \uE004, Enter \uE007. */
	async keys(keys) {
		const actions = [...keys].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
		await this.send("POST", `${this.session}/actions`, { actions: [{ type: "key", id: "keyboard", actions }] });
	}

	/** A picture of the whole page. */
	async picture(file) {
		const { data } = await this.cdp("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
		writeFileSync(file, Buffer.from(data, "base64"));
	}

	/** What the console got since the last time, and the addresses that the page asked for. */
	async heard() {
		const console = (await this.send("POST", `${this.session}/se/log`, { type: "browser" })).map(({ level, message }) => `${level} ${message}`);
		const events = (await this.send("POST", `${this.session}/se/log`, { type: "performance" })).map(({ message }) => JSON.parse(message).message);
		const asked = events.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url);
		return { console, asked };
	}

	async end() {
		await this.send("DELETE", this.session).catch(() => {});
		this.driver.removeAllListeners("exit");
		this.driver.kill();
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}

// A headless Chromium, driven by chromedriver: `await Browser.during(options, async (browser) => ...)`. WebDriver's protocol is our own here, as a
// client from npm would be the only package that the tests take from there.
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

/** Each ends its browser; an ended test ends them. */
const drivers = new Set();
process.once("exit", () => drivers.forEach((driver) => driver.kill()));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** Keys by WebDriver's numbers. */
export const KEYS = { backspace: "\uE003", tab: "\uE004", enter: "\uE007", escape: "\uE00C", right: "\uE014" };

export class Browser {
	/** Starts both programs, and ends them when `use` has ended. Size in px; `dark`: as a reader who prefers dark pages; `mobile`: as a phone. */
	static async during(options, use) {
		const browser = new Browser();
		try {
			await browser.begin(options);
			return await use(browser);
		} finally {
			await browser.end();
		}
	}

	async begin({ width = 1200, height = 1000, dark = false, mobile = false }) {
		this.profile = mkdtempSync(join(tmpdir(), "browser-"));
		this.driver = spawn("chromedriver", ["--port=0", "--log-level=SEVERE"], { stdio: ["ignore", "pipe", "inherit"] });
		drivers.add(this.driver);
		this.address = await new Promise((done, fail) => {
			let said = "";
			this.driver.on("error", fail);
			this.driver.on("exit", () => fail(new Error("chromedriver has ended: " + said)));
			this.driver.stdout.on("data", (text) => {
				said += text;
				const port = said.match(/successfully on port (\d+)\D/);
				if (port) done(`http://127.0.0.1:${port[1]}`);
			});
		});
		const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", `--user-data-dir=${this.profile}`];
		const alwaysMatch = {
			browserName: "chrome",
			"goog:chromeOptions": { args },
			"goog:loggingPrefs": { browser: "ALL", performance: "ALL" },
			timeouts: { script: 600000, pageLoad: 300000 },
		};
		const { sessionId } = await this.send("POST", "/session", { capabilities: { alwaysMatch } });
		this.session = `/session/${sessionId}`;
		await this.cdp("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
		await this.cdp("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
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

	async element(selector, action, body) {
		const found = await this.send("POST", `${this.session}/element`, { using: "css selector", value: selector });
		await this.send("POST", `${this.session}/element/${Object.values(found)[0]}/${action}`, body);
	}

	click(selector) {
		return this.element(selector, "click", {});
	}

	/** Presses keys in an element, behind what it has. */
	type(selector, text) {
		return this.element(selector, "value", { text });
	}

	/** Clicks at a place of an element, px from its upper left corner. */
	async clickAt(selector, x, y) {
		const box = await this.run("const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.x, box.y]", selector);
		const place = { type: "pointerMove", duration: 0, x: Math.round(box[0] + x), y: Math.round(box[1] + y), origin: "viewport" };
		const actions = [place, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
		await this.send("POST", `${this.session}/actions`, { actions: [{ type: "pointer", id: "mouse", actions }] });
	}

	/** The text of an element, as it is shown. */
	text(selector) {
		return this.run("return document.querySelector(arguments[0]).innerText", selector);
	}

	/** Presses keys in the element that has the focus. */
	async keys(keys) {
		const actions = [...keys].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
		await this.send("POST", `${this.session}/actions`, { actions: [{ type: "key", id: "keyboard", actions }] });
	}

	/** A picture of the whole page, or of a part: `{ x, y, width, height, scale }`, px. */
	async picture(file, clip) {
		const { data } = await this.cdp("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
		writeFileSync(file, Buffer.from(data, "base64"));
	}

	/** What the console got since the last time, and the addresses that pages asked for; the browser's own pages (chrome:) do not count. */
	async heard() {
		const console = (await this.send("POST", `${this.session}/se/log`, { type: "browser" })).map(({ level, message }) => `${level} ${message}`);
		const events = (await this.send("POST", `${this.session}/se/log`, { type: "performance" })).map(({ message }) => JSON.parse(message).message);
		const asked = events.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url);
		return { console, asked: asked.filter((url) => !url.startsWith("chrome:")) };
	}

	async end() {
		await this.send("DELETE", this.session).catch(() => {});
		this.driver.removeAllListeners("exit");
		this.driver.kill();
		drivers.delete(this.driver);
		rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
	}
}

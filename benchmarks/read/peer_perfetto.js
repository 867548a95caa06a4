// How long the trace processor of the Perfetto UI takes to load a trace, under node: CPU seconds, and how many slices it then has.
//
//     node peer_perfetto.js FOLDER_WITH_ENGINE_BUNDLE TRACE
//
// The bundle is the worker of the UI: it wants the globals of a web worker, answers messages on a port, and reads the byte stream of
// TraceProcessorRpcStream (protos/perfetto/trace_processor/trace_processor.proto).
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, trace] = process.argv.slice(2);
const node = process;
const replies = [];
let wake = () => {};
const port = {
  onmessage: null,
  postMessage: (bytes) => {
    replies.push(Buffer.from(bytes));
    wake();
  },
};

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = { href: "file:///engine_bundle.js" };
globalThis.XMLHttpRequest = class {
  open(method, url) {
    this.file = path.join(folder, path.basename(String(url)));
  }
  send() {
    this.response = fs.readFileSync(this.file);
  }
};
console.warn = console.error = console.log = () => {};
delete globalThis.process; // or it takes itself to be under node, for which it was not built
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));
globalThis.onmessage({ data: port });

function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return Buffer.from([...out, value]);
}

const bytes = (field, body) => Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
let sequence = 0;

async function call(request, ...fields) {
  const before = replies.length;
  const message = bytes(1, Buffer.concat([number(1, sequence++), number(2, request), ...fields]));
  port.onmessage({ data: new Uint8Array(message) });
  if (replies.length === before) await new Promise((resolve) => (wake = resolve));
  return replies[replies.length - 1];
}

function* fieldsOf(buffer) {
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = buffer[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const key = next();
    if (key % 8 === 0) yield [key >> 3, next()];
    else if (key % 8 === 2) {
      const size = next();
      yield [key >> 3, buffer.subarray(at, (at += size))];
    } else return;
  }
}

const inside = (buffer, field) => [...fieldsOf(buffer)].filter(([name]) => name === field).map(([, value]) => value)[0];
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const PIECE = 16 * 2 ** 20;

node.on("uncaughtException", (error) => {
  node.stderr.write(`${String(error).slice(-500)}\n`);
  node.exit(1);
});
(async () => {
  await new Promise((resolve) => setTimeout(resolve, 1000)); // until it has started
  const data = fs.readFileSync(trace);
  const begin = node.cpuUsage();
  const start = performance.now();
  for (let at = 0; at < data.length; at += PIECE) await call(APPEND, bytes(101, data.subarray(at, at + PIECE)));
  await call(FINALIZE);
  const used = node.cpuUsage(begin);
  const wall_s = (performance.now() - start) / 1000;
  const query = bytes(103, bytes(1, Buffer.from("select count(*) as n from slice")));
  let answer = inside(await call(QUERY, query), 1);
  for (const field of [203, 3, 2]) answer = answer && inside(answer, field);
  const slices = answer ? [...fieldsOf(Buffer.concat([Buffer.from([8]), answer]))][0][1] : null;
  const cpu_s = (used.user + used.system) / 1e6;
  node.stdout.write(JSON.stringify({ wall_s, cpu_s, events: slices, peak_bytes: 1024 * /VmHWM:\s*(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1] }) + "\n");
  node.exit(0);
})().catch((error) => {
  node.stderr.write(String(error) + "\n");
  node.exit(1);
});

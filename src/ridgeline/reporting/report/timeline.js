(() => {
  const box = document.getElementById("timeline");
  if (!box) return;
  const canvas = box.querySelector("canvas"), readout = box.querySelector(".readout"), search = box.querySelector("input"), count = box.querySelector(".count");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const SIZES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
  const ROW = 15, PAD = 5, LABEL = 170, TOP = 22;
  const HUES = { compute: 212, communication: 285, copy: 32, fill: 45, sync: 0, operator: 190, python: 95, runtime: 250, wait: 350, input: 150, profiler: 60, annotation: 230, iteration: 230, other: 210 };
  let data = null, from = 0, to = 1, lanes = [], height = 0, matches = null, cursor = -1, dragging = null, asked = false;

  const unpack = async () => {
    const text = atob(document.getElementById("timeline-data").textContent);
    const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const size = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    let at = 4 + size;
    for (const [name, kind, length] of head.columns) {
      const width = SIZES[kind].BYTES_PER_ELEMENT;
      head[name] = new SIZES[kind](buffer.slice(at, at + width * length));
      at += width * length;
    }
    return head;
  };

  const written = (s) => {
    const size = Math.abs(s);
    const [factor, unit] = size >= 1 || s === 0 ? [1, "s"] : size >= 1e-3 ? [1e3, "ms"] : size >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
    return `${Number((s * factor).toPrecision(4))} ${unit}`;
  };
  const colour = (kind, found) => {
    const hue = HUES[data.kinds[kind]] ?? 210, light = document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    return found ? css("--accent") : `hsl(${hue} 42% ${light ? 52 : 62}%)`;
  };

  const layout = () => {
    const deepest = new Uint8Array(data.lanes.length);
    for (let i = 0; i < data.lane.length; i++) if (data.depth[i] > deepest[data.lane[i]]) deepest[data.lane[i]] = data.depth[i];
    lanes = [];
    let y = TOP;
    const add = (name, rows, index, kind) => { lanes.push({ name, y, rows, index, kind }); y += rows * ROW + PAD; };
    if (data.path.length) add("critical path", 1, -1, "path");
    const devices = [...new Set(data.gaps.map((gap) => gap[0]))];
    data.lanes.forEach((lane, index) => {
      const nth = devices.indexOf(lane.device);
      if (lane.device && nth >= 0) { add(`gaps of ${lane.device}`, 1, -1, "gaps"); lanes[lanes.length - 1].device = lane.device; devices.splice(nth, 1); }
      add(lane.name, deepest[index] + 1, index, "events");
    });
    height = y;
    // Events of each lane in order of their start, for finding those in view.
    const order = Array.from(data.lane.keys()).sort((a, b) => data.lane[a] - data.lane[b] || data.start[a] - data.start[b]);
    for (const lane of lanes) lane.events = [];
    const by = new Map(lanes.filter((lane) => lane.kind === "events").map((lane) => [lane.index, lane]));
    for (const i of order) by.get(data.lane[i]).events.push(i);
    // The longest in each lane bounds how far before the view an event that is still in it can begin.
    for (const lane of by.values()) lane.longest = lane.events.reduce((most, i) => Math.max(most, data.duration[i]), 0);
    canvas.style.height = `${height}px`;
  };

  const x = (s) => LABEL + (s - from) / (to - from) * (canvas.clientWidth - LABEL);
  const time = (px) => from + (px - LABEL) / (canvas.clientWidth - LABEL) * (to - from);
  const firstAt = (lane, s) => { let low = 0, high = lane.events.length; while (low < high) { const mid = (low + high) >> 1; if (data.start[lane.events[mid]] < s) low = mid + 1; else high = mid; } return low; };

  const level = () => {
    if (!data.bins.length) return -1;
    const wanted = (canvas.clientWidth - LABEL) * data.window / (to - from);
    return data.bins[0] >= wanted ? 0 : data.bins.length - 1;
  };
  const drawBins = (pen, lane) => {
    const at = level();
    if (at < 0) return;
    const bins = data.bins[at], busy = data[`busy${at}`], most = data[`most${at}`], width = data.window / bins, base = lane.index * bins;
    const first = Math.max(0, Math.floor(from / width)), last = Math.min(bins - 1, Math.ceil(to / width));
    for (let i = first; i <= last; i++) {
      if (!busy[base + i]) continue;
      const found = matches && matches.has(most[base + i]);
      pen.globalAlpha = 0.15 + 0.55 * busy[base + i] / 255;
      pen.fillStyle = found ? css("--accent") : css("--fill");
      const left = Math.max(LABEL, x(i * width));
      pen.fillRect(left, lane.y, Math.max(0.6, x((i + 1) * width) - left), ROW - 2);
    }
    pen.globalAlpha = 1;
  };
  const label = (pen, text, left, width, y) => {
    if (width < 26) return;
    pen.fillStyle = css("--paper");
    const room = Math.floor((width - 6) / 6.2);
    pen.fillText(text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text, left + 3, y + ROW / 2 - 1);
  };
  const span = (pen, s, long, y, style, text) => {
    const left = Math.max(LABEL, x(s)), right = Math.min(canvas.clientWidth, x(s + long));
    if (right < LABEL || left > canvas.clientWidth) return;
    pen.fillStyle = style;
    pen.fillRect(left, y, Math.max(1, right - left), ROW - 2);
    label(pen, text, left, right - left, y);
  };
  const drawEvents = (pen, lane) => {
    drawBins(pen, lane);
    const seen = new Map(), least = (to - from) / (canvas.clientWidth - LABEL);
    for (let at = firstAt(lane, from - lane.longest); at < lane.events.length; at++) {
      const i = lane.events[at];
      if (data.start[i] > to) break;
      if (data.start[i] + data.duration[i] < from) continue;
      const found = matches !== null && matches.has(data.name[i]), depth = data.depth[i], pixel = Math.floor(data.start[i] / least);
      // Of many events within one pixel one is drawn; what was searched for always is.
      if (data.duration[i] < least && !found && seen.get(depth) === pixel) continue;
      seen.set(depth, pixel);
      span(pen, data.start[i], data.duration[i], lane.y + depth * ROW, colour(data.kind[i], found), data.strings[data.name[i]]);
    }
  };
  const drawAxis = (pen) => {
    const rough = (to - from) / Math.max(2, (canvas.clientWidth - LABEL) / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    pen.fillStyle = css("--dim");
    for (let s = Math.ceil(from / step) * step; s <= to; s += step) {
      pen.fillText(written(Math.abs(s) < step / 2 ? 0 : s), x(s) + 3, 9);
      pen.fillRect(x(s), 0, 1, height);
    }
    pen.fillStyle = css("--accent");
    for (const [start] of data.steps) if (start >= from && start <= to) pen.fillRect(x(start), TOP - 6, 1, 6);
  };
  const draw = () => {
    asked = false;
    const scale = devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.globalAlpha = 0.35;
    drawAxis(pen);
    pen.globalAlpha = 1;
    for (const lane of lanes) {
      if (lane.kind === "events") drawEvents(pen, lane);
      else if (lane.kind === "gaps") { for (const gap of data.gaps) if (gap[0] === lane.device) span(pen, gap[1], gap[2], lane.y, css("--accent"), gap[3]); }
      else for (const piece of data.path) span(pen, piece[0], piece[1], lane.y, css("--ink"), piece[3] || piece[2]);
    }
    pen.fillStyle = css("--paper");
    pen.fillRect(0, 0, LABEL - 4, height);
    pen.fillStyle = css("--ink");
    for (const lane of lanes) pen.fillText(lane.name.length > 27 ? lane.name.slice(0, 26) + "…" : lane.name, 0, lane.y + ROW / 2 - 1);
    box.dataset.from = from;
    box.dataset.to = to;
  };
  const again = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
  const show = (start, end) => {
    const least = Math.max(data.window * 1e-9, 1e-9), long = Math.min(data.window, Math.max(least, end - start));
    from = Math.min(Math.max(0, start), data.window - long);
    to = from + long;
    again();
  };
  const zoom = (factor, at = (from + to) / 2) => show(at - (at - from) * factor, at + (to - at) * factor);
  const pan = (part) => show(from + part * (to - from), to + part * (to - from));

  const under = (px, py) => {
    const s = time(px), lane = lanes.find((one) => py >= one.y && py < one.y + one.rows * ROW);
    if (!lane || px < LABEL) return "";
    if (lane.kind === "gaps") { const gap = data.gaps.find((one) => one[0] === lane.device && s >= one[1] && s <= one[1] + one[2]); return gap ? `gap of ${gap[0]}: ${gap[3]}, ${written(gap[2])}${gap[4] ? `, host in ${gap[4]}` : ""}` : ""; }
    if (lane.kind === "path") { const piece = data.path.find((one) => s >= one[0] && s <= one[0] + one[1]); return piece ? `critical path: ${piece[2]} ${piece[3]}, ${written(piece[1])}` : ""; }
    const depth = Math.floor((py - lane.y) / ROW);
    for (let at = Math.min(firstAt(lane, s), lane.events.length) - 1; at >= 0; at--) {
      const i = lane.events[at];
      if (data.start[i] < s - lane.longest) break;
      if (data.depth[i] === depth && s <= data.start[i] + data.duration[i]) return `${data.strings[data.name[i]]}: ${data.kinds[data.kind[i]]}, ${written(data.duration[i])} at ${written(data.start[i])}, ${lane.name}`;
    }
    const at = level();
    if (at < 0 || depth) return "";
    const bin = Math.min(data.bins[at] - 1, Math.floor(s / data.window * data.bins[at])), busy = data[`busy${at}`][lane.index * data.bins[at] + bin];
    return busy ? `${lane.name}: busy ${Math.round(busy / 2.55)}% of ${written(data.window / data.bins[at])}, mostly ${data.strings[data[`most${at}`][lane.index * data.bins[at] + bin]]}` : "";
  };

  const look = () => {
    const text = search.value.toLowerCase();
    matches = text ? new Set(data.strings.flatMap((name, index) => name.toLowerCase().includes(text) ? [index] : [])) : null;
    cursor = -1;
    let events = 0, sum = 0;
    if (matches) for (let i = 0; i < data.name.length; i++) if (matches.has(data.name[i])) { events++; sum += data.duration[i]; }
    count.textContent = matches ? `${events} drawn events, ${written(sum)} together${data.shown < data.events ? "; the table of operators counts all" : ""}` : "";
    again();
  };
  const next = () => {
    if (!matches) return;
    const found = Array.from(data.name.keys()).filter((i) => matches.has(data.name[i])).sort((a, b) => data.start[a] - data.start[b]);
    if (!found.length) return;
    cursor = (cursor + 1) % found.length;
    const i = found[cursor], long = Math.max(data.duration[i] * 4, (to - from) / 50);
    show(data.start[i] + data.duration[i] / 2 - long / 2, data.start[i] + data.duration[i] / 2 + long / 2);
    readout.textContent = `${data.strings[data.name[i]]}: ${written(data.duration[i])} at ${written(data.start[i])}`;
  };

  const keys = { w: () => zoom(0.6), "+": () => zoom(0.6), s: () => zoom(1 / 0.6), "-": () => zoom(1 / 0.6), a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), Home: () => show(0, data.window), "0": () => show(0, data.window) };
  const listen = () => {
    canvas.addEventListener("keydown", (event) => { const act = keys[event.key]; if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); } });
    canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.shiftKey) return; event.preventDefault(); if (event.shiftKey) pan(event.deltaY / 500); else zoom(Math.exp(event.deltaY / 300), time(event.offsetX)); }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { dragging = { at: event.offsetX, from, to }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { dragging = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (dragging) { const moved = (dragging.at - event.offsetX) / (canvas.clientWidth - LABEL) * (dragging.to - dragging.from); show(dragging.from + moved, dragging.to + moved); }
      else readout.textContent = under(event.offsetX, event.offsetY) || "\u00a0";
    });
    canvas.addEventListener("dblclick", (event) => zoom(0.3, time(event.offsetX)));
    for (const button of box.querySelectorAll("button[data-key]")) button.addEventListener("click", () => keys[button.dataset.key]());
    box.querySelector("button.next").addEventListener("click", next);
    search.addEventListener("input", look);
    search.addEventListener("keydown", (event) => { if (event.key === "Enter") next(); });
    addEventListener("resize", again);
    new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  };
  unpack().then((found) => {
    data = found;
    from = 0;
    to = data.window || 1;
    layout();
    listen();
    draw();
    box.dataset.ready = "yes";
  }).catch((error) => { readout.textContent = `This browser cannot draw the timeline: ${error}`; });
})();

"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ROW = 18, NARROWEST = 0.6, CHARACTER = 6.6, MOST_TURNED = 300000;
  const make = (name, attributes, parent, space) => {
    const element = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(element);
    return element;
  };

  const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const weight = (value, unit) => {
    if (value === 0) return unit === "count" ? "0" : `0 ${unit}`;
    if (unit === "count") return value.toLocaleString("en", { maximumSignificantDigits: 6 });
    const size = Math.abs(value);
    const [factor, prefix] = PREFIXES.find(([each]) => size >= each * 0.9995) || [1e-9, "n"];
    const least = unit === "s" && size >= 1 ? [1, ""] : [factor, prefix];
    return `${(value / least[0]).toPrecision(3)} ${least[1]}${unit}`;
  };
  const share = (part) => (part > 0 && part < 0.001 ? "<0.1%" : part >= 0.9995 && part < 1 ? ">99.9%" : `${(100 * part).toFixed(1)}%`);

  // A tree as arrays; children[i] lists the nodes below i, the widest first, and children[n] the outermost ones.
  const treeOf = (parent, label, total, own) => {
    const children = Array.from({ length: parent.length + 1 }, () => []);
    parent.forEach((up, node) => children[up < 0 ? parent.length : up].push(node));
    children.forEach((list) => list.sort((one, other) => total[other] - total[one] || one - other));
    return { parent, label, total, own, children, top: parent.length };
  };

  // The same weights from the functions in which they ended outwards to their callers.
  const turned = (tree) => {
    const parent = [], label = [], total = [], own = [], nodes = new Map();
    const order = tree.own.map((value, node) => node).filter((node) => tree.own[node] > 0).sort((one, other) => tree.own[other] - tree.own[one]);
    let left = 0;
    for (const leaf of order) {
      if (parent.length > MOST_TURNED) { left += tree.own[leaf]; continue; }
      let at = -1;
      for (let node = leaf; node >= 0; node = tree.parent[node]) {
        const key = `${at} ${tree.label[node]}`;
        let next = nodes.get(key);
        if (next === undefined) {
          next = parent.length;
          nodes.set(key, next);
          parent.push(at); label.push(tree.label[node]); total.push(0); own.push(0);
        }
        total[next] += tree.own[leaf];
        // What a caller shows here is weight of the function at the start of its row of callers.
        if (at < 0) own[next] += tree.own[leaf];
        at = next;
      }
    }
    return { ...treeOf(parent, label, total, own), left };
  };

  const start = (holder) => {
    const data = JSON.parse(holder.dataset.tree);
    const figure = holder.closest(".flame");
    const still = figure.querySelector(".flame-still");
    if (still) still.remove();
    const down = treeOf(data.parent, data.function, data.total, data.own);
    let tree = down, inverted = null, zoom = down.top, wanted = "", current = null;

    const tools = make("div", { class: "flame-tools" }, holder);
    const search = make("input", { type: "search", placeholder: "Search functions", "aria-label": "Search functions" }, tools);
    const back = make("button", { type: "button" }, tools);
    back.textContent = "Show all";
    const turn = make("button", { type: "button", "aria-pressed": "false" }, tools);
    turn.textContent = "Inverted";
    const found = make("span", { class: "flame-found", role: "status" }, tools);
    const read = make("p", { class: "flame-read", "aria-live": "polite" }, holder);
    const view = make("div", { class: "flame-view" }, holder);
    const idle = "Point at a bar to read it, choose it to zoom. Arrow keys walk: down to the functions below, up to the one above, left and right beside; Escape shows all.";

    const nameOf = (node) => data.names[tree.label[node]];
    const matches = (label) => wanted !== "" && (data.names[label].toLowerCase().includes(wanted) || data.places[label].toLowerCase().includes(wanted));
    const said = (node) => {
      const label = tree.label[node];
      const kind = data.kinds[label] ? ` (${data.kinds[label]})` : "";
      const numbers = inverted === tree
        ? `${weight(tree.total[node], data.unit)}, ${share(tree.total[node] / data.whole)} of all, ${tree.parent[node] < 0 ? "ended here" : "called from here"}`
        : `total ${weight(tree.total[node], data.unit)}, ${share(tree.total[node] / data.whole)} · own ${weight(tree.own[node], data.unit)}, ${share(tree.own[node] / data.whole)}`;
      return `${nameOf(node)}${kind}: ${numbers}${data.places[label] ? ` · ${data.places[label]}` : ""}`;
    };

    const searched = () => {
      if (wanted === "") { found.textContent = ""; return; }
      // Nested matches count once: a matching bar holds all that lies below it.
      let sum = 0;
      const open = [...down.children[down.top]];
      while (open.length) {
        const node = open.pop();
        if (matches(down.label[node])) sum += down.total[node];
        else open.push(...down.children[node]);
      }
      const count = data.names.filter((name, label) => matches(label)).length;
      found.textContent = `${count} of ${data.names.length} functions match: ${share(Math.min(1, sum / data.whole))} of the weight`;
    };

    const focus = (group) => {
      if (current) current.setAttribute("tabindex", "-1");
      current = group;
      if (group) { group.setAttribute("tabindex", "0"); }
    };

    const draw = () => {
      const width = Math.max(280, view.clientWidth || holder.clientWidth || 800);
      const rows = [];
      const above = [];
      for (let node = zoom; node !== tree.top && node >= 0; node = tree.parent[node]) above.unshift(node);
      above.forEach((node, depth) => rows.push([node, 0, width, depth, depth < above.length - 1]));
      const whole = zoom === tree.top ? Math.max(data.whole, 1e-300) : tree.total[zoom];
      const open = [];
      const lay = (list, from, depth) => {
        let x = from;
        for (const node of list) {
          const wide = width * tree.total[node] / whole;
          if (wide >= NARROWEST) open.push([node, x, wide, depth, false]);
          x += wide;
        }
      };
      lay(tree.children[zoom], 0, above.length);
      let deepest = above.length;
      while (open.length) {
        const row = open.pop();
        rows.push(row);
        deepest = Math.max(deepest, row[3] + 1);
        lay(tree.children[row[0]], row[1], row[3] + 1);
      }
      const svg = make("svg", { width, height: Math.max(1, deepest) * ROW + 2, role: "group", "aria-label": "flame graph" }, null, SVG);
      rows.sort((one, other) => one[3] - other[3] || one[1] - other[1]);
      for (const [node, x, wide, depth, over] of rows) {
        const label = tree.label[node];
        const group = make("g", { tabindex: "-1", role: "button", "data-node": node, "aria-label": said(node) }, svg, SVG);
        group.classList.add("bar-of");
        if (data.kinds[label]) group.classList.add(data.kinds[label]);
        if (over) group.classList.add("above");
        if (matches(label)) group.classList.add("hit");
        const y = depth * ROW + 1;
        make("rect", { class: "box", x: x.toFixed(2), y, width: Math.max(wide, 0.5).toFixed(2), height: ROW - 1 }, group, SVG);
        const own = tree.total[node] > 0 ? wide * tree.own[node] / tree.total[node] : 0;
        if (own >= 0.5 && !over) make("rect", { class: "own", x: x.toFixed(2), y: y + ROW - 4, width: own.toFixed(2), height: 3 }, group, SVG);
        const room = Math.floor((wide - 6) / (matches(label) ? CHARACTER * 1.12 : CHARACTER));
        if (room >= 3) {
          const name = nameOf(node);
          make("text", { x: (x + 3).toFixed(2), y: y + 12 }, group, SVG).textContent = name.length > room ? `${name.slice(0, room - 1)}…` : name;
        }
      }
      view.replaceChildren(svg);
      back.disabled = zoom === tree.top;
      turn.setAttribute("aria-pressed", String(tree === inverted));
      current = null;
      focus(svg.querySelector(`[data-node="${zoom}"]`) || svg.querySelector("g"));
      const beyond = tree.left ? ` Functions with ${share(tree.left / data.whole)} of the weight, each with little, are not in the inverted graph.` : "";
      read.textContent = zoom === tree.top ? idle + beyond : said(zoom);
    };

    const into = (node, keep) => {
      zoom = node;
      draw();
      if (keep && current) current.focus();
    };
    const groupOf = (event) => (event.target.closest ? event.target.closest("g[data-node]") : null);
    const drawnGroup = (node) => view.querySelector(`[data-node="${node}"]`);

    view.addEventListener("click", (event) => {
      const group = groupOf(event);
      if (group) into(Number(group.dataset.node), true);
    });
    view.addEventListener("pointerover", (event) => { const group = groupOf(event); if (group) read.textContent = said(Number(group.dataset.node)); });
    view.addEventListener("focusin", (event) => { const group = groupOf(event); if (group) { focus(group); read.textContent = said(Number(group.dataset.node)); } });
    view.addEventListener("keydown", (event) => {
      const group = groupOf(event);
      if (!group) return;
      const node = Number(group.dataset.node);
      const up = tree.parent[node];
      const beside = tree.children[up < 0 ? tree.top : up];
      const place = beside.indexOf(node);
      const next = {
        ArrowDown: () => drawnGroup(tree.children[node][0]), ArrowUp: () => drawnGroup(up),
        ArrowRight: () => drawnGroup(beside[place + 1]), ArrowLeft: () => drawnGroup(beside[place - 1]),
      }[event.key];
      if (next) {
        event.preventDefault();
        const target = next();
        if (target) { focus(target); target.focus(); }
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        into(node, true);
      } else if (event.key === "Escape") {
        into(tree.top, true);
      }
    });
    back.addEventListener("click", () => into(tree.top, false));
    turn.addEventListener("click", () => {
      inverted = inverted || turned(down);
      tree = tree === down ? inverted : down;
      into(tree.top, false);
    });
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { wanted = search.value.trim().toLowerCase(); searched(); draw(); }, 120);
    });
    let last = 0;
    new ResizeObserver(() => { if (Math.abs(view.clientWidth - last) > 1) { last = view.clientWidth; draw(); } }).observe(view);
    draw();
  };
  document.querySelectorAll(".flame-graph[data-tree]").forEach(start);
})();

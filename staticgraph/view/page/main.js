// The state of the page, and what the user does to it.

const byId = (id) => document.getElementById(id);
const svg = byId("picture");
const drawing = new Drawing(svg);
const state = { name: "before", open: new Set(), chosen: null, ids: [], colour: "lane", found: [], at: -1 };
const graphOf = () => GRAPHS[state.name];

const details = new Details(byId("details"), {
  clear: () => choose(null),
  choose: (node, name) => go(node, name),
  toggle: (block) => toggle(block),
  isOpen: (block) => state.open.has(block.id),
  toLine: (source) => { tab("source"); source_.reveal([source_.at.get(lineKey(source))]); },
});
const source_ = new SourcePane(byId("source").querySelector(".text"), {
  over: (row) => hover(row === undefined ? [] : graphOf().byLine.get(source_.key(row)) || []),
  choose: (row) => chooseIds(graphOf().byLine.get(source_.key(row)) || [], "source"),
});
const kernel_ = new KernelPane(byId("kernel").querySelector(".text"), {
  over: (row) => hover(row === undefined ? [] : fromKernel(row)),
  choose: (row) => chooseIds(fromKernel(row), "kernel"),
});

/** The nodes of the graph that is shown which a line of the kernel belongs to. */
function fromKernel(row) {
  const ids = DATA.kernel[row][1];
  if (state.name === "after") return ids;
  const { same, near } = twins(GRAPHS.after, ids, graphOf());
  return same.length ? same : near;
}

/** The lines of the kernel that belong to nodes of the graph that is shown. */
function kernelLines(ids) {
  if (!GRAPHS.after) return { same: [], near: [] };
  const { same, near } = twins(graphOf(), ids, GRAPHS.after);
  const lines = (list) => [...new Set(list.flatMap((id) => LINES_OF.get(id) || []))];
  return { same: lines(same), near: lines(near) };
}

function sourceRows(ids) {
  return [...new Set(ids.map((id) => source_.at.get(lineKey(graphOf().nodes[id].source))))].filter((row) => row !== undefined);
}

function light(name, ids) {
  const { same, near } = kernelLines(ids);
  source_.light(name, sourceRows(ids));
  kernel_.light(name, same, near);
  return { rows: sourceRows(ids), lines: same.length ? same : near };
}

function hover(ids) {
  light("on", ids);
  const items = drawing.mark("on", ids);
  drawing.relate(items.size === 1 ? [...items][0] : state.chosen);
}

/** Choose an item of the picture; the panes show where it is from and what became of it. */
function choose(item) {
  state.chosen = item;
  state.ids = item ? (item.isNode ? [item.id] : item.members) : [];
  const { rows, lines } = light("chosen", state.ids);
  drawing.mark("chosen", []);
  if (item && drawing.elements.has(item)) drawing.elements.get(item).classList.add("chosen");
  drawing.relate(item);
  if (!item) return details.hide();
  if (rows.length) source_.reveal(rows);
  if (lines.length) kernel_.reveal(lines);
  show(item);
}

/** Show the card of an item, on the side where it does not cover it. */
function show(item) {
  details.show(graphOf(), item);
  const place = drawing.layout.places.get(item);
  const { x, k } = drawing.transform;
  const left = place && middle(place) * k + x < svg.getBoundingClientRect().width / 2;
  byId("details").classList.toggle("right", Boolean(left));
}

/** Choose what a line computes: all of its nodes, of which there may be many. */
function chooseIds(ids, from) {
  const shown = ids.filter((id) => graphOf().nodes[id].shown);
  if (!shown.length) return choose(null);
  state.chosen = null;
  state.ids = shown;
  const { rows, lines } = light("chosen", shown);
  const items = [...drawing.mark("chosen", shown)].filter(Boolean);
  drawing.relate(items.length === 1 ? items[0] : null);
  if (from !== "source" && rows.length) source_.reveal(rows);
  if (from !== "kernel" && lines.length) kernel_.reveal(lines);
  if (items.length) drawing.reveal(items[0]);
  if (items.length === 1) {
    state.chosen = items[0];
    show(items[0]);
  } else details.hide();
}

function draw(anchor) {
  const place = anchor && drawing.layout && drawing.layout.places.get(anchor);
  const before = place && { x: place.x, y: place.y };
  drawing.render(graphOf(), state.open, state.colour);
  legend();
  const now = anchor && drawing.layout.places.get(anchor);
  if (before && now) {
    const { x, y, k } = drawing.transform;
    drawing.move({ x: x + (before.x - now.x) * k, y: y + (before.y - now.y) * k, k });
  }
  find(false);
  if (state.chosen) {
    const item = drawing.elements.has(state.chosen) ? state.chosen : null;
    drawing.mark("chosen", []);
    if (item) drawing.elements.get(item).classList.add("chosen");
    drawing.relate(item);
  }
}

function toggle(block) {
  if (state.open.has(block.id)) state.open.delete(block.id);
  else state.open.add(block.id);
  draw(block);
  if (state.chosen === block) show(block);
}

/** Open what is around a node. */
function expose(node) {
  let changed = false;
  for (let box = (node.opens || node).parent; box; box = box.parent) {
    if (!state.open.has(box.id)) changed = true;
    state.open.add(box.id);
  }
  if (changed) draw();
}

/** Show a node of a graph, and choose it. */
function go(node, name = state.name) {
  switchTo(name);
  expose(node);
  choose(node.opens || node);
  drawing.reveal(node.opens || node);
}

/** The outermost boxes that are closed, each with its depth. */
function closed() {
  const found = [];
  const walk = (items, depth) => {
    for (const item of items) {
      if (item.isNode) continue;
      if (state.open.has(item.id)) walk(item.items, depth + 1);
      else found.push([item, depth]);
    }
  };
  graphOf().lanes.forEach((items) => walk(items, 0));
  return found;
}

function visible() {
  let count = 0;
  const walk = (items) => items.forEach((item) => (item.isNode || !state.open.has(item.id) ? count++ : walk(item.items)));
  graphOf().lanes.forEach(walk);
  return count;
}

/** Open the outermost boxes that are closed, of one lane or of all; whether there were any. */
function unfold(lane) {
  const found = closed().filter(([block]) => lane === undefined || block.lane === lane);
  const least = Math.min(...found.map(([, depth]) => depth));
  for (const [block, depth] of found) if (depth === least) state.open.add(block.id);
  return found.length > 0;
}

function fold() {
  let deepest = -1;
  const depth = (block) => chain(block).length;
  for (const block of graphOf().blocks.values()) if (state.open.has(block.id)) deepest = Math.max(deepest, depth(block));
  for (const block of graphOf().blocks.values()) if (depth(block) === deepest) state.open.delete(block.id);
}

const MOST = 36;
const LEGIBLE = 0.92;

/** Open as much as can be read at one glance: of the program first, then of the rest. */
function settle() {
  for (const lane of [0, 1, 2]) {
    for (;;) {
      const before = new Set(state.open);
      if (!unfold(lane)) break;
      if (visible() > MOST || drawing.scaleFor(new Layout(graphOf(), state.open)) < LEGIBLE) {
        state.open = before;
        break;
      }
    }
  }
}

function switchTo(name) {
  if (name === state.name && drawing.layout) return;
  const from = graphOf();
  const ids = state.ids;
  state.name = name;
  for (const button of byId("graphs").children) button.setAttribute("aria-pressed", String(button.value === name));
  if (!seen.has(name)) {
    seen.add(name);
    settle();
  }
  state.chosen = null;
  draw();
  drawing.fit();
  source_.heat(graphOf());
  const { same, near } = twins(from, ids, graphOf());
  const kept = same.length ? same : near;
  if (kept.length) chooseIds(kept);
  else choose(null);
  colours();
  byId("title").querySelector("small").textContent = `${graphOf().nodes.length} nodes`;
}

const seen = new Set();

function colours() {
  const select = byId("colour");
  const options = [["lane", "lane"]];
  if (graphOf().timed) options.push(["time", "time"]);
  options.push(["memory", "memory"]);
  if (graphOf().nodes.some((node) => node.value)) options.push(["size", "greatest value"]);
  select.replaceChildren();
  for (const [value, text] of options) html(select, "option", text).value = value;
  if (!options.some(([value]) => value === state.colour)) state.colour = "lane";
  select.value = state.colour;
}

function legend() {
  const root = byId("legend");
  root.replaceChildren();
  const { most, top } = drawing.paint(state.colour);
  if (state.colour === "lane") {
    for (const [name, colour] of [["variable", "variable"], ["input", "placeholder"], ["constant", "constant"]]) {
      const entry = html(root, "span", undefined, "long");
      html(entry, "i").style.background = `var(--${colour})`;
      entry.append(name);
    }
    return;
  }
  html(root, "span", "0");
  html(root, "span", undefined, "ramp").style.setProperty("--top", top);
  html(root, "span", { time: seconds(most), memory: bytes(most), size: (10 ** (most - 8)).toPrecision(3) }[state.colour]);
}

function find(moves = true) {
  const text = byId("search").value;
  state.found = search(graphOf(), text);
  svg.classList.toggle("searching", Boolean(state.found.length));
  drawing.mark("match", state.found);
  byId("found").textContent = text ? `${state.found.length} found` : "";
  if (moves) state.at = -1;
}

/** Go to the next of what was found, and open what is around it. */
function next(step) {
  if (!state.found.length) return;
  state.at = (state.at + step + state.found.length) % state.found.length;
  go(graphOf().nodes[state.found[state.at]]);
  byId("found").textContent = `${state.at + 1} of ${state.found.length}`;
}

/** Go from what is chosen to a neighbour: what it reads, what reads it, or what is beside it. */
function step(direction) {
  const { places } = drawing.layout;
  const all = [...drawing.elements.keys()];
  if (!state.chosen || !places.has(state.chosen)) return choose(all[0] || null);
  const here = places.get(state.chosen);
  const [x, y] = [middle(here), here.y + here.height / 2];
  const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[direction];
  let best = null;
  for (const item of all) {
    if (item === state.chosen || within(item, state.chosen) || within(state.chosen, item)) continue;
    const place = places.get(item);
    const [px, py] = [middle(place) - x, place.y + place.height / 2 - y];
    const along = px * dx + py * dy;
    const across = Math.abs(px * dy) + Math.abs(py * dx);
    if (along <= 4 || across > along * 3 + 40) continue;
    const cost = along + 2 * across;
    if (!best || cost < best[0]) best = [cost, item];
  }
  if (best) {
    choose(best[1]);
    drawing.reveal(best[1]);
  }
}

function tab(name) {
  document.querySelector("main").dataset.tab = name;
  for (const button of byId("tabs").children) button.setAttribute("aria-pressed", String(button.value === name));
}

function theme(name) {
  document.documentElement.dataset.theme = name;
}

const KEYS = [
  ["click", "choose: its line and its statements light up"],
  ["double click, Enter", "open or fold a box"],
  ["arrows", "to the next box"],
  ["b", "before or after the passes"],
  ["[  ]", "fold, or open, everything by one level"],
  ["/  then Enter", "search, then the next that was found"],
  ["f", "the whole graph"], ["+  −", "larger, smaller; so does the wheel"],
  ["d", "dark or light"], ["Escape", "choose nothing"],
];

function help() {
  const dialog = byId("keys");
  dialog.replaceChildren();
  html(dialog, "h2", "Keys");
  const list = html(dialog, "dl");
  for (const [key, what] of KEYS) {
    html(list, "dt", key);
    html(list, "dd", what);
  }
  html(dialog, "p", "Strong lines lead to what needs a value within a lane; faint ones from lane to lane. Dashed boxes are fused: one nest of loops computes what is in them.");
  html(dialog, "button", "close").onclick = () => dialog.close();
  dialog.showModal();
}

const ACTIONS = {
  b: () => { const names = Object.keys(GRAPHS); switchTo(names[(names.indexOf(state.name) + 1) % names.length]); },
  "[": () => { fold(); draw(); drawing.fit(); },
  "]": () => { unfold(); draw(); drawing.fit(); },
  "/": () => { byId("search").focus(); byId("search").select(); },
  f: () => drawing.fit(),
  d: () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  "?": help,
  Escape: () => choose(null),
  Enter: () => { if (state.chosen && !state.chosen.isNode) toggle(state.chosen); },
  " ": () => { if (state.chosen && !state.chosen.isNode) toggle(state.chosen); },
  "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8),
  ArrowUp: () => step("ArrowUp"), ArrowDown: () => step("ArrowDown"),
  ArrowLeft: () => step("ArrowLeft"), ArrowRight: () => step("ArrowRight"),
};

function zoomBy(factor) {
  const { width, height } = svg.getBoundingClientRect();
  drawing.zoom(factor, width / 2, height / 2);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const typing = /^(INPUT|SELECT)$/.test(event.target.tagName);
  if (typing && event.target.id === "search") {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { event.target.value = ""; find(); byId("graph").focus(); }
    return;
  }
  const pressing = event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ");
  const action = ACTIONS[event.key];
  if (typing || pressing || !action) return;
  event.preventDefault();
  action();
}

function itemOf(event) {
  const box = event.target.closest && event.target.closest(".box");
  return box ? box.item : null;
}

/** Drag to move, two fingers or the wheel to zoom, click to choose. */
function listen() {
  const fingers = new Map();
  let moved = 0;
  const at = (event) => {
    const { left, top } = svg.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  svg.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    if (fingers.size === 1) moved = 0;
  });
  svg.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) {
      const item = itemOf(event);
      if (item !== hovered) {
        hovered = item;
        hover(item && (item.isNode || !state.open.has(item.id)) ? (item.isNode ? [item.id] : item.members) : []);
      }
      return;
    }
    const [x, y] = at(event);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) {
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("dragging");
    }
    if (moved > 4 && fingers.size === 1) {
      const { x: left, y: top, k } = drawing.transform;
      drawing.move({ x: left + x - before[0], y: top + y - before[1], k });
    }
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
      drawing.zoom(apart([x, y]) / Math.max(apart(before), 1), (x + other[0]) / 2, (y + other[1]) / 2);
    }
    fingers.set(event.pointerId, [x, y]);
  });
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (!fingers.size) svg.classList.remove("dragging");
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("pointerleave", () => { hovered = null; hover([]); });
  svg.addEventListener("click", (event) => {
    if (moved > 4) return;
    byId("graph").focus({ preventScroll: true });
    const item = itemOf(event);
    if (item && event.target.closest(".sign")) toggle(item);
    else choose(item);
  });
  svg.addEventListener("dblclick", (event) => {
    const item = itemOf(event);
    if (item && !item.isNode) toggle(item);
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [x, y] = at(event);
    drawing.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), x, y);
  }, { passive: false });
  document.addEventListener("keydown", onKey);
  let waiting = 0;
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(find, 120); });
  byId("colour").addEventListener("change", (event) => { state.colour = event.target.value; legend(); });
  for (const [id, key] of [["fold", "["], ["unfold", "]"], ["fit", "f"], ["theme", "d"], ["help", "?"]]) byId(id).onclick = ACTIONS[key];
}

let hovered = null;

function start() {
  const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  theme(dark ? "dark" : "light");
  const title = byId("title");
  title.textContent = DATA.title;
  html(title, "small");
  const names = { before: "before the passes", after: "after" };
  for (const name of Object.keys(GRAPHS)) {
    const button = html(byId("graphs"), "button", names[name]);
    button.value = name;
    button.onclick = () => switchTo(name);
  }
  document.querySelector("main").classList.toggle("no-kernel", !DATA.kernel.length);
  for (const [name, text] of [["graph", "Graph"], ["source", "Source"], ["kernel", "Kernel"]]) {
    if (name === "kernel" && !DATA.kernel.length) continue;
    const button = html(byId("tabs"), "button", text);
    button.value = name;
    button.onclick = () => tab(name);
  }
  tab("graph");
  listen();
  // in a notebook there is no size yet; later it may change
  const show = () => {
    if (!svg.getBoundingClientRect().width) return;
    if (!drawing.layout) switchTo("before");
    else if (drawing.isFitted) drawing.fit();
  };
  new ResizeObserver(show).observe(byId("graph"));
  show();
}

start();

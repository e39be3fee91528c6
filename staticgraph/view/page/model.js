// The model as records that know what is around them: nodes, and boxes of nodes and boxes.

const DATA = JSON.parse(document.getElementById("model").textContent);
const LANES = [
  { name: "Forward", about: "what the program computes, downwards" },
  { name: "Gradient", about: "beside what it is the gradient of, upwards" },
  { name: "Update", about: "the next values of variables" },
];
const LEAVES = new Set(["placeholder", "variable", "constant"]);

/** The line of a source as text, such as `train.py:12`. */
function placeOf(source) {
  const record = DATA.sources[source];
  return record.file === undefined ? "" : `${DATA.files[record.file].name}:${record.line}`;
}

/** The text of the line that a source names, or "". */
function lineOf(source) {
  const { file, line } = DATA.sources[source];
  if (file === undefined) return "";
  const found = DATA.files[file].lines.find((one) => one[0] === line);
  return found ? found[1].trim() : "";
}

function lineKey(source) {
  const { file, line } = DATA.sources[source];
  return file === undefined ? "" : `${file}:${line}`;
}

class Graph {
  constructor(name, data) {
    this.name = name;
    this.nodes = data.nodes.map((node, id) => ({ isNode: true, id, parent: null, readers: [], operands: [], roles: [], ...node, shown: false }));
    this.blocks = new Map();
    this.lanes = data.lanes.map((items, lane) => this.level(items, null, lane));
    this.bySource = new Map();
    this.ofOrigin = new Map();
    for (const node of this.nodes) {
      node.seconds = 0;
      for (const operand of new Set(node.operands)) this.nodes[operand].readers.push(node.id);
      put(this.bySource, node.source, node.id);
      if (node.origin !== undefined) put(this.ofOrigin, node.origin, node.id);
    }
    this.updates = new Map(data.updates.map(([variable, next]) => [next, variable]));
    this.timed = Boolean(data.steps);
    for (const [nodes, seconds] of data.steps || []) this.time(nodes, seconds);
    this.byLine = new Map();
    for (const node of this.nodes) put(this.byLine, lineKey(node.source), node.id);
    for (const items of this.lanes) for (const item of items) this.sum(item);
    this.total = { seconds: 0, bytes: 0, size: 0 };
    for (const items of this.lanes) {
      for (const item of items) {
        this.total.seconds += item.seconds;
      }
    }
  }

  level(items, parent, lane) {
    const seen = new Map();
    return items.map((item) => {
      if (typeof item === "number") {
        const node = this.nodes[item];
        node.parent = parent;
        node.lane = lane;
        node.shown = true;
        return node;
      }
      const key = `${item.kind}:${item.label || ""}`;
      const count = (seen.get(key) || 0) + 1;
      seen.set(key, count);
      const own = count > 1 ? `${key}#${count}` : key;
      const id = parent ? `${parent.id}/${own}` : `${lane}/${own}`;
      const block = { isNode: false, id, key, count, kind: item.kind, label: item.label || "", parent, lane, node: item.node, items: [] };
      if (item.node !== undefined) Object.assign(this.nodes[item.node], { parent, lane, shown: true, opens: block });
      this.blocks.set(id, block);
      block.items = this.level(item.items, block, lane);
      return block;
    });
  }

  /** Divide the time of a step among what it computes. */
  time(nodes, seconds) {
    for (const id of nodes) {
      const node = this.nodes[id];
      node.seconds += seconds / nodes.length;
      node.step = { seconds, others: new Set(nodes).size - 1 };
    }
  }

  /** What a box holds in all: how many nodes, their time, memory, greatest number, what is wrong. */
  sum(item) {
    if (item.isNode) {
      const value = item.value || {};
      item.many = 1;
      item.total = value.bytes === undefined ? item.bytes : value.bytes;
      if (item.memory === "" || item.total === undefined) item.total = 0;
      item.size = value.size;
      item.wrong = value.nan ? "nan" : value.inf ? "inf" : "";
      const given = item.operands.map((id) => this.nodes[id].value || {});
      item.born = Boolean(item.wrong) && !LEAVES.has(item.op) && !given.some((one) => one.nan || (one.inf && !value.nan));
      return item;
    }
    item.members = [];
    Object.assign(item, { total: 0, seconds: 0, size: undefined, wrong: "", born: false });
    const parts = item.node === undefined ? item.items : [this.nodes[item.node], ...item.items];
    for (const part of parts) {
      this.sum(part);
      item.members.push(...(part.isNode ? [part.id] : part.members));
      item.total += part.total;
      item.seconds += part.seconds;
      if (part.size !== undefined) item.size = Math.max(item.size || 0, part.size);
      if (part.wrong === "nan" || (part.born && !item.born) || !item.wrong) item.wrong = part.wrong || item.wrong;
      item.born = item.born || part.born;
    }
    if (item.wrong === "inf" && !item.born) item.wrong = ""; // such as of a mask
    const computes = item.members.find((id) => !LEAVES.has(this.nodes[id].op));
    item.source = this.nodes[computes === undefined ? item.members[0] : computes].source;
    item.many = item.members.length;
    return item;
  }

  /** What stands for a node: itself, or the outermost box around it that is closed; or null. */
  shownFor(node, open) {
    if (!node.shown) return null;
    let found = node;
    if (node.opens) found = node.opens;
    for (let box = found.parent; box; box = box.parent) if (!open.has(box.id)) found = box;
    return found;
  }
}

function put(map, key, value) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(value);
}

/** The steps of the kernel by the nodes before the passes that they are of. */
function stepsBefore({ nodes, steps }) {
  return steps && steps.map(([ids, time]) => [ids.map((id) => nodes[id].origin).filter((id) => id !== undefined), time]);
}

if (DATA.graphs.after) DATA.graphs.before.steps = stepsBefore(DATA.graphs.after);
const GRAPHS = {};
for (const name of Object.keys(DATA.graphs)) GRAPHS[name] = new Graph(name, DATA.graphs[name]);

/** Lines of the kernel by the node that they compute a part of. */
const LINES_OF = new Map();
DATA.kernel.forEach(([, nodes], line) => nodes.forEach((node) => put(LINES_OF, node, line)));

/** The nodes of the other graph that were made of some nodes, or that they were made of.
 *
 *  `same` are known from the passes; `near` are of the same line, scope and gradient. */
function twins(from, ids, to) {
  if (from === to) return { same: ids, near: [] };
  const same = new Set();
  const near = new Set();
  for (const id of ids) {
    const node = from.nodes[id];
    const found = from.name === "after" ? [node.origin] : to.ofOrigin.get(id) || [];
    for (const one of found) if (one !== undefined) same.add(one);
    if (!found.length) for (const one of to.bySource.get(node.source) || []) near.add(one);
  }
  return { same: [...same], near: [...near].filter((id) => !same.has(id)) };
}

function seconds(value) {
  if (value >= 1) return `${value.toPrecision(3)} s`;
  if (value >= 1e-3) return `${(value * 1e3).toPrecision(3)} ms`;
  return `${(value * 1e6).toPrecision(3)} µs`;
}

function bytes(value) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  }
  return `${value} B`;
}

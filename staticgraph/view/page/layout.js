// Where everything goes: boxes within boxes, three lanes side by side, rows that they share.

const PAD = { x: 12, bottom: 12, head: 28 };
const LANE_GAP = 56;
const LANE_HEAD = 46;
const FAN = 4;
const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  const known = new Map();
  return (text, font) => {
    const key = `${font}|${text}`;
    if (!known.has(key)) {
      context.font = font;
      known.set(key, context.measureText(text).width);
    }
    return known.get(key);
  };
})();
const FONTS = {
  title: "600 12px system-ui, sans-serif",
  mono: "500 10.5px ui-monospace, monospace",
  about: "10px system-ui, sans-serif",
  role: "600 9.5px system-ui, sans-serif",
};
const HEIGHTS = { title: 16, mono: 14, about: 13, role: 13 };

function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** What is written in a box that is closed: its lines, each with a style. */
function linesOf(graph, item) {
  if (!item.isNode) return blockLines(graph, item);
  const lines = [];
  const numbers = item.operands.filter((id) => !graph.nodes[id].shown).map((id) => graph.nodes[id].number).filter((text) => text !== undefined);
  const said = [item.op, ...numbers].join(" ");
  if (item.name) lines.push([cut(item.name, 34), "title"]);
  if (!item.name || !LEAVES.has(item.op)) lines.push([cut(item.number === undefined ? said : item.number, 34), item.name ? "about" : "title"]);
  lines.push([cut(item.type, 40), "mono"]);
  for (const role of item.roles.slice(0, 2)) lines.push([cut(role, 40), "role"]);
  return lines;
}

function blockTitle(graph, block) {
  if (block.kind === "line") {
    return lineOf(block.source) || placeOf(block.source);
  }
  if (block.kind === "group") return opsOf(graph, block);
  const title = block.kind === "body" ? block.label.replace("_", " ") : block.label;
  return block.count > 1 ? `${title} #${block.count}` : title;
}

/** The ops of a box, the most frequent first. */
function opsOf(graph, block) {
  const counts = new Map();
  for (const id of block.members) {
    const { op } = graph.nodes[id];
    counts.set(op, (counts.get(op) || 0) + 1);
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([op, count]) => (count > 1 ? `${count} ${op}` : op)).join(", ");
}

function blockLines(graph, block) {
  const isLine = block.kind === "line";
  const lines = [[cut(blockTitle(graph, block), isLine ? 34 : 30), isLine ? "mono" : "title"]];
  const about = [`${block.many} nodes`];
  if (isLine) about.unshift(placeOf(block.source));
  if (block.kind === "group") about.unshift("fused");
  if (block.kind === "loop") about.unshift("loop");
  lines.push([about.join(" · "), "about"]);
  const costs = [];
  if (block.seconds) costs.push(seconds(block.seconds));
  if (block.total) costs.push(bytes(block.total));
  if (costs.length) lines.push([costs.join(" · "), "about"]);
  return lines;
}

function sizeOf(lines, isNode) {
  const widths = lines.map(([text, style]) => measure(text, FONTS[style]));
  const height = lines.reduce((sum, [, style]) => sum + HEIGHTS[style], 0);
  return { width: Math.max(54, Math.ceil(Math.max(...widths)) + (isNode ? 22 : 46)), height: height + 12 };
}

class Layout {
  constructor(graph, open) {
    this.graph = graph;
    this.open = open;
    this.places = new Map(); // item -> {x, y, width, height, lines, edges}
    this.inside = new Map(); // box or lane -> edges between its items
    this.cross = new Map();
    this.connect();
    this.lanes = [];
    this.top();
  }

  /** Find the edges between visible items, each in the innermost box around both of its ends. */
  connect() {
    const { graph, open } = this;
    for (const node of graph.nodes) {
      const head = graph.shownFor(node, open);
      if (!head) continue;
      for (const id of new Set(node.operands)) {
        const operand = graph.nodes[id];
        const tail = graph.shownFor(operand, open);
        if (!tail || tail === head) continue;
        const up = chain(tail);
        const down = chain(head);
        let i = up.length - 1;
        let j = down.length - 1;
        while (up[i] === down[j]) { i--; j--; }
        const crosses = tail.lane !== head.lane && i === up.length - 1;
        const around = i + 1 < up.length ? up[i + 1] : tail.lane;
        const map = crosses ? this.cross : this.inside.get(around) || new Map();
        if (!crosses) this.inside.set(around, map);
        if (!map.has(up[i])) map.set(up[i], new Map());
        const of = map.get(up[i]);
        if (!of.has(down[j])) of.set(down[j], { tail: up[i], head: down[j], tails: new Set(), heads: new Set(), count: 0 });
        const edge = of.get(down[j]);
        edge.tails.add(tail);
        edge.heads.add(head);
        edge.count++;
      }
    }
  }

  edges(around, items) {
    const index = new Map(items.map((item, i) => [item, i]));
    const found = [];
    for (const of of (this.inside.get(around) || new Map()).values()) {
      for (const edge of of.values()) found.push({ ...edge, ends: [index.get(edge.tail), index.get(edge.head)] });
    }
    return found;
  }

  /** The size of an item, with the places of what is in it, which are its own yet. */
  box(item) {
    const { graph, open } = this;
    if (item.isNode || !open.has(item.id)) {
      const lines = linesOf(graph, item);
      return { item, lines, ...sizeOf(lines, item.isNode) };
    }
    const boxes = item.items.map((one) => this.box(one));
    const edges = this.edges(item, item.items);
    const ends = edges.map((edge) => edge.ends);
    const layers = new Layers(boxes, ends, ranksOf(boxes, ends), edges.map(weightOf));
    const heights = layers.rows.map((row) => Math.max(0, ...row.map((i) => (i < boxes.length ? boxes[i].height : 0))));
    let y = 0;
    const tops = heights.map((height) => {
      const top = y;
      y += height + GAP.row;
      return top;
    });
    const inner = { width: layers.width, height: Math.max(0, y - GAP.row) };
    const title = cut(blockTitle(graph, item), 48);
    const width = Math.max(inner.width + 2 * PAD.x, measure(title, FONTS[item.kind === "line" ? "mono" : "title"]) + 54);
    const indent = (width - inner.width) / 2;
    return { item, title, boxes, edges, layers, tops, heights, inner, indent, width, height: inner.height + PAD.head + PAD.bottom };
  }

  /** Give the items of an open box their places on the page. */
  settle(box, x, y, flip) {
    const place = { x, y, width: box.width, height: box.height, lines: box.lines, title: box.title, edges: [] };
    this.places.set(box.item, place);
    if (!box.boxes) return;
    const left = x + box.indent;
    const top = y + PAD.head;
    const { layers, tops, heights, inner } = box;
    const turn = (height, at, size) => (flip ? top + height - at - size : top + at);
    box.boxes.forEach((one, i) => {
      const rank = layers.items[i].rank;
      const at = tops[rank] + (heights[rank] - one.height) / 2;
      this.settle(one, left + layers.x[i] - one.width / 2, turn(inner.height, at, one.height), flip);
    });
    const band = (rank) => {
      const from = turn(inner.height, tops[rank], heights[rank]);
      return flip ? [from + heights[rank], from] : [from, from + heights[rank]];
    };
    place.edges = this.routed(box.edges, layers, left, band, flip);
  }

  /** The lines of edges: from the tail, by their lanes, to the head. */
  routed(edges, layers, left, band, flip) {
    const entering = new Map();
    for (const edge of edges) put(entering, edge.head, edge);
    return edges.map((edge, n) => {
      const tail = this.places.get(edge.tail);
      const head = this.places.get(edge.head);
      const path = layers.paths[n];
      const all = entering.get(edge.head).slice().sort((a, b) => middle(this.places.get(a.tail)) - middle(this.places.get(b.tail)));
      const step = Math.min(12, (head.width - 16) / all.length);
      const port = middle(head) + (all.indexOf(edge) - (all.length - 1) / 2) * step;
      const start = flip ? tail.y : tail.y + tail.height;
      const end = flip ? head.y + head.height : head.y;
      const points = [[middle(tail), start]];
      const ranks = edge.ends.map((i) => layers.items[i].rank);
      if (ranks[0] < ranks[1]) {
        points.push([middle(tail), band(ranks[0])[1]]);
        for (const item of path.slice(1, -1)) {
          const [from, to] = band(layers.items[item].rank);
          points.push([left + layers.x[item], from], [left + layers.x[item], to]);
        }
        points.push([port, band(ranks[1])[0]]);
      }
      points.push([port, end]);
      return { ...edge, points, flip };
    });
  }

  top() {
    const { graph } = this;
    const rows = this.rows();
    const lanes = graph.lanes.map((items, lane) => {
      const boxes = items.map((item) => this.box(item));
      const [edges, fans] = this.fans(this.edges(lane, items));
      const flip = lane === 1;
      const rank = items.map((item) => (flip ? rows.count - 1 - rows.of.get(item) : rows.of.get(item)));
      return { lane, items, boxes, edges, fans, flip, layers: new Layers(boxes, edges.map((edge) => edge.ends), rank, edges.map(weightOf)) };
    });
    const heights = new Array(rows.count).fill(0);
    for (const { items, boxes } of lanes) {
      items.forEach((item, i) => { heights[rows.of.get(item)] = Math.max(heights[rows.of.get(item)], boxes[i].height); });
    }
    const tops = [];
    let y = LANE_HEAD;
    for (const height of heights) {
      tops.push(y);
      y += height ? height + GAP.row + 6 : 0;
    }
    this.height = y;
    let x = 0;
    for (const { lane, items, boxes, edges, fans, flip, layers } of lanes) {
      if (!items.length) continue;
      const width = Math.max(layers.width, 96);
      const left = x + 16 + (width - layers.width) / 2;
      items.forEach((item, i) => {
        const row = rows.of.get(item);
        this.settle(boxes[i], left + layers.x[i] - boxes[i].width / 2, tops[row] + (heights[row] - boxes[i].height) / 2, flip);
      });
      const band = (rank) => {
        const row = flip ? rows.count - 1 - rank : rank;
        return flip ? [tops[row] + heights[row], tops[row]] : [tops[row], tops[row] + heights[row]];
      };
      this.lanes.push({ lane, x, width: width + 32, items, fans, edges: this.routed(edges, layers, left, band, flip) });
      x += width + 32 + LANE_GAP;
    }
    this.width = Math.max(0, x - LANE_GAP);
  }

  /** The edges of a lane, and apart from them those of what nearly everything reads. */
  fans(edges) {
    const counts = new Map();
    for (const { tail } of edges) counts.set(tail, (counts.get(tail) || 0) + 1);
    const is = ({ tail }) => counts.get(tail) >= FAN && (tail.isNode || tail.kind !== "scope");
    return [edges.filter((edge) => !is(edge)), edges.filter(is)];
  }

  /** The row of each outermost item: gradients and updates are beside what they belong to. */
  rows() {
    const { graph } = this;
    const of = new Map();
    const [forward, gradient, update] = graph.lanes;
    const edges = this.edges(0, forward);
    const ranks = ranksOf(forward, edges.map((edge) => edge.ends));
    const known = new Map();
    forward.map((item, i) => [item, ranks[i]]).sort((a, b) => a[1] - b[1]).forEach(([item, rank]) => {
      of.set(item, rank);
      put(known, matching(graph, item), rank);
    });
    const taken = new Map();
    const matched = (item) => {
      const key = matching(graph, item);
      const found = known.get(key);
      if (!found) return -1;
      const at = taken.get(key) || 0;
      taken.set(key, at + 1);
      return found[Math.min(at, found.length - 1)];
    };
    const readers = new Map();
    for (const edge of this.edges(1, gradient)) put(readers, edge.tail, edge.head);
    for (const item of gradient.slice().reverse()) {
      const after = (readers.get(item) || []).map((one) => (of.get(one) ?? -1) + 1);
      of.set(item, Math.max(0, matched(item), ...after));
    }
    this.updateRows(update, matched, of, taken);
    const least = Math.min(0, ...of.values());
    for (const [item, row] of of) of.set(item, row - least);
    return { of, count: Math.max(0, ...of.values()) + 1 };
  }

  /** Updates are beside what they update, or else the gradient that they read; above, what they share. */
  updateRows(update, matched, of, taken) {
    taken.clear();
    const needs = new Map();
    const readers = new Map();
    for (const { tail, head } of this.edges(2, update)) {
      put(needs, head, tail);
      put(readers, tail, head);
    }
    const wish = new Map(update.map((item) => [item, Math.max(matched(item), this.besides(item, of))]));
    for (const item of update) {
      if (wish.get(item) < 0) continue;
      const before = (needs.get(item) || []).filter((one) => wish.get(one) >= 0).map((one) => of.get(one) + 1);
      of.set(item, this.free(Math.max(wish.get(item), ...before), of, update));
    }
    for (const item of update.slice().reverse()) {
      if (wish.get(item) >= 0) continue;
      of.set(item, Math.min(1, ...(readers.get(item) || []).map((one) => of.get(one))) - 1);
    }
  }

  /** The first row from this one on where no update is yet, as long as the picture grows no longer. */
  free(row, of, update) {
    const taken = new Set(update.map((item) => of.get(item)));
    const count = Math.max(3, ...of.values());
    for (let found = row; found <= count; found++) if (!taken.has(found)) return found;
    return row;
  }

  /** The row of the gradient that an update reads. */
  besides(item, of) {
    const { graph } = this;
    let row = -1;
    for (const id of item.isNode ? [item.id] : item.members) {
      for (const operand of graph.nodes[id].operands) {
        let box = graph.nodes[operand];
        if (box.lane !== 1) continue;
        while (box.parent) box = box.parent;
        if (of.has(box)) row = row < 0 ? of.get(box) : Math.min(row, of.get(box));
      }
    }
    return row;
  }
}

/** Chains of boxes are straight; what a leaf is read by may be anywhere. */
function weightOf(edge) {
  return edge.tail.isNode && LEAVES.has(edge.tail.op) ? 0.15 : 1 + Math.min(edge.count, 6);
}

function chain(item) {
  const found = [];
  for (let box = item; box; box = box.parent) found.push(box);
  return found;
}

function middle(place) {
  return place.x + place.width / 2;
}

/** What items of two lanes that belong together have in common: their scope, or else their line. */
function matching(graph, item) {
  if (!item.isNode && (item.kind === "scope" || item.kind === "part")) return item.key;
  return `at:${lineKey(item.source)}`;
}

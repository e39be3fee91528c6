// The picture: boxes, edges and lanes as SVG, and what lights up.

const SVG = "http://www.w3.org/2000/svg";

function element(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

const round = (value) => Math.round(value * 10) / 10;

function curve(points) {
  let path = `M${round(points[0][0])},${round(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i];
    const [fromX, fromY] = points[i - 1];
    const half = (fromY + y) / 2;
    path += Math.abs(x - fromX) < 0.5 ? `L${round(x)},${round(y)}` : `C${round(fromX)},${round(half)} ${round(x)},${round(half)} ${round(x)},${round(y)}`;
  }
  return path;
}

function sideways([x0, y0], [x1, y1]) {
  const bend = Math.max(24, Math.abs(x1 - x0) / 2) * Math.sign(x1 - x0 || 1);
  return `M${round(x0)},${round(y0)}C${round(x0 + bend)},${round(y0)} ${round(x1 - bend)},${round(y1)} ${round(x1)},${round(y1)}`;
}

class Drawing {
  constructor(svg) {
    this.svg = svg;
    this.scene = element(svg, "g");
    this.elements = new Map();
    this.transform = { x: 0, y: 0, k: 1 };
  }

  render(graph, open, colour) {
    this.graph = graph;
    this.open = open;
    this.layout = new Layout(graph, open);
    this.elements.clear();
    this.scene.replaceChildren();
    const { lanes, height } = this.layout;
    for (const { lane, x, width } of lanes) {
      const group = element(this.scene, "g", { class: `lane${lane}` });
      element(group, "rect", { class: "lane", x, y: 0, width, height: height + 4, rx: 12 });
      element(group, "text", { class: "lane-name", x: x + 14, y: 24 }, LANES[lane].name);
    }
    const crossing = element(this.scene, "g");
    for (const of of this.layout.cross.values()) for (const edge of of.values()) this.crossing(crossing, edge);
    for (const { lane, items, edges, fans } of lanes) {
      const group = element(this.scene, "g", { class: `lane${lane}` });
      for (const { tail, head } of fans) element(group, "path", { class: "cross", d: this.between(tail, head) });
      this.lines(group, edges);
      for (const item of items) this.item(group, item);
    }
    this.hot = element(this.scene, "g", { "pointer-events": "none" });
    this.paint(colour);
  }

  crossing(parent, edge) {
    const tail = this.layout.places.get(edge.tail);
    const head = this.layout.places.get(edge.head);
    const right = head.x > tail.x;
    const from = [right ? tail.x + tail.width : tail.x, tail.y + tail.height / 2];
    const to = [right ? head.x : head.x + head.width, head.y + head.height / 2];
    element(parent, "path", { class: "cross", d: sideways(from, to), "stroke-width": Math.min(4, 1 + Math.log2(edge.count)) });
  }

  lines(parent, edges) {
    const { places } = this.layout;
    for (const { tail, head, tails, heads, points, flip, count } of edges) {
      const width = round(Math.min(4, 1 + 0.6 * Math.log2(count)));
      element(parent, "path", { class: "edge", d: curve(points), "stroke-width": width });
      for (const [ends, box, point, leaves] of [[tails, tail, points[0], true], [heads, head, points[points.length - 1], false]]) {
        for (const end of ends) {
          if (end === box) continue;
          const place = places.get(end);
          const y = leaves !== flip ? place.y + place.height : place.y;
          element(parent, "path", { class: "edge stub", d: curve([[middle(place), y], point]), "data-late": "" });
        }
      }
      const [x, y] = points[points.length - 1];
      const back = flip ? 7 : -7;
      element(parent, "path", { class: "arrow", d: `M${round(x)},${round(y)}l-3.5,${back}h7z` });
    }
  }

  item(parent, item) {
    const place = this.layout.places.get(item);
    const { x, y, width, height } = place;
    const isOpen = !item.isNode && this.open.has(item.id);
    const kinds = item.isNode ? ["box", "node", LEAVES.has(item.op) ? item.op : "op"] : ["box", "block", item.kind];
    if (isOpen) kinds.push("open");
    const group = element(parent, "g", { class: kinds.join(" "), transform: `translate(${round(x)},${round(y)})`, role: "button" });
    group.item = item;
    this.elements.set(item, group);
    if (!item.isNode && !isOpen) element(group, "rect", { class: "shade", x: 3, y: 3, width, height, rx: 8 });
    element(group, "rect", { class: "frame", width, height, rx: item.isNode ? 5 : 8 });
    element(group, "title", {}, this.tip(item));
    if (isOpen) {
      element(group, "text", { class: item.kind === "line" ? "mono" : "title", x: 28, y: 18 }, place.title);
      this.sign(group, item, 15, 14);
      const inner = element(parent, "g");
      this.lines(inner, place.edges);
      for (const one of item.items) this.item(inner, one);
      for (const late of inner.querySelectorAll(":scope > [data-late]")) inner.append(late);
      return;
    }
    if (item.isNode) element(group, "rect", { class: "strip", width: 4, height, rx: 2 });
    let line = 7;
    const left = item.isNode ? 13 : 28;
    for (const [text, style] of place.lines) {
      line += HEIGHTS[style];
      element(group, "text", { class: style, x: left, y: line - 4 }, text);
    }
    if (!item.isNode) this.sign(group, item, 15, 15);
    if (item.wrong) {
      element(group, "rect", { class: item.born ? "bad" : "bad old", x: width - 24, y: -7, width: 30, height: 14, rx: 7 });
      element(group, "text", { class: item.born ? "bad-text" : "bad-text old", x: width - 9, y: 3.5, "text-anchor": "middle" }, item.wrong);
    }
  }

  sign(group, item, x, y) {
    const sign = element(group, "g", { class: "sign", transform: `translate(${x},${y})` });
    element(sign, "circle", { r: 7 });
    element(sign, "path", { d: this.open.has(item.id) ? "M-3.5,0h7" : "M-3.5,0h7M0,-3.5v7" });
  }

  tip(item) {
    if (!item.isNode) return `${blockTitle(this.graph, item)}: ${item.many} nodes`;
    return [item.name, item.op, item.type, placeOf(item.source)].filter(Boolean).join("  ");
  }

  /** Fill boxes by what the colours are to say. */
  paint(colour) {
    const tops = { time: "var(--hot)", memory: "var(--deep)", size: "var(--gradient)" };
    const amount = { time: (item) => item.seconds, memory: (item) => item.total, size: (item) => (item.size ? 8 + Math.log10(item.size) : 0) }[colour];
    const closed = [...this.elements.keys()].filter((item) => item.isNode || !this.open.has(item.id));
    const most = amount ? Math.max(...closed.map((item) => amount(item) || 0), 1e-30) : 1;
    for (const item of closed) {
      const frame = this.elements.get(item).querySelector(".frame");
      const share = amount ? Math.max(0, Math.min(1, (amount(item) || 0) / most)) : 0;
      frame.style.fill = amount ? `color-mix(in srgb, ${tops[colour]} ${round(85 * Math.sqrt(share))}%, var(--cool))` : "";
    }
    return { most, top: tops[colour] };
  }

  /** Put a class on the boxes of some nodes, or on the closed boxes around them. */
  mark(name, ids) {
    for (const one of this.scene.querySelectorAll(`.box.${name}`)) one.classList.remove(name);
    const items = new Set(ids.map((id) => this.graph.shownFor(this.graph.nodes[id], this.open)));
    for (const item of items) if (item && this.elements.has(item)) this.elements.get(item).classList.add(name);
    return items;
  }

  /** Draw the edges of one item over everything, whatever is open. */
  relate(item) {
    this.hot.replaceChildren();
    if (!item) return;
    const { graph, open } = this;
    const own = item.isNode ? [item.id] : item.members;
    const drawn = new Set();
    const join = (from, to, kind) => {
      const tail = graph.shownFor(graph.nodes[from], open);
      const head = graph.shownFor(graph.nodes[to], open);
      if (!tail || !head || tail === head || within(tail, item) === within(head, item)) return;
      const key = `${kind}|${tail.id}|${head.id}`;
      if (drawn.has(key) || drawn.size > 400) return;
      drawn.add(key);
      element(this.hot, "path", { class: `hot ${kind}`, d: this.between(tail, head) });
    };
    for (const id of own) {
      for (const operand of graph.nodes[id].operands) join(operand, id, "in");
      for (const reader of graph.nodes[id].readers) join(id, reader, "out");
      if (graph.updates.has(id)) join(id, graph.updates.get(id), "next");
    }
  }

  between(tail, head) {
    const from = this.layout.places.get(tail);
    const to = this.layout.places.get(head);
    if (from.x + from.width < to.x) return sideways([from.x + from.width, from.y + from.height / 2], [to.x, to.y + to.height / 2]);
    if (to.x + to.width < from.x) return sideways([from.x, from.y + from.height / 2], [to.x + to.width, to.y + to.height / 2]);
    return from.y < to.y ? curve([[middle(from), from.y + from.height], [middle(to), to.y]]) : curve([[middle(from), from.y], [middle(to), to.y + to.height]]);
  }

  move(transform) {
    this.transform = transform;
    this.isFitted = false;
    this.scene.setAttribute("transform", `translate(${round(transform.x)},${round(transform.y)}) scale(${transform.k})`);
  }

  zoom(factor, x, y) {
    const { x: left, y: top, k } = this.transform;
    const next = Math.max(0.04, Math.min(4, k * factor));
    this.move({ x: x - ((x - left) * next) / k, y: y - ((y - top) * next) / k, k: next });
  }

  /** The scale at which a layout is seen whole. */
  scaleFor({ width: w, height: h }) {
    const { width, height } = this.svg.getBoundingClientRect();
    return Math.min((width - 24) / (w || 1), (height - 44) / (h || 1), 1.4);
  }

  fit() {
    const { width, height } = this.svg.getBoundingClientRect();
    const { width: w, height: h } = this.layout;
    let k = this.scaleFor(this.layout);
    if (k < 0.42 && width < 600) k = Math.max(k, Math.min(0.42, (width - 16) / (w || 1) * 2));
    this.move({ x: Math.max((width - w * k) / 2, 8), y: Math.max((height - h * k) / 2 + 8, 30), k });
    this.isFitted = true;
  }

  /** Bring an item into view, if it is not, with as little movement as will do. */
  reveal(item) {
    const place = this.layout.places.get(item);
    if (!place) return;
    const { width, height } = this.svg.getBoundingClientRect();
    let { x, y, k } = this.transform;
    if (k < 0.5) k = 0.8;
    const [left, top] = [place.x * k + x, place.y * k + y];
    const [wide, high] = [place.width * k, place.height * k];
    if (k !== this.transform.k || left < 10 || left + wide > width - 10) x += width / 2 - left - wide / 2;
    if (k !== this.transform.k || top < 10 || top + high > height - 10) y += height / 3 - top - Math.min(high, height) / 2;
    this.move({ x, y, k });
  }
}

function within(item, box) {
  return chain(item).includes(box);
}

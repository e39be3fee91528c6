// The card of what is chosen: what it is, where it is from, what it costs, its value.

function html(parent, name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

class Details {
  constructor(root, actions) {
    this.root = root;
    this.actions = actions;
  }

  hide() {
    this.root.hidden = true;
  }

  show(graph, item) {
    this.graph = graph;
    this.root.replaceChildren();
    this.root.hidden = false;
    const close = html(this.root, "button", "×", "close");
    close.setAttribute("aria-label", "close");
    close.onclick = () => this.actions.clear();
    if (item.isNode) this.node(item);
    else this.block(item);
    this.root.scrollTop = 0;
  }

  list() {
    return html(this.root, "dl");
  }

  row(list, label, value) {
    if (value === undefined || value === "") return;
    html(list, "dt", label);
    const cell = html(list, "dd");
    if (value instanceof Node) cell.append(value);
    else cell.textContent = value;
  }

  links(ids, graph = this.graph) {
    const span = document.createElement("span");
    ids.slice(0, 12).forEach((id, i) => {
      const node = graph.nodes[id];
      if (i) span.append(", ");
      const link = html(span, "a", node.number === undefined ? node.name || node.op : node.number);
      if (node.shown) link.onclick = () => this.actions.choose(node, graph.name);
    });
    if (ids.length > 12) span.append(` and ${ids.length - 12} more`);
    return span;
  }

  place(source) {
    const record = DATA.sources[source];
    const span = document.createElement("span");
    const link = html(span, "a", placeOf(source));
    link.onclick = () => this.actions.toLine(source);
    if (record.of) span.prepend(`gradient of ${record.of} at `);
    return span;
  }

  node(node) {
    html(this.root, "h3", node.name ? `${node.name} · ${node.op}` : node.op);
    html(this.root, "p", node.type).className = "mono";
    for (const role of node.roles) html(this.root, "p", role);
    const list = this.list();
    this.row(list, "line", this.place(node.source));
    const { scope } = DATA.sources[node.source];
    if (scope) this.row(list, "scope", scope.join(" / "));
    if (node.operands.length) this.row(list, "reads", this.links(node.operands));
    if (node.readers.length) this.row(list, "read by", this.links(node.readers));
    this.row(list, "options", node.attrs);
    this.passes(list, node);
    const box = node.parent && node.parent.kind === "group" ? node.parent : null;
    if (box) this.row(list, "fused", `group ${box.label}, with ${box.many - 1} more`);
    if (node.step) this.row(list, "time", `${seconds(node.step.seconds)}${node.step.others ? `, its step with ${node.step.others} more` : ""}`);
    const value = node.value;
    const held = value ? value.bytes : node.bytes;
    const where = { "": "in registers: never in memory", arena: "in the arena" }[node.memory] || node.memory;
    this.row(list, "memory", [held === undefined ? "" : bytes(held), where].filter(Boolean).join(", "));
    if (value) this.value(list, value);
  }

  /** What the passes made of a node, or what they made it of. */
  passes(list, node) {
    for (const fact of node.facts || []) {
      const at = fact.indexOf(": ");
      this.row(list, fact.slice(0, at), fact.slice(at + 2));
    }
    const other = Object.values(GRAPHS).find((graph) => graph !== this.graph);
    if (!other) return;
    const { same } = twins(this.graph, [node.id], other);
    const alike = same.length === 1 && other.nodes[same[0]].op === node.op;
    if (same.length) this.row(list, other.name === "after" ? (alike ? "runs as" : "becomes") : "was", this.links(same, other));
    else if (other.name === "after" && !LEAVES.has(node.op)) this.row(list, "becomes", "nothing of its own");
  }

  value(list, value) {
    this.row(list, "value", value.at);
    this.row(list, "sizes", value.shape.length ? value.shape.join(" × ") : "a scalar");
    const wrong = ["nan", "inf"].filter((name) => value[name]).map((name) => `${value[name]} ${name}`);
    if (wrong.length) this.row(list, "not finite", html(null, "span", wrong.join(", "), "wrong"));
    if (value.low !== undefined) {
      this.row(list, "range", value.low === value.high ? value.low : `${value.low} to ${value.high}`);
      if (value.mean !== undefined) this.row(list, "mean", `${value.mean}, deviation ${value.std}`);
      if (value.zeros) this.row(list, "zeros", `${value.zeros}`);
    }
    if (value.rows) {
      const table = html(html(this.root, "div", undefined, "scroll"), "table");
      for (const row of value.rows) {
        const line = html(table, "tr");
        for (const one of row) html(line, "td", one, /nan|inf/.test(one) ? "wrong" : "");
      }
    } else if (value.bins) this.bins(value);
  }

  bins(value) {
    const [width, height] = [360, 64];
    const svg = element(null, "svg", { class: "bins", viewBox: `0 0 ${width} ${height + 14}`, width: "100%" });
    const most = Math.max(...value.bins);
    const step = width / value.bins.length;
    value.bins.forEach((count, i) => {
      const high = count ? Math.max(1.5, (height * count) / most) : 0;
      const bar = element(svg, "rect", { x: round(i * step + 0.5), y: round(height - high), width: round(step - 1), height: round(high) });
      element(bar, "title", {}, `${count}`);
    });
    element(svg, "text", { x: 0, y: height + 11 }, value.low);
    element(svg, "text", { x: width, y: height + 11, "text-anchor": "end" }, value.high);
    this.root.append(svg);
  }

  block(block) {
    html(this.root, "h3", blockTitle(this.graph, block));
    const kinds = { scope: "scope", line: "your line", group: `fused group ${block.label}`, part: "neighbours", loop: "loop or branch", body: "body" };
    html(this.root, "p", `${kinds[block.kind]}: ${block.many} nodes`);
    const list = this.list();
    const sources = [...new Map(block.members.map((id) => [lineKey(this.graph.nodes[id].source), this.graph.nodes[id].source])).values()];
    const lines = document.createElement("span");
    sources.slice(0, 8).forEach((source, i) => {
      if (i) lines.append(", ");
      html(lines, "a", placeOf(source)).onclick = () => this.actions.toLine(source);
    });
    if (sources.length > 8) lines.append(` and ${sources.length - 8} more`);
    this.row(list, "lines", lines);
    if (block.kind !== "group") this.row(list, "ops", cut(opsOf(this.graph, block), 160));
    if (block.seconds) this.row(list, "time", `${seconds(block.seconds)}, ${((100 * block.seconds) / this.graph.total.seconds).toFixed(1)} % of the call`);
    if (block.total) this.row(list, "memory", `${bytes(block.total)} in all values`);
    if (block.wrong) this.row(list, "not finite", html(null, "span", `there is ${block.wrong} inside`, "wrong"));
    const button = html(this.root, "button", this.actions.isOpen(block) ? "fold" : "open");
    button.style.marginTop = "8px";
    button.onclick = () => this.actions.toggle(block);
  }
}

// The user's lines on the left, those of the kernel on the right: rows that light up, and light up others.

class Pane {
  /** `actions.over(row)` and `actions.choose(row)` are told of rows that nodes belong to. */
  constructor(root, actions) {
    this.root = root;
    this.rows = [];
    this.lit = [];
    const rowOf = (event) => {
      const element = event.target.closest(".row");
      return element && element.classList.contains("linked") ? element.row : undefined;
    };
    root.addEventListener("pointerover", (event) => actions.over(rowOf(event)));
    root.addEventListener("pointerleave", () => actions.over(undefined));
    root.addEventListener("click", (event) => {
      const row = rowOf(event);
      if (row !== undefined) actions.choose(row);
    });
  }

  add(parent, row, text, linked) {
    const element = html(parent, "div", undefined, linked ? "row linked" : "row unlinked");
    element.row = row;
    this.rows[row] = element;
    return element;
  }

  /** Light up rows: those that belong to what is looked at, and those that do from afar. */
  light(name, rows, near = []) {
    this.lit = this.lit.filter(([element, kind]) => {
      if (kind === name || kind === `${name}-near`) element.classList.remove(name, "near");
      return kind !== name;
    });
    for (const [kind, list] of [[name, rows], ["near", near]]) {
      for (const row of list) {
        const element = this.rows[row];
        if (!element) continue;
        element.classList.add(kind);
        this.lit.push([element, name]);
      }
    }
  }

  /** Scroll so that the first of some rows is seen. */
  reveal(rows) {
    const first = this.rows[Math.min(...rows.filter((row) => this.rows[row]))];
    if (!first) return;
    const { root } = this;
    const at = first.getBoundingClientRect().top - root.getBoundingClientRect().top;
    if (at < 30 || at > root.clientHeight - 30) root.scrollTop += at - root.clientHeight / 3;
  }
}

/** The user's lines: rows are numbered across files, and named by `file:line`. */
class SourcePane extends Pane {
  constructor(root, actions) {
    super(root, actions);
    this.at = new Map();
    const used = new Set(DATA.sources.map((_, i) => lineKey(i)));
    DATA.files.forEach((file, f) => {
      const section = html(root, "section");
      html(section, "h3", file.name).title = file.path;
      let last = null;
      for (const [line, text] of file.lines) {
        if (last !== null && line > last + 1) html(section, "div", "⋯", "row gap");
        last = line;
        const key = `${f}:${line}`;
        const row = this.rows.length;
        const element = this.add(section, row, text, used.has(key));
        element.key = key;
        this.at.set(key, row);
        element.heat = html(element, "span", undefined, "heat");
        html(element, "span", `${line}`, "number");
        html(element, "span", text);
      }
    });
  }

  key(row) {
    return this.rows[row].key;
  }

  /** Show beside each line the time of what it computes. */
  heat(graph) {
    const times = new Map();
    for (const node of graph.nodes) {
      const key = lineKey(node.source);
      times.set(key, (times.get(key) || 0) + node.seconds);
    }
    const most = Math.max(...times.values(), 0);
    for (const element of this.rows) {
      const time = times.get(element.key) || 0;
      element.heat.hidden = !most;
      element.heat.style.setProperty("--heat", most ? `${(100 * time) / most}%` : "0%");
      element.title = time ? seconds(time) : "";
    }
  }
}

/** The printed kernel: a section per unit. */
class KernelPane extends Pane {
  constructor(root, actions) {
    super(root, actions);
    let section = null;
    DATA.kernel.forEach(([text, nodes], row) => {
      if (!section || (text && !/^[ #]/.test(text) && section.childElementCount > 3 && !this.open)) section = html(root, "section");
      this.open = text === "" ? false : this.open;
      const element = this.add(section, row, text, nodes.length > 0);
      const at = text.search(/\S +# /) + 1;
      html(element, "span", !at ? text : text.slice(0, at).trimEnd());
      if (at) html(element, "span", text.slice(at).trimStart(), "says");
    });
  }
}

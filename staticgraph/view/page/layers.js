// A layered layout: boxes in rows, what they need above them, edges with lanes of their own.

const GAP = { box: 18, lane: 10, row: 34 };

/** The row of each box, by the longest way to it; what nothing leads to is moved beside its reader. */
function ranksOf(boxes, edges) {
  const above = boxes.map(() => []);
  const below = boxes.map(() => []);
  for (const [tail, head] of edges) {
    above[head].push(tail);
    below[tail].push(head);
  }
  const waits = above.map((list) => list.length);
  const queue = boxes.map((_, i) => i).filter((i) => !waits[i]);
  const rank = boxes.map(() => 0);
  for (let at = 0; at < queue.length; at++) {
    for (const head of below[queue[at]]) {
      rank[head] = Math.max(rank[head], rank[queue[at]] + 1);
      if (!--waits[head]) queue.push(head);
    }
  }
  for (const i of queue.slice().reverse()) {
    if (!above[i].length && below[i].length) rank[i] = Math.min(...below[i].map((j) => rank[j])) - 1;
  }
  const least = Math.min(0, ...rank);
  return rank.map((one) => one - least);
}

/** Boxes and the lanes of long edges in rows: in each row, from left to right. */
class Layers {
  /** `weights`: how much each edge is to be short and straight. */
  constructor(boxes, edges, rank, weights) {
    this.items = boxes.map((box, i) => ({ width: box.width, rank: rank[i], box: i }));
    this.up = boxes.map(() => []);
    this.down = boxes.map(() => []);
    const lanes = new Map();
    this.paths = edges.map(([tail, head], n) => {
      const path = [tail];
      const weight = weights[n];
      if (rank[head] <= rank[tail]) return [tail, head];
      for (let row = rank[tail] + 1; row < rank[head]; row++) {
        const key = `${tail}:${row}`;
        if (!lanes.has(key)) {
          lanes.set(key, this.items.length);
          this.items.push({ width: 0, rank: row, box: -1 });
          this.up.push([]);
          this.down.push([]);
          this.link(path[path.length - 1], lanes.get(key), weight);
        }
        path.push(lanes.get(key));
      }
      this.link(path[path.length - 1], head, weight);
      path.push(head);
      return path;
    });
    const count = Math.max(-1, ...rank) + 1;
    this.rows = Array.from({ length: count }, () => []);
    this.items.forEach((item, i) => this.rows[item.rank].push(i));
    this.order();
    this.columns();
  }

  link(low, high, weight) {
    this.down[low].push({ item: high, weight });
    this.up[high].push({ item: low, weight });
  }

  order() {
    const at = new Array(this.items.length).fill(0);
    const number = (row) => row.forEach((item, i) => { at[item] = (i + 0.5) / row.length; });
    this.rows.forEach(number);
    let best = this.rows.map((row) => row.slice());
    let fewest = this.crossings();
    for (let sweep = 0; sweep < 10 && fewest; sweep++) {
      const near = sweep % 2 ? this.down : this.up;
      const rows = sweep % 2 ? this.rows.slice().reverse() : this.rows;
      for (const row of rows) {
        const key = new Map(row.map((item) => [item, near[item].length ? mean(near[item], at) : at[item]]));
        row.sort((left, right) => key.get(left) - key.get(right));
        number(row);
      }
      const found = this.crossings();
      if (found < fewest) {
        fewest = found;
        best = this.rows.map((row) => row.slice());
      }
    }
    this.rows = best;
  }

  crossings() {
    let total = 0;
    const at = new Array(this.items.length);
    this.rows.forEach((row) => row.forEach((item, i) => { at[item] = i; }));
    for (const row of this.rows) {
      const heads = row.flatMap((item) => this.down[item].map((one) => at[one.item]).sort((a, b) => a - b));
      if (heads.length > 600) return 0; // too many to count: one order is as good as another
      for (let i = 1; i < heads.length; i++) for (let j = 0; j < i; j++) if (heads[j] > heads[i]) total++;
    }
    return total;
  }

  /** Where each item's middle is: near its neighbours, and apart from those beside it. */
  columns() {
    this.x = new Array(this.items.length).fill(0);
    for (const row of this.rows) this.spread(row, row.map(() => 0), row.map(() => 1));
    for (let sweep = 0; sweep < 14; sweep++) {
      const rows = sweep % 2 ? this.rows.slice().reverse() : this.rows;
      for (const row of rows) {
        const wish = row.map((item) => {
          const near = sweep < 8 ? (sweep % 2 ? this.down : this.up)[item] : [...this.up[item], ...this.down[item]];
          return near.length ? mean(near, this.x) : this.x[item];
        });
        this.spread(row, wish, row.map((item) => Math.max(...this.up[item].map((one) => one.weight), ...this.down[item].map((one) => one.weight), 0.1)));
      }
    }
    const left = Math.min(...this.items.map((item, i) => this.x[i] - item.width / 2));
    this.x = this.x.map((x) => x - left);
    this.width = Math.max(0, ...this.items.map((item, i) => this.x[i] + item.width / 2));
  }

  /** Places in the order of a row, as near to the wishes as the distances allow (least squares). */
  spread(row, wish, weight) {
    const offset = [];
    row.forEach((item, i) => {
      const one = this.items[item];
      const before = i ? this.items[row[i - 1]] : null;
      const gap = before && (before.width || one.width) ? GAP.box : GAP.lane;
      offset.push(before ? offset[i - 1] + before.width / 2 + gap + one.width / 2 : 0);
    });
    const runs = [];
    row.forEach((_, i) => {
      let run = { sum: (wish[i] - offset[i]) * weight[i], weight: weight[i], count: 1 };
      while (runs.length && runs[runs.length - 1].sum / runs[runs.length - 1].weight >= run.sum / run.weight) {
        const before = runs.pop();
        run = { sum: before.sum + run.sum, weight: before.weight + run.weight, count: before.count + run.count };
      }
      runs.push(run);
    });
    let i = 0;
    for (const run of runs) {
      for (let n = 0; n < run.count; n++, i++) this.x[row[i]] = run.sum / run.weight + offset[i];
    }
  }
}

/** The mean of values of neighbours, by their weights. */
function mean(near, values) {
  let [sum, total] = [0, 0];
  for (const { item, weight } of near) {
    sum += values[item] * weight;
    total += weight;
  }
  return sum / total;
}

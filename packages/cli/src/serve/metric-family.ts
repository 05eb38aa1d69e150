export type Labels = Readonly<Record<string, string>>;

/** All series of one name, by their labels. The first call of `of` with some labels creates their series. */
export class Family<Value> {
  readonly #series = new Map<string, { readonly labels: Labels; value: Value }>();
  readonly #initial: () => Value;

  constructor(initial: () => Value) {
    this.#initial = initial;
  }

  of(labels: Labels): { value: Value } {
    const key = JSON.stringify(Object.entries(labels));
    const known = this.#series.get(key);
    if (known) return known;
    const made = { labels, value: this.#initial() };
    this.#series.set(key, made);
    return made;
  }

  [Symbol.iterator](): Iterator<{ readonly labels: Labels; readonly value: Value }> {
    return this.#series.values();
  }
}

/** One line in Prometheus' text: the labels and the value. */
export type Sample = { readonly labels: Labels; readonly value: number };

/** Returns a family of samples in Prometheus' text. Empty if there are no samples. */
export function familyText(name: string, type: "gauge" | "counter", help: string, samples: Iterable<Sample>): string {
  const lines = [...samples].map(({ labels, value }) => `${name}${labelText(labels)} ${value}\n`);
  return lines.length === 0 ? "" : `${head(name, type, help)}${lines.join("")}`;
}

/** Returns a family of histograms in Prometheus' text. Empty if there are no histograms. */
export function histogramText(name: string, help: string, family: Family<Histogram>): string {
  const lines = [...family].map(({ labels, value }) => {
    const buckets = [...value.buckets()];
    const [, count = 0] = buckets.at(-1) ?? [];
    const bucketLines = buckets.map(([le, within]) => `${name}_bucket${labelText({ ...labels, le })} ${within}\n`);
    return `${bucketLines.join("")}${name}_sum${labelText(labels)} ${value.sum}\n${name}_count${labelText(labels)} ${count}\n`;
  });
  return lines.length === 0 ? "" : `${head(name, "histogram", help)}${lines.join("")}`;
}

function head(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

/** Counts the durations within each bound, as Prometheus does. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** One count for each bound, and one more for the durations that exceed all bounds. */
  #counts: readonly number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(seconds: number): void {
    const at = this.#bounds.findIndex((bound) => seconds <= bound);
    const slot = at < 0 ? this.#bounds.length : at;
    this.#counts = this.#counts.map((count, index) => (index === slot ? count + 1 : count));
    this.#sum += seconds;
  }

  get sum(): number {
    return this.#sum;
  }

  /** Yields each bound with the number of durations that do not exceed it. The last bound is `+Inf`. */
  *buckets(): Generator<readonly [bound: string, count: number]> {
    let count = 0;
    for (const [at, own] of this.#counts.entries()) {
      count += own;
      yield [String(this.#bounds[at] ?? "+Inf"), count];
    }
  }
}

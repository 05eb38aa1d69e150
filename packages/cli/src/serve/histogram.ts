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

/** Pseudo-random numbers, the same in every run with the same seed. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number in [0, 1). */
  next(): number {
    // mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c (public domain)
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A number in [lo, hi). */
  between(lo: number, hi: number): number {
    return lo + this.next() * (hi - lo);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns one of the choices, each as likely as the others. There must be at least one. */
  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** Returns a seed for another source of randomness. */
  seed(): number {
    return Math.floor(this.next() * 2 ** 32);
  }
}

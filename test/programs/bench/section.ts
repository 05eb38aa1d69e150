import type { Summary } from "./statistics.ts";

/** One measured figure. */
export interface Result extends Summary {
  /** The name of the figure. */
  readonly measure: string;
  /** The unit of the numbers, or the base of their ratio. */
  readonly unit: string;
  /** The median should be at most this. */
  readonly goal?: number | undefined;
}

/** A part of the benchmark that can be selected by name. */
export interface Section {
  readonly name: string;
  /** A one-line description. */
  readonly about: string;
  /** How to read its numbers. */
  readonly meaning: string;
  /** Roughly how long it takes, in seconds. */
  readonly takesS: number;
  readonly measure: () => Promise<Result[]>;
}

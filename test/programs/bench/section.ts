import type { Summary } from "./statistics.ts";

/** One measured figure. */
export interface Result extends Summary {
  /** The name of what was measured. */
  readonly measure: string;
  /** What the numbers count, or what they are a ratio to. */
  readonly unit: string;
  /** The median should be at most this. */
  readonly goal?: number | undefined;
}

/** A part of the benchmark that can be asked for by name. */
export interface Section {
  readonly name: string;
  /** What it measures, in a line. */
  readonly about: string;
  /** How to read its numbers. */
  readonly meaning: string;
  /** Roughly how long it takes, in seconds. */
  readonly takesS: number;
  readonly measure: () => Promise<Result[]>;
}

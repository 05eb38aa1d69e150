import type { Check } from "./check.ts";
import type { Found } from "./search.ts";

const HEADINGS = ["check", "has to find", "found", "states", "depth", "MB", "seconds"];
/** The widths of the columns whose content is not known at the start. */
const WIDTHS = [0, 0, 11, 10, 5, 4, 7];
/** The columns before this one hold words; the others hold numbers. */
const NUMBERS_FROM = 3;

/** The results as a table for a person, row by row. */
export class Table {
  readonly #widths: readonly number[];

  constructor(checks: readonly Check[]) {
    const widest = (column: number): number => Math.max(...checks.map((check) => words(check)[column]!.length));
    this.#widths = [widest(0), widest(1), ...WIDTHS.slice(2)];
  }

  get head(): string {
    return this.#line(HEADINGS);
  }

  row(check: Check, found: Found | Error, asExpected: boolean): string {
    const numbers =
      found instanceof Error
        ? []
        : [found.states.toLocaleString("en-US"), String(found.depth), found.memoryMb.toFixed(0), found.seconds.toFixed(1)];
    return this.#line([...words(check), asExpected ? "as expected" : "NOT", ...numbers]);
  }

  #line(cells: readonly string[]): string {
    const aligned = cells.map((cell, column) => {
      const width = this.#widths[column] ?? 0;
      return column < NUMBERS_FROM ? cell.padEnd(width) : cell.padStart(width);
    });
    return aligned.join("  ").trimEnd();
  }
}

function words({ name, violates }: Check): readonly string[] {
  return [name, violates ?? "that all claims hold"];
}

// Names of shards as short text: whole numbers as ranges, all other names as they are.

/** A run of numbers, or a name. */
export type Range = string | readonly [first: number, last: number];

/** Returns the names as ranges. A name that is no whole number in its usual form stays a name. */
export function toRanges(names: Iterable<string>): Range[] {
  const others: string[] = [];
  const numbers: number[] = [];
  for (const name of names) {
    if (isNumber(name)) numbers.push(Number(name));
    else others.push(name);
  }
  const ranges: Array<[number, number]> = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else ranges.push([number, number]);
  }
  return [...others, ...ranges];
}

/** Returns the names of ranges; `undefined` for anything else than ranges. */
export function fromRanges(ranges: unknown, limit: number): Set<string> | undefined {
  if (!Array.isArray(ranges)) return undefined;
  const names = new Set<string>();
  for (const range of ranges as unknown[]) {
    if (typeof range === "string") names.add(range);
    else {
      if (!Array.isArray(range) || range.length !== 2) return undefined;
      const [first, last] = range as unknown[];
      if (!isCount(first) || !isCount(last) || last < first || last - first > limit) return undefined;
      for (let number = first; number <= last; number += 1) names.add(String(number));
    }
  }
  return names;
}

function isNumber(name: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(name);
}

/** Reports whether a decoded value is a whole number from 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

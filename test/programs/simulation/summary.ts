import type { Tally } from "./tally.ts";

/** Returns the results of many runs, for people. */
export function printTally(tally: Tally, seconds: number): string {
  const faults = Object.entries(tally.faults).toSorted(([, one], [, other]) => other - one);
  const stores = Object.entries(tally.runsByStore).toSorted(([, one], [, other]) => other - one);
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["runs", `${number(tally.runs)} in ${seconds.toFixed(0)} s (${number(tally.runs / seconds)} a second)`],
    ["steps", number(tally.steps)],
    ["requests", number(tally.requests)],
    ["virtual time", `${number(tally.virtualMs / 3_600_000)} hours`],
    ["terms given out", number(tally.terms)],
    ["faults", number(faults.reduce((sum, [, count]) => sum + count, 0))],
    ...faults.map(([fault, count]) => [`  ${fault}`, number(count)] as const),
    ["stores", ""],
    ...stores.map(([store, count]) => [`  ${store}`, number(count)] as const),
    ["violations", number(tally.violations.length)],
    ...tally.violations.map(({ seed, what }) => [`  seed ${seed}`, what] as const),
  ];
  return `${rows.map(([name, value]) => `${name.padEnd(24)} ${value}`.trimEnd()).join("\n")}\n`;
}

function number(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

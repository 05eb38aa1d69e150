/** A list price of a cloud. */
export interface Price {
  /** What it is for, as in "a vCPU-second of a worker pool". */
  readonly of: string;
  readonly usd: number;
  /** How many of them it is the price of. @defaultValue 1 */
  readonly per?: number;
  /** The page that says so, an https address. */
  readonly source: string;
}

/** How many of what: `[2, "instances"]`. */
export type Factor = readonly [count: number, what: string];

/** What a part of a construct costs in a month: all factors multiplied, at a price. */
export interface Cost {
  readonly price: Price;
  readonly factors: readonly Factor[];
}

/** The hours of a month, as the clouds' own calculators have it. */
export const HOURS: Factor = [730, "hours"];
export const SECONDS: Factor = [730 * 3_600, "s"];

/** `cost(vcpuSecond, [2, "instances"], [1, "vCPU"], SECONDS)` */
export function cost(price: Price, ...factors: readonly Factor[]): Cost {
  return { price, factors };
}

/** In USD. */
export function amount({ price, factors }: Cost): number {
  return factors.reduce((product, [count]) => product * count, price.usd / (price.per ?? 1));
}

/** In USD, of all together. */
export function sum(costs: readonly Cost[]): number {
  return costs.reduce((total, each) => total + amount(each), 0);
}

/** The same as one calculates it by hand: `2 instances × 1 vCPU × 2,628,000 s × 0.000018`. */
export function arithmetic({ price, factors }: Cost): string {
  const { usd, per = 1 } = price;
  const counted = factors.map(([count, what]) => `${decimal(count)} ${what}`);
  return [...counted, per === 1 ? decimal(usd) : `${decimal(usd)} / ${decimal(per)}`].join(" × ");
}

/** Dollars and cents. What is less than a cent is no nothing. */
export function dollars(usd: number): string {
  if (usd === 0) return "0";
  return usd < 0.005 ? "< 0.01" : usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** A number with all its digits. */
export function decimal(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 10 });
}

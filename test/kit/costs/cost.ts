/** A list price of a cloud. */
export interface Price {
  /** The unit, as in "a vCPU-second of a worker pool". */
  readonly of: string;
  readonly usd: number;
  /** The number of units for this price. @defaultValue 1 */
  readonly per?: number;
  /** The page with the price, an https address. */
  readonly source: string;
}

/** A number and its unit: `[2, "instances"]`. */
export type Factor = readonly [count: number, what: string];

/** The monthly cost of a part of a construct: all factors multiplied, at a price. */
export interface Cost {
  readonly price: Price;
  readonly factors: readonly Factor[];
}

/** The hours of a month, as in the clouds' own calculators. */
export const HOURS: Factor = [730, "hours"];
export const SECONDS: Factor = [730 * 3_600, "s"];

/** `cost(vcpuSecond, [2, "instances"], [1, "vCPU"], SECONDS)` */
export function cost(price: Price, ...factors: readonly Factor[]): Cost {
  return { price, factors };
}

/** Returns the amount in USD. */
export function amount({ price, factors }: Cost): number {
  return factors.reduce((product, [count]) => product * count, price.usd / (price.per ?? 1));
}

/** Returns the sum of all costs in USD. */
export function sum(costs: readonly Cost[]): number {
  return costs.reduce((total, each) => total + amount(each), 0);
}

/** Returns an amount in dollars and cents. An amount below one cent is not shown as zero. */
export function dollars(usd: number): string {
  if (usd === 0) return "0";
  return usd < 0.005 ? "< 0.01" : usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** Returns a number with all its digits. */
export function decimal(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 10 });
}

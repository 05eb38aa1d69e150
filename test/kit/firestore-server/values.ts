import { isDeepStrictEqual } from "node:util";
import type { NumberValue, Value } from "./messages.ts";

/** Two values, or the fields of two documents, are the same, type included: 1 is not 1.0. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

/** A query, or an array transform, takes two values for equal: as `isSame`, but numbers by their amount. */
export function isEquivalent(a: Value, b: Value): boolean {
  return isNumber(a) && isNumber(b) ? compareNumbers(a, b) === 0 : isSame(a, b);
}

export function isNumber(value: Value | undefined): value is NumberValue {
  return value?.valueType === "integerValue" || value?.valueType === "doubleValue";
}

export function amountOf(value: NumberValue): number {
  return value.valueType === "integerValue" ? Number(value.integerValue) : value.doubleValue;
}

/** Negative, zero or positive; as in Firestore, NaN is less than every number and equal to itself. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (a.valueType === "integerValue" && b.valueType === "integerValue") {
    const difference = BigInt(a.integerValue) - BigInt(b.integerValue);
    return difference === 0n ? 0 : difference < 0n ? -1 : 1;
  }
  const [x, y] = [amountOf(a), amountOf(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(y)) - Number(Number.isNaN(x));
  return Math.sign(x - y) || 0;
}

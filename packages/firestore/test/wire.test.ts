import { describe, expect, test } from "vitest";
import { decode, decodeFields, encode, encodeFields, nanosOf, wireTime, type WireValue } from "../src/wire.ts";

describe("a time", () => {
  test.for([
    [{ seconds: "0", nanos: 0 }, 0n],
    [{ seconds: 3, nanos: 7 }, 3_000_000_007n],
    // In some settings of protobuf, numbers of this size are objects.
    [{ seconds: { toString: () => "9007199254740993" }, nanos: 999_999_999 }, 9_007_199_254_740_993_999_999_999n],
  ] as const)("%o on the wire is one number", ([time, nanos]) => {
    expect(nanosOf(time)).toBe(nanos);
    expect(wireTime(nanos)).toEqual({ seconds: String(time.seconds), nanos: time.nanos });
  });
});

test.for<[value: unknown, wire: WireValue]>([
  [null, { nullValue: "NULL_VALUE" }],
  ["", { stringValue: "" }],
  ["text", { stringValue: "text" }],
  [true, { booleanValue: true }],
  [false, { booleanValue: false }],
  [0, { integerValue: "0" }],
  [-5, { integerValue: "-5" }],
  [0.5, { doubleValue: 0.5 }],
  [2 ** 53, { doubleValue: 2 ** 53 }],
  [5_000_000_006n, { timestampValue: { seconds: "5", nanos: 6 } }],
  [{}, { mapValue: { fields: {} } }],
  [{ a: { b: 1 } }, { mapValue: { fields: { a: { mapValue: { fields: { b: { integerValue: "1" } } } } } } }],
])("%o is encoded, and decoded", ([value, wire]) => {
  expect(encode(value)).toEqual(wire);
  expect(decode(wire)).toEqual(value);
});

test("a field without a value is omitted, which removes it", () => {
  expect(encodeFields({ a: undefined, b: null })).toEqual({ b: { nullValue: "NULL_VALUE" } });
});

test("a value of a type that no lease record has becomes undefined", () => {
  const theirs = { geoPointValue: {} } as WireValue;
  expect(decodeFields({ tags: theirs })).toEqual({ tags: undefined });
});

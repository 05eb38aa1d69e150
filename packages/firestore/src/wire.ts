/** A time by Firestore's clock, in the form of the wire protocol. */
export interface WireTime {
  readonly seconds: string | number | { toString(): string };
  readonly nanos: number;
}

/** A field's value in the form of the wire protocol. It has the types that occur in a lease record. */
export interface WireValue {
  readonly nullValue?: unknown;
  readonly stringValue?: string | null;
  readonly integerValue?: string | number | { toString(): string } | null;
  readonly doubleValue?: number | null;
  readonly booleanValue?: boolean | null;
  readonly timestampValue?: WireTime | null;
  readonly arrayValue?: { readonly values?: readonly WireValue[] | null } | null;
  readonly mapValue?: { readonly fields: WireFields } | null;
}
export type WireFields = Readonly<Record<string, WireValue>>;

/** Returns a time by Firestore's clock in nanoseconds since the Unix epoch. It is exact, so two of them can be compared. */
export function nanosOf({ seconds, nanos }: WireTime): bigint {
  return BigInt(String(seconds)) * 1_000_000_000n + BigInt(nanos);
}

export function wireTime(nanos: bigint): { seconds: string; nanos: number } {
  return { seconds: String(nanos / 1_000_000_000n), nanos: Number(nanos % 1_000_000_000n) };
}

/** Encodes a value of a lease record. A bigint is a time in nanoseconds. */
export function encode(value: unknown): WireValue {
  if (value === null) return { nullValue: "NULL_VALUE" };
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { booleanValue: value };
  if (typeof value === "bigint") return { timestampValue: wireTime(value) };
  if (typeof value === "number") return Number.isSafeInteger(value) ? { integerValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(encode) } };
  return { mapValue: { fields: encodeFields(value as Readonly<Record<string, unknown>>) } };
}

/** Encodes fields, and omits those that are undefined. If the write's mask names an omitted field, the write removes it. */
export function encodeFields(fields: Readonly<Record<string, unknown>>): WireFields {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, encode(value)]));
}

/** Decodes a value of a lease record. A value of any other type becomes undefined, so that the engine refuses the record. */
export function decode(value: WireValue): unknown {
  if (value.nullValue !== undefined) return null;
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(decode);
  if (value.mapValue) return decodeFields(value.mapValue.fields);
  if (value.timestampValue) return nanosOf(value.timestampValue);
  if (value.integerValue !== undefined && value.integerValue !== null) return Number(String(value.integerValue));
  return value.stringValue ?? value.doubleValue ?? value.booleanValue;
}

export function decodeFields(fields: WireFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, decode(value)]));
}

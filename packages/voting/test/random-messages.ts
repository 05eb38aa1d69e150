import type { SeededRandom } from "@leasehold/core/testing";
import { OPTIONAL_IN_REQUESTS, REQUESTS } from "./example-messages.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Values that a field of each type can have in a message of this version. Few texts, so that messages meet. */
const TEXTS = ["e", "f", "", "t", "u", "__proto__", "constructor", "\u0000", "\ud800"];
const COUNTS = [0, 1, 2, 3, 4, 5, 2 ** 52, Number.MAX_SAFE_INTEGER];
const TIMES = [0, 0.5, 50, 1_000, 1_000, 60_000, 3_600_000, 3_600_001, 1e300, Number.MAX_VALUE];
/** Values that most fields cannot have. */
const ODD = [null, [], {}, "-", -1, 0.5, true, 1e300, 2 ** 53, "x".repeat(5_000), [[]], { kind: "ELECT" }, "1", undefined];

/** A request of any kind. Most of its fields have a value of their type, and may be extreme. */
export function anyRequest(random: SeededRandom): Fields {
  const kind = random.pick(Object.keys(REQUESTS));
  const optional = random.chance(0.3) ? OPTIONAL_IN_REQUESTS[kind] : {};
  return { kind, ...vary(random, { ...REQUESTS[kind], ...optional }) };
}

/** The same message with one field that is absent, unknown or has any value. A field may be part of a field. */
export function damaged(random: SeededRandom, message: Fields): Fields {
  const name = random.chance(0.1) ? "unknown" : random.pick(Object.keys(message));
  const value = message[name];
  if (isFields(value) && random.chance(0.5)) return { ...message, [name]: damaged(random, { of: 1, ...value }) };
  return { ...message, [name]: random.pick(ODD) };
}

function vary(random: SeededRandom, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, varied(random, name, value)]));
}

function varied(random: SeededRandom, name: string, value: unknown): unknown {
  if (isFields(value)) return vary(random, value);
  if (typeof value === "boolean") return random.chance(0.5);
  if (typeof value === "string") return random.pick(TEXTS);
  return random.pick(name.endsWith("Ms") ? TIMES : COUNTS);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

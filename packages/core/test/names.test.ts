import { fc, test } from "@fast-check/vitest";
import { ConfigurationError } from "@leasehold/core";
import {
  checkName,
  checkValue,
  decodeName,
  encodeName,
  MAX_NAME_BYTES,
  MemoryRecordStore,
  RecordLeaseStore,
} from "@leasehold/core/provider";
import { acquiring } from "@leasehold/test-kit/acquisitions";
import { describe, expect, vi } from "vitest";
import { utf8Bytes } from "../src/store/names.ts";

const SEEDED = { seed: 20_261_120 };
const anyText = fc.string({ unit: "binary", maxLength: 300 });
const goodName = fc
  .string({ unit: "binary", minLength: 1, maxLength: 60 })
  .filter((name) => !/\p{Cc}/u.test(name) && utf8Bytes(name) <= MAX_NAME_BYTES);
const FAMILY = "👩‍👩‍👧‍👦";

describe("names", () => {
  test.prop([goodName], SEEDED)("any printable Unicode of at most 255 bytes is a name", (name) => {
    expect(() => checkName("election", name)).not.toThrow();
  });

  test.prop([anyText], SEEDED)("a name is refused for its length or a control character, and for nothing else", (name) => {
    const fits = name !== "" && utf8Bytes(name) <= 255 && !/\p{Cc}/u.test(name);
    let refused = false;
    try {
      checkName("candidateId", name);
    } catch (error) {
      refused = error instanceof ConfigurationError;
    }

    expect(refused).toBe(!fits);
  });

  test.each(["", undefined, null, 7, {}])("%j is refused as a name", (name) => {
    expect(() => checkName("election", name)).toThrow(ConfigurationError);
  });

  test("length counts in bytes of UTF-8, and the message states it", () => {
    expect(() => checkName("election", "é".repeat(127))).not.toThrow();
    expect(() => checkName("election", "é".repeat(128))).toThrow("election has 256 bytes of UTF-8; at most 255 fit.");
  });

  test.each([
    ["a\u0000b", "U+0000 at index 1"],
    ["line\n", "U+000A at index 4"],
    ["\u007f", "U+007F at index 0"],
    ["a\u0085", "U+0085 at index 1"],
  ])("the message names the control character in %j and its index", (name, message) => {
    expect(() => checkName("election", name)).toThrow(message);
  });

  test.each(["\ud800", "a\udc00", "\udc00\ud800", `${FAMILY}\ud83d`])("the lone surrogate in %j is refused", (name) => {
    expect(() => checkName("election", name)).toThrow("lone surrogate");
    expect(() => checkValue(name, 1_024)).toThrow("lone surrogate");
  });
});

describe("an encoded name", () => {
  test.prop([goodName], SEEDED)("has only letters, digits, -, _ and %%, and decodes to the name", (name) => {
    expect(encodeName(name)).toMatch(/^[\w%-]+$/);
    expect(decodeName(encodeName(name))).toBe(name);
  });

  test.each([
    ["a.b!~*'()/é", "a%2Eb%21%7E%2A%27%28%29%2F%C3%A9"],
    ["..", "%2E%2E"],
  ])("of %j is %s", (name, encoded) => {
    expect(encodeName(name)).toBe(encoded);
  });

  test.each(["a.b", "%2e", "%61", "%", "%FF", "a b"])("is never %j", (text) => {
    expect(decodeName(text)).toBeUndefined();
  });
});

describe("checkValue", () => {
  test("accepts the empty text and control characters, which names may not have", () => {
    expect(() => checkValue("", 10)).not.toThrow();
    expect(() => checkValue("a\nb\u0000", 10)).not.toThrow();
  });

  test("refuses a value that does not fit, with the numbers", () => {
    expect(() => checkValue("😀😀😀", 11)).toThrow("value has 12 bytes of UTF-8; at most 11 fit.");
  });

  test("refuses a value that is not a string", () => {
    expect(() => checkValue(null, 10)).toThrow("value must be a string, not null.");
  });
});

test("an invalid election is refused by each call before a request", async () => {
  const records = new MemoryRecordStore();
  const requests = [vi.spyOn(records, "get"), vi.spyOn(records, "put")];
  const store = new RecordLeaseStore(records);
  const election = "";
  for (const call of [
    () => store.read(election),
    () => store.check({ election }),
    () => store.pause(election, { reason: "r" }),
    () => store.resume(election),
    () => store.break(election, { ifTerm: 1, reason: "r" }),
    () => store.transfer(election, "b", { ifTerm: 1 }),
    () => store.transfer("e", "", { ifTerm: 1 }),
    () => store.repair(election),
    () => store.acquire(acquiring({ election })),
    () => store.acquire(acquiring({ candidateId: "" })),
    () => store.watch?.(election, new AbortController()),
  ]) {
    await expect((async () => await call())()).rejects.toThrow(expect.objectContaining({ code: "CONFIGURATION" }));
  }
  for (const request of requests) expect(request).not.toHaveBeenCalled();
});

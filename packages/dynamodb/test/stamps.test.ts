/** An item's times, and the expressions that write it, without a service. */
import type { LeaseRecord } from "@leasehold/core/provider";
import { marshall } from "@aws-sdk/util-dynamodb";
import { describe, expect, test } from "vitest";
import { stored, updateOf } from "../src/schema.ts";

const NOW = { lo: 10_000, hi: 12_000 };
const STAMPS = { nonceNotBefore: 5_000, nonceNotAfter: 7_000, nonceWallMs: 6_000 };

function read(stamps: object, now: typeof NOW | undefined = NOW) {
  return stored(marshall({ version: "v", term: 1, ...stamps }), now);
}

describe("the age of a nonce", () => {
  test("has the bounds that follow from its times and the present time", () => {
    expect(read(STAMPS)).toEqual({ data: { term: 1 }, version: "v", nonceAgeMs: [3_000, 7_000], nonceWallMs: 6_000 });
  });

  test.for([
    [{ nonceNotBefore: 11_000, nonceNotAfter: 13_000 }, [0, 1_000]],
    [{ nonceNotBefore: 11_999.5, nonceNotAfter: 13_000 }, [0, 0.5]],
    [{ nonceNotBefore: 12_000, nonceNotAfter: 13_000 }, [0, 0]],
    // The write is later than the present at the latest, so one of the clocks is wrong.
    [{ nonceNotBefore: 12_000.5, nonceNotAfter: 13_000 }, undefined],
  ] as const)("of %o is %o", ([stamps, ageMs]) => {
    expect(read({ ...STAMPS, ...stamps }).nonceAgeMs).toEqual(ageMs);
  });

  test.for(Object.keys(STAMPS))("is not told without %s: the engine is to have it counted anew", (missing) => {
    const { [missing as keyof typeof STAMPS]: _, ...stamps } = STAMPS;
    expect(read(stamps)).toEqual({ data: { term: 1 }, version: "v", ageUnknown: true });
    expect(read({ ...stamps, [missing]: "6000" })).toMatchObject({ ageUnknown: true });
  });

  test("is unknown if the present time is unknown, whatever its times", () => {
    for (const stamps of [STAMPS, {}])
      expect(stored(marshall({ version: "v", term: 1, ...stamps }), undefined)).toEqual({
        data: { term: 1 },
        version: "v",
      });
  });
});

test("an update sets the fields that a record has, and removes the others if there are any", () => {
  const full: LeaseRecord = {
    schema: 4,
    term: 1,
    termId: "t",
    candidateId: "a",
    value: "v",
    nonce: "n",
    leaseDurationMs: 2,
    renewIntervalMs: 1,
    broken: { reason: "r", id: "o" },
    bars: [{ untilMs: 1, except: null }],
    done: true,
    quorum: "{}",
    history: "[]",
  };
  const expressionOf = (record: LeaseRecord): string => updateOf(record, "v", "before", {}).UpdateExpression;
  expect(expressionOf(full)).not.toContain("REMOVE");
  const { quorum: _, ...plain } = full;
  expect(expressionOf(plain)).toMatch(/ REMOVE #quorum$/);
  const { value: __, ...vague } = plain;
  expect(expressionOf(vague)).toMatch(/ REMOVE #value, #quorum$/);
});

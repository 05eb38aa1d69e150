import { StoreError } from "@leasehold/core";
import type { Order } from "@leasehold/core/provider";
import { beforeEach, describe, expect, it } from "vitest";
import { administered } from "../src/administration.ts";
import { toStoreError } from "../src/azure-blob-errors.ts";
import type { StoreParts } from "../src/parts.ts";
import type { NoteProperties } from "../src/requests.ts";
import { encodeNote, encodeTerm, type TermMetadata } from "../src/schema.ts";
import type { ObservedBlob } from "../src/observed-blob.ts";

const LIMITS = { timeoutMs: 1_000 };
const TERM: TermMetadata = { term: 7, termId: "t", candidateId: "a", value: "v", leaseDurationMs: 15_000 };
const BREAK: Order = { kind: "break", id: "1", reason: "over", immediate: false };
const NOW: Order = { ...BREAK, immediate: true };
const TRANSFER: Order = { kind: "transfer", id: "1", candidateId: "b", timeoutMs: 30_000 };
const TO_B = { candidateId: "b", timeoutMs: 30_000 };

describe("an administrator's order to a blob", () => {
  let found: ObservedBlob;
  /** The note beside the blob. */
  let present: Partial<NoteProperties> | undefined;
  let calls: unknown[][];
  /** The error of the next write. */
  let failure: Error | undefined;

  beforeEach(() => {
    found = {
      leaseState: "leased",
      infinite: false,
      metadata: { theirs: "kept" },
      etag: "e1",
      unchangedMs: 4_000,
      seenMs: 1_000_000,
      leasedSinceMs: 1_000_000,
      brokenSinceMs: undefined,
      term: TERM,
    };
    present = undefined;
    calls = [];
    failure = undefined;
  });

  /** Returns what the store knows of the election. */
  async function standing(): Promise<NonNullable<Awaited<ReturnType<ReturnType<typeof administered>["read"]>>>> {
    const log =
      (name: string) =>
      async (...args: unknown[]): Promise<unknown> => {
        calls.push([name, ...args]);
        if (failure) throw failure;
        return await Promise.resolve("e2");
      };
    const parts = {
      requests: {
        setMetadata: log("setMetadata"),
        writeNote: log("writeNote"),
        break: log("break"),
        readNote: () => Promise.resolve(present),
        describe: () => "the blob",
      },
      reader: {
        read: () => Promise.resolve(found),
        snapshot: () => ({ election: "e", state: "held", term: 7 }),
        forget: (election: string) => calls.push(["forget", election]),
      },
    };
    const looked = await administered(parts as unknown as StoreParts).read("e", LIMITS);
    if (!looked) throw new Error("It has found nothing.");
    return looked;
  }

  it.each<readonly [string, Partial<ObservedBlob>, Order, boolean]>([
    ["nothing", {}, BREAK, false],
    [
      "another order in the metadata",
      { leaseState: "available", term: { ...TERM, order: { id: "2", reason: "x" } } },
      BREAK,
      false,
    ],
    ["it in the metadata", { leaseState: "available", term: { ...TERM, order: { id: "1", reason: "over" } } }, NOW, true],
    [
      "its note, and a lease that is breaking",
      { leaseState: "breaking", note: { id: "1", term: 7, reason: "over" } },
      BREAK,
      true,
    ],
    [
      "its note, and a lease that would end at once",
      { leaseState: "breaking", note: { id: "1", term: 7, reason: "over" } },
      NOW,
      false,
    ],
    ["its note, and a lease that has ended", { leaseState: "broken", note: { id: "1", term: 7, reason: "over" } }, NOW, true],
    ["another's note", { leaseState: "broken", note: { id: "2", term: 7, reason: "over" } }, BREAK, false],
    ["its note of a transfer", { leaseState: "breaking", note: { id: "1", term: 7, transfer: TO_B } }, TRANSFER, true],
    [
      "its note under a hold, which ends at once",
      { leaseState: "breaking", term: { ...TERM, holdMs: 5_000 }, note: { id: "1", term: 7, reason: "over" } },
      BREAK,
      false,
    ],
  ])("is carried out, or not, if %s was found", async (_, seen, order, isThere) => {
    found = { ...found, ...seen };
    const looked = await standing();
    expect(looked.isCarriedOut(order)).toBe(isThere);
    expect([looked.lastHolder, looked.snapshot.term]).toEqual(["a", 7]);
  });

  it.each<readonly [string, Order, object, number]>([
    ["a break", BREAK, { reason: "over" }, 60],
    ["a break at once", NOW, { reason: "over" }, 0],
    ["a transfer", TRANSFER, { transfer: TO_B }, 60],
  ])("that is %s leaves a note, and breaks the lease", async (_, order, note, seconds) => {
    expect(await (await standing()).carryOut(order)).toBe(true);
    expect(calls).toEqual([
      ["writeNote", "e", encodeNote({ id: "1", term: 7, ...note }), undefined, LIMITS],
      ["break", "e", "e1", seconds, LIMITS],
    ]);
  });

  it("ends a hold at once, and replaces the order and the note before it", async () => {
    found = { ...found, leaseState: "breaking", term: { ...TERM, holdMs: 5_000, order: { id: "0", reason: "before" } } };
    present = { metadata: encodeNote({ id: "9", term: 6 }), etag: "n1", contentLength: 0 };
    expect(await (await standing()).carryOut(BREAK)).toBe(true);
    expect(calls).toEqual([
      ["writeNote", "e", encodeNote({ id: "1", term: 7, after: "0", reason: "over" }), "n1", LIMITS],
      ["break", "e", "e1", 0, LIMITS],
    ]);
  });

  it.each([
    ["has content", { metadata: encodeNote({ id: "9", term: 6 }), contentLength: 1 }],
    ["has no note's metadata", { metadata: {}, contentLength: 0 }],
  ])("is refused if the blob in the note's place %s", async (_, other) => {
    present = { etag: "n1", ...other };
    await expect((await standing()).carryOut(BREAK)).rejects.toMatchObject({
      code: "FOREIGN_RECORD",
      message: /The sibling '\.note' of the blob.*it is not a note of ours/,
    });
    expect(calls).toEqual([]);
  });

  it.each(["available", "expired", "broken"] as const)(
    "to one whose lease is %s is written into its metadata, without the former value and reservation, and the memory of it is dropped",
    async (leaseState) => {
      const reservation = { group: "west", durationMs: 10_000 };
      found = { ...found, leaseState, term: { ...TERM, reservation } };
      const { term, termId, candidateId, leaseDurationMs } = TERM;
      const left = { term, termId, candidateId, leaseDurationMs };
      for (const [order, rest] of [
        [BREAK, { order: { id: "1", reason: "over" } }],
        [TRANSFER, { order: { id: "1", transfer: TO_B } }],
      ] as const) {
        calls.length = 0;
        expect(await (await standing()).carryOut(order)).toBe(true);
        expect(calls).toEqual([
          ["forget", "e"],
          ["setMetadata", "order", "e", undefined, "e1", encodeTerm({ ...left, ...rest }, { theirs: "kept" }), LIMITS],
        ]);
      }
    },
  );

  it("has not been carried out if the blob was written since, or the lease is another candidate's", async () => {
    for (const [code, statusCode] of [
      ["ConditionNotMet", 412],
      ["LeaseIdMissing", 412],
    ] as const) {
      const headers = { get: (name: string) => (name === "x-ms-request-id" ? "r1" : undefined) };
      failure = toStoreError(Object.assign(new Error("no"), { code, statusCode, response: { headers } }), "break", "e", true);
      expect(await (await standing()).carryOut(BREAK), code).toBe(false);
    }
    failure = new StoreError("STORE_TIMEOUT", "late", { store: "s", operation: "o", election: "e", mayHaveBeenApplied: true });
    await expect((await standing()).carryOut(BREAK)).rejects.toBe(failure);
  });
});

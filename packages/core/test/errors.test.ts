import { ForeignRecordError, LeadershipEndedError, DrainTimeoutError, TermRegressedError } from "@leasehold/core/provider";
import { AlreadyAbortedError } from "../src/reporting/errors.ts";
import {
  ConfigurationError,
  ElectorBusyError,
  FencedError,
  isLeaseholdError,
  LeaseholdError,
  LeaseLostError,
  StoreError,
  UnsupportedError,
} from "@leasehold/core";
import { describe, expect, test } from "vitest";

const cause = new Error("socket hang up");
const everyError: ReadonlyArray<readonly [LeaseholdError, code: string]> = [
  [new ConfigurationError("no", { election: "e" }), "CONFIGURATION"],
  [new AlreadyAbortedError("run", AbortSignal.abort(cause), "e"), "ALREADY_ABORTED"],
  [new ElectorBusyError("e", "run", "campaign"), "ELECTOR_BUSY"],
  [new LeaseLostError("e", 3, "taken", "gone", cause), "LEASE_LOST"],
  [new LeadershipEndedError("e", 3, "resigned", "it was resigned."), "LEADERSHIP_ENDED"],
  [new DrainTimeoutError("e", 3, 15_000), "DRAIN_TIMEOUT"],
  [new TermRegressedError("e", 1, 9), "TERM_REGRESSED"],
  [new FencedError("e", 3, 4, "the ledger", cause), "FENCED"],
  [new ForeignRecordError("e", "the record in memory", "its schema is 2"), "FOREIGN_RECORD"],
  [new UnsupportedError("no transactions", { election: "e" }), "UNSUPPORTED"],
  [
    new StoreError("STORE_THROTTLED", "slow down", {
      store: "s",
      operation: "put",
      election: "e",
      mayHaveBeenApplied: false,
      cause,
    }),
    "STORE_THROTTLED",
  ],
];

describe("errors", () => {
  test.each(everyError)("%s has a name, a stable code and the election", (error, code) => {
    expect(error).toBeInstanceOf(LeaseholdError);
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe(code);
    expect(error.election).toBe("e");
    expect(error.name).toBe(error.constructor.name);
    expect(isLeaseholdError(error)).toBe(true);
  });

  test("have their cause", () => {
    const withCause = everyError.filter(([error]) => error.cause === cause).map(([, code]) => code);

    expect(withCause).toEqual(["ALREADY_ABORTED", "LEASE_LOST", "FENCED", "STORE_THROTTLED"]);
  });

  test("are recognised by brand, from whichever copy of the package", () => {
    const fromAnotherCopy = Object.assign(new Error("busy"), { code: "ELECTOR_BUSY", [Symbol.for("leasehold.error")]: true });

    expect(isLeaseholdError(fromAnotherCopy)).toBe(true);
    expect(isLeaseholdError(fromAnotherCopy, "ELECTOR_BUSY")).toBe(true);
    expect(isLeaseholdError(fromAnotherCopy, "LEASE_LOST")).toBe(false);
  });

  test.each([undefined, null, "LEASE_LOST", 7, {}, new Error("x"), { code: "LEASE_LOST" }])("%j is not one", (error) => {
    expect(isLeaseholdError(error)).toBe(false);
  });

  test("have a message with the remedy and the numbers", () => {
    expect(new TermRegressedError("e", 1, 9).message).toContain("sets minTerm to more than 9");
    expect(new DrainTimeoutError("e", 3, 15_000.4).message).toContain("15000 ms");
    expect(new ElectorBusyError("e", "run", "campaign").message).toContain("busy with campaign");
    expect(new ForeignRecordError("e", "the blob", "it is text").message).toContain("left untouched");
    expect(new FencedError("e", 3, undefined, "the ledger").message).toContain("Nothing was written");
    expect(new AlreadyAbortedError("run", AbortSignal.abort()).message).toContain("nothing was sent");
  });

  test("have their details as properties", () => {
    const throttled = new StoreError("STORE_THROTTLED", "slow down", {
      store: "dynamodb",
      operation: "put",
      retryAfterMs: 750,
      mayHaveBeenApplied: false,
    });

    expect(throttled).toMatchObject({ store: "dynamodb", operation: "put", retryAfterMs: 750, mayHaveBeenApplied: false });
    expect(new LeaseLostError("e", 3, "missing", "gone")).toMatchObject({ term: 3, reason: "missing" });
    expect(new TermRegressedError("e", 1, 9)).toMatchObject({ foundTerm: 1, highestTermSeen: 9 });
  });
});

test("a foreign record names its problem", () => {
  expect(new ForeignRecordError("e", "the blob", "it is text")).toMatchObject({ problem: "it is text" });
});

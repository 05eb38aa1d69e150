import { ConfigurationError, StoreError, UnsupportedError } from "@leasehold/core";
import { expect, test } from "vitest";
import { EXIT, exitCodeOf, CommandError } from "../src/exit-codes.ts";

test("supervisors and scripts rely on these exit codes", () => {
  expect(EXIT).toEqual({
    done: 0,
    nobodyLeads: 3,
    unknown: 4,
    usage: 64,
    store: 69,
    leadershipEnded: 70,
    output: 74,
    notElected: 75,
    configuration: 78,
    notExecutable: 126,
    notFound: 127,
  });
});

test("an error's exit code tells whether a retry helps, or a person must correct something", () => {
  const failed = (code: ConstructorParameters<typeof StoreError>[0]): StoreError =>
    new StoreError(code, "It failed.", { store: "memory", operation: "get", mayHaveBeenApplied: false });
  expect(exitCodeOf(new CommandError(42, "of its own"))).toBe(42);
  for (const error of [new ConfigurationError("x"), new UnsupportedError("x")])
    expect(exitCodeOf(error)).toBe(EXIT.configuration);
  for (const code of ["STORE_UNAVAILABLE", "STORE_DENIED"] as const) expect(exitCodeOf(failed(code))).toBe(EXIT.store);
  for (const code of ["FOREIGN_RECORD", "TERM_REGRESSED", "LEASE_LOST"]) {
    const error = Object.assign(new ConfigurationError("x"), { code });
    const expected = { FOREIGN_RECORD: EXIT.configuration, TERM_REGRESSED: EXIT.store, LEASE_LOST: EXIT.leadershipEnded }[code];
    expect(exitCodeOf(error)).toBe(expected);
  }
  expect(exitCodeOf(new RangeError("never"))).toBe(EXIT.leadershipEnded);
});

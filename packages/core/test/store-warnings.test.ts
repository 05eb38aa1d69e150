import { Elector, MemoryLeaseStore, Observer } from "@leasehold/core";
import { Journal, StoreWarnings } from "@leasehold/core/provider";
import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from "vitest";
import { Lines } from "./lines.ts";

let emitted: MockInstance<typeof process.emitWarning>;
let warnings: StoreWarnings;

beforeEach(() => {
  emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  warnings = new StoreWarnings();
});
afterEach(() => emitted.mockRestore());

describe("a warning of a store", () => {
  test("is a process warning if no elector or observer has a logger for it", () => {
    warnings.warn("LEASEHOLD_VOTING", "a server is silent");

    expect(emitted.mock.calls).toEqual([["a server is silent", { type: "LeaseholdWarning", code: "LEASEHOLD_VOTING" }]]);
  });

  test("is written to the loggers of the electors and observers on the store", () => {
    const [of, other] = [new Lines(), new Lines()];
    const store = Object.assign(new MemoryLeaseStore(), { warnings });
    void new Elector({ store, election: "e", logger: of });
    void new Observer({ store, election: "e", logger: other });
    warnings.warn("LEASEHOLD_VOTING", "a server is silent");

    expect([of.warnings, other.warnings]).toEqual([["a server is silent"], ["a server is silent"]]);
    expect(emitted).not.toHaveBeenCalled();
  });

  test("is not written if every elector on the store is silent", () => {
    const store = Object.assign(new MemoryLeaseStore(), { warnings });
    const elector = new Elector({ store, election: "e", logger: false });
    warnings.warn("LEASEHOLD_VOTING", "a server is silent");
    warnings.warnOnce("LEASEHOLD_TABLE_NOT_CHECKED", "a table", "the table was not checked");

    expect(emitted).not.toHaveBeenCalled();
    expect(Journal.of(elector).isSilent).toBe(true);
  });

  test("is written once for each cause to each logger, if it is to be written once", () => {
    const lines = new Lines();
    for (const one of [warnings, new StoreWarnings()]) {
      one.join(Journal.to(lines));
      for (const cause of ["a", "a", "b"]) one.warnOnce("LEASEHOLD_TABLE_NOT_CHECKED", cause, `the table ${cause}`);
    }

    expect(lines.warnings).toEqual(["the table a", "the table b"]);
  });
});

import { MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { expect, test, vi } from "vitest";
import { Fleet, readFleet, type FleetOptions } from "../src/index.ts";

const store = new MemoryLeaseStore();
const LONG = "x".repeat(201);

test.for([
  [{ shards: 0 }, "shards is 0; it must be a whole number from 1"],
  [{ shards: 1.5 }, "shards is 1.5"],
  [{ shards: 9_200 }, "9200 shards and 32 members take 66200 bytes or more in the plan, which has room for 64000"],
  [{ shards: 1e9 }, "1000000000 shards and 32 members take"],
  [{ shards: "64" }, "shards must be a number, a list of names, or a function"],
  [{ shards: [] }, "shards is an empty list"],
  [{ shards: ["a", "b", "a"] }, "shards has the name 'a' twice"],
  [{ shards: [""] }, "name is empty"],
  [{ shards: ["a\0b"] }, "control character"],
  [{ shards: ["\ud800"] }, "lone surrogate"],
  [{ shards: [LONG] }, "has a name of 201 bytes of UTF-8"],
  [{ shards: 4, atMost: 2 }, "either shards or atMost"],
  [{}, "either shards or atMost"],
  [{ atMost: 0 }, "atMost is 0"],
  [{ atMost: 2, maxShards: 2 }, "atMost means maxShards: 1"],
  [{ shards: 4, maxShards: -1 }, "maxShards is -1"],
  [{ shards: 4, maxShards: 1.5 }, "maxShards is 1.5"],
  [{ shards: 4, weight: 0 }, "weight is 0; it must be a number from 0.01 to 100"],
  [{ shards: 4, weight: 101 }, "weight is 101"],
  [{ shards: 4, weight: Number.NaN }, "weight is NaN"],
  [{ shards: 4, priority: 1.5 }, "priority is 1.5; it must be a whole number"],
  [{ shards: 4, memberId: "" }, "memberId: name is empty"],
  [{ shards: 4, memberId: "x".repeat(241) }, "memberId has 241 bytes of UTF-8; at most 240 fit"],
  [{ shards: 4, settleMs: -1 }, "settleMs is -1"],
  [{ shards: 4, fenced: "yes" }, "fenced is yes"],
  [{ shards: 4, leaseDurationMs: 30 }, "30 seconds meant"],
  [{ shards: 4, fleet: undefined as never }, "fleet: name must be a string, not undefined"],
  [{ shards: 4, fleet: "a/b" }, "has a slash"],
  [{ shards: 4, fleet: "x".repeat(240) }, "at most 255 fit"],
  [{ shards: 4, shard: 4 }, "Fleet has no option 'shard'. Was 'shards' meant?"],
  [{ shards: 4, store: {} }, "store is not a LeaseStore"],
] as Array<[Partial<FleetOptions>, string]>)("refuses %o before any request", ([options, message]) => {
  expect(() => new Fleet({ store, fleet: "orders", ...options })).toThrow(message);
});

test.for(["AWS_LAMBDA_FUNCTION_NAME", "FUNCTIONS_WORKER_RUNTIME", "FUNCTION_TARGET"])(
  "refuses to be a member in a function, by the variable %s",
  (name) => {
    vi.stubEnv(name, "node");
    expect(() => new Fleet({ store, fleet: "orders", shards: 4 })).toThrow(
      `Functions have no fleet, and this process seems to be one (${name} is set)`,
    );
    vi.unstubAllEnvs();
  },
);

test("refuses a store that cannot keep a fleet", () => {
  const other = { name: "voting", acquire: () => undefined, capabilities: { ...store.capabilities, fleet: undefined } };
  const refused = { store: other as unknown as LeaseStore, fleet: "orders", shards: 4 };
  expect(() => new Fleet(refused)).toThrow("voting cannot keep a fleet");
});

test("refuses the occurrences of a schedule, because a store deletes their records after a time", () => {
  const occurrences = store.occurrences("nightly");
  expect(() => new Fleet({ store: occurrences, fleet: "orders", shards: 4 })).toThrow("Give the fleet the store itself");
});

test("refuses fences on a store that has none, and leaves them out by default", () => {
  expect(() => new Fleet({ store, fleet: "orders", shards: 4, fenced: true })).toThrow("memory has no atomic fence");
  expect(new Fleet({ store, fleet: "orders", shards: 4 }).fleet).toBe("orders");
});

test("a reader refuses bad input before any request", async () => {
  await expect(readFleet(store, "a/b")).rejects.toThrow("has a slash");
});

test("run refuses a task that is no function, and a signal that has aborted", async () => {
  const fleet = new Fleet({ store, fleet: "orders", shards: 4 });
  await expect(fleet.run(undefined as never)).rejects.toThrow("needs a task");
  await expect(fleet.run(() => undefined, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ALREADY_ABORTED" });
  expect(() => fleet.on("started" as never, () => undefined)).toThrow("Fleet has no event 'started'");
});

import { Elector, MemoryLeaseStore, type LeaseSnapshot, type LeaseStore } from "@leasehold/core";
import type { CheckOptions, CheckReport } from "@leasehold/core/provider";
import { acquiring } from "@leasehold/test-kit/acquisitions";
import { expect, test, vi } from "vitest";
import { StoreShare } from "../src/election/store-share.ts";
import { Journal } from "../src/reporting/journal.ts";
import { Lines } from "./lines.ts";

const WARNING = "fsync is off: set it to on.";

/** Returns a store whose service has such a setting. */
function storeWith(inspect: NonNullable<LeaseStore["inspect"]>): LeaseStore {
  return Object.assign(new MemoryLeaseStore(), { inspect });
}

test("a setting of the store causes one warning, for any number of campaigns", async () => {
  const inspect = vi.fn<NonNullable<LeaseStore["inspect"]>>(async () => [WARNING]);
  const store = storeWith(inspect);
  const logger = new Lines();
  for (const election of ["a", "b"]) {
    await using leadership = await new Elector({ store, election, logger }).campaign();
    expect(leadership.isValid()).toBe(true);
  }
  expect(logger.warnings).toEqual([`The memory store: ${WARNING}`]);
  expect(inspect).toHaveBeenCalledTimes(1);
});

test("no leadership waits for a store that does not return its settings", async () => {
  const store = storeWith(async () => await new Promise<never>(() => undefined));
  await using leadership = await new Elector({ store, election: "a", logger: false }).campaign();
  expect(leadership.isValid()).toBe(true);
});

/** A candidate's own store, on the leases of another one. */
class Standby extends MemoryLeaseStore {
  readonly checks: CheckOptions[] = [];
  readonly #leases = new MemoryLeaseStore();

  override async read(election: string): Promise<LeaseSnapshot | undefined> {
    const outcome = await this.#leases.acquire(acquiring({ election }));
    return outcome.acquired ? await this.#leases.read(election) : outcome.current;
  }

  override async check(options: CheckOptions): Promise<CheckReport> {
    this.checks.push(options);
    return await Promise.resolve({ readMs: 1, writeMs: 1 });
  }
}

test("a standby proves its right to write, whatever the settings of the service are", async () => {
  const store = new Standby();
  const stop = new AbortController();
  const campaigning = new Elector({ store, election: "a", logger: false }).campaign({ signal: stop.signal });
  await expect.poll(() => store.checks).toMatchObject([{ election: "a", settings: false }]);
  stop.abort();
  await expect(campaigning).rejects.toThrow("aborted");
});

test("a store that fails to return its settings is inspected again by the next campaign", async () => {
  const inspect = vi.fn<NonNullable<LeaseStore["inspect"]>>(async () => [WARNING]);
  inspect.mockRejectedValueOnce(new Error("no answer"));
  const store = storeWith(inspect);
  const logger = new Lines();
  const journal = Journal.to(logger);
  await StoreShare.of(store).reportSettings("a", journal);
  expect(logger.warnings).toEqual([]);
  await StoreShare.of(store).reportSettings("a", journal);
  await StoreShare.of(store).reportSettings("a", journal);
  expect(logger.warnings).toHaveLength(1);
});

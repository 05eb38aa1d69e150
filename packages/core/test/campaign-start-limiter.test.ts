import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { expect, test } from "vitest";
import { MemoryRecordStore } from "../src/records/memory-lease-store.ts";
import { RecordLeaseStore } from "../src/records/record-lease-store.ts";
import type { LeaseRecord, PutOptions, RecordStore } from "../src/records/record-store.ts";
import { Elector } from "../src/election/elector.ts";
import { CampaignStartLimiter } from "../src/election/campaign-start-limiter.ts";
import { VirtualClock } from "../src/testing/virtual-clock.ts";

/** The time for which a request occupies the service, or the SDK in this process. */
const REQUEST_MS = 2;
const ELECTIONS = 1_000;

/** A service that carries out one request after another. */
class SerialRecordStore implements RecordStore {
  readonly name = "serial";
  readonly capabilities;
  sent = 0;
  readonly #clock: VirtualClock;
  readonly #records: MemoryRecordStore;
  #busyUntilMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#records = new MemoryRecordStore(clock);
    this.capabilities = this.#records.capabilities;
  }

  async get(election: string) {
    await this.#served();
    return await this.#records.get(election);
  }

  async put(election: string, record: LeaseRecord, options: PutOptions) {
    await this.#served();
    return await this.#records.put(election, record, options);
  }

  async #served(): Promise<void> {
    this.sent += 1;
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#clock.monotonicMs()) + REQUEST_MS;
    const inMs = this.#busyUntilMs - this.#clock.monotonicMs();
    await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, inMs));
  }
}

test("a thousand elections that begin at once on a slow store all lead by their first requests", async () => {
  const clock = new VirtualClock(1);
  const records = new SerialRecordStore(clock);
  const store = new RecordLeaseStore(records, { clock });
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let leaders = 0;
  const runs = Array.from({ length: ELECTIONS }, (_, at) => {
    // One after another, the requests take four seconds. Each one may take 1.7 s.
    const elector = new Elector({ store, election: `election-${at}`, clock, leaseDurationMs: 15_000, logger: false });
    elector.on("startedLeading", () => (leaders += 1));
    elector.on("storeFailed", ({ error }) => failures.push(error));
    return elector.run(untilAborted, { signal: stopping.signal });
  });
  await clock.advance(ELECTIONS * 2 * REQUEST_MS);
  expect(failures).toEqual([]);
  expect(leaders).toBe(ELECTIONS);
  expect(records.sent).toBe(ELECTIONS * 2);
  stopping.abort();
  await clock.runUntil(Promise.all(runs));
});

test("a campaign that waits to begin stops at once, and keeps no slot", async () => {
  const starts = new CampaignStartLimiter();
  const { signal } = new AbortController();
  const firsts = Array.from({ length: 50 }, () => Promise.withResolvers<string>());
  const begun = firsts.map(({ promise }) => starts.take(() => promise, signal));
  const giving = new AbortController();
  const order: string[] = [];
  const given = starts.take(() => Promise.resolve(order.push("given up")), giving.signal);
  const next = starts.take(() => Promise.resolve(order.push("next")), signal);
  const last = starts.take(() => Promise.resolve(order.push("last")), signal);
  const reason = new Error("not needed any more");
  giving.abort(reason);
  await expect(given).rejects.toBe(reason);
  expect(order).toEqual([]);
  firsts[0]!.reject(new Error("failed"));
  await expect(begun[0]).rejects.toThrow("failed");
  await Promise.all([next, last]);
  expect(order).toEqual(["next", "last"]);
  for (const { resolve } of firsts) resolve("");
  await Promise.all(begun.slice(1));

  const later = firsts.map(() => starts.take(() => Promise.resolve(order.push("later")), signal));
  expect(order.filter((one) => one === "later")).toHaveLength(50);
  await Promise.all(later);
});

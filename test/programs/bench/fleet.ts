import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { LeaseStore } from "@leasehold/core";
import { Fleet } from "@leasehold/fleet";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { containerOn } from "@leasehold/test-kit/simulated/azure-http";
import { AzureService } from "@leasehold/test-kit/simulated/azure-service";
import { moves } from "./fleet-moves.ts";
import { heapAfterGc } from "./heap.ts";
import { RequestCounter } from "./request-counter.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

/** After so long all shards are held, and no more of them move. */
const SETTLE_MS = 300_000;
const RENEW_INTERVAL_MS = 10_000;
const INTERVALS = 12;
/** The goal for the heap of one shard, in bytes. */
const SHARD_BYTES = 2_048;

export const fleet: Section = {
  name: "fleet",
  about: "what a fleet asks of the store in the calm, the memory of a shard, and moves beside the rules of KCL 2, virtual",
  meaning:
    "A member renews its session and polls the head, and one of them renews the head and lists the members: 2 M + 1 requests in " +
    "each renew interval. Some polls miss their aim. The number of shards costs no request. Moves: 10 members, 100 shards, a " +
    "lease of 10 s, tasks that end within 0.5 s; KCL's rules are played by a simulation of ours. A task that a kill ends counts " +
    "as missing at once.",
  takesS: 120,
  async measure() {
    const results: Result[] = [];
    for (const members of [3, 10, 100]) {
      for (const shards of [10, 1_000, 8_000]) results.push(await requests(members, shards));
    }
    for (const members of [3, 10]) results.push(await requests(members, 10, "azure-blob"));
    results.push(await memory(), ...(await moves()));
    return results;
  },
};

/** How each process of a virtual clock opens its store. */
const STORES = {
  memory(clock: VirtualClock): () => LeaseStore {
    const records = new MemoryRecordStore(clock);
    return () => new RecordLeaseStore(records, { clock });
  },
  "azure-blob"(clock: VirtualClock): () => LeaseStore {
    const service = new AzureService(() => clock.wallMs());
    const container = containerOn((request) => service.answer(request));
    return () => new BlobLeaseStore({ container, clock, createContainer: true });
  },
};

async function requests(members: number, shards: number, store: keyof typeof STORES = "memory"): Promise<Result> {
  await using world = new Calm(members, shards, store);
  await world.clock.advance(SETTLE_MS);
  if (world.held() !== shards) throw new Error(`${world.held()} of ${shards} shards are held.`);
  const each: number[] = [];
  for (let interval = 0; interval < INTERVALS; interval += 1) {
    using counter = new RequestCounter();
    await world.clock.advance(RENEW_INTERVAL_MS);
    each.push(counter.of(store) / members);
  }
  const place = store === "memory" ? "" : " on Azure blobs";
  return { measure: `${members} members, ${shards} shards${place}`, unit: "requests a member and interval", ...summarize(each) };
}

async function memory(): Promise<Result> {
  await using few = new Calm(1, 1);
  await using many = new Calm(1, 1_001);
  const sizes: number[] = [];
  for (const world of [few, many]) {
    const before = await heapAfterGc();
    await world.clock.advance(SETTLE_MS);
    sizes.push((await heapAfterGc()) - before);
  }
  const [small = 0, large = 0] = sizes;
  return { measure: "a shard of a member with 1,000", unit: "bytes", goal: SHARD_BYTES, ...summarize([(large - small) / 1_000]) };
}

/** A fleet in virtual time. Its tasks wait for their signals. */
class Calm implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly #fleets: readonly Fleet[];
  readonly #running: ReadonlyArray<Promise<void>>;

  constructor(members: number, shards: number, on: keyof typeof STORES = "memory") {
    this.clock = new VirtualClock(members);
    const open = STORES[on](this.clock);
    this.#fleets = Array.from({ length: members }, (_, index) => {
      return new Fleet({ store: open(), fleet: "f", shards, memberId: `m${index}`, logger: false });
    });
    this.#running = this.#fleets.map((one) =>
      one.run(({ signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))),
    );
  }

  held(): number {
    return this.#fleets.reduce((sum, one) => sum + one.shards.length, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#fleets) void one.stop();
    await this.clock.runUntil(Promise.all(this.#running));
  }
}

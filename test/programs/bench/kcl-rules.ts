// The rules by which workers of the Kinesis Client Library 2 take leases, written from its documents and issues. No code of it runs.

import { sleep } from "@leasehold/core/provider";
import type { VirtualClock } from "@leasehold/core/testing";
import type { Workers } from "./fleet-moves.ts";

/** Its log line: "With failover time 10000 ms … will renew leases every 3308 ms, takeleases every 20050 ms" (kcl#474). */
const FAILOVER_MS = 10_000;
const RENEW_MS = 3_308;
const TAKE_MS = 20_050;

interface Lease {
  owner?: string;
  /** Rises with each write. A worker takes a lease for expired if it has seen no rise for the failover time. */
  counter: number;
}

export class KclWorkers implements Workers {
  readonly tasks = new Map<string, Set<string>>();
  readonly present = new Set<string>();
  readonly #clock: VirtualClock;
  readonly #leases: ReadonlyMap<string, Lease>;
  readonly #drainMs: number;
  /** The most leases that a worker takes at a time from another one that is alive: 1 by default; "greedy" without a limit. */
  readonly #mostSteals: number;
  readonly #alive = new Map<string, AbortController>();

  constructor(clock: VirtualClock, shards: number, drainMs: number, mostSteals: number) {
    this.#clock = clock;
    this.#leases = new Map(Array.from({ length: shards }, (_, index) => [String(index), { counter: 0 }]));
    this.#drainMs = drainMs;
    this.#mostSteals = mostSteals;
  }

  join(name: string): void {
    this.present.add(name);
    const gone = new AbortController();
    this.#alive.set(name, gone);
    const forever = async (everyMs: number, act: () => void): Promise<void> => {
      await sleep(this.#clock, this.#clock.random() * everyMs, gone.signal);
      for (;;) {
        act();
        await sleep(this.#clock, everyMs, gone.signal);
      }
    };
    const seen = new Map<string, { counter: number; sinceMs: number }>();
    void forever(TAKE_MS, () => this.#take(name, seen)).catch(() => undefined);
    void forever(RENEW_MS, () => this.#renew(name)).catch(() => undefined);
  }

  /** A worker that stops ends its tasks. Its leases stay owned until they expire (kcl#845). */
  stop(name: string): void {
    this.present.delete(name);
    this.#alive.get(name)?.abort();
    for (const shard of this.#leases.keys()) this.#end(name, shard);
  }

  kill(name: string): void {
    this.present.delete(name);
    this.#alive.get(name)?.abort();
    for (const running of this.tasks.values()) running.delete(name);
  }

  #renew(name: string): void {
    for (const [shard, lease] of this.#leases) {
      if (lease.owner === name) lease.counter += 1;
      // It learns here that another worker has taken the lease.
      else this.#end(name, shard);
    }
  }

  #take(name: string, seen: Map<string, { counter: number; sinceMs: number }>): void {
    const nowMs = this.#clock.monotonicMs();
    const expired: string[] = [];
    const loads = new Map<string, string[]>([[name, []]]);
    for (const [shard, { owner, counter }] of this.#leases) {
      const before = seen.get(shard);
      if (before?.counter !== counter) seen.set(shard, { counter, sinceMs: nowMs });
      const sinceMs = seen.get(shard)?.sinceMs ?? nowMs;
      if (owner === undefined || nowMs - sinceMs >= FAILOVER_MS) expired.push(shard);
      else loads.set(owner, [...(loads.get(owner) ?? []), shard]);
    }
    const target = Math.ceil(this.#leases.size / loads.size);
    const needed = target - (loads.get(name)?.length ?? 0);
    if (needed <= 0) return;
    const taken =
      expired.length > 0 ? this.#shuffled(expired).slice(0, needed) : this.#stolen([...loads.values()], needed, target);
    for (const shard of taken) {
      const lease = this.#leases.get(shard) as Lease;
      lease.owner = name;
      lease.counter += 1;
      this.tasks.set(shard, (this.tasks.get(shard) ?? new Set()).add(name));
    }
  }

  /** From the worker that has most. */
  #stolen(loads: readonly string[][], needed: number, target: number): readonly string[] {
    const [most = []] = loads.toSorted((a, b) => b.length - a.length);
    const beyond = Math.min(needed, most.length - target);
    const count = beyond === 0 && needed > 1 ? 1 : Math.max(beyond, 0);
    return this.#shuffled(most).slice(0, Math.min(count, this.#mostSteals));
  }

  #shuffled(shards: readonly string[]): readonly string[] {
    return shards
      .map((shard) => ({ shard, at: this.#clock.random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ shard }) => shard);
  }

  #end(name: string, shard: string): void {
    if (!this.tasks.get(shard)?.has(name)) return;
    this.#clock.setTimer(() => {
      if (this.#leases.get(shard)?.owner !== name || this.#alive.get(name)?.signal.aborted) this.tasks.get(shard)?.delete(name);
    }, this.#drainMs);
  }
}

import { randomUUID } from "node:crypto";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { Elector } from "@leasehold/core";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import type { FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

/** A candidate in this process, with its own store and its own connection to Azurite. */
export interface AzuriteCandidate {
  readonly proxy: FaultProxy;
  /** Resolves when it starts to lead, with the time of `performance.now()`. */
  readonly leads: Promise<number>;
}

/** An election on Azurite in real time. Its candidates share only the service. */
export class AzuriteElection implements AsyncDisposable {
  readonly #url: string;
  readonly #name = `bench-${randomUUID()}`;
  readonly #leaseMs: number;
  readonly #stopping = new AbortController();
  readonly #runs: Array<Promise<void>> = [];
  readonly #proxies: FaultProxy[] = [];

  constructor(url: string, leaseMs: number) {
    this.#url = url;
    this.#leaseMs = leaseMs;
  }

  async campaign(): Promise<AzuriteCandidate> {
    const proxy = await startFaultProxy(this.#url);
    this.#proxies.push(proxy);
    const store = new BlobLeaseStore({ container: containerClient(proxy.url, this.#name), createContainer: true });
    const elector = new Elector({ store, election: this.#name, leaseDurationMs: this.#leaseMs });
    const leads = Promise.withResolvers<number>();
    elector.on("startedLeading", () => leads.resolve(performance.now()));
    this.#runs.push(elector.run(untilAborted, { signal: this.#stopping.signal }));
    return { proxy, leads: leads.promise };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#runs);
    await Promise.all(this.#proxies.map(async (proxy) => proxy.stop()));
  }
}

import { randomUUID } from "node:crypto";
import { Elector } from "@leasehold/core";
import { EtcdLeaseStore } from "@leasehold/etcd";
import type { Etcd } from "@leasehold/test-kit/backends/etcd";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { Etcd3, type Campaign, type Lease } from "etcd3";

/** Ours, and npm's. */
export type Library = "leasehold" | "etcd3";
export const LIBRARIES: readonly Library[] = ["leasehold", "etcd3"];

/** A candidate in this process. */
export interface QueuedCandidate {
  readonly proxy: TcpFaultProxy;
  /** Resolves with the instant by `performance.now()` when it starts to lead. */
  readonly leads: Promise<number>;
  /** When it last heard that its lease was kept alive, by the same clock. */
  keptAliveMs: number;
  /** Gives up its term or its place. */
  stop(): Promise<unknown>;
}

/** An election on etcd among candidates of one library, each with connections of its own, or a crowd that shares them. */
export class QueuedElection implements AsyncDisposable {
  readonly #etcd: Etcd;
  readonly #library: Library;
  readonly #name = `bench-${randomUUID()}`;
  readonly #leaseMs: number;
  readonly #isCrowd: boolean;
  readonly #end = new AsyncDisposableStack();
  #connections: Connections | undefined;

  constructor(etcd: Etcd, library: Library, leaseMs: number, { isCrowd = false }: { readonly isCrowd?: boolean } = {}) {
    this.#etcd = etcd;
    this.#library = library;
    this.#leaseMs = leaseMs;
    this.#isCrowd = isCrowd;
  }

  async campaign(): Promise<QueuedCandidate> {
    if (!this.#isCrowd) this.#connections = undefined;
    this.#connections ??= await this.#connect();
    return this.#library === "leasehold" ? this.#ours(this.#connections) : this.#theirs(this.#connections);
  }

  async #connect(): Promise<Connections> {
    const proxy = this.#end.use(await startTcpFaultProxy(this.#etcd.port));
    const client = this.#library === "etcd3" ? new Etcd3({ hosts: proxy.host }) : undefined;
    // One that is cut off would wait for ever for the answer to its resignation.
    this.#end.defer(() => client?.close());
    return { proxy, client, store: new EtcdLeaseStore({ endpoints: `http://${proxy.host}` }) };
  }

  #ours({ proxy, store }: Connections): QueuedCandidate {
    const leads = Promise.withResolvers<number>();
    const elector = new Elector({ store, election: this.#name, leaseDurationMs: this.#leaseMs, logger: false });
    const run = elector.run(untilAborted);
    const stop = async (): Promise<void> => {
      await elector.stop();
      await run;
    };
    this.#end.defer(stop);
    const candidate = { proxy, leads: leads.promise, keptAliveMs: performance.now(), stop };
    elector.on("startedLeading", () => leads.resolve((candidate.keptAliveMs = performance.now())));
    elector.on("renewed", () => (candidate.keptAliveMs = performance.now()));
    return candidate;
  }

  #theirs({ proxy, client }: Connections): QueuedCandidate {
    const leads = Promise.withResolvers<number>();
    const campaign = client!.election(this.#name, this.#leaseMs / 1_000).campaign(randomUUID());
    const stop = async (): Promise<void> => campaign.resign();
    const candidate = { proxy, leads: leads.promise, keptAliveMs: performance.now(), stop };
    campaign.on("elected", () => leads.resolve(performance.now()));
    // Of one that is cut off, and unheard would end this process.
    campaign.on("error", () => undefined);
    const lease = leaseOf(campaign);
    lease.on("keepaliveSucceeded", () => (candidate.keptAliveMs = performance.now()));
    // Else its timer keeps this process.
    this.#end.defer(() => lease.release());
    return candidate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end.disposeAsync();
  }
}

interface Connections {
  readonly proxy: TcpFaultProxy;
  readonly store: EtcdLeaseStore;
  readonly client: Etcd3 | undefined;
}

/** It shows its lease to nobody. */
function leaseOf(campaign: Campaign): Lease {
  return Reflect.get(campaign, "lease") as Lease;
}

import { ProcessClock, promptNetwork, SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { EtcdLeaseStore, type EtcdLeaseStoreOptions, type Json } from "@leasehold/etcd";
import type { StoredKey } from "@leasehold/test-kit/simulated/etcd-keys";
import { EtcdService } from "@leasehold/test-kit/simulated/etcd-service";
import { SimulatedTransport, type WatchStream } from "@leasehold/test-kit/simulated/etcd-transport";
import { Wire } from "./wire.ts";

/** An etcd on a virtual clock, which all its processes share. A request and its reply take no time. */
export class VirtualEtcd {
  readonly clock: VirtualClock = new VirtualClock();
  readonly service: EtcdService = new EtcdService(this.clock, 1, new SeededRandom(1));
  readonly #streams = new Set<WatchStream>();

  constructor() {
    this.service.onChanged = (events) => {
      for (const stream of this.#streams) stream.push(events);
    };
  }

  /** Returns the store of one more process, and its transport to etcd. */
  connect(options: EtcdLeaseStoreOptions = {}): { readonly store: EtcdLeaseStore; readonly wire: Wire } {
    const { clock, service } = this;
    const way = new SimulatedTransport({
      world: clock,
      service,
      process: new ProcessClock(clock),
      network: promptNetwork(0),
      answer: (path, body, member) => service.answer(path, body, member),
      streams: this.#streams,
      broken: () => new Error("the connection broke"),
    });
    const wire = new Wire(way);
    return { store: new EtcdLeaseStore({ transport: wire, clock, ...options }), wire };
  }

  /** Lets time pass until the work settles. */
  async run<T>(work: Promise<T>): Promise<T> {
    return await this.clock.runUntil(work, 60_000);
  }

  /** Returns the keys that begin with a prefix, by age, without that prefix. */
  under(prefix: string): readonly string[] {
    return this.service.keys.under(prefix).map(({ key }) => key.slice(prefix.length));
  }

  /** Returns the JSON value of a key. */
  json(key: string): unknown {
    const found = this.key(key);
    return found && JSON.parse(found.value);
  }

  key(key: string): StoredKey | undefined {
    return this.service.keys.get(key);
  }
}

/** Returns a list to which the path of each answered request is added. The transport behaves as before. */
export function answered(wire: Wire): readonly string[] {
  const paths: string[] = [];
  const { onCall } = wire;
  wire.onCall = async (path, body, send, options) => {
    const reply = await onCall(path, body, send, options);
    paths.push(path);
    return reply;
  };
  return paths;
}

/** Reports whether a transaction writes. */
export function writes({ success = [] }: Json): boolean {
  return (success as readonly Json[]).some((operation) => !("request_range" in operation));
}

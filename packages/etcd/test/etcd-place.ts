import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { EtcdLeaseStore, type EtcdTransport } from "@leasehold/etcd";
import { etcdctl, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { HttpFaults } from "@leasehold/test-kit/conformance/http-faults";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { etcd as testStore } from "@leasehold/test-kit/stores/etcd";
import { HttpTransport } from "../src/http-transport.ts";
import { startMovedEtcd, type MovedEtcd } from "./moved-etcd.ts";

/** The network of the processes whose network can fail. */
interface Network {
  readonly proxy: FaultProxy;
  readonly faults: HttpFaults;
}

/** A place with its own prefix in etcd, and leases that end by its own clock. */
export class EtcdPlace implements TestEnvironment {
  readonly #etcd: Etcd;
  readonly #moved: MovedEtcd;
  readonly #time: MovedTime;
  readonly #prefix: string;
  #network: Network | undefined;

  private constructor(etcd: Etcd, moved: MovedEtcd, prefix: string) {
    this.#etcd = etcd;
    this.#moved = moved;
    this.#time = new MovedTime(moved);
    this.#prefix = prefix;
  }

  static async open(etcd: Etcd, prefix: string): Promise<EtcdPlace> {
    return new EtcdPlace(etcd, await startMovedEtcd(etcd.url), prefix);
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  connect(): Promise<EtcdLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<EtcdLeaseStore> {
    return Promise.resolve(this.#store(this.#moved.url, clock));
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const network = this.#network ?? (await this.#openNetwork());
    this.#network = network;
    const { proxy, faults } = network;
    return { store: this.#store(proxy.url, this.clock, () => faults.farthest), faults };
  }

  async guard(): Promise<GuardedText> {
    return guardedText(await testStore.open({ store: "etcd", url: this.#etcd.url, prefix: this.#prefix }));
  }

  /** Writes a key that is no candidate's. A candidate of a later version, or one in Go, would still be a candidate. */
  async writeRaw(election: string): Promise<void> {
    await etcdctl(this.#etcd, ["put", this.#foreign(election), "do not touch"]);
  }

  async readRaw(election: string): Promise<unknown> {
    const found = await etcdctl(this.#etcd, ["get", "--write-out=json", this.#foreign(election)]);
    return (JSON.parse(found) as { readonly kvs?: unknown }).kvs;
  }

  async remove(election: string): Promise<void> {
    await etcdctl(this.#etcd, ["del", "--prefix", `${this.#prefix}${election}/`]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await this.#network?.proxy.stop();
    await this.#moved[Symbol.asyncDispose]();
  }

  async #openNetwork(): Promise<Network> {
    const proxy = await startEtcdProxy(this.#moved.url);
    return { proxy, faults: new HttpFaults(proxy) };
  }

  #foreign(election: string): string {
    return `${this.#prefix}${election}/theirs`;
  }

  /** Returns a store whose keep-alives and watches use timers of their own, so that `pass` waits for its requests only. */
  #store(url: string, clock: Clock, farthest: () => Promise<unknown> | undefined = () => undefined): EtcdLeaseStore {
    const way = new HttpTransport([new URL(url)], undefined);
    const transport: EtcdTransport = {
      call: async (path, body, options) => {
        const settled = this.#time.awaiting(farthest());
        return await way.call(path, body, options).finally(settled);
      },
      watch: (requests, options) => way.watch(requests, options),
    };
    return new EtcdLeaseStore({ transport, prefix: this.#prefix, clock });
  }
}

/** Starts a proxy in front of etcd's gateway, which names each request by its path. */
export async function startEtcdProxy(url: string): Promise<FaultProxy> {
  return await startFaultProxy(url, { nameOf: ({ path }) => path, isStream: ({ path }) => path === "/v3/watch" });
}

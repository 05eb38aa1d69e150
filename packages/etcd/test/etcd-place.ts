import { setTimeout as delay } from "node:timers/promises";
import type { GuardedText, Place, UnreliableConnection } from "@leasehold/conformance";
import { systemClock, type Clock } from "@leasehold/core";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { etcdctl, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { HttpFaults } from "@leasehold/test-kit/conformance/http-faults";
import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { etcd as testStore } from "@leasehold/test-kit/stores/etcd";

/** A prefix of its own in etcd, in real time. */
export class EtcdPlace implements Place {
  readonly #etcd: Etcd;
  readonly #prefix: string;
  #proxy: FaultProxy | undefined;

  constructor(etcd: Etcd, prefix: string) {
    this.#etcd = etcd;
    this.#prefix = prefix;
  }

  connect(): Promise<EtcdLeaseStore> {
    return this.connectWith(systemClock);
  }

  connectWith(clock: Clock): Promise<EtcdLeaseStore> {
    return Promise.resolve(this.#store(this.#etcd.url, clock));
  }

  async pass(ms: number): Promise<void> {
    await delay(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    this.#proxy ??= await startEtcdProxy(this.#etcd.url);
    return { store: this.#store(this.#proxy.url, systemClock), faults: new HttpFaults(this.#proxy) };
  }

  async guard(): Promise<GuardedText> {
    return guardedText(await testStore.open({ store: "etcd", url: this.#etcd.url, prefix: this.#prefix }));
  }

  /** A key that is no candidate's. A candidate of a later version is one all the same, as those in Go are. */
  async plant(election: string): Promise<void> {
    await etcdctl(this.#etcd, ["put", this.#foreign(election), "do not touch"]);
  }

  async dig(election: string): Promise<unknown> {
    const found = await etcdctl(this.#etcd, ["get", "--write-out=json", this.#foreign(election)]);
    return (JSON.parse(found) as { readonly kvs?: unknown }).kvs;
  }

  async remove(election: string): Promise<void> {
    await etcdctl(this.#etcd, ["del", "--prefix", `${this.#prefix}${election}/`]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy?.stop();
  }

  #foreign(election: string): string {
    return `${this.#prefix}${election}/theirs`;
  }

  #store(url: string, clock: Clock): EtcdLeaseStore {
    return new EtcdLeaseStore({ endpoints: url, prefix: this.#prefix, clock });
  }
}

/** A proxy in front of etcd's gateway, which names each request by its path. */
export async function startEtcdProxy(url: string): Promise<FaultProxy> {
  return await startFaultProxy(url, { nameOf: ({ path }) => path, isStream: ({ path }) => path === "/v3/watch" });
}

import type { TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { startKubernetes, type KubernetesServer } from "@leasehold/test-kit/backends/kubernetes";
import { HttpFaults } from "@leasehold/test-kit/conformance/http-faults";
import { MovedTime, type StoreOptions } from "@leasehold/test-kit/conformance/moved-time";
import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { ANNOTATION } from "../src/lease-object.ts";

/** A longer timer is that of a watch, and not the time limit of a request. */
const LONGEST_REQUEST_MS = 200_000;

/** An API server of its own. It has no clock that matters, so only the clocks of the stores are moved. */
export class KubernetesPlace implements TestEnvironment {
  readonly #server: KubernetesServer;
  readonly #proxy: FaultProxy;
  readonly #faults: HttpFaults;
  readonly #time = new MovedTime({ advance: () => Promise.resolve() });

  private constructor(server: KubernetesServer, proxy: FaultProxy) {
    this.#server = server;
    this.#proxy = proxy;
    this.#faults = new HttpFaults(proxy);
  }

  static async open(): Promise<KubernetesPlace> {
    const server = await startKubernetes();
    const isStream = ({ query }: { readonly query: URLSearchParams }): boolean => query.has("watch");
    return new KubernetesPlace(server, await startFaultProxy(server.url, { nameOf: ({ path }) => path, isStream }));
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  connect(): Promise<KubernetesLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<KubernetesLeaseStore> {
    return Promise.resolve(this.#store(this.#server.url, { clock }));
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    const store = this.#store(this.#proxy.url, { farthest: () => this.#faults.farthest });
    return Promise.resolve({ store, faults: this.#faults });
  }

  writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const annotation = what === "foreign" ? "do not touch" : JSON.stringify({ of: ["", 0, null, null], record: { schema: 2 } });
    const metadata = {
      name: election,
      namespace: "",
      uid: "theirs",
      resourceVersion: "",
      annotations: { [ANNOTATION]: annotation },
    };
    this.#server.api.overwrite(election, { metadata });
    return Promise.resolve();
  }

  readRaw(election: string): Promise<unknown> {
    return Promise.resolve(structuredClone(this.#server.api.lease(election)));
  }

  remove(election: string): Promise<void> {
    this.#server.api.remove(election);
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await this.#proxy.stop();
    await this.#server[Symbol.asyncDispose]();
  }

  #store(url: string, options: StoreOptions): KubernetesLeaseStore {
    const make = (clock: Clock): KubernetesLeaseStore => {
      const setTimer: Clock["setTimer"] = (callback, ms) =>
        (ms > LONGEST_REQUEST_MS ? (options.clock ?? this.clock) : clock).setTimer(callback, ms);
      return new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(url), clock: { ...clock, setTimer } });
    };
    return this.#time.store(make, options);
  }
}

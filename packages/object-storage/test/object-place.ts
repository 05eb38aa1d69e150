import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { HttpFaults } from "@leasehold/test-kit/conformance/http-faults";
import { MovedTime, type StoreOptions } from "@leasehold/test-kit/conformance/moved-time";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { ObjectBucket } from "@leasehold/test-kit/object-server/object-bucket";
import { BUCKET, startObjectServer, type ObjectServer, type Protocol } from "@leasehold/test-kit/object-server/server";
import { documentBeside, objectClient } from "@leasehold/test-kit/stores/objects";

/** A server whose clock can be moved, and a proxy in front of it. */
export class MovedObjects implements AsyncDisposable {
  readonly protocol: Protocol;
  readonly server: ObjectServer;
  readonly proxy: FaultProxy;
  readonly #time: { offsetMs: number };

  private constructor(protocol: Protocol, server: ObjectServer, proxy: FaultProxy, time: { offsetMs: number }) {
    this.protocol = protocol;
    this.server = server;
    this.proxy = proxy;
    this.#time = time;
  }

  static async start(protocol: Protocol): Promise<MovedObjects> {
    const time = { offsetMs: 0 };
    const bucket = new ObjectBucket(BUCKET, () => Date.now() + time.offsetMs);
    const server = await startObjectServer({ protocol, bucket });
    const proxy = await startFaultProxy(server.url, { nameOf: ({ method }) => method });
    return new MovedObjects(protocol, server, proxy, time);
  }

  advance(ms: number): Promise<void> {
    this.#time.offsetMs += ms;
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.stop();
    await this.server[Symbol.asyncDispose]();
  }
}

/** A prefix of its own in a bucket. */
export class ObjectPlace implements TestEnvironment {
  readonly #objects: MovedObjects;
  readonly #prefix: string;
  readonly #time: MovedTime;
  readonly #faults: HttpFaults;
  readonly #stores: ObjectStorageLeaseStore[] = [];

  constructor(objects: MovedObjects, prefix: string) {
    this.#objects = objects;
    this.#prefix = prefix;
    this.#time = new MovedTime(objects);
    this.#faults = new HttpFaults(objects.proxy);
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  async connect(): Promise<ObjectStorageLeaseStore> {
    return await this.connectWith(this.clock);
  }

  async connectWith(clock: Clock): Promise<ObjectStorageLeaseStore> {
    return this.#store(this.#objects.server.url, { clock });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const faults = this.#faults;
    const store = this.#store(this.#objects.proxy.url, { farthest: () => faults.farthest });
    // After this the store has proven the conditions.
    await warmUp(store);
    return { store, faults };
  }

  async guard(): Promise<GuardedText> {
    const { url } = this.#objects.server;
    const store = await this.connect();
    return guardedText({
      store,
      document: (name) => documentBeside(store, url, `${this.#prefix}${name}`),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: () => Promise.resolve(),
    });
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const text = what === "foreign" ? "do not touch" : JSON.stringify({ schema: 2, term: 7 });
    this.#objects.server.bucket.put(this.#prefix + election, new TextEncoder().encode(text), {}, undefined);
  }

  async readRaw(election: string): Promise<unknown> {
    return this.#objects.server.bucket.objects.get(this.#prefix + election);
  }

  async remove(election: string): Promise<void> {
    this.#objects.server.bucket.objects.delete(this.#prefix + election);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#objects.proxy.rule = undefined;
    this.#objects.proxy.clear();
    this.#time.stop();
    for (const store of this.#stores) await store.close();
  }

  #store(url: string, options: StoreOptions): ObjectStorageLeaseStore {
    const client = objectClient(this.#objects.protocol, url);
    const make = (clock: Clock): ObjectStorageLeaseStore =>
      new ObjectStorageLeaseStore({ client, bucket: BUCKET, prefix: this.#prefix, clock });
    const store = this.#time.store(make, options);
    this.#stores.push(store);
    return store;
  }
}

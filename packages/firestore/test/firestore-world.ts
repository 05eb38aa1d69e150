import { Firestore } from "@google-cloud/firestore";
import { Elector, type ElectorOptions } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { FirestoreLeaseStore, type FirestoreLeaseStoreOptions } from "@leasehold/firestore";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import {
  startFirestoreServer,
  type Fault,
  type FirestoreServer,
  type Intercept,
  type InterceptedCall,
} from "@leasehold/test-kit/firestore-server";
import { expect } from "vitest";
import { Witness } from "@leasehold/test-kit/witness";

/** The paths of the election's documents. */
export const LEASE_PATH = `leasehold/${ELECTION}`;
export const FENCE_PATH = `${LEASE_PATH}/fence/current`;

type Field = Readonly<Record<string, unknown>>;

/** The fields of a Commit that tests use. */
export interface CommitWrites {
  readonly writes: ReadonlyArray<{
    readonly update: { readonly name: string; readonly fields: Readonly<Record<string, Field>> };
    readonly updateMask: { readonly fieldPaths: readonly string[] } | null;
    readonly currentDocument: Readonly<Record<string, unknown>> | null;
  }>;
  readonly transaction: Uint8Array;
}

/**
 * A Firestore in this process, whose clock is the real one, or moves only at the test's command. Each process that uses it has a
 * client and a clock of its own.
 */
export class FirestoreWorld implements AsyncDisposable {
  /** The rule for the requests that arrive. */
  rule: Intercept | undefined;
  /** Every request that has arrived, with the messages of Listen streams. */
  readonly calls: InterceptedCall[] = [];
  readonly witness = new Witness();
  readonly #clients = new Map<Firestore, FirestoreClientSettings>();
  readonly #stopping = new AbortController();
  #server!: FirestoreServer;
  #nowMs: number | undefined = Date.UTC(2026, 0, 1);
  #processes = 0;

  static async start(): Promise<FirestoreWorld> {
    const world = new FirestoreWorld();
    await world.#serve(0);
    return world;
  }

  async #serve(port: number): Promise<void> {
    this.#server = await startFirestoreServer({
      port,
      now: () => this.#nowMs ?? Date.now(),
      databases: ["(default)", "second"],
      intercept: async (call) => {
        this.calls.push(call);
        this.witness.keep(...secretsOf(call));
        return await this.rule?.(call);
      },
    });
  }

  get host(): string {
    return this.#server.url;
  }

  /** Aborts when the test has ended. */
  get ended(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends the server and all of its data, and starts another one in its place. */
  async restart(whileItIsGone: () => Promise<void> = async () => {}): Promise<void> {
    const { port } = this.#server;
    await this.#server.stop();
    await whileItIsGone();
    await this.#serve(port);
  }

  /** Lets the server's clock run as the real one does. */
  letTimeRun(): void {
    this.#nowMs = undefined;
  }

  /** Moves only the server's clock. */
  moveServerClock(ms: number): void {
    this.#nowMs = (this.#nowMs ?? Date.now()) + ms;
  }

  /** Returns a client like the user's. */
  client(settings: FirestoreClientSettings = {}): Firestore {
    const firestore = new Firestore({ projectId: "demo-x", host: this.host, ssl: false, ...settings });
    this.#clients.set(firestore, settings);
    return firestore;
  }

  /** Returns the clock of one more process. It agrees with no other clock. */
  clock(): VirtualClock {
    this.#processes += 1;
    const clock = new VirtualClock(this.#processes);
    clock.freeze(this.#processes * 86_400_000);
    return clock;
  }

  /** Returns the store of one more process. Its requests never time out unless its clock is moved. */
  store(options: Partial<FirestoreLeaseStoreOptions> = {}): FirestoreLeaseStore {
    return new FirestoreLeaseStore({ firestore: this.client(), clock: this.clock(), ...options });
  }

  /** Returns a candidate in a process of its own. */
  candidate(
    candidateId: string,
    options: Partial<ElectorOptions> & { readonly firestore?: Firestore; readonly clock?: Clock } = {},
  ): { readonly elector: Elector; readonly store: FirestoreLeaseStore; readonly firestore: Firestore } {
    const { firestore = this.client(), clock, ...rest } = options;
    const store = new FirestoreLeaseStore({ firestore, clock });
    return { firestore, store, elector: new Elector({ election: ELECTION, candidateId, clock, ...rest, store }) };
  }

  /** Calls `act` with a client for arrangements and checks. No rule applies to it, and its requests do not count. */
  async aside<T>(act: (firestore: Firestore) => Promise<T>): Promise<T> {
    const { rule } = this;
    const before = this.calls.length;
    this.rule = undefined;
    const firestore = this.client();
    try {
      return await act(firestore);
    } finally {
      this.rule = rule;
      this.calls.splice(before);
      await this.disconnect(firestore);
    }
  }

  /** Returns the fields of a document, or undefined. */
  async fieldsAt(path: string): Promise<FirebaseFirestore.DocumentData | undefined> {
    return await this.aside(async (firestore) => (await firestore.doc(path).get()).data());
  }

  async disconnect(firestore: Firestore): Promise<void> {
    this.#clients.delete(firestore);
    await firestore.terminate();
  }

  /** Applies a fault to each request of a method. */
  fault(method: string, fault: Fault): void {
    this.rule = async (call) => (call.method === method ? fault : undefined);
  }

  /** Applies a fault to the next request of a method, and to no later one. */
  faultOnce(method: string, fault: Fault): void {
    let done = false;
    this.rule = async (call) => {
      if (done || call.method !== method) return undefined;
      done = true;
      return fault;
    };
  }

  /** Holds the next request of a method. `letGo` delivers it, and resolves when it has been carried out. */
  holdOnce(method: string): { readonly arrived: Promise<void>; readonly letGo: () => Promise<void> } {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let done = false;
    this.rule = async (call) => {
      if (done || call.method !== method) return;
      done = true;
      arrived.resolve();
      await released.promise;
    };
    return {
      arrived: arrived.promise,
      letGo: async () => {
        released.resolve();
        // The server carries it out in the same turn.
        await new Promise((resolve) => setImmediate(resolve));
      },
    };
  }

  /** Returns the methods of the requests that arrive during `act`. */
  async methodsDuring(act: () => Promise<unknown>): Promise<string[]> {
    const before = this.calls.length;
    await act();
    return this.calls.slice(before).map(({ method }) => method);
  }

  /** The writes of the Commits that have arrived. */
  get commits(): readonly CommitWrites[] {
    return this.calls.filter(({ method }) => method === "Commit").map(({ request }) => request as CommitWrites);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.rule = undefined;
    this.#stopping.abort();
    // A client that still listens cannot be terminated, so each watch must have been ended.
    for (const firestore of this.#clients.keys()) await expect.poll(() => listenersOf(firestore)).toBe(0);
    await Promise.all([...this.#clients.keys()].map((firestore) => firestore.terminate()));
    await this.#server.stop();
    this.witness[Symbol.dispose]();
    this.witness.expectDiscreet();
  }
}

type FirestoreClientSettings = FirebaseFirestore.Settings;

/** Returns how many listeners a client counts. */
export function listenersOf(firestore: Firestore): number {
  return (firestore as unknown as { readonly registeredListenersCount: number }).registeredListenersCount;
}

/** The fields of a lease document that prove its ownership, or that rivals time. */
const SECRET_FIELDS = ["nonce", "termId"];

/** Returns the secrets in a request. */
function secretsOf({ method, request }: InterceptedCall): string[] {
  if (method !== "Commit") return [];
  const { writes } = request as { readonly writes: ReadonlyArray<{ readonly update?: { readonly fields: Fields } }> };
  const secrets = writes.flatMap(({ update }) => SECRET_FIELDS.map((name) => update?.fields[name]?.stringValue));
  return secrets.filter((secret): secret is string => secret !== undefined && secret !== "");
}

type Fields = Readonly<Record<string, { readonly stringValue?: string }>>;

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Firestore } from "@google-cloud/firestore";
import type { TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import { type Clock, RecordLeaseStore, type LeaseRecord } from "@leasehold/core/provider";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { makeTable } from "@leasehold/test-kit/conformance/dynamodb-place";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { UnreliableRecords } from "./unreliable-records.ts";

/** The services that all places share. */
export interface Services {
  /** Moves the clocks of all services. */
  advance(ms: number): Promise<void>;
  readonly folder: string;
  readonly dynamodbUrl: string;
  readonly firestoreHost: string;
}

/** A file, a table and a project of its own, and the time of the services. */
export class QuorumPlace implements TestEnvironment {
  readonly #services: Services;
  readonly #name = randomUUID();
  readonly #time: MovedTime;
  readonly #client: DynamoDBClient;
  readonly #firestore: Firestore;
  readonly #closing: Array<() => Promise<void>> = [];
  #faults: UnreliableRecords | undefined;

  private constructor(services: Services) {
    this.#services = services;
    this.#time = new MovedTime(services);
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    this.#client = new DynamoDBClient({ endpoint: services.dynamodbUrl, region: "eu-central-1", credentials });
    this.#firestore = new Firestore({ projectId: `demo-${this.#name}`, host: services.firestoreHost, ssl: false });
    this.#closing.push(() => this.#firestore.terminate());
  }

  static async open(services: Services): Promise<QuorumPlace> {
    const place = new QuorumPlace(services);
    await makeTable(place.#client, place.#name);
    // A client needs longer to connect, and to load in a new process, than a member has for a request.
    await place.#firestore.doc("warm/up").get();
    return place;
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  connect(): Promise<QuorumLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<QuorumLeaseStore> {
    const store = this.#time.store(
      (storeClock) => new QuorumLeaseStore({ members: this.#members(storeClock), clock: storeClock }),
      { clock },
    );
    return Promise.resolve(store);
  }

  /** Faults affect the connection to the whole quorum. In chaos and in the simulation its members fail. */
  async connectUnreliably(): Promise<UnreliableConnection> {
    this.#faults ??= new UnreliableRecords();
    const faults = this.#faults;
    const { records } = await this.connect();
    const store = this.#time.store((clock) => new RecordLeaseStore(faults.to(records), { clock }), {
      farthest: () => faults.farthest,
    });
    await warmUp(store, `warm-up-${this.#closing.length}`);
    return { store, faults };
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const planted = what === "foreign" ? { schema: 1, term: 7 } : { schema: 5, term: 7 };
    const record = { ...NOBODYS, ...planted } as unknown as LeaseRecord;
    const signal = AbortSignal.timeout(10_000);
    const put = ({ records }: RecordLeaseStore) =>
      records.put(election, record, { ifVersion: undefined, keepsNonce: false, signal });
    await Promise.all(Object.values(this.#members(this.clock)).map(put));
  }

  async readRaw(election: string): Promise<unknown> {
    const options = { consistent: true, signal: AbortSignal.timeout(10_000) };
    const members = Object.values(this.#members(this.clock));
    const kept = await Promise.all(members.map(({ records }) => records.get(election, options)));
    return kept.map((stored) => stored && { data: stored.data, version: stored.version });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    for (const close of this.#closing) await close();
    this.#client.destroy();
  }

  /** The members of one process. */
  #members(clock: Clock): Readonly<Record<string, RecordLeaseStore>> {
    const sqlite = new SqlLeaseStore({ sqlite: join(this.#services.folder, `${this.#name}.db`), clock });
    this.#closing.push(() => sqlite.close());
    return {
      sqlite,
      dynamodb: new DynamoDBLeaseStore({ client: this.#client, tableName: this.#name, clock }),
      firestore: new FirestoreLeaseStore({ firestore: this.#firestore, clock }),
    };
  }
}

/** The data that a store leaves if it uses a member by itself. */
const NOBODYS = { termId: null, candidateId: null, nonce: "theirs", leaseDurationMs: 15_000, renewIntervalMs: 5_000 };

import { setTimeout as delay } from "node:timers/promises";
import type { GuardedText, Place, Subject, UnreliableConnection } from "@leasehold/conformance";
import { systemClock, type Clock } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { afterAll, beforeAll } from "vitest";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { LONG_OUTAGE_MS } from "@leasehold/test-kit/conformance/real-time";
import { runConformance, runConformanceUnless, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { TcpNetwork } from "@leasehold/test-kit/conformance/tcp-network";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";

/** One database of a server, which nobody else uses. */
export interface Database extends AsyncDisposable {
  /** The port that its server listens on. */
  readonly port: number;
  /** A store of it with connections of its own, to the server or to what is in front of it at `port`. */
  store(port: number, clock: Clock): SqlLeaseStore;
  /** What leaders guard in it, once it has been made. */
  documents(): Promise<OpenStore>;
  /** Runs a statement about one table as an administrator; its parameters are question marks. */
  run(sql: string, values: readonly unknown[]): Promise<readonly unknown[]>;
}

/** A database of its own, in real time. */
export class SqlPlace implements Place {
  readonly #database: Database;
  readonly #stores: SqlLeaseStore[] = [];
  #network: TcpNetwork | undefined;
  #guarding: OpenStore | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async connect(): Promise<SqlLeaseStore> {
    return await this.connectWith(systemClock);
  }

  async connectWith(clock: Clock): Promise<SqlLeaseStore> {
    return this.#store(this.#database.port, clock);
  }

  async pass(ms: number): Promise<void> {
    await delay(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const network = this.#network ?? (await TcpNetwork.open(this.#database.port));
    this.#network = network;
    const store = this.#store(network.port, systemClock);
    await warmUp(store);
    return { store, faults: network };
  }

  async guard(): Promise<GuardedText> {
    this.#guarding = await this.#database.documents();
    return guardedText(this.#guarding);
  }

  async plant(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    await this.#database.run(
      "INSERT INTO leasehold_leases (election, version, schema_version, value) VALUES (?, 'theirs', ?, ?)",
      [election, what === "foreign" ? null : 2, Buffer.from("do not touch")],
    );
  }

  async dig(election: string): Promise<unknown> {
    const [lease] = await this.#database.run("SELECT * FROM leasehold_leases WHERE election = ?", [election]);
    const [fence] = await this.#database.run("SELECT * FROM leasehold_fences WHERE election = ?", [election]);
    return lease && { lease, fence };
  }

  async remove(election: string): Promise<void> {
    await this.#database.run("DELETE FROM leasehold_leases WHERE election = ?", [election]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network?.[Symbol.asyncDispose]();
    await this.#guarding?.close();
    for (const store of this.#stores) await store.close();
    await this.#database[Symbol.asyncDispose]();
  }

  #store(port: number, clock: Clock): SqlLeaseStore {
    const store = this.#database.store(port, clock);
    this.#stores.push(store);
    return store;
  }
}

/** A server that the cases run on. */
export interface SqlServer {
  /** Opens one more database in it. */
  open(name: string): Promise<Database>;
  stop(): Promise<void>;
}

/** Registers the suite for a kind of server in Vitest; each case has a database of its own. */
export async function runOnServer(
  name: string,
  missing: Promise<string | undefined>,
  { start, lacks }: { readonly start: () => Promise<SqlServer>; readonly lacks?: Subject["lacks"] },
): Promise<void> {
  await runConformanceUnless(missing, name, () => {
    let server: SqlServer;
    let databases = 0;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server.stop());
    runConformance(
      {
        name,
        // A third of it is a request's: a busy machine that makes a database for each case takes more than a second for some.
        leaseMs: 5_000,
        rounds: SOME_ROUNDS,
        outageMs: LONG_OUTAGE_MS,
        requests: { acquire: 1, renew: 1, release: 1, look: 1 },
        lacks: { ...lacks, duplicates: "requests go over a connection, and TCP delivers nothing twice" },
        async open() {
          databases += 1;
          return new SqlPlace(await server.open(`conformance_${databases}`));
        },
      },
      { concurrently: true },
    );
  });
}

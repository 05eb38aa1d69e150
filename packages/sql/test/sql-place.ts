import type { GuardedText, TestEnvironment, StoreUnderTest, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { MovedTime, type StoreOptions } from "@leasehold/test-kit/conformance/moved-time";
import { SOME_ROUNDS } from "@leasehold/test-kit/conformance/some-rounds";
import { TcpNetwork } from "@leasehold/test-kit/conformance/tcp-network";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";

/** One database of a server, for one test case alone. */
export interface Database extends AsyncDisposable {
  /** The port on which its server listens; 0 if there is no server. */
  readonly port: number;
  /** Returns a store with connections of its own to `port`: of the server, or of a proxy before it. */
  store(port: number, clock: Clock): SqlLeaseStore;
  /** Returns the store of the documents that leaders guard, once it has been made. */
  documents(): Promise<OpenStore>;
  /** Runs a statement about one table as an administrator; its parameters are question marks. */
  run(sql: string, values: readonly unknown[]): Promise<readonly unknown[]>;
  /** Returns an expression for a column of times that is `ms` earlier. */
  earlier(column: string, ms: number): string;
}

/** The columns with times of each table. A store compares these with the server's clock. */
const TIMES: Readonly<Record<string, readonly string[]>> = {
  leasehold_leases: ["nonce_at"],
  leasehold_occurrences: ["nonce_at", "expires_at"],
};

/** A database for one test case. To move its clock, this makes every stored time earlier, which is the same for a store. */
export class SqlPlace implements TestEnvironment {
  readonly #database: Database;
  readonly #time: MovedTime;
  readonly #stores: SqlLeaseStore[] = [];
  /** Absent if no network lies between the stores and the database. */
  readonly connectUnreliably?: () => Promise<UnreliableConnection>;
  #network: TcpNetwork | undefined;
  #guarding: OpenStore | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#time = new MovedTime({ advance: (ms) => this.#advance(ms) });
    if (database.port > 0) this.connectUnreliably = () => this.#connectUnreliably();
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  async connect(): Promise<SqlLeaseStore> {
    return await this.connectWith(this.clock);
  }

  async connectWith(clock: Clock): Promise<SqlLeaseStore> {
    return this.#store(this.#database.port, { clock });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async #connectUnreliably(): Promise<UnreliableConnection> {
    const network = this.#network ?? (await TcpNetwork.open(this.#database.port));
    this.#network = network;
    const store = this.#store(network.port, { farthest: () => network.farthest });
    await warmUp(store);
    return { store, faults: network };
  }

  async guard(): Promise<GuardedText> {
    this.#guarding = await this.#database.documents();
    return guardedText(this.#guarding);
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    await this.#database.run(
      "INSERT INTO leasehold_leases (election, version, schema_version, value) VALUES (?, 'theirs', ?, ?)",
      [election, what === "foreign" ? null : 2, Buffer.from("do not touch")],
    );
  }

  async readRaw(election: string): Promise<unknown> {
    const [lease] = await this.#database.run("SELECT * FROM leasehold_leases WHERE election = ?", [election]);
    const [fence] = await this.#database.run("SELECT * FROM leasehold_fences WHERE election = ?", [election]);
    return lease && { lease, fence };
  }

  async remove(election: string): Promise<void> {
    await this.#database.run("DELETE FROM leasehold_leases WHERE election = ?", [election]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await this.#network?.[Symbol.asyncDispose]();
    await this.#guarding?.close();
    for (const store of this.#stores) await store.close();
    await this.#database[Symbol.asyncDispose]();
  }

  async #advance(ms: number): Promise<void> {
    for (const [table, columns] of Object.entries(TIMES)) {
      const moved = columns.map((column) => `${column} = ${this.#database.earlier(column, ms)}`);
      await this.#database.run(`UPDATE ${table} SET ${moved.join(", ")}`, []);
    }
  }

  #store(port: number, options: StoreOptions): SqlLeaseStore {
    const store = this.#time.store((clock) => this.#database.store(port, clock), options);
    this.#stores.push(store);
    return store;
  }
}

/** A server for the test cases. */
export interface SqlServer {
  /** Opens another database in it. */
  open(name: string): Promise<Database>;
  stop(): Promise<void>;
}

/** Returns the subject of the suite: databases of a server, one for each case. */
export function onServer(
  name: string,
  server: () => SqlServer,
  { lacks, skips }: Pick<StoreUnderTest, "lacks" | "skips"> = {},
): StoreUnderTest {
  let databases = 0;
  return {
    name,
    // The server's clock runs too, so a case on a busy machine must not exceed this.
    leaseMs: 60_000,
    rounds: SOME_ROUNDS,
    requests: { acquire: 1, renew: 1, release: 1, look: 1 },
    lacks: { ...lacks, duplicates: "requests go over a connection, and TCP delivers nothing twice" },
    skips,
    async open() {
      databases += 1;
      return new SqlPlace(await server().open(`conformance_${databases}`));
    },
  };
}

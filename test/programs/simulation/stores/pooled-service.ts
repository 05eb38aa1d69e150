import type { RecordRequestOptions, RecordStore } from "@leasehold/core/provider";
import type { Network, ProcessClock, SimulatedRecordService } from "@leasehold/core/testing";
import { PoolTrust } from "../../../../packages/sql/src/pool-trust.ts";
import { Requests, type Connections } from "../../../../packages/sql/src/requests.ts";
import type { RecordService } from "./record-store.ts";
import type { ConnectionFault, ConnectionFaults } from "./simulated-store.ts";

/** The default of an application's pool. */
const MAX_CONNECTIONS = 10;
/** The error of a server that takes no writes. */
const READ_ONLY = new Error("cannot execute UPDATE in a read-only transaction");

/** A connection to the service, until it is closed. */
interface Connection {
  fault?: ConnectionFault | undefined;
}

/**
 * Records that each process reaches by a pool of connections, as on SQL. The real code of `@leasehold/sql` decides which of them
 * are used and kept. A fault of a connection stays until the connection is closed.
 */
export class PooledService implements RecordService {
  readonly connections: ConnectionFaults = {
    befall: (fault, process) => {
      for (const pool of this.#pools) if (process === undefined || pool.process === process) pool.befall(fault);
    },
  };
  readonly #service: SimulatedRecordService;
  readonly #pools = new Set<Pool>();

  constructor(service: SimulatedRecordService) {
    this.#service = service;
  }

  get onAccepted(): RecordService["onAccepted"] {
    return this.#service.onAccepted;
  }

  set onAccepted(listener: RecordService["onAccepted"]) {
    this.#service.onAccepted = listener;
  }

  connect(process: ProcessClock, network: Network): RecordStore {
    const pool = new Pool(process);
    this.#pools.add(pool);
    return pooled(this.#service.connect(process, network), pool);
  }

  admits(...[election, leadership]: Parameters<RecordService["admits"]>): boolean {
    return this.#service.admits(election, leadership);
  }

  overwrite(election: string, data: unknown): unknown {
    return this.#service.overwrite(election, data);
  }

  stepClock(ms: number): void {
    this.#service.stepClock(ms);
  }

  failOver(aheadMs: number): void {
    this.#service.failOver(aheadMs);
  }

  cutOff(): void {
    this.#service.cutOff();
  }

  rejoin(): void {
    this.#service.rejoin();
  }
}

function pooled(records: RecordStore, pool: Pool): RecordStore {
  const meaningOf = (error: unknown) =>
    error === READ_ONLY ? ({ code: "STORE_UNAVAILABLE", notApplied: true } as const) : undefined;
  const requests = new Requests<Connection>(pool, meaningOf, pool.process);
  const run = <T>(operation: "get" | "put", election: string, limits: RecordRequestOptions, send: () => Promise<T>): Promise<T> =>
    requests.run({ store: records.name, operation, election, writes: operation === "put" }, limits, async ({ fault }) => {
      if (fault === "dead") return await new Promise<never>(() => undefined);
      if (fault === "read-only" && operation === "put") throw READ_ONLY;
      return await send();
    });
  return {
    name: records.name,
    capabilities: records.capabilities,
    get: (election, options) => run("get", election, options, () => records.get(election, options)),
    put: (election, record, options) => run("put", election, options, () => records.put(election, record, options)),
    ...(records.watch ? { watch: (election, options) => records.watch!(election, options) } : {}),
  };
}

/** The connections of one process. The one that was used last is used next. */
class Pool implements Connections<Connection> {
  readonly process: ProcessClock;
  readonly #trust = new PoolTrust();
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting: Array<() => void> = [];
  #announce: (connection: object) => void = () => undefined;

  constructor(process: ProcessClock) {
    this.process = process;
    this.#trust.listenTo({ on: (_, listener) => (this.#announce = listener) }, "connect");
  }

  /** Fills the pool with connections first, as after a busy moment of the application. */
  befall(fault: ConnectionFault): void {
    while (this.#open.size < MAX_CONNECTIONS) this.#idle.push(this.#connect());
    for (const connection of this.#open) connection.fault = fault;
  }

  async get(): Promise<Connection> {
    return await this.#trust.get(
      () => this.#take(),
      (connection) => connection,
      (connection) => this.discard(connection),
    );
  }

  release(connection: Connection): void {
    this.#trust.answered(connection);
    this.#idle.push(connection);
    this.#waiting.shift()?.();
  }

  discard(connection: Connection): void {
    this.#open.delete(connection);
    this.#waiting.shift()?.();
  }

  instant(): number {
    return this.#trust.instant();
  }

  doubt(instant: number): void {
    this.#trust.doubt(instant);
  }

  async cancel(): Promise<void> {
    // A request that is on its way still arrives.
  }

  async blockersOf(): Promise<undefined> {
    // Nothing is locked here.
  }

  async #take(): Promise<Connection> {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle) return idle;
      if (this.#open.size < MAX_CONNECTIONS) return this.#connect();
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
  }

  #connect(): Connection {
    const connection: Connection = {};
    this.#open.add(connection);
    this.#announce(connection);
    return connection;
  }
}

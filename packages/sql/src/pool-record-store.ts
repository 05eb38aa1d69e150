import type { Clock, RecordRequestOptions, RecordStoreCapabilities } from "@leasehold/core/provider";
import { STORE_CLOCK } from "./clock.ts";
import type { Requests } from "./requests.ts";
import type { RecordTable } from "./schema.ts";

/** The means of all stores of one database: its connections, the requests on them, and the clock. */
export interface Server<Connections, Connection> {
  readonly connections: Connections;
  readonly requests: Requests<Connection>;
  readonly clock: Clock;
}

export abstract class PoolRecordStore<Connections, Connection> {
  abstract readonly name: string;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: STORE_CLOCK,
    showsUndurable: true,
    fleet: true,
  };
  protected readonly table: RecordTable;
  protected readonly server: Server<Connections, Connection>;

  constructor(table: RecordTable, server: Server<Connections, Connection>) {
    this.table = table;
    this.server = server;
  }

  protected async run<T>(
    operation: "get" | "list" | "put",
    election: string,
    limits: RecordRequestOptions,
    act: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    return await this.server.requests.run(label, limits, act);
  }
}

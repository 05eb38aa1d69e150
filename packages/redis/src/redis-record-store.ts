import {
  TermRegressedError,
  QUORUM_SCHEMA,
  type Clock,
  type GetOptions,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type RecordStore,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import type { RedisConnections } from "./connections.ts";
import { textOf } from "./drivers/driver.ts";
import { fenceText } from "./fence.ts";
import { FENCE_FIELD, type RecordKeys } from "./keys.ts";
import { STORE_NAME } from "./redis-errors.ts";
import type { ScriptReply, ScriptRunner } from "./script-runner.ts";

/**
 * The server's clock, which is its host's wall clock. Synchronized hosts differ by tens of milliseconds. A step of the clock that
 * is smaller goes unnoticed; the margin of the lease covers it.
 */
const STORE_CLOCK = { toleranceMs: 100, exact: false, mayStep: true } as const;

/** The keys of records, and the time for which they are kept. */
export interface RecordLocation {
  /** Returns the keys of the record with this name in the engine. */
  readonly keysOf: (name: string) => RecordKeys;
  /** The time for which a record is kept after its last write. `undefined`: it is kept for ever. */
  readonly retentionMs?: number | undefined;
  /** Lists the records. Absent where they cannot be listed. */
  readonly list?: ((prefix: string, options: ListRecordsOptions) => AsyncIterable<ListedRecord>) | undefined;
}

/** Stores each record in one hash. One script changes it, on the condition of its `version`. */
export class RedisRecordStore implements RecordStore {
  readonly name: string = STORE_NAME;
  readonly capabilities: RecordStoreCapabilities = {
    maxValueBytes: 65_536,
    fence: "atomic",
    storeClock: STORE_CLOCK,
    fleet: true,
    showsUndurable: true,
    losesAcknowledged: true,
  };
  readonly list?: NonNullable<RecordStore["list"]>;
  readonly #location: RecordLocation;
  readonly #scripts: ScriptRunner;
  readonly #connections: RedisConnections;
  readonly #clock: Clock;

  constructor(location: RecordLocation, scripts: ScriptRunner, connections: RedisConnections, clock: Clock) {
    this.#location = location;
    this.#scripts = scripts;
    this.#connections = connections;
    this.#clock = clock;
    if (location.list) this.list = location.list;
  }

  async get(election: string, options: Omit<GetOptions, "consistent">): Promise<StoredRecord | undefined> {
    const label = { operation: "get", election, writes: false };
    return stored(await this.#scripts.read(this.#location.keysOf(election), label, options));
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = "", keepsNonce, fence, signal, timeoutMs } = options;
    const keys = this.#location.keysOf(election);
    const version = this.#clock.randomUuid();
    // Rounded up: a later time of writing makes the age smaller, and a smaller age is the safer one.
    const wallMs = keepsNonce ? "" : String(Math.ceil(this.#clock.wallMs()));
    const keptMs = this.#location.retentionMs === undefined ? "" : String(this.#keptMs(record));
    const isQuorums = record.schema === QUORUM_SCHEMA;
    const guards = fence ? [fenceText(fence), isQuorums ? "" : String(fence.term)] : ["", ""];
    const publish = fence ? (await this.#connections.driver()).publish : "";
    const reply = await this.#scripts.write(
      keys,
      { before: [ifVersion, version, JSON.stringify(record), wallMs], after: [keptMs, ...guards, publish] },
      { operation: "put", election, writes: true },
      { signal, timeoutMs },
    );
    if (reply.kind === "written") return { stored: true, version };
    if (reply.kind === "ahead") throw isAhead(election, (fence?.term ?? 0) - 1, reply, keys);
    return { stored: false, current: stored(reply) };
  }

  /** Returns the fence's term. An occurrence is its own fence. */
  async fenceTerm(election: string, { signal }: RecordRequestOptions): Promise<number | undefined> {
    const { record, fence } = this.#location.keysOf(election);
    if (fence === record) return undefined;
    const label = { operation: "check", election, writes: false };
    const found = await this.#connections.use(label, { signal }, async (connection) => {
      return await connection.send(fence, ["HGET", fence, FENCE_FIELD], signal);
    });
    const term = Number.parseInt(textOf(found) ?? "", 10);
    return term > 0 ? term : undefined;
  }

  /** A record that is still held never expires. */
  #keptMs({ leaseDurationMs }: LeaseRecord): number {
    return Math.ceil(Math.max(this.#location.retentionMs ?? 0, 2 * leaseDurationMs));
  }
}

/** The error for a fence of a later term than the lease: the lease was deleted, or restored. */
function isAhead(election: string, foundTerm: number, { fields }: ScriptReply, { fence }: RecordKeys): TermRegressedError {
  return new TermRegressedError(election, foundTerm, Number.parseInt(fields[0] ?? "", 10), undefined, `its key ${fence}`);
}

/** Converts an answer of a script to the engine's form. The engine refuses what is not a lease. */
export function stored({ nowUs, server, kind, fields }: ScriptReply): StoredRecord | undefined {
  if (kind === "none") {
    const lostTerm = Number.parseInt(fields[0] ?? "", 10);
    return lostTerm > 0 ? { data: undefined, version: "", lostTerm } : undefined;
  }
  const [version, record, nonceAt, nonceServer, nonceWallMs] = fields;
  if (kind !== "record" || version === undefined) return { data: undefined, version: "" };
  const data = parsed(record);
  // Without the name of the clock no age can be known, now or later. So no process waits for one.
  if (server === "" || nonceWallMs === undefined) return { data, version };
  const ageMs = nonceServer === server && nonceAt !== undefined ? (nowUs - Number(nonceAt)) / 1_000 : undefined;
  return {
    data,
    version,
    nonceWallMs: Number(nonceWallMs),
    ...(ageMs === undefined ? {} : { nonceAgeMs: [ageMs, ageMs] as const }),
  };
}

function parsed(record: string | undefined): unknown {
  try {
    return JSON.parse(record ?? "");
  } catch {
    return undefined;
  }
}

import { isLeaseholdError, UnsupportedError } from "@leasehold/core";
import {
  type Clock,
  IMPOSSIBLE_VERSION,
  onAbort,
  sleep,
  type Fenced,
  type GetOptions,
  type LeaseRecord,
  type ListedRecord,
  type ListRecordsOptions,
  type PutOptions,
  type PutOutcome,
  type RecordRequestOptions,
  type RecordStoreCapabilities,
  type StoredRecord,
} from "@leasehold/core/provider";
import { STORE_CLOCK, writtenAtWallMs } from "../clock.ts";
import { outranks } from "../fence.ts";
import type { FenceSql } from "../fence-sql.ts";
import { listRows } from "../listing.ts";
import {
  COLUMNS,
  columnValues,
  fenceTermOf,
  FREE_TEXT,
  lostRow,
  NO_VERSION,
  NONCE_COLUMNS,
  selectFenceTerm,
  stored,
  type RecordTable,
  type Row,
} from "../schema.ts";
import type { FencedRecordStore } from "../sql-database.ts";
import { toStoreError, type RequestLabel } from "../sql-errors.ts";
import type { Tables } from "../tables.ts";
import type { HostClock } from "./host-clock.ts";
import { lockOwners } from "./lock-owner.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import { SqliteFence } from "./sqlite-fence.ts";
import { LEASE_FILE_SUFFIX, type OpenFiles, type SqliteFiles } from "./sqlite-files.ts";
import { OwnTransactionError, waitingForLocks, withWholeIntegers } from "./sqlite-handle.ts";

/** The present time by SQLite's clock, which is the host's wall clock, in milliseconds since the Unix epoch. */
const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
/** Reads the columns as bytes: Node 22 reads a text only up to its first NUL. */
const AS_BYTES = FREE_TEXT.map((column) => `CAST(${column} AS BLOB) AS ${column}`).join(", ");
/** The columns of a row that is read. The parameters are the present host and its time. */
const SHOWN = `*, ${AS_BYTES}, CASE WHEN nonce_clock = ? THEN ? - nonce_at END AS age_ms`;
/** The longest wait between two tries while other processes hold locks. */
const BUSY_MS = 10;
/**
 * How long SQLite itself waits for a lock in each try of a write, in milliseconds. The wait blocks the event loop. Only during
 * such a wait does SQLite keep new readers out. Without it a write would never succeed while readers overlap all the time.
 */
const LOCK_WAITS_MS: readonly number[] = [0, 0, 0, 25, 50, 100, 200];
const LONGEST_LOCK_WAIT_MS = 400;

/** The statements on one table. Their parameters are a row's key, unless a comment says otherwise. */
interface Statements {
  /** The first parameters are the present host and its time. */
  readonly select: string;
  readonly seed: string;
  /** The parameters are the version and the columns, those of a new nonce, the key, and the version to replace. */
  readonly update: (keepsNonce: boolean) => string;
}

export class SqliteRecordStore implements FencedRecordStore {
  readonly name: string = "sqlite";
  readonly capabilities: RecordStoreCapabilities;
  readonly #table: RecordTable;
  readonly #statements: Statements;
  readonly #fence: SqliteFence;
  readonly #files: SqliteFiles;
  readonly #clock: Clock;
  readonly #host: HostClock;

  constructor(table: RecordTable, tables: Tables, files: SqliteFiles, clock: Clock, host: HostClock) {
    const fence = table.fences ? "atomic" : "none";
    this.capabilities = { maxValueBytes: 65_536, fence, storeClock: STORE_CLOCK, fleet: true };
    this.#table = table;
    this.#statements = statementsOf(table);
    this.#fence = new SqliteFence(tables);
    this.#files = files;
    this.#clock = clock;
    this.#host = host;
  }

  async get(election: string, { signal }: GetOptions): Promise<StoredRecord | undefined> {
    return await this.#run("get", election, signal, ({ leases, data }) => {
      const select = withWholeIntegers(leases.prepare(this.#statements.select));
      const found = stored(
        select.get(this.#host.identity, this.#host.nowMs(), ...this.#table.keyOf(election)) as Row | undefined,
      );
      const { fences } = this.#table;
      if (found || !fences) return found;
      return lostRow(data.prepare(selectFenceTerm(fences, "?")).get(election) as Row | undefined);
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, signal } = options;
    const fence = this.#table.fences && options.fence;
    const { seed, update } = this.#statements;
    const key = this.#table.keyOf(election);
    const version = this.#clock.randomUuid();
    const columns = [version, ...columnValues(record)];
    return await this.#run("put", election, signal, (connections) => {
      const { leases } = connections;
      const write = (): boolean => {
        // The probe of `check`. This changes nothing, but SQLite writes a page for it, for which a full disk has no room.
        if (ifVersion === IMPOSSIBLE_VERSION) {
          leases.exec("PRAGMA user_version = 0");
          this.#fence.probe(connections);
        }
        // The election's first acquisition makes the row for which all candidates compete.
        if (ifVersion === NO_VERSION) leases.prepare(seed).run(...key);
        const nonceAt = keepsNonce ? [] : [this.#host.nowMs(), this.#host.identity, writtenAtWallMs(this.#clock)];
        return Number(leases.prepare(update(keepsNonce)).run(...columns, ...nonceAt, ...key, ifVersion).changes) === 1;
      };
      const undo = record.termId === null || record.broken ? undefined : { version, by: this.#clock.randomUuid() };
      const written = fence
        ? this.#fence.move(connections, { election, fence, below: outranks(record, fence), ifVersion, undo }, write)
        : write();
      return written ? { stored: true, version } : { stored: false };
    });
  }

  async fenceTerm(election: string, { signal }: RecordRequestOptions): Promise<number | undefined> {
    const { fences } = this.#table;
    if (!fences) return undefined;
    return await this.#run("get", election, signal, ({ data }) =>
      fenceTermOf(data.prepare(selectFenceTerm(fences, "?")).get(election) as Row | undefined),
    );
  }

  fence(leadership: Fenced, connection: unknown): Promise<void> {
    const statement = this.fenceSql(leadership);
    this.#fence.check(leadership, statement, connection, () => this.#files.checkOpen());
    return Promise.resolve();
  }

  fenceSql({ election, term, termId }: Fenced): FenceSql {
    if (this.#table.fences) return { text: this.#fence.guard, values: [election, String(term), termId] };
    throw new UnsupportedError(
      "SQLite keeps occurrences in another file than the data: fence by the leadership of an election, which is beside the data.",
      { election },
    );
  }

  list(prefix: string, options: ListRecordsOptions): AsyncIterable<ListedRecord> {
    const numbered = (): string => "?";
    return listRows(prefix, options, this.#table, numbered, async ({ clauses, values }, { signal }) => {
      return await this.#run("list", prefix, signal, ({ leases }) => {
        const select = withWholeIntegers(leases.prepare(`SELECT ${SHOWN} FROM ${this.#table.name} ${clauses}`));
        return select.all(this.#host.identity, this.#host.nowMs(), ...values) as readonly Row[];
      });
    });
  }

  async #run<T>(
    operation: "get" | "list" | "put",
    election: string,
    signal: AbortSignal,
    act: (connections: OpenFiles) => T,
  ): Promise<T> {
    const label = { store: this.name, operation, election, writes: operation === "put" };
    let lockedPath: string | undefined;
    let cause: unknown;
    const retry = (error: unknown): undefined => retryable((cause = error), label, signal);
    // The abort's reason is the time-out error that the caller gets.
    const stopListening = onAbort(signal, (reason) => nameBlocker(reason, lockedPath, cause));
    try {
      for (let tries = 0; ; tries += 1) {
        const connections = await this.#files.open().catch(retry);
        signal.throwIfAborted();
        lockedPath = connections?.path;
        try {
          const waitMs = operation !== "put" ? 0 : (LOCK_WAITS_MS[tries] ?? LONGEST_LOCK_WAIT_MS);
          if (connections) return onceUnlocked(connections, waitMs, act);
        } catch (error) {
          retry(error);
        }
        await sleep(this.#clock, BUSY_MS * (0.5 + this.#clock.random() / 2), signal);
      }
    } finally {
      stopListening();
    }
  }
}

/** Returns if the same call may succeed once other processes have released their locks. @throws {StoreError} otherwise. */
function retryable(error: unknown, label: RequestLabel, signal: AbortSignal): undefined {
  const storeError = toStoreError(error, label, sqliteMeaning);
  if (signal.aborted || (storeError as { code?: string }).code !== "STORE_CONFLICT") throw storeError;
}

/** Calls `act`. Each of its statements waits up to `waitMs` for the locks of other processes. */
function onceUnlocked<T>(connections: OpenFiles, waitMs: number, act: (connections: OpenFiles) => T): T {
  if (waitMs === 0) return act(connections);
  const { leases, data } = connections;
  return waitingForLocks(leases, waitMs, () => waitingForLocks(data, waitMs, () => act(connections)));
}

function statementsOf({ name, key, retentionMs }: RecordTable): Statements {
  const whereRow = key.map((column) => `${column} = ?`).join(" AND ");
  const expiresAt = retentionMs === undefined ? [] : [["expires_at", `${NOW_MS} + ${Math.ceil(retentionMs)}`]];
  const seeded = [...key.map((column) => [column, "?"]), ...expiresAt];
  const [columns, values] = [0, 1].map((part) => seeded.map((pair) => pair[part]).join(", "));
  return {
    select: `SELECT ${SHOWN} FROM ${name} WHERE ${whereRow}`,
    seed: `INSERT INTO ${name} (${columns}) VALUES (${values}) ON CONFLICT DO NOTHING`,
    update: (keepsNonce) => {
      const given = ["version", ...COLUMNS, ...(keepsNonce ? [] : NONCE_COLUMNS)].map((column) => [column, "?"]);
      const set = [...given, ...expiresAt].map(([column, value]) => `${column} = ${value}`).join(", ");
      return `UPDATE ${name} SET ${set} WHERE ${whereRow} AND version = ?`;
    },
  };
}

/** Adds to a time-out's message the application's own transaction, or the processes that have locked the files. */
function nameBlocker(error: unknown, path: string | undefined, cause: unknown): void {
  // The reason of a caller's own abort stays as it is. The message of a DOMException cannot even be changed.
  if (!isLeaseholdError(error, "STORE_TIMEOUT")) return;
  if (cause instanceof OwnTransactionError) error.message += ` ${cause.message}`;
  else if (path !== undefined) error.message += lockOwners(path) || lockOwners(`${path}${LEASE_FILE_SUFFIX}`);
}

import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import { checkKeys } from "../layout.ts";
import { layoutChecks, type Row } from "../schema.ts";
import { storeClosed } from "../sql-errors.ts";
import type { Tables } from "../tables.ts";
import { checkNotRemote, checkOnlyName, identityAt } from "./file-identity.ts";
import { checkNoOtherLibrary, countOpening } from "./other-library.ts";
import { inPresentTransaction, OwnTransactionError, waitingForLocks, type SqliteHandle } from "./sqlite-handle.ts";
import { sqliteMigration, uniqueIndexes } from "./sqlite-schema.ts";

/**
 * The ending of the leases' file, which is beside the file of the data. A guarded transaction locks the whole file of the data,
 * and renewals must go on meanwhile.
 */
export const LEASE_FILE_SUFFIX = "-leasehold";
/** The longest time that opening the files may block the event loop while other processes lock them. */
const OPENING_WAIT_MS = 400;

const BEGIN = "BEGIN IMMEDIATE";

/**
 * The error for a file that was removed or replaced at its path while it was open. No other process would see a write to the open
 * file.
 */
export class ReplacedFileError extends Error {}

/** Opens the files of a store at their first use, and again after another file has taken the place of one. */
export class SqliteFiles {
  readonly #given: string | SqliteHandle;
  readonly #onOpened: (path: string) => void;
  readonly #tables: Tables;
  #opened: Promise<OpenFiles> | undefined;
  #closed: Promise<void> | undefined;

  constructor(given: unknown, tables: Tables, opened: (path: string) => void) {
    this.#onOpened = opened;
    this.#tables = tables;
    this.#given = typeof given === "string" ? checkPath(given) : checkHandle(given);
  }

  /**
   * @throws {ReplacedFileError} if a file has been removed or replaced since it was opened. The next call opens the new one.
   * @throws {ConfigurationError} after `close`.
   */
  async open(): Promise<OpenFiles> {
    this.checkOpen();
    this.#opened ??= this.#openBoth().then((files) => {
      this.#onOpened(files.path);
      return files;
    });
    const opening = this.#opened;
    let files;
    try {
      files = await opening;
    } catch (error) {
      this.#forget(opening);
      throw error;
    }
    this.checkOpen();
    const replaced = files.replaced();
    if (replaced === undefined) return files;
    if (files.isOwn && this.#forget(opening)) files.close();
    const remedy = files.isOwn ? "It is opened anew." : "Make another store, with a handle of the new file.";
    throw new ReplacedFileError(`'${replaced}' was removed or replaced while it was open. ${remedy}`);
  }

  /**
   * Calls `act` with a handle for the user's own statements: the handle that was given, or else one that is open only meanwhile.
   * @param act also gets the statements that begin a transaction there. They fail while another process has the file locked.
   */
  async withHandle<T>(act: (handle: SqliteHandle, begin: string) => Promise<T>): Promise<T> {
    const { path, data, isOwn } = await this.open();
    if (!isOwn) return await act(data, BEGIN);
    checkNoOtherLibrary(path);
    const { DatabaseSync } = await import("node:sqlite");
    const handle = new DatabaseSync(path);
    const closed = countOpening(path);
    try {
      return await act(handle, `PRAGMA synchronous = FULL; ${BEGIN}`);
    } finally {
      handle.close();
      closed();
    }
  }

  async close(): Promise<void> {
    this.#closed ??= this.#end();
    await this.#closed;
  }

  checkOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  /** Drops the open files, so that the next call opens them again. Returns false if another call has done so already. */
  #forget(opening: Promise<OpenFiles>): boolean {
    if (this.#opened !== opening) return false;
    this.#opened = undefined;
    return true;
  }

  async #end(): Promise<void> {
    (await this.#opened?.catch(() => undefined))?.close();
  }

  async #openBoth(): Promise<OpenFiles> {
    // Loaded at the first use only, because Node warns about the module while it is experimental.
    const { DatabaseSync } = await import("node:sqlite");
    const given = this.#given;
    if (typeof given !== "string")
      return prepared(given, undefined, (path) => new DatabaseSync(path), pathOf(given), this.#tables);
    const path = await canonical(given);
    checkNoOtherLibrary(path);
    const data = new DatabaseSync(path);
    const closed = countOpening(path);
    const own = {
      close: (): void => {
        data.close();
        closed();
      },
    };
    try {
      data.exec("PRAGMA synchronous = FULL");
      return prepared(data, own, (leasePath) => new DatabaseSync(leasePath), path, this.#tables);
    } catch (error) {
      own.close();
      throw error;
    }
  }
}

/** Makes the missing tables, and checks the others. @param own closes the file of the data, if the store has opened it. */
function prepared(
  data: SqliteHandle,
  own: Closing | undefined,
  openLeases: (path: string) => SqliteHandle,
  path: string,
  tables: Tables,
): OpenFiles {
  checkNotRemote(path);
  checkOnlyName(path);
  const migration = sqliteMigration(tables);
  waitingForLocks(data, OPENING_WAIT_MS, () => {
    for (const sql of migration.data) data.exec(sql);
  });
  const leases = openLeases(`${path}${LEASE_FILE_SUFFIX}`);
  try {
    leases.exec(`PRAGMA busy_timeout = ${OPENING_WAIT_MS}`);
    // In this mode no lock outlasts a call. In WAL mode one must, and another tool of this process that copies the file would
    // drop that lock.
    leases.exec("PRAGMA journal_mode = DELETE");
    leases.exec("PRAGMA synchronous = FULL");
    for (const sql of migration.leases) leases.exec(sql);
    for (const [index, check] of layoutChecks(tables).entries()) (index === 0 ? data : leases).prepare(check);
    const indexes = [data, leases].flatMap((handle) => handle.prepare(uniqueIndexes(tables)).all() as readonly Row[]);
    checkKeys("sqlite", tables, indexes);
    leases.exec("PRAGMA busy_timeout = 0");
    return new OpenFiles(data, leases, path, own);
  } catch (error) {
    leases.close?.();
    throw error;
  }
}

interface Closing {
  close(): void;
}

/** The open files of a store. */
export class OpenFiles {
  /** The file of the data, which has the fences that guard it. */
  readonly data: SqliteHandle;
  /** Leases and occurrences, in a file that belongs to Leasehold alone. */
  readonly leases: SqliteHandle;
  /** The path of the file of the data. */
  readonly path: string;
  readonly #own: Closing | undefined;
  readonly #identities = new Map<string, string>();

  constructor(data: SqliteHandle, leases: SqliteHandle, path: string, own: Closing | undefined) {
    this.data = data;
    this.leases = leases;
    this.path = path;
    this.#own = own;
    this.replaced();
  }

  /** True if the store itself has opened the file of the data. */
  get isOwn(): boolean {
    return this.#own !== undefined;
  }

  /**
   * Returns the path of a file that has been replaced since it was opened. Also records files that are new, because a write-ahead
   * log may appear at any time.
   */
  replaced(): string | undefined {
    for (const path of [this.path, `${this.path}${LEASE_FILE_SUFFIX}`, `${this.path}-wal`]) {
      const known = this.#identities.get(path);
      const present = identityAt(path);
      if (known !== undefined && present !== known) return path;
      if (known === undefined && present !== undefined) this.#identities.set(path, present);
    }
    return undefined;
  }

  close(): void {
    this.leases.close?.();
    this.#own?.close();
  }
}

function checkPath(path: string): string {
  // The message shows nothing of a URL, because that may contain a password.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    throw new ConfigurationError(
      "sqlite is a URL; pass the path of a database file. For a server use mysql or postgres; a remote libsql has no option.",
    );
  }
  if (path !== "" && !path.includes(":memory:") && !path.startsWith("file:")) return path;
  throw new ConfigurationError(
    `sqlite is ${JSON.stringify(path)}; it must be the path of a database file. Within one process, use MemoryLeaseStore.`,
  );
}

const HANDLES = "an open DatabaseSync of node:sqlite, or a handle of better-sqlite3 or libsql";

/** @throws {ConfigurationError} The message shows nothing of an object, because that may hold a password. */
function checkHandle(given: unknown): SqliteHandle {
  const handle = (given ?? {}) as Readonly<Record<string, unknown>>;
  const missing = ["exec", "prepare"].filter((name) => typeof handle[name] !== "function");
  if (missing.length === 0) return given as SqliteHandle;
  const kind = typeof given === "function" ? "a function" : "an object";
  const what = given === Object(given) ? `${kind} without ${missing.join(" and ")}` : String(given);
  throw new ConfigurationError(`sqlite is ${what}; it must be the path of a database file, ${HANDLES}.`);
}

/** Returns the path of a handle's file. @throws {ConfigurationError} for a database in memory, and for a handle with callbacks. */
function pathOf(handle: SqliteHandle): string {
  if (inPresentTransaction(handle)) throw new OwnTransactionError();
  const found = handle.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get?.();
  // A handle with callbacks or promises returns something else.
  if (typeof found !== "object" || found === null || !("file" in found))
    throw new ConfigurationError(`sqlite is a handle whose statements return no row at once; it must be ${HANDLES}.`);
  const { file } = found;
  if (typeof file === "string" && file !== "") return file;
  throw new ConfigurationError(
    "sqlite is a database in memory, which no other process sees. Within one process, use MemoryLeaseStore.",
  );
}

/**
 * Returns the canonical path of a file, also of one that does not exist yet. All processes that share a file then share its
 * leases, by whichever path they name it.
 */
async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  }
}

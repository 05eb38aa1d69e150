import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { ConfigurationError } from "@leasehold/core";
import { checkKeys } from "../layout.ts";
import { FENCES, LAYOUT_CHECKS } from "../schema.ts";
import { storeClosed } from "../sql-errors.ts";
import { FENCES_TABLE, LEASES_TABLE, OCCURRENCES_TABLE, UNIQUE_INDEXES } from "./sqlite-schema.ts";

/** Beside the file of the data: a guarded transaction locks all of that one, and renewals must go on meanwhile. */
const LEASE_FILE_SUFFIX = "-leasehold";

/** A connection to the file of the leases, with the user's own attached as `fenced`; opened when it is first needed. */
export class SqliteFiles {
  readonly #path: string;
  #opened: Promise<DatabaseSync> | undefined;
  #closed: Promise<void> | undefined;

  /** @throws {ConfigurationError} for a path that processes cannot share. */
  constructor(path: string) {
    // Another database's URL, which may hold a password.
    if (typeof path === "string" && /^[a-z][a-z0-9+.-]*:\/\/\S*@/i.test(path)) {
      throw new ConfigurationError("sqlite is the URL of a server; pass the path of a database file, or use mysql or postgres.");
    }
    if (typeof path !== "string" || path === "" || path.includes(":memory:") || path.startsWith("file:")) {
      throw new ConfigurationError(
        `sqlite is ${JSON.stringify(path)}; it must be the path of a database file. Within one process, use MemoryLeaseStore.`,
      );
    }
    this.#path = path;
  }

  /** @throws {ConfigurationError} once they were closed. */
  async open(): Promise<DatabaseSync> {
    this.checkOpen();
    this.#opened ??= this.#openBoth();
    let database;
    try {
      database = await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
    this.checkOpen();
    return database;
  }

  async close(): Promise<void> {
    this.#closed ??= this.#end();
    await this.#closed;
  }

  /** @throws {ConfigurationError} once they were closed. */
  checkOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async #end(): Promise<void> {
    (await this.#opened?.catch(() => undefined))?.close();
  }

  async #openBoth(): Promise<DatabaseSync> {
    // Loaded when it is needed: Node warns about it where it is experimental.
    const { DatabaseSync: Database } = await import("node:sqlite");
    const path = await canonical(this.#path);
    const database = new Database(`${path}${LEASE_FILE_SUFFIX}`);
    try {
      database.exec("PRAGMA synchronous = FULL");
      database.prepare("ATTACH ? AS fenced").run(path);
      database.exec("PRAGMA fenced.synchronous = FULL");
      database.exec(LEASES_TABLE);
      database.exec(OCCURRENCES_TABLE);
      database.exec(FENCES_TABLE.replace(FENCES, `fenced.${FENCES}`));
      for (const check of LAYOUT_CHECKS) database.prepare(check);
      checkKeys("sqlite", database.prepare(UNIQUE_INDEXES).all());
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** The one name of a file that may have several, so that all who share it share its leases; of one yet to be made, too. */
async function canonical(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  }
}

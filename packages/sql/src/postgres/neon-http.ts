import { UnsupportedError } from "@leasehold/core";
import type { PostgresPool, PostgresPoolClient, PostgresResult, PostgresStatement } from "./postgres-driver.ts";

/** The function that `neon()` of `@neondatabase/serverless` returns. It sends each statement in an HTTP request of its own. */
interface NeonHttp {
  query(text: string, values: readonly unknown[], options: object): Promise<PostgresResult>;
  transaction(queries: unknown): Promise<unknown>;
}

export function isNeonHttp(handle: unknown): handle is NeonHttp {
  const { query, transaction } = (handle ?? {}) as Partial<NeonHttp>;
  return typeof handle === "function" && typeof query === "function" && typeof transaction === "function";
}

/** Neon by HTTP. Each statement is a transaction of its own. There is no session, so nothing listens, and nothing is cancelled. */
export class NeonHttpPool implements PostgresPool {
  readonly #sql: NeonHttp;
  readonly cannotListen =
    "The handle given as postgres sends each statement by HTTP, which has no notifications. Standbys poll for a release every retryPeriodMs; give the store a Pool of @neondatabase/serverless, which has them.";

  constructor(sql: NeonHttp) {
    this.#sql = sql;
  }

  connect(): Promise<PostgresPoolClient> {
    return Promise.resolve(new HttpClient(this.#sql));
  }

  transaction(): Promise<never> {
    throw new UnsupportedError(
      "fencedTransaction() needs a connection, which HTTP has not. Send the fence first in a list: sql.transaction([sql.query(text, values), …]) with the text and the values of store.fenceSql(leadership).",
    );
  }
}

class HttpClient implements PostgresPoolClient {
  readonly #sql: NeonHttp;

  constructor(sql: NeonHttp) {
    this.#sql = sql;
  }

  /** The service commits each statement before it answers. */
  getTransactionStatus(): string {
    return "I";
  }

  async query({ text, values = [], types }: PostgresStatement): Promise<PostgresResult> {
    return await this.#sql.query(text, values, { types, fullResults: true, arrayMode: false });
  }

  release(): void {
    // No connection is kept.
  }
}

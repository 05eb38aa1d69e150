import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed, wasNeverSent, type RequestLabel as CoreLabel } from "@leasehold/core/provider";

export interface Meaning {
  readonly code: StoreErrorCode;
  /** True if the write was certainly not carried out. */
  readonly notApplied: boolean;
  /** Advice that replaces the general one of the code. It differs between databases. */
  readonly advice?: string;
}

/** Returns the meaning of an answer: only after a time-out is it unknown whether a write was carried out. */
export function means(code: StoreErrorCode, advice?: string): Meaning {
  return { code, notApplied: code !== "STORE_TIMEOUT", ...(advice === undefined ? {} : { advice }) };
}

export interface RequestLabel extends CoreLabel {
  /** A sentence about the session that held the locks for which the request waited. */
  readonly blockers?: string | undefined;
}

const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  STORE_UNAUTHENTICATED: " Check the user and the password in the URL or the pool, and that the server lets that user in.",
  STORE_DENIED: " Candidates need SELECT, INSERT and UPDATE on the tables of store.migration; observers, SELECT.",
  STORE_MISSING: " Call migrate() once, or run the statements of store.migration yourself.",
};

export const MISSING_DATABASE = " Create the database first, or correct its name; then call migrate() once.";

export const MISSING_SCHEMA = " Create the schema first, or correct its name; then call migrate() once.";

export const OTHER_LAYOUT =
  " The tables were made by another version: compare their columns with those of store.migration; add what is missing, or make them anew while nobody leads.";

const MIGRATION_RIGHTS =
  " migrate() needs the right to create tables and to read them; or have somebody run the statements of store.migration.";

type Call = Pick<RequestLabel, "store" | "operation" | "election">;

function ownError(
  code: StoreErrorCode,
  { store, operation, election }: Call,
  mayHaveBeenApplied: boolean,
  text: string,
): StoreError {
  return new StoreError(code, `${store}: ${text}`, { store, operation, election, mayHaveBeenApplied });
}

export function unfitTable(store: string, message: string): StoreError {
  return ownError("STORE_REJECTED", { store, operation: "check", election: undefined }, false, message);
}

const LEFT_OPEN = "the pool gave a connection with a transaction under way. Release connections only after COMMIT or ROLLBACK.";

/** The write may still be undone. The caller discards the connection, which undoes it. */
export function notCommitted(call: Call): StoreError {
  return ownError("STORE_REJECTED", call, false, `'${call.operation}' of '${call.election}' was not committed: ${LEFT_OPEN}`);
}

/** The read may show the state at the beginning of a transaction that was left open. The caller discards the connection. */
export function readInTransaction({ store, election }: Pick<Call, "store" | "election">): StoreError {
  const call = { store, operation: "get", election } as const;
  return ownError("STORE_REJECTED", call, false, `'get' of '${election}' may show old data: ${LEFT_OPEN}`);
}

/** PostgreSQL warns if the wait for the standby was cancelled. The write is visible, and a failover may lose it. */
export function acknowledgedWithWarning(call: Call, warning: string): StoreError {
  const message = `'${call.operation}' of '${call.election}' was acknowledged with a warning, so that a failover may lose it: ${asSentence(redact(warning))} Check the server's synchronous standbys (pg_stat_replication).`;
  return ownError("STORE_UNAVAILABLE", call, true, message);
}

export function rolledBack(store: string): StoreError {
  const message = "'fencedTransaction' was rolled back, because a statement in it failed and its error was swallowed.";
  return ownError("STORE_REJECTED", { store, operation: "fencedTransaction", election: undefined }, false, message);
}

export function endedByWork(store: string): StoreError {
  const message =
    "'fencedTransaction' ended before its work did: the work swallowed the error of a deadlock, or sent a statement that commits by itself, such as CREATE TABLE. What it wrote may be committed in part, without the fence.";
  return ownError("STORE_REJECTED", { store, operation: "fencedTransaction", election: undefined }, true, message);
}

/** Returns the error of a call on a closed store. If the call opened files or a pool again, no later `close` would close them. */
export function storeClosed(): ConfigurationError {
  return new ConfigurationError(
    "This SqlLeaseStore was closed. Close it after all of its electors, observers and watches have ended; to go on, make another one.",
  );
}

/** Matches the messages of drivers about a call on a pool or a handle that was closed. */
const CLOSED = /pool after calling end|pool is closed|PGlite is clos|CONNECTION_ENDED|database (connection )?is not open/i;

const HANDLE_CLOSED =
  ": The handle that this SqlLeaseStore was given is closed. Close it after the store; to go on, make another store on an open one.";

export function isOfClosedHandle(error: unknown): boolean {
  return CLOSED.test(String((error as Partial<Error> | undefined)?.message));
}

/** Returns a driver's error as a `StoreError`. Returns an error of Leasehold unchanged. */
export function toStoreError(error: unknown, label: RequestLabel, meaningOf: (error: unknown) => Meaning | undefined): Error {
  if (isLeaseholdError(error)) return error;
  const { blockers, ...request } = label;
  // An application that stops may close its pool before its electors. A ConfigurationError would end their run with a rejection.
  if (isOfClosedHandle(error)) return requestFailed(request, { code: "STORE_REJECTED", text: HANDLE_CLOSED, notApplied: false });
  const { code, message = String(error) } = (error ?? {}) as { readonly code?: unknown; readonly message?: string };
  const meaning = meaningOf(error) ?? { code: "STORE_UNAVAILABLE", notApplied: wasNeverSent(code) };
  const line = redact(message);
  const what = typeof code === "string" && !line.includes(code) ? `${code}: ${line}` : line;
  const found = meaning.code === "STORE_CONFLICT" && blockers !== undefined ? ` ${blockers}` : undefined;
  // The driver's own error is not the cause, because drivers attach the statement and its values to it. The nonce is among them.
  const cause = Object.assign(new Error(line), typeof code === "string" ? { code } : {});
  const text = `: ${asSentence(what)}${found ?? meaning.advice ?? ADVICE[meaning.code] ?? ""}`;
  return requestFailed(request, { code: meaning.code, text, notApplied: meaning.notApplied, cause });
}

/** @throws {StoreError} for every failure while the tables are created. */
export async function migrating(
  store: string,
  meaningOf: (error: unknown) => Meaning | undefined,
  migrate: () => Promise<unknown>,
): Promise<void> {
  try {
    await migrate();
  } catch (error) {
    throw toStoreError(error, { store, operation: "migrate", election: undefined, writes: true }, (failure) => {
      const meaning = meaningOf(failure);
      return meaning && { advice: meaning.code === "STORE_DENIED" ? MIGRATION_RIGHTS : "", ...meaning };
    });
  }
}

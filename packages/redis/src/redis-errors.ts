import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { asSentence, redact, requestFailed, wasNeverSent, type RequestLabel as CoreLabel } from "@leasehold/core/provider";

export const STORE_NAME = "redis";

/** The request of an error. */
export type RequestLabel = Omit<CoreLabel, "store"> & { readonly election: string };

/** The meaning of an error that a server has answered. */
interface Meaning {
  readonly code: StoreErrorCode;
  readonly advice?: string;
  /** True where another server may take the request: the connection is not used again. */
  readonly elsewhere?: true;
}

const NO_WRITES: Meaning = { code: "STORE_UNAVAILABLE", elsewhere: true };

/**
 * The meanings of the first words of Redis' errors. A script is atomic, and these come before its first write.
 * https://github.com/redis/redis/blob/7.0/src/server.c (createSharedObjects)
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  NOAUTH: { code: "STORE_UNAUTHENTICATED", advice: " Give the client its user and password." },
  WRONGPASS: { code: "STORE_UNAUTHENTICATED", advice: " Check the user and the password." },
  NOPERM: {
    code: "STORE_DENIED",
    advice:
      " Candidates need EVALSHA, EVAL, TIME, INFO, HMGET, HGET, EXISTS, HSET, PEXPIRE and PUBLISH on the keys and channels of the prefix; list() needs SCAN, a watch SUBSCRIBE. The README has the line for ACL SETUSER.",
  },
  OOM: {
    code: "STORE_UNAVAILABLE",
    advice: " The server is full: raise maxmemory, or delete data. Leases need some hundred bytes each.",
  },
  MISCONF: {
    code: "STORE_UNAVAILABLE",
    advice: " The server cannot save to its disk, and refuses writes: read its log.",
  },
  NOREPLICAS: {
    code: "STORE_UNAVAILABLE",
    advice: " Fewer replicas than min-replicas-to-write are connected.",
    // A primary that was cut off says so, while another one was promoted.
    elsewhere: true,
  },
  READONLY: NO_WRITES,
  LOADING: NO_WRITES,
  MASTERDOWN: NO_WRITES,
  CLUSTERDOWN: NO_WRITES,
  UNBLOCKED: NO_WRITES,
  BUSY: { code: "STORE_UNAVAILABLE", advice: " A script runs for too long: SCRIPT KILL ends it." },
  TRYAGAIN: { code: "STORE_CONFLICT" },
  MOVED: {
    code: "STORE_REJECTED",
    advice: " This is a cluster: give the store a cluster client instead of a client of one node.",
    elsewhere: true,
  },
  ASK: {
    code: "STORE_REJECTED",
    advice: " This is a cluster: give the store a cluster client instead of a client of one node.",
    elsewhere: true,
  },
  CROSSSLOT: { code: "STORE_REJECTED" },
  NOSCRIPT: { code: "STORE_CONFLICT" },
  WRONGTYPE: { code: "STORE_REJECTED", advice: " Another program uses a key of this prefix: choose another prefix." },
  ERR: { code: "STORE_REJECTED" },
};

const REPLICA = "the server is a replica, which may lag behind";

/** Returns the first word of an error that a server has answered; `undefined` for an error of the connection. */
function wordOf(error: unknown): string | undefined {
  const { message = "", code } = (error ?? {}) as { readonly message?: unknown; readonly code?: unknown };
  if (typeof message !== "string" || typeof code === "string") return undefined;
  // The words of Redis 7.0, and of Redis 7.2 and Valkey, for a right that the account lacks.
  if (/^ERR (The user executing the script can't|ACL failure in script:)/.test(message)) return "NOPERM";
  // Redis 6 puts the error of a script's command behind a text of its own.
  const [, inner] = /^ERR Error running script .*?: -?([A-Z]{2,})\b/.exec(message) ?? [];
  const word = inner ?? /^-?([A-Z]{2,})\b/.exec(message)?.[1];
  return word !== undefined && Object.hasOwn(MEANINGS, word) ? word : undefined;
}

/** Returns whether the server does not have the script, which it then has not run. */
export function lacksScript(error: unknown): boolean {
  return wordOf(error) === "NOSCRIPT";
}

/** Returns whether a server has answered this error. */
export function isAnswer(error: unknown): boolean {
  return wordOf(error) !== undefined;
}

/** Returns whether the account lacks the right to the command. */
export function lacksRight(error: unknown): boolean {
  return wordOf(error) === "NOPERM";
}

/**
 * Returns whether the connection may be used again after this error: a server has answered, and it is the right one.
 */
export function keepsConnection(error: unknown): boolean {
  const word = wordOf(error);
  return word !== undefined && MEANINGS[word]?.elsewhere !== true;
}

/** Returns the error of an answer by a replica. Nothing was written. */
export function isReplica(label: RequestLabel): StoreError {
  return requestFailed({ store: STORE_NAME, ...label }, { code: "STORE_UNAVAILABLE", text: `: ${REPLICA}.`, notApplied: true });
}

/** Returns the error of a write that reached the server too late, twice. Nothing was written. */
export function isLate({ operation, election }: RequestLabel): StoreError {
  return new StoreError(
    "STORE_CONFLICT",
    `${STORE_NAME}: '${operation}' of '${election}' reached the server too late by the server's clock, and did nothing.`,
    { store: STORE_NAME, operation, election, mayHaveBeenApplied: false },
  );
}

/** Returns the error of a call on a closed store. */
export function storeClosed(): ConfigurationError {
  return new ConfigurationError(
    "This RedisLeaseStore was closed. Close it after all of its electors, observers and watches have ended; to go on, make another one.",
  );
}

/** Returns a client's error as a `StoreError`. Returns an error of Leasehold unchanged. @param sent false if nothing was sent. */
export function toStoreError(error: unknown, label: RequestLabel, sent: boolean): Error {
  if (isLeaseholdError(error)) return error;
  const { message, code } = rootOf(error);
  const word = wordOf(error);
  const meaning = word === undefined ? undefined : MEANINGS[word];
  // The hash and the line of the script say nothing to its user.
  const line = redact(message).replace(/ script: [0-9a-f]{40},.*$/, "");
  const what = code !== undefined && !line.includes(code) ? `${code}: ${line}` : line;
  // The client's own error is not the cause, because clients attach the command and its arguments to it.
  const cause = Object.assign(new Error(line), code === undefined ? {} : { code });
  const text = `: ${asSentence(what)}${meaning?.advice ?? ""}`;
  const notApplied = !sent || meaning !== undefined || wasNeverSent(code);
  return requestFailed({ store: STORE_NAME, ...label }, { code: meaning?.code ?? "STORE_UNAVAILABLE", text, notApplied, cause });
}

/** Returns the first error of several, for instance of all addresses of a host. */
function rootOf(error: unknown): { readonly message: string; readonly code: string | undefined } {
  const {
    message = String(error),
    code,
    errors,
  } = (error ?? {}) as {
    readonly message?: string;
    readonly code?: unknown;
    readonly errors?: readonly unknown[];
  };
  if (message === "" && errors?.[0] !== undefined) return rootOf(errors[0]);
  return { message, code: typeof code === "string" ? code : undefined };
}

import { ConfigurationError, FencedError, UnsupportedError } from "@leasehold/core";
import type { Fence, Fenced } from "@leasehold/core/provider";
import { textOf } from "./drivers/driver.ts";
import { FENCE_FIELD } from "./keys.ts";
import { GUARD } from "./scripts.ts";

/** The parts that make a script of yours pass only until a leadership ends. */
export interface RedisFenceScript {
  /** The line to put before your script. It is the same for every leadership, so that the server's cache knows the script. */
  readonly guard: string;
  /** The last of the script's KEYS. On a cluster, your other keys need the same hash tag. */
  readonly key: string;
  /** The last of the script's ARGV. */
  readonly value: string;
}

/** Returns a fence in the form in which it is stored. It is closed while nothing follows the term. */
export function fenceText({ term, termId }: Fence): string {
  return `${term} ${termId ?? ""}`;
}

export function fenceScript(leadership: Fenced, key: string): RedisFenceScript {
  return { guard: GUARD, key, value: fenceText(leadership) };
}

/** The parts of a connection of ioredis or redis that WATCH needs. */
interface WatchingConnection {
  readonly isCluster?: unknown;
  readonly options?:
    | {
        readonly keyPrefix?: unknown;
        /** Of ioredis. */
        readonly retryStrategy?: unknown;
        /** Of redis. */
        readonly socket?: { readonly reconnectStrategy?: unknown } | undefined;
      }
    | undefined;
  call?(command: string, ...args: string[]): Promise<unknown>;
  watch?(key: string): Promise<unknown>;
  hGet?(key: string, field: string): Promise<unknown>;
}

/**
 * Watches the fence on the caller's connection, and compares it with the leadership.
 * @throws {FencedError} if the leadership has ended. {ConfigurationError} for a connection on which a watch may be lost.
 */
export async function watchFence(leadership: Fenced, key: string, connection: unknown): Promise<void> {
  const { election, term } = leadership;
  const found = (connection ?? {}) as WatchingConnection;
  if (typeof found.watch !== "function" || !(typeof found.hGet === "function" || typeof found.call === "function")) {
    throw new ConfigurationError("fence() needs a connection of ioredis or redis for this transaction alone.");
  }
  if (found.isCluster === true) {
    throw new UnsupportedError("WATCH is of one connection: use fenceScript() on a cluster.", { election });
  }
  const remedy = remedyFor(found);
  if (remedy !== undefined) {
    throw new ConfigurationError(
      `fence() needs a connection that does not reconnect, because the watch would be lost: ${remedy}. Or use fenceScript().`,
    );
  }
  if (found.options?.keyPrefix) {
    throw new ConfigurationError("fence() needs a connection without keyPrefix, because the fence's key has none.");
  }
  await found.watch(key);
  const present = found.hGet ? await found.hGet(key, FENCE_FIELD) : await found.call?.("HGET", key, FENCE_FIELD);
  const text = textOf(present);
  if (text === fenceText(leadership)) return;
  const current = text === undefined ? undefined : Number.parseInt(text, 10);
  throw new FencedError(election, term, current, "the keys of this transaction");
}

/**
 * Returns how to make a connection that stays closed once it is lost; `undefined` if this one does. After it has reconnected, a
 * client would send EXEC on a connection that watches nothing. The client of redis does not notice that on its first connection.
 */
function remedyFor(connection: WatchingConnection): string | undefined {
  const { options } = connection;
  if ("hGet" in connection) {
    if (options?.socket?.reconnectStrategy === false) return undefined;
    return "client.duplicate({ socket: { ...client.options.socket, reconnectStrategy: false } })";
  }
  if (typeof options?.retryStrategy !== "function") return undefined;
  return "client.duplicate({ retryStrategy: null, enableOfflineQueue: false, lazyConnect: true })";
}

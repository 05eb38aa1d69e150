import type { LeaseStore } from "@leasehold/core";
import { gate, type LeaderHandler } from "./gate.ts";
import type { NotElected, OnlyAsLeaderOptions } from "./options.ts";

/** The options for any platform that this package does not know. */
export interface AnyPlatformOptions<Args extends readonly unknown[]> {
  /** The time until the platform ends an invocation, in milliseconds. */
  readonly remainingMs: number | ((...args: Args) => number);
  /** Returns the name by which a person finds the invocation again. @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: ((...args: Args) => string) | undefined;
}

/**
 * Wraps a handler so that it runs only where its invocation leads. The wrapped function resolves at once where another invocation
 * leads. It releases the lease before it settles, even if the handler throws. The handler's error reaches the caller.
 *
 * @example
 * ```ts
 * const nightly = onlyAsLeader({ store, election: "nightly-billing", remainingMs: 60_000 }, async (leadership) => {
 *   for (const account of await dueAccounts()) {
 *     await leadership.checkpoint();
 *     await bill(account, { signal: leadership.signal });
 *   }
 * });
 * ```
 * @throws {ConfigurationError} {UnsupportedError} for options that cannot work, before any delivery.
 */
export function onlyAsLeader<Store extends LeaseStore, Result, Standby = NotElected, Args extends readonly unknown[] = []>(
  options: OnlyAsLeaderOptions<Args, Store, Standby> & AnyPlatformOptions<Args>,
  handler: LeaderHandler<Args, Store, Result>,
): (...args: Args) => Promise<Result | Standby> {
  const { remainingMs, candidateId } = (options ?? {}) as typeof options;
  const platform = {
    options: ["remainingMs", "candidateId"],
    remainingMs: (...args: Args) => (typeof remainingMs === "function" ? remainingMs(...args) : remainingMs),
    ...(candidateId ? { candidateId } : {}),
  };
  return gate(platform, options, handler);
}

import {
  type CheckOptions,
  type CheckReport,
  checkName,
  DEFAULT_REQUEST_TIMEOUT_MS,
  duration,
  RecordLeaseStore,
  sendRequest,
  systemClock,
  wakeUps,
  type Clock,
  type Fenced,
  type OccurrenceOptions,
  type RecordStore,
} from "@leasehold/core/provider";
import { RedisConnections } from "./connections.ts";
import { fenceScript, watchFence, type RedisFenceScript } from "./fence.ts";
import { leaseKeys, occurrenceKeys } from "./keys.ts";
import { RedisListener } from "./listener.ts";
import { RedisListing } from "./listing.ts";
import { checkedOptions, type RedisLeaseStoreOptions } from "./options.ts";
import { toStoreError } from "./redis-errors.ts";
import { RedisOccurrenceStore } from "./redis-occurrence-store.ts";
import { RedisRecordStore } from "./redis-record-store.ts";
import { ScriptRunner } from "./script-runner.ts";
import { factsOf, refuseEviction, serverWarnings, type ServerFacts } from "./server-check.ts";

/**
 * Leases in hashes of Redis or Valkey: one for each election, and one for each occurrence. One script changes a hash on the
 * condition of its version.
 *
 * Assumes one server that does not lose acknowledged writes. **A failover of Redis may lose them**, because replicas follow after
 * the answer: the lease, its term and its fence are then lost together. Two candidates may lead until one of them reads again, and
 * a term may repeat for processes that have seen neither. `capabilities.losesAcknowledged` says so. Three independent servers as
 * members of a quorum do not have this fault.
 *
 * A request is sent at once, or not at all. The server refuses a write that reaches it a second after the
 * request's own time.
 *
 * Electors judge expiry by what they observe. `tryRun`, and electors that ask for it, also use the server's clock. They believe it
 * only if the wall clocks of the last writer and of this process agree with it.
 */
export class RedisLeaseStore extends RecordLeaseStore implements AsyncDisposable {
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #connections: RedisConnections;
  readonly #scripts: ScriptRunner;
  readonly #listener: RedisListener;

  /** Sends nothing. @throws {ConfigurationError} unless exactly one of a usable client and a URL is given. */
  constructor(options: RedisLeaseStoreOptions) {
    const { driver, prefix, pushes } = checkedOptions(options);
    const { clock = systemClock } = options;
    const connections = new RedisConnections(driver, clock);
    const scripts = new ScriptRunner(connections, clock);
    const listener = new RedisListener(connections, clock);
    const listing = new RedisListing(connections, scripts, prefix);
    const location = {
      keysOf: (election: string) => leaseKeys(prefix, election),
      list: listing.list.bind(listing),
    };
    const records: RecordStore = new RedisRecordStore(location, scripts, connections, clock);
    super(pushes ? withWatch(records, listener, prefix) : records, { clock });
    this.#prefix = prefix;
    this.#clock = clock;
    this.#connections = connections;
    this.#scripts = scripts;
    this.#listener = listener;
  }

  /**
   * Does what {@link LeaseStore.check} does, and {@link inspect} unless `settings` is false. The report's `warnings` are the
   * settings by which the server may lose leases. The inspection is a third request.
   * @throws {StoreError} `STORE_REJECTED` for a server that may evict a lease, unless `settings` is false.
   */
  override async check(options: CheckOptions): Promise<CheckReport> {
    const report = await super.check(options);
    if (options.settings === false) return report;
    const servers = await this.#facts(options);
    for (const facts of servers) refuseEviction(facts);
    return { ...report, warnings: warningsOf(servers) };
  }

  /**
   * Implements {@link LeaseStore.inspect}: returns warnings about the settings of each server that takes writes. A server that may
   * evict a lease is one of them.
   */
  async inspect(options: CheckOptions): Promise<readonly string[]> {
    return warningsOf(await this.#facts(options));
  }

  async #facts(options: CheckOptions): Promise<readonly ServerFacts[]> {
    const { election, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const label = { operation: "check", election, writes: false };
    const request = { clock: this.#clock, store: this.name, ...label, timeoutMs, signal };
    return await sendRequest(request, async (abandoned) => {
      return await this.#connections.use(label, { signal: abandoned }, async (connection) => {
        const primaries = await connection.primaries();
        return await Promise.all(primaries.map((send) => factsOf(send, abandoned)));
      });
    });
  }

  /**
   * Returns what makes a script of yours pass only until this leadership ends. Put `guard` before the script's first line, `key`
   * behind its KEYS and `value` behind its ARGV.
   *
   * Redis then refuses the script of a stale leader with the error `LEASEHOLD_FENCED`, before the script does anything. This holds
   * until a failover of Redis, which may lose the fence together with the lease.
   */
  fenceScript(leadership: Fenced): RedisFenceScript {
    return fenceScript(leadership, leaseKeys(this.#prefix, leadership.election).fence);
  }

  /**
   * Makes the MULTI that follows on a connection depend on this leadership, by WATCH on the fence. Renewals do not touch the
   * fence. Then EXEC does nothing once the leadership has ended: its reply is null, or an error of your client library.
   *
   * Call it on a connection that nothing else uses meanwhile. After a {@link FencedError}, send UNWATCH or close the connection.
   *
   * @param connection a connection that does not reconnect: a client of `redis` with `reconnectStrategy: false` for its socket, or a
   *   `Redis` of ioredis with `retryStrategy: null`.
   * @throws {FencedError} if the leadership has ended. {ConfigurationError} for a connection that could lose the watch without a
   *   word. {UnsupportedError} for a cluster. Any error of the client library is thrown unchanged.
   */
  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    await watchFence(leadership, leaseKeys(this.#prefix, leadership.election).fence, connection);
  }

  /**
   * Returns the occurrences of the election's schedule. They use the connections of this store, and {@link close} ends both. Redis
   * deletes an occurrence once the retention since its last write has passed.
   *
   * @throws {ConfigurationError} for an invalid election or duration.
   */
  occurrences(election: string, { retentionMs }: OccurrenceOptions): RedisOccurrenceStore {
    checkName("election", election);
    duration("retentionMs", retentionMs);
    const keysOf = occurrenceKeys.bind(undefined, this.#prefix, election);
    const records = new RedisRecordStore({ keysOf, retentionMs }, this.#scripts, this.#connections, this.#clock);
    return new RedisOccurrenceStore(records, keysOf, this.#clock);
  }

  /**
   * Closes the connections that the store has opened. Your client stays open. It may be called again. Every later request of the
   * store and of its occurrences rejects with a {@link ConfigurationError}.
   */
  close(): Promise<void> {
    this.#listener.close();
    this.#connections.closeAll();
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Returns the warnings about all servers, each one once. */
function warningsOf(servers: readonly ServerFacts[]): readonly string[] {
  return [...new Set(servers.flatMap(serverWarnings))];
}

/** Returns the records with a watch of their announcements. */
function withWatch(records: RecordStore, listener: RedisListener, prefix: string): RecordStore {
  return Object.assign(records, {
    async *watch(election: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<void> {
      const channel = leaseKeys(prefix, election).record;
      try {
        yield* wakeUps((callbacks) => listener.join({ ...callbacks, channel }), signal);
      } catch (error) {
        if (!signal.aborted) throw toStoreError(error, { operation: "watch", election, writes: false }, false);
      }
    },
  });
}

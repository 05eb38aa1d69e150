import {
  type Clock,
  sleep,
  type GetOptions,
  type LeaseRecord,
  type PutOptions,
  type PutOutcome,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";

/** The round trips before the first request of a connection, for TCP and TLS. */
const HANDSHAKE_ROUND_TRIPS = 2;

/**
 * A record store that a process reaches by its own connections. A request takes an idle connection, or opens one. An aborted
 * request ends its connection, also during the handshake, as in most SDKs.
 */
export class ConnectingRecords implements RecordStore {
  readonly name: string;
  readonly capabilities: RecordStore["capabilities"];
  /** The number of requests that were neither answered nor aborted. */
  underWay = 0;
  /** The most requests that were under way at once. */
  mostUnderWay = 0;
  readonly #records: RecordStore;
  readonly #clock: Clock;
  readonly #roundTripMs: number;
  #idle = 0;

  /** @param roundTripMs of the handshake; `records` decides how long a request takes. */
  constructor(records: RecordStore, clock: Clock, roundTripMs: number) {
    this.name = records.name;
    this.capabilities = records.capabilities;
    this.#records = records;
    this.#clock = clock;
    this.#roundTripMs = roundTripMs;
  }

  async get(election: string, options: GetOptions): Promise<StoredRecord | undefined> {
    return await this.#send(options.signal, () => this.#records.get(election, options));
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    return await this.#send(options.signal, () => this.#records.put(election, record, options));
  }

  async #send<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => undefined);
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (this.#idle > 0) this.#idle -= 1;
      else await sleep(this.#clock, HANDSHAKE_ROUND_TRIPS * this.#roundTripMs, signal);
      const answer = await Promise.race([request(), aborted.promise]);
      this.#idle += 1;
      return answer;
    } finally {
      this.underWay -= 1;
      signal.removeEventListener("abort", onAbort);
    }
  }
}

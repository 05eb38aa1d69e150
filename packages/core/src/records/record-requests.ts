import { isLeaseholdError, isUnknown } from "../reporting/errors.ts";
import type { ReadOptions, RequestLimits } from "../store/lease-store.ts";
import { sendRequest, type RequestOptions } from "../store/request.ts";
import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseRecord, PutOptions, PutOutcome, RecordRequestOptions, RecordStore, StoredRecord } from "./record-store.ts";

/** The longest wait before a write that met another transaction is sent again: it has to find the gap between two of them. */
const CONFLICT_WAIT_MS = 20;
/** A write is sent at most so often, however much time it has. */
const CONFLICT_TRIES = 200;

/** Bounds of a request that its caller may give up at any time. */
export type GivenLimits = RequestLimits & Pick<ReadOptions, "signal">;

/** The requests to a service of records, each within its time. */
export class RecordRequests {
  readonly #records: RecordStore;
  readonly #clock: Clock;

  constructor(records: RecordStore, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Asks for the election's record; a reply that lags behind the last write will do where `consistent` is false. */
  async get(election: string, { timeoutMs, signal }: GivenLimits, consistent: boolean): Promise<StoredRecord | undefined> {
    return await sendRequest(this.#request(election, { operation: "get", writes: false, timeoutMs, signal }), (abandoned) =>
      this.#records.get(election, { signal: abandoned, timeoutMs, consistent }),
    );
  }

  /**
   * Sends one conditional write, and again soon where it met somebody else's transaction, such as a fenced one on the same
   * record, of which a leader may have one after the other under way. It does so
   * for half of its time, since the last try has the other half, and not more often than {@link CONFLICT_TRIES}.
   */
  async put(
    election: string,
    record: LeaseRecord,
    { timeoutMs, signal, ...put }: Omit<PutOptions, "signal"> & GivenLimits,
  ): Promise<PutOutcome> {
    const send = async (options: RecordRequestOptions): Promise<PutOutcome> =>
      await this.#records.put(election, record, { ...put, ...options });
    const untilMs = this.#clock.monotonicMs() + timeoutMs;
    const leftMs = (): number => untilMs - this.#clock.monotonicMs();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#write(election, { timeoutMs: leftMs(), signal }, send);
      } catch (error) {
        if (!hasMetTransaction(error) || tries >= CONFLICT_TRIES) throw error;
        const waitMs = CONFLICT_WAIT_MS * (0.5 + this.#clock.random() / 2);
        if (leftMs() - waitMs < timeoutMs / 2) throw error;
        await sleep(this.#clock, waitMs, signal);
        // A process that was frozen meanwhile has written nothing, for certain.
        if (leftMs() <= 0) throw error;
      }
    }
  }

  async #write<Outcome>(
    election: string,
    { timeoutMs, signal }: GivenLimits,
    send: (options: RecordRequestOptions) => Promise<Outcome>,
  ): Promise<Outcome> {
    const request = this.#request(election, { operation: "put", writes: true, timeoutMs, signal });
    return await sendRequest(request, (abandoned) => send({ signal: abandoned, timeoutMs }));
  }

  #request(election: string, request: Omit<RequestOptions, "clock" | "store" | "election">): RequestOptions {
    return { ...request, clock: this.#clock, store: this.#records.name, election };
  }
}

/** Reports whether a write was not carried out because it met somebody else's transaction. */
function hasMetTransaction(error: unknown): boolean {
  return !isUnknown(error) && isLeaseholdError(error, "STORE_CONFLICT");
}

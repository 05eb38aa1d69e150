import { isLeaseholdError, isUnknown } from "../reporting/errors.ts";
import type { ReadOptions, RequestLimits } from "../store/lease-store.ts";
import { sendRequest, type RequestOptions } from "../store/request.ts";
import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseRecord, PutOptions, PutOutcome, RecordRequestOptions, RecordStore, StoredRecord } from "./record-store.ts";

/** The longest wait before a write that met another transaction is sent again. It has to find the gap between two. */
const CONFLICT_WAIT_MS = 20;
const CONFLICT_TRIES = 200;

export type GivenLimits = RequestLimits & Pick<ReadOptions, "signal">;

export class RecordRequests {
  readonly #records: RecordStore;
  readonly #clock: Clock;

  constructor(records: RecordStore, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  async get(election: string, { timeoutMs, signal }: GivenLimits, consistent: boolean): Promise<StoredRecord | undefined> {
    return await sendRequest(this.#request(election, { operation: "get", writes: false, timeoutMs, signal }), (abandoned) =>
      this.#records.get(election, { signal: abandoned, timeoutMs, consistent }),
    );
  }

  /** Sends one conditional write. Repeats it, for half of its time, if it met another transaction, such as a fenced one. */
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
        // A process that was frozen meanwhile has no time left. This error says that nothing was written.
        if (leftMs() <= 0) throw error;
      }
    }
  }

  async fenceTerm(election: string, { timeoutMs, signal }: GivenLimits): Promise<number | undefined> {
    const records = this.#records;
    if (!records.fenceTerm) return undefined;
    const read = records.fenceTerm.bind(records);
    const request = this.#request(election, { operation: "get", writes: false, timeoutMs, signal });
    return await sendRequest(request, (abandoned) => read(election, { signal: abandoned, timeoutMs }));
  }

  async listing<T>(
    prefix: string,
    { timeoutMs, signal }: GivenLimits,
    send: (options: RecordRequestOptions) => Promise<T>,
  ): Promise<T> {
    const request = this.#request(prefix, { operation: "list", writes: false, timeoutMs, signal });
    return await sendRequest(request, (abandoned) => send({ signal: abandoned, timeoutMs }));
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

/** Reports whether a write was not carried out because it met another transaction. */
function hasMetTransaction(error: unknown): boolean {
  return !isUnknown(error) && isLeaseholdError(error, "STORE_CONFLICT");
}

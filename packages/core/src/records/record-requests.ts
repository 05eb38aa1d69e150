import { isLeaseholdError, isUnknown } from "../reporting/errors.ts";
import type { ReadOptions, RequestLimits } from "../store/lease-store.ts";
import { sendRequest } from "../store/request.ts";
import { sleep, type Clock } from "../time/clock.ts";
import type { LeaseRecord, PutOptions, PutOutcome, RecordRequestOptions, RecordStore, StoredRecord } from "./record-store.ts";

/** The longest wait before a write that met another transaction is sent again. The write has to find the gap between two. */
const CONFLICT_WAIT_MS = 20;
const CONFLICT_TRIES = 200;

export type GivenLimits = RequestLimits & Pick<ReadOptions, "signal">;

/** The requests to a record store, each with its time limit. */
export class RecordRequests {
  readonly #records: RecordStore;
  readonly #clock: Clock;

  constructor(records: RecordStore, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  async get(election: string, limits: GivenLimits, consistent: boolean): Promise<StoredRecord | undefined> {
    return await this.send("get", election, limits, (options) => this.#records.get(election, { ...options, consistent }));
  }

  /** Sends one conditional write. Repeats it for half of its time while it meets other transactions, such as fenced ones. */
  async put(
    election: string,
    record: LeaseRecord,
    { timeoutMs, signal, ...put }: Omit<PutOptions, "signal"> & GivenLimits,
  ): Promise<PutOutcome> {
    const untilMs = this.#clock.monotonicMs() + timeoutMs;
    const leftMs = (): number => untilMs - this.#clock.monotonicMs();
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.send("put", election, { timeoutMs: leftMs(), signal }, (options) =>
          this.#records.put(election, record, { ...put, ...options }),
        );
      } catch (error) {
        const hasMetTransaction = !isUnknown(error) && isLeaseholdError(error, "STORE_CONFLICT");
        if (!hasMetTransaction || tries >= CONFLICT_TRIES) throw error;
        const waitMs = CONFLICT_WAIT_MS * (0.5 + this.#clock.random() / 2);
        if (leftMs() - waitMs < timeoutMs / 2) throw error;
        await sleep(this.#clock, waitMs, signal);
        // A process that was frozen meanwhile has no time left. This error says that nothing was written.
        if (leftMs() <= 0) throw error;
      }
    }
  }

  /** Sends one request of the store. */
  async send<T>(
    operation: "get" | "put" | "list",
    election: string,
    { timeoutMs, signal }: GivenLimits,
    send: (options: RecordRequestOptions) => Promise<T>,
  ): Promise<T> {
    const { name: store } = this.#records;
    const request = { clock: this.#clock, store, operation, election, writes: operation === "put", timeoutMs, signal };
    return await sendRequest(request, (abandoned) => send({ signal: abandoned, timeoutMs }));
  }
}

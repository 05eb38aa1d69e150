import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { AGE_UNCERTAINTY_MS, DEFAULT_REQUEST_TIMEOUT_MS, onAbort, type Clock } from "@leasehold/core/provider";
import { jsonContent } from "./json-content.ts";
import type { ObjectRequest, ObjectService } from "./object-service.ts";

/** The number of writes on one version that are sent at once. One of them may succeed. */
const RIVALS = 8;

/**
 * Proves that a service keeps the conditions of writes, on an object that holds no lease. Some services ignore a condition that
 * they do not know, and would let two candidates lead.
 *
 * Each process runs the proof before its first write. The proof sends two writes whose conditions must fail. In the first process
 * of all, one of them creates the object, and the proof repeats both.
 */
export class ConditionProof {
  readonly #service: ObjectService;
  readonly #key: string;
  readonly #clock: Clock;
  #running: Promise<void> | undefined;
  #isDone = false;

  constructor(service: ObjectService, key: string, clock: Clock) {
    this.#service = service;
    this.#key = key;
    this.#clock = clock;
  }

  /** True once the service has kept both conditions. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * Waits for the proof, which all callers share, or until the signal aborts.
   * @throws {ConfigurationError} if the service does not keep conditions. {StoreError} for every failure; the next call tries again.
   */
  async wait(election: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#running ??= this.#prove(election).finally(() => (this.#running = undefined));
    const aborted = Promise.withResolvers<never>();
    const stopListening = onAbort(signal, aborted.reject);
    try {
      await Promise.race([this.#running, aborted.promise]);
    } finally {
      stopListening();
    }
  }

  /**
   * Sends eight writes on one version at once, and then reads the age of the object.
   * @throws {ConfigurationError} if more than one succeeds: the service does not check the condition and write in one step.
   * @throws {StoreError} `STORE_REJECTED` if the dates of a reply are off by more than a service's clocks may be.
   */
  async race(election: string, signal: AbortSignal): Promise<void> {
    const request = { operation: "prove", election, signal };
    const found = await this.#service.get(this.#key, request);
    if (!found) return;
    const begunMs = this.#clock.monotonicMs();
    const writes = Array.from({ length: RIVALS }, async () => await this.#put(found.version, request));
    const outcomes = await Promise.allSettled(writes);
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value);
    if (won.length > 1) throw this.#unfit(`${won.length} of ${RIVALS} writes on one version succeeded`, election);
    const written = await this.#service.get(this.#key, request);
    if (!written || written.version === found.version) return;
    const mostMs = this.#clock.monotonicMs() - begunMs + AGE_UNCERTAINTY_MS;
    if (!(written.ageMs >= -AGE_UNCERTAINTY_MS && written.ageMs <= mostMs)) throw this.#misdated(written.ageMs, election);
  }

  /** Limits the time of a proof, also where the SDK ignores the signal. No caller sent it, so it is not published as a request. */
  async #prove(election: string): Promise<void> {
    const givingUp = new AbortController();
    const gaveUp = Promise.withResolvers<never>();
    const timer = this.#clock.setTimer(() => {
      gaveUp.reject(this.#timedOut(election));
      givingUp.abort();
    }, DEFAULT_REQUEST_TIMEOUT_MS);
    try {
      await Promise.race([this.#write({ operation: "prove", election, signal: givingUp.signal }), gaveUp.promise]);
      this.#isDone = true;
    } catch (error) {
      throw error instanceof StoreError ? withoutWrite(error) : error;
    } finally {
      timer.cancel();
    }
  }

  /** Sends the writes that must fail. @throws {ConfigurationError} if one succeeds. */
  async #write(request: ObjectRequest): Promise<void> {
    for (let created = false; ; created = true) {
      const [creates, replaces] = await Promise.all([
        this.#put(undefined, request),
        this.#put(this.#service.impossibleVersion, request),
      ]);
      if (replaces) throw this.#unfit("it replaced an object whose version was another", request.election);
      if (!creates) return;
      if (created) throw this.#unfit("it created an object that existed", request.election);
    }
  }

  /** Returns whether the service carried the write out. */
  async #put(ifVersion: string | undefined, request: ObjectRequest): Promise<boolean> {
    const content = jsonContent({ probe: this.#clock.randomUuid() });
    try {
      return (await this.#service.put(this.#key, content, ifVersion, request)) !== undefined;
    } catch (error) {
      // The service did not carry out this write, because another conditional write was under way.
      if (isLeaseholdError(error, "STORE_CONFLICT") && !(error as StoreError).mayHaveBeenApplied) return false;
      throw error;
    }
  }

  #timedOut(election: string): StoreError {
    const { name: store } = this.#service;
    const message = `${store} did not answer 'prove' of '${election}' within ${DEFAULT_REQUEST_TIMEOUT_MS} ms.`;
    return new StoreError("STORE_TIMEOUT", message, { store, operation: "prove", election, mayHaveBeenApplied: false });
  }

  #misdated(ageMs: number, election: string): StoreError {
    const { name: store } = this.#service;
    const seen = Number.isNaN(ageMs) ? "it has no Date or no Last-Modified" : `it makes a new object ${ageMs / 1_000} s old`;
    const message = `${store}: a proxy writes its own Date into the replies, or leaves a date out (${seen}). Expiry by the service's clock needs its dates: reach the service without the proxy, or let it keep them.`;
    return new StoreError("STORE_REJECTED", message, { store, operation: "check", election, mayHaveBeenApplied: false });
  }

  #unfit(found: string, election: string): ConfigurationError {
    return new ConfigurationError(
      `${this.#service.name}: this service does not keep the conditions of writes (${found}), so that two candidates could lead at once. Use S3, Cloudflare R2, MinIO, Google Cloud Storage, or another service that keeps them.`,
      { election },
    );
  }
}

/** Returns the failure of a proof as the failure of the record's write, which was not sent. */
function withoutWrite(error: StoreError): StoreError {
  const { message, store, operation, election, retryAfterMs, cause } = error;
  return new StoreError(error.code as StoreErrorCode, message, {
    store,
    operation,
    election,
    retryAfterMs,
    cause,
    mayHaveBeenApplied: false,
  });
}

import { summarizeError } from "../reporting/redact.ts";
import { onAbort, type Clock } from "../time/clock.ts";
import { publishRequest, type StoreRequest } from "../reporting/diagnostics.ts";
import { isLeaseholdError, StoreError } from "../reporting/errors.ts";
import type { RequestLabel } from "./failed-request.ts";
import type { CheckReport, RequestLimits } from "./lease-store.ts";

export interface RequestOptions extends RequestLabel {
  readonly clock: Clock;
  readonly election: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends one request and waits at most `timeoutMs` for it, even if the SDK ignores the signal. A later reply is dropped. Publishes
 * the request on the diagnostics channel.
 * @throws {StoreError} `STORE_TIMEOUT`; the caller's own reason when its signal aborted; else the error of `send`.
 */
export async function sendRequest<T>(options: RequestOptions, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, signal } = options;
  signal?.throwIfAborted();
  // Earlier requests of the same call may have used up its time. This request is then not sent.
  if (options.timeoutMs <= 0) throw timedOut({ ...options, writes: false });
  const sentMs = clock.monotonicMs();
  const abandon = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  // Rejecting first keeps our own error, because an abort makes most SDKs throw theirs.
  const giveUp = (error: Error): void => {
    reject(error);
    abandon.abort(error);
  };
  const timer = clock.setTimer(() => giveUp(timedOut(options)), options.timeoutMs);
  const stopListening = onAbort(signal, giveUp);
  let failure: { readonly error: unknown } | undefined;
  try {
    // An async arrow, so that a `send` that throws synchronously is handled like one that rejects.
    (async () => await send(abandon.signal))().then(resolve, reject);
    return await promise;
  } catch (error) {
    failure = { error };
    throw error;
  } finally {
    timer.cancel();
    stopListening();
    publishRequest(() => ({
      store: options.store,
      election: options.election,
      operation: options.operation,
      writes: options.writes,
      durationMs: clock.monotonicMs() - sentMs,
      ...(failure ? failed(failure.error, signal) : { outcome: "ok" }),
    }));
  }
}

function failed(error: unknown, signal: AbortSignal | undefined): Pick<StoreRequest, "outcome" | "message"> {
  const outcome = isLeaseholdError(error) ? error.code : signal?.aborted ? "ABORTED" : "ERROR";
  return { outcome, message: summarizeError(error).message };
}

function timedOut({ store, operation, election, timeoutMs, writes }: RequestOptions): StoreError {
  const message = `${store} did not answer '${operation}' of '${election}' within ${Math.round(timeoutMs)} ms.`;
  return new StoreError("STORE_TIMEOUT", message, { store, operation, election, mayHaveBeenApplied: writes });
}

/** Returns the limits of a call that sends several requests: each may take what the earlier ones have left of `timeoutMs`. */
export function shareLimits<Limits extends RequestLimits>(clock: Clock, limits: Limits): Limits {
  const untilMs = clock.monotonicMs() + limits.timeoutMs;
  return {
    ...limits,
    get timeoutMs() {
      return Math.max(untilMs - clock.monotonicMs(), 0);
    },
  };
}

/** Sends the two requests of a check, one after the other, and returns how long each took. */
export async function timedCheck(clock: Clock, read: () => Promise<unknown>, probe: () => Promise<void>): Promise<CheckReport> {
  const begunMs = clock.monotonicMs();
  await read();
  const readMs = clock.monotonicMs() - begunMs;
  await probe();
  return { readMs, writeMs: clock.monotonicMs() - begunMs - readMs };
}

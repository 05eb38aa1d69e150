import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { getEventListeners } from "node:events";
import { isLeaseholdError, StoreError } from "@leasehold/core";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";
import { sendRequest, type RequestOptions } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

let clock: VirtualClock;
let published: StoreRequest[];
const onRequest = (message: unknown): void => void published.push(message as StoreRequest);

beforeEach(() => {
  clock = new VirtualClock();
  published = [];
  subscribe(REQUEST_CHANNEL, onRequest);
});
afterEach(() => void unsubscribe(REQUEST_CHANNEL, onRequest));

function options(overrides: Partial<RequestOptions> = {}): RequestOptions {
  return { clock, store: "memory", election: "e", operation: "put", timeoutMs: 1_000, writes: true, ...overrides };
}

describe("one attempt, one request, with a time limit", () => {
  test("returns the reply, and leaves no timer behind", async () => {
    await expect(sendRequest(options(), () => Promise.resolve("reply"))).resolves.toBe("reply");
    expect(clock.pendingTimers).toBe(0);
  });

  test("sends only once, even after a failure", async () => {
    let sent = 0;
    const failing = sendRequest(options(), () => {
      sent += 1;
      return Promise.reject(new Error("no"));
    });

    await expect(failing).rejects.toThrow("no");
    await clock.advance(60_000);
    expect(sent).toBe(1);
  });

  test("a service that never answers is given up at the limit, even if its SDK heeds no signal", async () => {
    const startMs = clock.monotonicMs();

    const error: unknown = await clock
      .runUntil(sendRequest(options(), () => new Promise(() => undefined)))
      .catch((thrown: unknown) => thrown);

    expect(clock.monotonicMs() - startMs).toBe(1_000);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({
      code: "STORE_TIMEOUT",
      store: "memory",
      operation: "put",
      election: "e",
      mayHaveBeenApplied: true,
    });
    expect(String(error)).toContain("within 1000 ms");
  });

  test("a read without a reply reports that it changed nothing", async () => {
    const reading = sendRequest(options({ writes: false }), () => new Promise(() => undefined));

    await expect(clock.runUntil(reading)).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
  });

  test("the SDK's signal aborts at the limit, and its own error does not replace ours", async () => {
    const sending = sendRequest(options(), (signal) => {
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new DOMException("SDK aborted", "AbortError")));
      });
    });

    await expect(clock.runUntil(sending)).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  });

  test("a request that is given up is aborted, so that its connection is free again", async () => {
    let heeded: AbortSignal | undefined;
    const sending = sendRequest(options(), (signal) => {
      heeded = signal;
      return new Promise(() => undefined);
    });

    const error: unknown = await clock.runUntil(sending).catch((reason: unknown) => reason);
    expect([heeded?.aborted, heeded?.reason]).toEqual([true, error]);
  });

  test("a reply that comes later is dropped", async () => {
    const late = Promise.withResolvers<string>();
    const sending = sendRequest(options(), () => late.promise);
    const outcome = clock.runUntil(sending).catch((error: unknown) => error);
    await clock.advance(1_000);
    late.resolve("late");

    expect(isLeaseholdError(await outcome, "STORE_TIMEOUT")).toBe(true);
  });
});

describe("the caller's signal", () => {
  test("sends nothing if it has aborted before", async () => {
    let sent = false;
    const signal = AbortSignal.abort("early");

    await expect(sendRequest(options({ signal }), () => Promise.resolve((sent = true)))).rejects.toBe("early");
    expect(sent).toBe(false);
  });

  test("ends the wait with its own reason, unwrapped, and its listener is gone", async () => {
    const controller = new AbortController();
    const reason = new Error("shutting down");
    const sending = sendRequest(options({ signal: controller.signal }), () => new Promise(() => undefined));

    controller.abort(reason);

    await expect(sending).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test("keeps no listener after a reply", async () => {
    const { signal } = new AbortController();

    await sendRequest(options({ signal }), () => Promise.resolve());

    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("a send that throws at once fails like one that rejects", async () => {
    const sending = sendRequest(options(), () => {
      throw new TypeError("bad client");
    });

    await expect(sending).rejects.toThrow(new TypeError("bad client"));
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("the request channel", () => {
  test("publishes each request once it has ended, with its duration and outcome", async () => {
    await clock.runUntil(sendRequest(options(), () => new Promise<void>((resolve) => void clock.setTimer(resolve, 40))));
    await sendRequest(options({ operation: "get", writes: false }), () => Promise.reject(new Error("socket"))).catch(
      () => undefined,
    );
    await clock.runUntil(sendRequest(options(), () => new Promise(() => undefined))).catch(() => undefined);
    const controller = new AbortController();
    const aborted = sendRequest(options({ signal: controller.signal }), () => new Promise(() => undefined));
    controller.abort();
    await aborted.catch(() => undefined);

    const common = { store: "memory", election: "e", operation: "put", writes: true };
    expect(published).toEqual([
      { ...common, durationMs: 40, outcome: "ok" },
      { ...common, operation: "get", writes: false, durationMs: 0, outcome: "ERROR", message: "socket" },
      { ...common, durationMs: 1_000, outcome: "STORE_TIMEOUT", message: expect.stringContaining("did not answer") },
      { ...common, durationMs: 0, outcome: "ABORTED", message: expect.any(String) },
    ]);
  });
});

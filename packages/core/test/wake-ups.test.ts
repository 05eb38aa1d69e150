import { wakeUps, type WatchCallbacks } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";

const WAKE_UP = { done: false, value: undefined };
const END = { done: true, value: undefined };

/** A watch that the test wakes, fails and stops. */
class Watch {
  readonly stopping = new AbortController();
  left = 0;
  callbacks!: WatchCallbacks;
  readonly wakes: AsyncGenerator<void>;

  constructor(listening: Promise<void> = Promise.resolve()) {
    this.wakes = wakeUps((callbacks) => {
      this.callbacks = callbacks;
      return { listening, leave: () => void (this.left += 1) };
    }, this.stopping.signal);
  }
}

describe("a watch", () => {
  test("wakes once it listens, and once for all changes between two wake-ups", async () => {
    const watch = new Watch();
    expect(await watch.wakes.next()).toEqual(WAKE_UP);
    watch.callbacks.changed();
    watch.callbacks.changed();
    expect(await watch.wakes.next()).toEqual(WAKE_UP);

    let wakeUpCount = 0;
    const next = watch.wakes.next().then(() => (wakeUpCount += 1));
    await new Promise(setImmediate);
    expect(wakeUpCount).toBe(0);
    watch.callbacks.changed();
    await next;
    expect(watch.left).toBe(0);
  });

  test.each(["waits for a wake-up", "handles one"])("throws the failure that comes while its reader %s", async (when) => {
    const watch = new Watch();
    await watch.wakes.next();
    const waiting = when === "handles one" ? undefined : watch.wakes.next();
    const failure = new Error("connection lost");
    watch.callbacks.failed(failure);

    await expect(waiting ?? watch.wakes.next()).rejects.toBe(failure);
    expect(watch.left).toBe(1);
  });

  test("throws the error that prevents it from listening", async () => {
    const failure = new Error("no such channel");
    const watch = new Watch(Promise.reject(failure));

    await expect(watch.wakes.next()).rejects.toBe(failure);
    expect(watch.left).toBe(1);
  });

  test.each(["before it listens", "after it"])("ends without an error if it is stopped %s", async (when) => {
    const watch = new Watch(when === "after it" ? Promise.resolve() : new Promise(() => undefined));
    if (when === "after it") await watch.wakes.next();
    const next = watch.wakes.next();
    watch.stopping.abort();

    expect(await next).toEqual(END);
    expect(watch.left).toBe(1);
  });
});

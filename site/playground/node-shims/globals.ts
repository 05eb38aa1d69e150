/**
 * Gives a browser the few globals of Node that `@leasehold/core` uses. Call it before core is loaded. A Node version below 24
 * tells core to do without `AsyncLocalStorage`.
 */
export function provideGlobals(): void {
  const queue: Array<() => void> = [];
  const channel = new MessageChannel();
  channel.port1.addEventListener("message", () => queue.shift()?.());
  channel.port1.start();
  Object.assign(globalThis, {
    process: {
      versions: { node: "22.13.0" },
      env: {},
      pid: 1,
      emitWarning: () => undefined,
      on: () => undefined,
      off: () => undefined,
    },
    Buffer: { byteLength: (text: string) => new TextEncoder().encode(text).length },
    setImmediate: (callback: () => void) => {
      queue.push(callback);
      channel.port2.postMessage(undefined);
    },
  });
}

/**
 * The process that `startServiceChild` starts. It loads the module whose URL is its first argument, under a clock that its parent
 * can move, and serves. It is an entry point: import only types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";

/** The export that makes a module a service. */
export interface ServiceModule {
  /** Starts to serve on 127.0.0.1, and resolves with the origin. The process ends by itself after some time. */
  serve(): Promise<string>;
}

/** The parent's request: to move this process's clock. */
export interface AdvanceClock {
  /** The id of the request, which the reply repeats. */
  readonly id: number;
  /** The time to move the clock by, in milliseconds; a negative one moves it back. */
  readonly advanceMs: number;
}

/** This process's messages to its parent: its address, once, and each move of its clock. */
export type ServiceMessage =
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "advanced"; readonly id: number };

let offsetMs = 0;

// The parent may have died while this file was loading; then no further event comes. Everything else runs after this, so that
// nothing can leave an orphan behind.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

process.on("message", (message: AdvanceClock) => {
  offsetMs += message.advanceMs;
  tellParent({ kind: "advanced", id: message.id });
});

// Replaces `Date` before the service is loaded, so that none of its modules can keep the real one.
globalThis.Date = movable(Date);

// If a service does not date its replies, Node would do it by the real clock, with a cached string. A date of the service itself
// replaces this one.
subscribe("http.server.request.start", (message) => {
  const { response } = message as { readonly response: ServerResponse };
  response.setHeader("Date", new Date().toUTCString());
});

const service = (await import(String(process.argv[2]))) as ServiceModule;
tellParent({ kind: "listening", url: await service.serve() });

function tellParent(message: ServiceMessage): void {
  process.send?.(message);
}

/** Returns `RealDate`, except that the present is `offsetMs` later. Timers do not change. */
function movable(RealDate: DateConstructor): DateConstructor {
  const now = (): number => RealDate.now() + offsetMs;
  // A proxy and not a subclass, because dates that Node itself makes must still be `instanceof Date`.
  return new Proxy(RealDate, {
    construct: (target, parameters: unknown[], newTarget) =>
      Reflect.construct(target, parameters.length === 0 ? [now()] : parameters, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, key, receiver) => (key === "now" ? now : (Reflect.get(target, key, receiver) as unknown)),
  });
}

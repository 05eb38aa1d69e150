/**
 * The process that `startServiceChild` starts: it loads the module whose URL is its first argument, under a clock that
 * its parent can move, and serves. It is an entry point: import nothing but types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";

/** The export that makes a module a service. */
export interface ServiceModule {
  /** Begins to serve on 127.0.0.1, and resolves with the origin once it does. The process ends by itself, in time. */
  serve(): Promise<string>;
}

/** The parent's request: to move this process's clock. */
export interface AdvanceClock {
  /** Names the request in the reply. */
  readonly id: number;
  /** How far to move the clock, in milliseconds; negative moves it back. */
  readonly advanceMs: number;
}

/** This process's messages to its parent: where it listens, once, and which moves of the clock it has made. */
export type ServiceMessage =
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "advanced"; readonly id: number };

let offsetMs = 0;

// The parent may have died while this file was loading, and then no event is left to come. Everything else here
// happens after this, so that nothing can leave an orphan behind.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

process.on("message", (message: AdvanceClock) => {
  offsetMs += message.advanceMs;
  tellParent({ kind: "advanced", id: message.id });
});

// Before the service is loaded, so that none of its modules can keep the real one.
globalThis.Date = movable(Date);

// Where a service does not date its replies itself, Node would by the real clock (and a cached string). The service's own
// value replaces this one where it has one.
subscribe("http.server.request.start", (message) => {
  const { response } = message as { readonly response: ServerResponse };
  response.setHeader("Date", new Date().toUTCString());
});

const service = (await import(String(process.argv[2]))) as ServiceModule;
tellParent({ kind: "listening", url: await service.serve() });

function tellParent(message: ServiceMessage): void {
  process.send?.(message);
}

/** `RealDate`, except that the present is `offsetMs` later. Timers stay as they are. */
function movable(RealDate: DateConstructor): DateConstructor {
  const now = (): number => RealDate.now() + offsetMs;
  // A proxy and not a subclass: dates that Node itself makes must still be `instanceof Date`.
  return new Proxy(RealDate, {
    construct: (target, parameters: unknown[], newTarget) =>
      Reflect.construct(target, parameters.length === 0 ? [now()] : parameters, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, key, receiver) => (key === "now" ? now : (Reflect.get(target, key, receiver) as unknown)),
  });
}

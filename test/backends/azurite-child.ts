/**
 * The process that `startAzurite` starts: Azurite's blob service, in memory, with a clock that its parent can move. It
 * is an entry point: import nothing but types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";

/** What the parent asks of this process: to move its clock. */
export interface AdvanceClock {
  /** Names the request in the reply. */
  readonly id: number;
  /** How far to move the clock, in milliseconds; negative moves it back. */
  readonly advanceMs: number;
}

/** What this process tells its parent: where it listens, once, and which moves of the clock it has made. */
export type ChildMessage =
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

// Before Azurite is loaded, so that none of its modules can keep the real one.
globalThis.Date = movable(Date);

// Azurite dates its successful replies itself, but leaves its errors to Node, which uses the real clock (and a cached
// string). Azurite's own value replaces this one where it has one.
subscribe("http.server.request.start", (message) => {
  const { response } = message as { readonly response: ServerResponse };
  response.setHeader("Date", new Date().toUTCString());
});

const server = await azuriteBlobServer(Number(process.argv[2]));
await server.start();
tellParent({ kind: "listening", url: server.getHttpServerAddress() });

function tellParent(message: ChildMessage): void {
  process.send?.(message);
}

/** `RealDate`, except that the present is `offsetMs` later. Timers stay as they are. */
function movable(RealDate: DateConstructor): DateConstructor {
  const now = (): number => RealDate.now() + offsetMs;
  // A proxy and not a subclass: dates that Node itself makes must still be `instanceof Date`.
  return new Proxy(RealDate, {
    construct: (target, args: unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, key, receiver) => (key === "now" ? now : (Reflect.get(target, key, receiver) as unknown)),
  });
}

/** The part of Azurite's own server class that is used here. */
interface BlobServer {
  start(): Promise<void>;
  getHttpServerAddress(): string;
}

/**
 * Azurite offers no API for this, so it is a deep import, and the reason why its version is pinned. The object stands
 * for its command line: one function for each flag.
 */
function azuriteBlobServer(port: number): Promise<BlobServer> {
  interface BlobServerFactory {
    createServer(environment: object): Promise<BlobServer>;
  }
  const azurite = createRequire(import.meta.url)("azurite/dist/src/blob/BlobServerFactory") as {
    BlobServerFactory: new () => BlobServerFactory;
  };
  const unset = (): undefined => undefined;
  return new azurite.BlobServerFactory().createServer({
    blobHost: () => "127.0.0.1",
    blobPort: () => port,
    // Seconds. Azurite's five are short enough to close a connection under a client that is about to use it again.
    blobKeepAliveTimeout: () => 3600,
    inMemoryPersistence: () => true,
    location: () => Promise.resolve(tmpdir()),
    debug: () => Promise.resolve(undefined),
    silent: () => true,
    loose: () => false,
    // The SDK is always newer than the versions that Azurite knows.
    skipApiVersionCheck: () => true,
    disableProductStyleUrl: () => true,
    disableTelemetry: () => true,
    extentMemoryLimit: unset,
    cert: unset,
    key: unset,
    pwd: unset,
    oauth: unset,
  });
}

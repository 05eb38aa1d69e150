/**
 * Azurite's blob service, in memory, for the process that `startAzurite` starts. With `?tls=<folder>` it uses the certificate of
 * certificates.ts in that folder. It then accepts tokens of Entra ID, whoever has signed them.
 */
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function serve(): Promise<string> {
  const server = await azuriteBlobServer();
  await server.start();
  return server.getHttpServerAddress();
}

/** The part of Azurite's own server class that is used here. */
interface BlobServer {
  start(): Promise<void>;
  getHttpServerAddress(): string;
}

/**
 * A deep import, because Azurite offers no API for this. For the same reason its version is pinned. The object stands for its
 * command line: one function for each flag.
 */
function azuriteBlobServer(): Promise<BlobServer> {
  interface BlobServerFactory {
    createServer(environment: object): Promise<BlobServer>;
  }
  const azurite = createRequire(import.meta.url)("azurite/dist/src/blob/BlobServerFactory") as {
    BlobServerFactory: new () => BlobServerFactory;
  };
  const unset = (): undefined => undefined;
  const tls = new URL(import.meta.url).searchParams.get("tls") ?? undefined;
  return new azurite.BlobServerFactory().createServer({
    blobHost: () => "127.0.0.1",
    blobPort: () => 0,
    // In seconds. With Azurite's five seconds it might close a connection under a client that is about to use it again.
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
    cert: () => tls && join(tls, "server.pem"),
    key: () => tls && join(tls, "server-key.pem"),
    pwd: unset,
    oauth: () => tls && "basic",
  });
}

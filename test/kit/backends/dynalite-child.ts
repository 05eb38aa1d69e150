/** dynalite, a DynamoDB in memory or in the folder of its address, for the process that `startDynalite` starts. */
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

export async function serve(): Promise<string> {
  const dynalite = createRequire(import.meta.url)("dynalite") as (options: object) => Server;
  const path = new URL(import.meta.url).searchParams.get("folder") ?? undefined;
  const server = dynalite({ path, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  // With Node's five seconds it might close a connection under a client that is about to use it again.
  server.keepAliveTimeout = 3_600_000;
  // If a client gives up while its request is carried out, dynalite throws the request's error, which ends the process. This
  // listener runs after dynalite's own, which has subscribed by then, and replaces it.
  server.on("request", (request: IncomingMessage) => {
    request.removeAllListeners("error").on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

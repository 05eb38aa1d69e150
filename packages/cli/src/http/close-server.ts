import { once } from "node:events";
import type { Server } from "node:http";

/** Stops listening, and ends the connections that are open. Resolves once it is closed. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

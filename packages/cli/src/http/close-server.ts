import { once } from "node:events";
import type { Server } from "node:http";

/** Stops listening, and closes the open connections. Resolves once the server is closed. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

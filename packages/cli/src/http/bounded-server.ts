import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";

/** A client that has not sent its headers by then is cut off. */
const HEADERS_MS = 5_000;
/** A client that has not sent its whole request by then is cut off. */
const REQUEST_MS = 10_000;
/** A connection that is kept open for another request ends without one by then. */
const IDLE_MS = 5_000;
const CHECK_MS = 1_000;
const MOST_CONNECTIONS = 256;
const LEAST_CONNECTIONS = 4;
/** The part of the process's file descriptors that one server may use. */
const SHARE = 1 / 4;

/**
 * Returns a server that cannot use up the file descriptors of the process, which needs them to renew its lease. Where a connection
 * is one too many, the one that has been without a request for longest ends: a prober that asks at once gets its answer in a flood
 * of idle connections.
 */
export function boundedServer(options: ServerOptions, listener: RequestListener, most: number = mostConnections()): Server {
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, keepAliveTimeout: IDLE_MS };
  const server = createServer({ ...options, ...limits, connectionsCheckingInterval: CHECK_MS }, listener);
  const open = new Set<Socket>();
  /** Those that wait for no answer, the oldest first. */
  const idle = new Set<Socket>();
  server.on("connection", (socket) => {
    if (open.size >= most) {
      const [oldest = socket] = idle;
      idle.delete(oldest);
      open.delete(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    open.add(socket);
    idle.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      idle.delete(socket);
    });
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (open.has(socket)) idle.add(socket);
    });
  });
  return server;
}

/** Returns how many connections leave enough of the file descriptors that this process may open. */
export function mostConnections(limits: () => string = () => readFileSync("/proc/self/limits", "latin1")): number {
  let text = "";
  try {
    text = limits();
  } catch {
    // Only Linux has it.
  }
  const soft = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Infinity);
  return Math.max(Math.min(Math.floor(soft * SHARE), MOST_CONNECTIONS), LEAST_CONNECTIONS);
}

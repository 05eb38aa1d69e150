import { readFileSync } from "node:fs";
import type { RequestListener, Server, ServerOptions } from "node:http";
import type { Socket } from "node:net";

// oxlint-disable-next-line no-restricted-properties -- an import reads each export, and one loads Node's `fetch`: 5 MB
const http = process.getBuiltinModule("node:http");

/** The server cuts off a client that has not sent its headers after this time. */
const HEADERS_MS = 5_000;
/** The server cuts off a client that has not sent its whole request after this time. */
const REQUEST_MS = 10_000;
/** The server closes a kept-open connection if no other request comes within this time. */
const IDLE_MS = 5_000;
const CHECK_MS = 1_000;
const MOST_CONNECTIONS = 256;
const LEAST_CONNECTIONS = 4;
/** The share of the process's file descriptors that one server may use. */
const SHARE = 1 / 4;

/**
 * Returns a server that leaves file descriptors free for the process, which needs them to renew its lease. If there are more than
 * `most` connections, the server closes the one that has been idle for longest. So a prober that sends its request at once gets
 * an answer even in a flood of idle connections. If no connection is idle, the server closes the new one.
 */
export function boundedServer(options: ServerOptions, listener: RequestListener, most: number = mostConnections()): Server {
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, keepAliveTimeout: IDLE_MS };
  const server = http.createServer({ ...options, ...limits, connectionsCheckingInterval: CHECK_MS }, listener);
  const open = new Set<Socket>();
  /** The connections without a pending response. The one that has been idle for longest comes first. */
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

/** Returns how many connections leave enough file descriptors: a quarter of this process's limit, but from 4 to 256. */
export function mostConnections(limits: () => string = () => readFileSync("/proc/self/limits", "latin1")): number {
  let text = "";
  try {
    text = limits();
  } catch {
    // Only Linux has this file.
  }
  const soft = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? Infinity);
  return Math.max(Math.min(Math.floor(soft * SHARE), MOST_CONNECTIONS), LEAST_CONNECTIONS);
}

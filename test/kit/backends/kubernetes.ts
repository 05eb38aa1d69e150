import { once } from "node:events";
import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { KubernetesApi, type ApiCall } from "../simulated/kubernetes-api.ts";
import type { Json, Reply } from "../simulated/kubernetes-objects.ts";

/** An API server for Leases in this process, on a free port of 127.0.0.1. */
export interface KubernetesServer extends AsyncDisposable {
  readonly api: KubernetesApi;
  /** Its origin. */
  readonly url: string;
  /** Each request so far: its method, and its path and query. */
  readonly requests: readonly ApiCall[];
  /** The common name of the certificate that each client has sent, by connection. */
  readonly clients: readonly string[];
}

/** Starts it, by HTTPS if certificates are given. */
export async function startKubernetes(
  namespaces: readonly string[] = ["default"],
  tls?: ServerOptions,
): Promise<KubernetesServer> {
  const api = new KubernetesApi(namespaces);
  const requests: ApiCall[] = [];
  const clients: string[] = [];
  const listener: RequestListener = (incoming, response) => {
    void (async () => {
      const call = await received(incoming).catch(() => undefined);
      if (!call) return;
      requests.push(call);
      if (!call.path.includes("watch=1")) return answer(response, api.handle(call));
      watch(api, call, response);
    })();
  };
  const server: Server = tls ? createHttps(tls, listener) : createHttp(listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("secureConnection", (socket: TLSSocket) => clients.push(String(socket.getPeerCertificate().subject?.CN ?? "")));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    api,
    url: `${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    clients,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function received(incoming: IncomingMessage): Promise<ApiCall> {
  const { method = "", url: path = "", headers } = incoming;
  const body = await text(incoming);
  return {
    method,
    path,
    ...(body === "" ? {} : { body: JSON.parse(body) as Json }),
    contentType: headers["content-type"],
    token: headers.authorization?.replace(/^Bearer /, ""),
  };
}

function answer(response: ServerResponse, { status, body, headers }: Reply): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

function watch(api: KubernetesApi, call: ApiCall, response: ServerResponse): void {
  const early: string[] = [];
  let isOpen = false;
  const begun = api.watch(call, (event) => {
    const line = `${JSON.stringify(event)}\n`;
    if (!isOpen) early.push(line);
    else response.write(line);
    if (event.type === "ERROR" && isOpen) response.end();
  });
  if ("status" in begun) return answer(response, begun);
  isOpen = true;
  // The head is sent at once: apiserver/pkg/endpoints/handlers/watch.go flushes it.
  response.writeHead(200, { "Content-Type": "application/json" });
  response.flushHeaders();
  for (const line of early) response.write(line);
  const { timeoutSeconds, leave } = begun;
  const timer = timeoutSeconds === undefined ? undefined : setTimeout(() => response.end(), timeoutSeconds * 1_000);
  response.once("close", () => {
    clearTimeout(timer);
    leave();
  });
}

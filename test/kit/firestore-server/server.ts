import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ServerClock } from "./clock.ts";
import { DatabaseNames } from "./database-names.ts";
import { DocumentStore } from "./document-store.ts";
import { implementation } from "./grpc-service.ts";
import type { Intercept } from "./intercept.ts";
import { serviceDefinition } from "./protocol.ts";
import { RequestHandlers } from "./request-handlers.ts";
import { Transactions } from "./transactions.ts";

/** How to start the server. */
export interface FirestoreServerOptions {
  /** The port to listen on. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /**
   * The time by which documents and reads are dated, in milliseconds since 1970; asked for at every use. The server's
   * clock never goes back: while this does, it stands almost still.
   * @defaultValue `Date.now()`, looked up at every use, so that a `Date` that is replaced moves the server's clock too
   */
  readonly now?: (() => number) | undefined;
  /** The ids of the databases there are, in every project. @defaultValue `(default)` alone */
  readonly databases?: readonly string[] | undefined;
  /** Asked about every request; can make it fail, before or after it was carried out, or never be answered. */
  readonly intercept?: Intercept | undefined;
}

/** A Firestore that holds its data in memory. */
export interface FirestoreServer extends AsyncDisposable {
  /** The port it listens on, at 127.0.0.1. */
  readonly port: number;
  /** `127.0.0.1:<port>`: a client's `host` with `ssl: false`, or the value of FIRESTORE_EMULATOR_HOST. */
  readonly url: string;
  /**
   * Ends every connection, and resolves once the port is free; all data is lost. Requests that are waiting fail with
   * CANCELLED. May be called again.
   */
  stop(): Promise<void>;
}

/**
 * Starts a Firestore server for tests, the demo and development, in this process, on 127.0.0.1 only.
 *
 * What it answers, it answers as Firestore does: commits are atomic and serializable, every commit has a later time than
 * all before, in microseconds, and nobody's update is lost. It knows what leases and what they fence need: whole documents
 * by name, commits with preconditions and transactions (BatchGetDocuments, BeginTransaction, Commit and Rollback), and
 * listeners to documents (Listen). The rest, queries and transforms among it, is UNIMPLEMENTED. It differs where its files
 * say so, most of all in transactions, which are optimistic (transactions.ts). There are no credentials, security rules,
 * indexes or quotas, and any project exists.
 *
 * @throws if it cannot listen on the port.
 * @example
 * ```ts
 * await using server = await startFirestoreServer();
 * const firestore = new Firestore({ projectId: "demo-x", host: server.url, ssl: false });
 * ```
 */
export async function startFirestoreServer(options: FirestoreServerOptions = {}): Promise<FirestoreServer> {
  const now = options.now ?? (() => Date.now());
  const clock = new ServerClock(now);
  const store = new DocumentStore(clock);
  const databases = new DatabaseNames(options.databases ?? ["(default)"]);
  const handlers = new RequestHandlers(store, clock, new Transactions(), databases);
  // The service takes requests of 10 MiB, which is more than gRPC's default.
  const server = new Server({ "grpc.max_receive_message_length": 10 * 1024 * 1024 });
  server.addService(serviceDefinition(), implementation(handlers, options.intercept));

  const host = "127.0.0.1";
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${options.port ?? 0}`, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });

  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= new Promise((resolve) => {
      // The first one tells when all is closed, and the second one closes what the first would wait for.
      server.tryShutdown(() => resolve());
      server.forceShutdown();
    });
    return stopped;
  };
  return { port, url: `${host}:${port}`, stop, [Symbol.asyncDispose]: stop };
}

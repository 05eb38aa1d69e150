import { Server, ServerCredentials } from "@grpc/grpc-js";
import { ServerClock } from "./clock.ts";
import { DatabaseNames } from "./database-names.ts";
import { DocumentStore } from "./document-store.ts";
import { implementation } from "./grpc-service.ts";
import type { Intercept } from "./intercept.ts";
import { serviceDefinition } from "./protocol.ts";
import { RequestHandlers } from "./request-handlers.ts";
import { Transactions } from "./transactions.ts";

/** The options of the server. */
export interface FirestoreServerOptions {
  /** The port to listen on. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /**
   * The clock for the times of documents and reads, in milliseconds since 1970. It is called at every use. The server's clock
   * never goes back: if this clock does, the server's clock almost stops.
   * @defaultValue `Date.now()`, looked up at every use, so that a replaced `Date` moves the server's clock too
   */
  readonly now?: (() => number) | undefined;
  /** The ids of the databases that exist, in every project. @defaultValue only `(default)` */
  readonly databases?: readonly string[] | undefined;
  /**
   * Called for every request. It can make the request fail, before or after it was carried out, or leave it without an answer.
   */
  readonly intercept?: Intercept | undefined;
}

/** A Firestore with its data in memory. */
export interface FirestoreServer extends AsyncDisposable {
  /** The port on which it listens, at 127.0.0.1. */
  readonly port: number;
  /** `127.0.0.1:<port>`: a client's `host` with `ssl: false`, or the value of FIRESTORE_EMULATOR_HOST. */
  readonly url: string;
  /**
   * Ends every connection, and resolves once the port is free. All data are lost. Waiting requests fail with CANCELLED. May be
   * called again.
   */
  stop(): Promise<void>;
}

/**
 * Starts a Firestore server for tests, the demo and development, in this process, on 127.0.0.1 only.
 *
 * Its answers are those of Firestore. Commits are atomic and serializable. Every commit has a later time than all before, in
 * microseconds. No update is lost.
 *
 * It implements all requests of leases and of guarded data: whole documents by name, commits with preconditions, transactions and
 * listeners. These are BatchGetDocuments, BeginTransaction, Commit, Rollback and Listen. All other requests, such as queries and
 * transforms, are UNIMPLEMENTED.
 *
 * It differs from Firestore where its files say so, most of all in transactions, which are optimistic (transactions.ts). There
 * are no credentials, security rules, indexes or quotas, and any project exists.
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
  // The service accepts requests of 10 MiB, which is more than gRPC's default.
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
      // The first call reports when everything is closed. The second call closes the connections for which the first would wait.
      server.tryShutdown(() => resolve());
      server.forceShutdown();
    });
    return stopped;
  };
  return { port, url: `${host}:${port}`, stop, [Symbol.asyncDispose]: stop };
}

import { neon, neonConfig, Pool } from "@neondatabase/serverless";
import postgres from "postgres";
import { startNeonStandIn, TcpWebSocket } from "./neon-stand-in.ts";

/** A handle of a driver on a database, and how it is closed. */
export interface Handle extends AsyncDisposable {
  readonly handle: unknown;
}

/** The place of a database, in a form for every driver. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly schema: string;
}

/** A driver of PostgreSQL. */
export interface Driver {
  readonly name: string;
  /** Starts what the driver needs between it and a server. Its handles then connect to that port. */
  serve?(url: string): Promise<AsyncDisposable & { readonly port: number }>;
  open(address: Address): Handle;
}

export const POSTGRES_JS: Driver = {
  name: "postgres.js",
  open: ({ host, port, schema }) => {
    const options = { host, port, user: "postgres", database: "postgres", onnotice: () => undefined, connect_timeout: 5 };
    const sql = postgres({ ...options, connection: { search_path: schema } });
    return { handle: sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 0 }) };
  },
};

export const NEON_HTTP: Driver = {
  name: "Neon by HTTP",
  serve: (url) => startNeonStandIn(url),
  open: ({ host, port }) => {
    // The client takes the address of its requests from the host in its URL.
    neonConfig.fetchEndpoint = (name) => `http://${host}:${name.split(".", 1)[0]}/sql`;
    const sql = neon(`postgres://user:none@${port}.local/app`);
    return { handle: sql, [Symbol.asyncDispose]: () => Promise.resolve() };
  },
};

export const NEON_WEBSOCKET: Driver = {
  name: "Neon by WebSocket",
  open: ({ host, port, schema }) => {
    Object.assign(neonConfig, { webSocketConstructor: TcpWebSocket, useSecureWebSocket: false, pipelineConnect: false });
    neonConfig.wsProxy = (server, itsPort) => `${server}:${itsPort}/v1`;
    const address = { host, port, user: "postgres", database: "postgres", options: `-c search_path=${schema}` };
    const pool = new Pool({ ...address, max: 5, connectionTimeoutMillis: 5_000 });
    pool.on("error", () => undefined);
    return { handle: pool, [Symbol.asyncDispose]: () => pool.end().catch(() => undefined) };
  },
};

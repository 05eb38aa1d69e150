import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { DatabaseError, Pool } from "pg";

interface Statement {
  readonly query: string;
  readonly params: unknown[];
}

/** Stands in for a WebSocket to Neon's proxy, which hands its bytes on to the server. This one is a connection to the server. */
export class TcpWebSocket extends EventTarget {
  binaryType = "arraybuffer";
  readonly #socket: Socket;

  constructor(url: string) {
    super();
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (data) => this.dispatchEvent(new MessageEvent("message", { data })));
    this.#socket.on("connect", () => this.dispatchEvent(new Event("open")));
    for (const name of ["error", "close"]) this.#socket.on(name, () => this.dispatchEvent(new Event(name)));
  }

  send(data: Uint8Array): void {
    this.#socket.write(data);
  }

  close(): void {
    this.#socket.end();
  }
}

/** A service that answers as Neon's proxy does: each statement of an HTTP request, or a list of them as one transaction. */
export interface NeonStandIn extends AsyncDisposable {
  readonly port: number;
}

/** Starts it for one database. Neon's own proxy is not to be had as a program, so this only stands in for its protocol. */
export async function startNeonStandIn(connectionString: string): Promise<NeonStandIn> {
  const pool = new Pool({ connectionString });
  const run = async (statements: readonly Statement[], isTransaction: boolean): Promise<unknown[]> => {
    const client = await pool.connect();
    try {
      if (isTransaction) await client.query("BEGIN");
      const results = [];
      for (const { query, params } of statements) {
        // The cells are the server's text: the client parses them.
        const types = { getTypeParser: () => String };
        const { command, fields, rowCount, rows } = await client.query({ text: query, values: params, types, rowMode: "array" });
        results.push({ command, fields, rowCount, rows, rowAsArray: true });
      }
      if (isTransaction) await client.query("COMMIT");
      return results;
    } finally {
      // A connection in a failed transaction is of no use to others.
      client.release(isTransaction);
    }
  };
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = JSON.parse(await text(request)) as Statement | { readonly queries: readonly Statement[] };
      const many = "queries" in body;
      const results = await run(many ? body.queries : [body], many);
      response.end(JSON.stringify(many ? { results } : results[0]));
    };
    answer().catch((error: unknown) => {
      const known =
        error instanceof DatabaseError ? Object.assign({}, error, { message: error.message }) : { message: String(error) };
      response.writeHead(400).end(JSON.stringify(known));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await pool.end();
    },
  };
}

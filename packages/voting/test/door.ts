import { onTestFinished, vi } from "vitest";
import { systemClock } from "@leasehold/core/provider";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { HttpTransport } from "../src/http-transport.ts";
import { Seal } from "../src/packet.ts";
import { clusterOf } from "../src/roster.ts";
import { Server } from "../src/server.ts";
import { textOf } from "../src/voter-state-codec.ts";
import { WarningLog } from "../src/warning-log.ts";
import { eventually } from "./servers.ts";

/** The write counter of the tested server. No other server can remember a higher one. */
const WRITES = 1_000;
const KEPT = { writes: WRITES, seen: {}, floor: 0, clockFloor: 0, isFresh: true, elections: {} };

export interface DoorOptions {
  readonly secret: string;
  /** The names of all servers. The first one is tested. */
  readonly names: readonly string[];
  /** The start that the tested server has. */
  readonly start: string;
  /** The server that sends to it, and its start. */
  readonly from: string;
  readonly fromStart: string;
}

/** The answer to one packet: the HTTP status, and the body of a signed answer. */
export interface DoorAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly isSigned: boolean;
}

/** One server with its HTTP door. Another one only says which start it is. Both end with the test. */
export class Door {
  readonly server: Server;
  readonly cluster: string;
  readonly #url: string;
  readonly #seal: Seal;

  private constructor(server: Server, cluster: string, url: string, seal: Seal) {
    this.server = server;
    this.cluster = cluster;
    this.#url = url;
    this.#seal = seal;
  }

  static async open({ secret, names, start, from, fromStart }: DoorOptions): Promise<Door> {
    const [name = ""] = names;
    const clock = { ...systemClock, randomUuid: () => start };
    const servers: Record<string, URL> = {};
    for (const each of names) servers[each] = new URL(`http://127.0.0.1:${await freePort()}`);
    const transportOf = (server: string): HttpTransport => {
      const { hostname, port } = servers[server] as URL;
      const listen = { host: hostname, port: Number(port), tls: undefined };
      const troubles = new WarningLog(systemClock, server);
      const transport = new HttpTransport({
        ...{ server, servers, secret, listen, ca: undefined, clock: systemClock, troubles },
        onMet: () => undefined,
      });
      onTestFinished(() => transport.close());
      return transport;
    };
    await transportOf(from).listen(() => Promise.resolve(undefined), fromStart);
    let text = textOf(KEPT);
    const disk = { read: () => Promise.resolve(text), write: (next: string) => Promise.resolve(void (text = next)) };
    const cluster = clusterOf(names);
    const server = new Server({ name, names, clock, disk, transport: transportOf(name) });
    onTestFinished(() => server.close());
    await server.start();
    await vi.waitFor(() => {
      if (!server.takesPart) throw new Error("It takes no part yet.");
    }, eventually);
    return new Door(server, cluster, `${servers[name]?.origin}/leasehold/voting`, new Seal(secret));
  }

  /** Posts a body with this signature. */
  async post(body: string | Buffer, signature: string = this.#seal.sign(body)): Promise<DoorAnswer> {
    const response = await fetch(this.#url, {
      method: "POST",
      body: new Uint8Array(Buffer.from(body)),
      headers: { "x-leasehold-signature": signature },
    });
    const answer = Buffer.from(await response.arrayBuffer());
    const isSigned = this.#seal.isOurs(answer, response.headers.get("x-leasehold-signature"));
    return { status: response.status, body: answer, isSigned };
  }
}
